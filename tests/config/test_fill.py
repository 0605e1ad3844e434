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


def test_a_message_shows_a_place_as_it_is_written(file: File) -> None:
    text = SOURCE + model(keys='horizon = "${SECRET}"\nlevel = "${SECRET}"')

    assert file.faults(text, {"SECRET": "hunter2"}) == [
        (
            'models[0] "late".horizon: a duration is a whole number and one of s, m, h, d, w, as in "15m": '
            'got "${SECRET}"'
        ),
        'models[0] "late".level: must be a number: got "${SECRET}"',
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
