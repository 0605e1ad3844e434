import traceback
from pathlib import Path

import pytest
from configurations import SOURCE, File, model

from monitor.config.config_loading import examine_file, settings_of
from monitor.core.errors import ConfigurationError
from monitor.specs.urls import fill_url, shown_url

SECRET = {"SECRET": "postgresql://ann:hunter2@db/app"}
STORE = '[store]\nurl = "{url}"\n'


def stored_at(file: File, url: str, environ: dict[str, str]) -> str:
    return file.settings(STORE.format(url=url) + SOURCE + model(), environ).store.url


def test_a_place_is_filled_from_the_environment(file: File) -> None:
    environ = {"STORE_URL": "postgresql://ann:s3%40cret@db/app"}

    assert stored_at(file, "${STORE_URL}", environ) == environ["STORE_URL"]


def test_a_place_is_filled_from_a_file_without_its_last_line_break(file: File, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n", encoding="utf-8")

    stored = stored_at(file, f"postgresql://ann:${{file:{secret}}}@${{HOST}}/app", {"HOST": "db"})

    assert fill_url(stored) == "postgresql://ann:s3cret@db/app"


def test_the_files_of_a_url_are_read_whenever_it_is_used(file: File, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n", encoding="utf-8")
    text = STORE.format(url=f"postgresql://ann:${{file:{secret}}}@db/app") + SOURCE + model()
    before = file.settings(text)

    secret.write_text("a/new@one\n", encoding="utf-8")
    after = file.settings(text)

    assert before == after  # neither another store nor another source
    assert fill_url(before.store.url) == "postgresql://ann:a%2Fnew%40one@db/app"
    assert shown_url(before.store.url) == "postgresql://ann:***@db/app"


def test_a_whole_url_may_stand_in_a_file(file: File, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://ann:s3cret@db/app\n", encoding="utf-8")

    settings = file.settings(f'[sources.flights]\nurl = "${{file:{tmp_path}/url}}"\n' + model())

    assert fill_url(settings.find_source("flights").url) == "postgresql://ann:s3cret@db/app"


def test_a_file_that_is_gone_is_named_when_the_url_is_used(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the file .*/none cannot be read: No such file or directory"):
        fill_url(f"postgresql://ann:${{file:{tmp_path}/none}}@db/app")


def test_a_value_in_the_password_of_a_url_is_percent_encoded(file: File) -> None:
    stored = stored_at(file, "postgresql://${USER}:${PASSWORD}@${HOST}/app", {
        "USER": "ann", "PASSWORD": "a@b/c:d%", "HOST": "db:5432",
    })  # fmt: skip

    assert stored == "postgresql://ann:a%40b%2Fc%3Ad%25@db:5432/app"


def test_places_are_filled_in_lists_and_tables(file: File) -> None:
    text = SOURCE + model(keys='windows = ["1d", "${LONG}", { length = "3d", step = "${STEP}" }]')

    (spec,) = file.settings(text, {"LONG": "7d", "STEP": "1d"}).models

    assert [window.name for window in spec.windows] == ["1d", "7d", "3d"]


def test_a_doubled_sign_is_no_place(file: File) -> None:
    text = SOURCE + model(predictions='score = "$${score}"\nthreshold = 0.5')

    (spec,) = file.settings(text).models

    assert spec.predictions.column_of("score") == "${score}"


def test_a_port_may_come_from_the_environment(file: File) -> None:
    assert file.settings('[http]\nport = "${PORT}"\n' + SOURCE + model(), {"PORT": "8000"}).http.port == 8000


def test_a_missing_variable_is_named_and_nothing_else_is_said_of_its_place(file: File) -> None:
    text = '[sources.flights]\nurl = "${FLIGHTS_URL}"\n' + model(keys='horizon = "${HORIZON}"')

    assert file.faults(text) == [
        "sources.flights.url: the environment variable FLIGHTS_URL is not set",
        'models[0] "late".horizon: the environment variable HORIZON is not set',
    ]


def test_a_missing_variable_of_the_defaults_is_named_once(file: File) -> None:
    text = SOURCE + '[defaults]\nevery = "${EVERY}"\n' + model() + model(name="early")

    assert file.faults(text) == ["defaults.every: the environment variable EVERY is not set"]


def test_a_missing_file_is_named(file: File, tmp_path: Path) -> None:
    text = f'[sources.flights]\nurl = "${{file:{tmp_path}/none}}"\n' + model()

    assert file.faults(text) == [
        f"sources.flights.url: the file {tmp_path}/none cannot be read: No such file or directory"
    ]


def test_a_file_that_is_no_text_is_named(file: File, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    text = f'[sources.flights]\nurl = "${{file:{tmp_path}/bytes}}"\n' + model()

    assert file.faults(text) == [
        f"sources.flights.url: the file {tmp_path}/bytes cannot be read: it is not UTF-8 text"
    ]


@pytest.mark.parametrize("place", ["${}", "${1ST}", "${A-B}"])
def test_a_malformed_place_is_named(file: File, place: str) -> None:
    text = f'[sources.flights]\nurl = "{place}"\n' + model()

    assert file.faults(text) == [
        (
            "sources.flights.url: a place to fill is ${NAME} or ${file:/path} "
            f'("$${{" stands for "${{"): got {place}'
        )
    ]


def test_a_message_shows_a_place_as_it_is_written(file: File) -> None:
    text = SOURCE + model(keys='horizon = "${SECRET}"\nlevel = "${SECRET}"')

    assert file.faults(text, {"SECRET": "hunter2"}) == [
        (
            'models[0] "late".horizon: a duration is a whole number and one of s, m, h, d, w, as in "15m": '
            'got "${SECRET}"'
        ),
        'models[0] "late".level: must be a number: got "${SECRET}"',
    ]


def test_no_message_holds_a_password_of_the_file(file: File) -> None:
    text = (
        '[sources]\nurl = "postgresql://ann:hunter2@db/app"\n[store]\nurl = "ann:hunter2@db/app"\n' + model()
    )

    assert file.faults(text) == [
        'sources.url: must be a table: got "postgresql://ann:***@db/app"',
        'store.url: a database URL starts as in "sqlite:///monitor.db": got no scheme',
        'models[0] "late".source: no such source (the sources are "url"): got "flights"',
    ]


def test_secrets_are_in_no_representation(file: File) -> None:
    text = STORE.format(url="${SECRET}") + '[sources.flights]\nurl = "${SECRET}"\n' + model()

    settings = file.settings(text, SECRET)

    assert settings.store.url == settings.find_source("flights").url == SECRET["SECRET"]
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in repr(examine_file(file.path, SECRET).configuration)


def test_a_failure_shows_no_secret_in_its_chain(file: File) -> None:
    text = STORE.format(url="${SECRET}") + '[sources.flights]\nurl = "${SECRET}"\nport = 1\n' + model()
    file.path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigurationError) as raised:
        settings_of(file.path, SECRET)

    assert "hunter2" not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
