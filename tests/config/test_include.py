from pathlib import Path

import pytest
from configurations import SOURCE, File, model

from monitor.config.config_loading import settings_of
from monitor.core.errors import ConfigurationError


@pytest.fixture
def more(file: File) -> Path:
    """Directory of the files that are included."""
    directory = file.path.parent / "models.d"
    directory.mkdir()
    return directory


INCLUDE = 'include = ["models.d/*.toml"]\n'


def test_included_models_are_read_in_the_order_of_their_files(file: File, more: Path) -> None:
    (more / "b.toml").write_text(model(name="second") + model(name="third"))
    (more / "a.toml").write_text(model(name="first"))

    settings = file.settings(INCLUDE + SOURCE + model(name="own"))

    assert [spec.name for spec in settings.models] == ["own", "first", "second", "third"]


def test_included_models_have_the_defaults_and_may_bring_their_source(file: File, more: Path) -> None:
    source = SOURCE.replace("flights", "weather")
    (more / "a.toml").write_text(source + model(name="rain").replace('"flights"', '"weather"'))

    settings = file.settings(f'{INCLUDE}[defaults]\nevery = "2h"\n')

    (spec,) = settings.models
    assert (spec.source, spec.keys.every) == ("weather", 7_200_000_000)


def test_a_source_that_stands_alike_in_several_files_is_one(file: File, more: Path) -> None:
    (more / "a.toml").write_text(SOURCE + model(name="early"))
    (more / "b.toml").write_text(SOURCE + model(name="soon"))

    settings = file.settings(INCLUDE + SOURCE + model())

    assert [source.name for source in settings.sources] == ["flights"]
    assert [spec.name for spec in settings.models] == ["late", "early", "soon"]


def test_places_of_included_files_are_filled(file: File, more: Path) -> None:
    (more / "a.toml").write_text(SOURCE.replace("flights.db", "${PLACE}.db") + model())

    settings = file.settings(INCLUDE, {"PLACE": "here"})

    assert settings.find_source("flights").url == f"sqlite:///{file.path.parent / 'here.db'}"


def test_the_pattern_itself_is_filled(file: File, more: Path) -> None:
    (more / "a.toml").write_text(SOURCE + model())

    settings = file.settings('include = ["${MODELS}/*.toml"]', {"MODELS": str(more)})

    assert [spec.name for spec in settings.models] == ["late"]


def test_faults_name_the_file_and_the_place_in_it(file: File, more: Path) -> None:
    (more / "a.toml").write_text(model(name="fine") + model(name="early", keys='every = "7h"'))
    (more / "b.toml").write_text('[sources.rain]\nurl = "sqlite:///${NONE}.db"\n' + model(name="fine"))

    assert file.faults(INCLUDE + SOURCE + model()) == [
        "models.d/b.toml: sources.rain.url: the environment variable NONE is not set",
        'models.d/a.toml: models[1] "early".every: must divide a day or be a multiple of one: got "7h"',
        (
            'models.d/b.toml: models[0] "fine".name: every model has a name of its own: '
            "models.d/a.toml: models[0] has the same"
        ),
    ]


def test_a_pattern_that_matches_nothing_is_a_fault(file: File) -> None:
    assert file.faults('include = ["models.d/*.toml", "**x"]\n' + SOURCE + model()) == [
        'include[0]: no file matches: got "models.d/*.toml"',
        'include[1]: no file matches: got "**x"',
    ]


def test_an_included_file_holds_models_and_sources_only(file: File, more: Path) -> None:
    (more / "a.toml").write_text("[http]\nport = 1\n" + SOURCE + "audit = '2d'\n[model]\n")
    (more / "b.toml").write_text('sources = 1\n[models]\nname = "x"\n')
    (more / "c.toml").write_text("nothing")

    faults = file.faults(INCLUDE + SOURCE + model())

    other = 'every source has a name of its own: "flights" stood otherwise in a file before'
    rule = "an included file holds [[models]] and [sources.NAME] only"
    assert faults[:-1] == [
        f'include[0]: models.d/a.toml: {rule}: got "http"',
        f'include[0]: models.d/a.toml: {rule}: got "model"; did you mean "models"?',
        f"include[0]: models.d/a.toml: {other}",
        'include[0]: models.d/b.toml: models: must be a list of tables: "[[models]]" instead of "[models]"',
        "include[0]: models.d/b.toml: sources: must be a table: got 1",
    ]
    assert "models.d/c.toml: not valid TOML" in faults[-1]


def test_the_file_itself_and_files_matched_twice_are_taken_once(file: File, more: Path) -> None:
    (more / "a.toml").write_text(model(name="early"))

    settings = file.settings('include = ["*.toml", "*/a.toml", "models.d/*"]\n' + SOURCE + model())

    assert [spec.name for spec in settings.models] == ["late", "early"]


def test_a_former_name_is_used_by_no_other_model(file: File) -> None:
    faults = file.faults_of(
        model(name="late"),
        model(name="delay", keys='formerly = "late"'),
        model(name="a", keys='formerly = "b"'),
        model(name="c", keys='formerly = "b"'),
        model(name="self", keys='formerly = "self"'),
    )

    assert faults == [
        'models[1] "delay".formerly: a former name is no longer in use: models[0] has it',
        'models[3] "c".formerly: a former name is no longer in use: models[2] has it',
        'models[4] "self".formerly: a former name is no longer in use: models[4] has it',
    ]


def test_an_unreadable_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        settings_of(tmp_path / "none.toml", {})
