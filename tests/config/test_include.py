from pathlib import Path

import pytest
from configurations import SOURCE, File, model


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


def test_the_file_itself_and_files_matched_twice_are_taken_once(file: File, more: Path) -> None:
    (more / "a.toml").write_text(model(name="early"))

    settings = file.settings('include = ["*.toml", "*/a.toml", "models.d/*"]\n' + SOURCE + model())

    assert [spec.name for spec in settings.models] == ["late", "early"]
