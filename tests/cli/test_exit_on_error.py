"""How commands tell of failures: those that were foreseen, and those that were not."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from monitor.advice import check_report
from monitor.cli import main
from monitor.core.errors import StoreError


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_args: object, **_options: object) -> int:
        raise error

    monkeypatch.setattr(check_report, "run_check", fail)


def test_what_nobody_foresaw_is_one_line_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ValueError("no such number: 'Jane Doe'"))

    done = CliRunner().invoke(main, ["check"])

    assert done.exit_code == 1
    assert done.stderr == (
        "monitor: a fault of this program: ValueError: no such number: *** (test_exit_on_error.py:16); "
        "`monitor --debug` and the same command print where: please report it\n"
    )


def test_its_traceback_is_printed_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ValueError("odd at postgresql://ann:secret@db/app"))

    done = CliRunner().invoke(main, ["--debug", "check"])

    assert done.exit_code == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert "raise error\nValueError: odd at postgresql://ann:***@db/app\n" in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (StoreError("x" * 5_000), 1, f"monitor: {'x' * 990}…\n"),
        (click.UsageError("odd"), 2, "Error: odd\n"),
        (click.Abort(), 1, "Aborted!\n"),
        (KeyboardInterrupt(), 1, "Aborted!\n"),
    ],
)
def test_what_was_foreseen_is_told_as_it_is(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    failing(monkeypatch, error)

    done = CliRunner().invoke(main, ["check"])

    assert done.exit_code == code
    assert done.stderr.endswith(said)
