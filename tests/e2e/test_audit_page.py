"""What the page on audits tells people to run gives what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from monitor.cli import main

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Where a number comes from")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
# the whole replay takes more than a minute: the same program over the days after July
SHORT = """
import sys
from monitor.app import demo_run
from monitor.cli import main
from monitor.core.clock import from_iso
demo_run.START, demo_run.END = from_iso("2013-08-01"), from_iso("2013-08-06")
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's first command has been run."""
    found = tmp_path_factory.mktemp("audit")
    (command, *_) = blocks("sh")[0].splitlines()
    done = run("-c", SHORT, *command.split()[1:], directory=found)
    assert done.returncode == 0, done.stderr
    return found


def blocks(kind: str) -> list[str]:
    return [body for found, body in BLOCKS if found == kind]


def run(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_the_recomputed_numbers_are_those_that_were_kept(directory: Path) -> None:
    recomputing, _ = blocks("python")

    done = run("-W", "error", "-c", recomputing, directory=directory)

    assert done.stderr == ""
    assert done.stdout == blocks("text")[0]


def test_the_commands_say_what_was_known_then_and_what_stands_behind_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory)
    (_, show) = blocks("sh")[0].splitlines()

    done = CliRunner().invoke(main, shlex.split(show)[1:])

    assert done.exit_code == 0, done.output
    assert "late, roc_auc, month, settled" in done.stdout
    assert re.search(r"^2013-08-01 +94\.7% +2013-08-05 ", done.stdout, re.MULTILINE)
    assert "behind late as of 2013-08-05T00:00:00Z" in done.stdout
    assert 'file "reference.parquet", content ' in done.stdout
    assert '  "name": "late",' in done.stdout


def test_a_frame_has_a_row_for_each_month(directory: Path) -> None:
    _, reading = blocks("python")

    done = run("-W", "error", "-c", reading, directory=directory)

    assert done.returncode == 0, done.stderr
    assert "2013-08-01 00:00:00+00:00" in done.stdout
