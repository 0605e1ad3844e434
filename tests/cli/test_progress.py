"""How far a replay has come is told on terminals and in logs."""

import sys
from itertools import count

import pytest

from monitor.cli.command_options import show_progress


def test_a_log_gets_a_line_every_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = count(0, 5)

    found = list(show_progress(iter(range(40)), 40, "late", now=lambda: float(next(seconds))))

    lines = [line for line in capsys.readouterr().err.splitlines() if " of 40, " in line]
    assert found == list(range(40))
    assert 3 <= len(lines) <= 8
    assert lines[0].startswith("late: ")
    assert " a second, 0:0" in lines[0]
    assert lines[0].endswith(" left")


def test_a_terminal_gets_a_bar_with_the_rate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    list(show_progress(iter(range(3)), 3, "late"))

    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "a second" in shown
    assert " of 3, " not in shown
