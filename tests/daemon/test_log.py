import io
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
import structlog

from monitor.daemon.log_setup import _QUIET, LogFormat, configure_logging, hide_event_secrets

WORD = "s3cr:t"
SECRET = f"postgresql+psycopg://monitor:{WORD}@db.example:5432/store"


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    libraries = [logging.getLogger(name) for name in _QUIET]
    handlers, levels = list(root.handlers), [logger.level for logger in (root, *libraries)]
    yield
    root.handlers[:] = handlers
    for logger, level in zip((root, *libraries), levels, strict=True):
        logger.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def logged(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_json_line_has_time_level_logger_and_fields() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.JSON, stream=stream)

    structlog.stdlib.get_logger("monitor.daemon").info("cycle", model="late", rows=5)

    (line,) = logged(stream)
    assert str(line.pop("timestamp")).endswith("Z")
    assert line == {"event": "cycle", "level": "info", "logger": "monitor.daemon", "model": "late", "rows": 5}


def test_the_console_shows_the_same_fields() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.CONSOLE, stream=stream)

    structlog.stdlib.get_logger("monitor.daemon").warning("cycle", model="late")

    line = stream.getvalue()
    assert "warning" in line
    assert "model=late" in line
    assert "\x1b" not in line


def test_libraries_are_routed_through_the_same_formatter() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.JSON, stream=stream)
    logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)  # a server of another test may have set it

    logging.getLogger("uvicorn.error").warning("Exceeded concurrency limit of %d.", 64)
    logging.getLogger("apscheduler.scheduler").info("Added job")

    lines = [(line["event"], line["logger"]) for line in logged(stream)]  # threads of other tests may speak
    assert ("Exceeded concurrency limit of 64.", "uvicorn.error") in lines
    assert ("Added job", "apscheduler.scheduler") not in lines


def test_at_debug_libraries_speak_too() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.JSON, "debug", stream=stream)

    logging.getLogger("apscheduler.scheduler").debug("Looking for jobs to run")

    assert [line["event"] for line in logged(stream)] == ["Looking for jobs to run"]


def test_below_the_level_nothing_is_said() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.JSON, "error", stream=stream)

    structlog.stdlib.get_logger("monitor").warning("cycle")

    assert stream.getvalue() == ""


def test_warnings_of_python_are_logged() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.JSON, stream=stream)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("old", UserWarning, stacklevel=1)

    assert "UserWarning: old" in stream.getvalue()


@pytest.mark.parametrize("log_format", list(LogFormat))
def test_passwords_are_seen_nowhere(log_format: LogFormat) -> None:
    stream = io.StringIO()
    configure_logging(log_format, stream=stream)
    log = structlog.stdlib.get_logger("monitor")

    log.info("cannot connect to %s", SECRET, url=SECRET, urls=[SECRET, {"inner": SECRET}], password=WORD)
    logging.getLogger("library").error("cannot connect to %s", SECRET)
    try:
        int(SECRET)
    except ValueError:
        log.exception("failed")
        logging.getLogger("library").exception("failed")

    assert WORD not in stream.getvalue()
    assert stream.getvalue().count("postgresql+psycopg://monitor:***@db.example:5432/store") >= 6


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("sqlite:////var/lib/monitor.db", "sqlite:////var/lib/monitor.db"),
        ("http://127.0.0.1:9839/metrics", "http://127.0.0.1:9839/metrics"),
        ("postgresql://:word@h/db", "postgresql://:***@h/db"),
        ("postgresql://h/db?password=word&x=1", "postgresql://h/db?password=***&x=1"),
        ("host=h password=word user=u", "host=h password=*** user=u"),
    ],
)
def test_only_secrets_are_masked(text: str, masked: str) -> None:
    assert hide_event_secrets(None, "info", {"event": text}) == {"event": masked}


def test_values_of_any_type_are_masked_as_they_are_shown() -> None:
    masked = hide_event_secrets(
        None, "info", {"event": "x", "error": ValueError(f"cannot connect to {SECRET}")}
    )

    assert masked["error"] == "cannot connect to postgresql+psycopg://monitor:***@db.example:5432/store"


def test_values_of_secret_keys_are_masked_and_numbers_left() -> None:
    event = {"event": "x", "api_key": "abc", "rows": 5, "share": 0.5, "nothing": None, "nested": {"token": 1}}

    masked = hide_event_secrets(None, "info", event)

    assert masked == event | {"api_key": "***", "nested": {"token": "***"}}


def test_at_debug_statements_are_logged_and_the_rows_that_they_read_are_not() -> None:
    stream = io.StringIO()
    configure_logging(LogFormat.JSON, "debug", stream=stream)
    engine = sa.create_engine("sqlite://", hide_parameters=True)

    with engine.connect() as connection:
        connection.execute(sa.select(sa.bindparam("name", "Jane Doe"))).all()
    engine.dispose()

    assert any("SELECT" in str(line["event"]) for line in logged(stream))
    assert "Jane" not in stream.getvalue()


@pytest.mark.parametrize("log_format", list(LogFormat))
def test_a_line_is_written_where_no_file_can_be_opened(log_format: LogFormat) -> None:
    script = f"""
import logging, resource
from monitor.daemon.log_setup import LogFormat, configure_logging
configure_logging(LogFormat({log_format.value!r}))
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
try:
    open("/dev/null")
except OSError:
    logging.getLogger("asyncio").error("no more\\nof \\x1b\\u202e\\U000e0041 %s", "them", exc_info=True)
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert r"no more\nof \x1b\u202e\U000e0041 them" in done.stderr.replace(2 * "\\", "\\")
    assert "Too many open files" in done.stderr
    assert "Logging error" not in done.stderr
