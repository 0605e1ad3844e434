"""What `make check` makes of pip-audit's answer."""

import json
import runpy
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "audit.py"
SOUND = {"name": "click", "version": "8.5.1", "vulns": []}
WEAK = {"name": "h11", "version": "0.1", "vulns": [{"id": "GHSA-x", "fix_versions": ["0.16"]}]}
UNKNOWN = {"name": "narwhals", "skip_reason": "not found"}


def audited(monkeypatch: pytest.MonkeyPatch, out: str, err: str = "") -> int:
    """Exit code for what pip-audit prints."""

    def run(*_command: object, **_options: object) -> subprocess.CompletedProcess[str]:
        if out == "late":
            raise subprocess.TimeoutExpired("pip-audit", 120)
        return subprocess.CompletedProcess([], 1, out, err)

    monkeypatch.setattr(subprocess, "run", run)
    main: Callable[[], int] = runpy.run_path(str(SCRIPT))["main"]
    return main()


def answer(*packages: Mapping[str, object]) -> str:
    return json.dumps({"dependencies": packages})


def test_a_known_vulnerability_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audited(monkeypatch, answer(SOUND, WEAK, UNKNOWN)) == 1
    assert "h11 0.1: GHSA-x, mended in 0.16" in capsys.readouterr().err


def test_no_vulnerability_passes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert audited(monkeypatch, answer(SOUND)) == 0
    assert capsys.readouterr() == ("1 packages, 0 known vulnerabilities\n", "")


@pytest.mark.parametrize(
    ("out", "why"),
    [("", "no route to host"), ("late", "no answer within"), (answer(SOUND, UNKNOWN), "1 of 2")],
)
def test_what_could_not_be_looked_up_is_said_loudly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str, why: str
) -> None:
    assert audited(monkeypatch, out, "Traceback\nno route to host\n") == 0

    said = capsys.readouterr().err
    assert "!!!!!\nSKIPPED: pip-audit" in said
    assert why in said
