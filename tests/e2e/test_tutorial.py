"""The tutorial's commands, run one after another on a fresh PostgreSQL, say what the page shows."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from process import Process
from servers import free_port

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BEFORE, DAEMON = PAGE.split("## The daemon")
NOW = "2026-11-22T03:00"  # of the page
BLOCK = re.compile(r"^```(toml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
# the page's log ends now, that of the test on a fixed day
STOPPED = re.compile(r'warning: model "[^"]+": the newest event is of .*\n')
WARNINGS = re.compile(r"(\d+) warnings$", re.MULTILINE)
PROGRESS = re.compile(r"^.*: \d+ of \d+, .* left\n", re.MULTILINE)  # of a command that takes half a minute
LINE = re.compile(r"\[monitor\.daemon\] (.*=.*)$", re.MULTILINE)
TOLD = ("as_of", "label_rows", "model", "panes", "rows", "since", "ticks", "waiting")
METRICS, HEALTH = "http://127.0.0.1:9839/metrics", "http://127.0.0.1:9839/healthz"
STARTED = "2026-11-22T03:49:33"
AT_THAT_TIME = """
import os, sys, time
from datetime import datetime
os.chdir(sys.argv.pop(1))
real = time.time_ns
ahead = int(datetime.fromisoformat(sys.argv.pop(1) + "+00:00").timestamp()) * 10**9 - real()
time.time_ns = lambda: real() + ahead
from monitor.cli import main
main()
"""

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reader is: beside the examples."""
    checkout = tmp_path_factory.mktemp("checkout")
    (checkout / "examples").symlink_to(ROOT / "examples")
    (checkout / "tutorial").mkdir()
    return checkout / "tutorial"


@pytest.fixture
def environment(postgres_url: str) -> dict[str, str]:
    beside = str(Path(sys.executable).parent)
    return os.environ | {
        "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
        "SERVING_URL": postgres_url.replace("+psycopg", ""),
    }


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Files to write, as (name, text), and commands, as ("$ …", what they say)."""
    for kind, body in BLOCK.findall(page):
        if kind == "toml":
            yield body.partition("\n")[0].removeprefix("# "), body
        else:
            yield from ((f"$ {command}", said) for command, said in COMMAND.findall(body))


def pattern(said: str) -> str:
    """What the page shows as a pattern: a line "…" stands for any lines, in a line it stands for any text."""
    lines = (
        "(?:.*\n)*?" if line.strip() == "…" else f"{'.*'.join(map(re.escape, line.split('…')))}\n"
        for line in said.splitlines()
    )
    return "".join(lines)


def run(command: str, directory: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command.replace('load.py "$SERVING_URL"', f'load.py "$SERVING_URL" --now {NOW}')],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    said, stopped = STOPPED.subn("", PROGRESS.sub("", done.stdout))
    return WARNINGS.sub(lambda found: f"{int(found[1]) - stopped} warnings", said)


@pytest.mark.slow
def test_every_command_says_what_the_page_shows(directory: Path, environment: dict[str, str]) -> None:
    for name, text in steps(BEFORE):
        if not name.startswith("$ "):
            (directory / name).write_text(text, encoding="utf-8")
            continue
        found = run(name.removeprefix("$ "), directory, environment)
        assert re.fullmatch(pattern(text), found), f"{name}\n{found}"
    served(directory, environment)


def served(directory: Path, environment: dict[str, str]) -> None:
    """The daemon, started when the page's was, runs the cycles and serves the figures that the page shows."""
    said = {command.partition("|")[0].split()[-1]: (command, text) for command, text in steps(DAEMON)}
    config, port = directory / "config.toml", free_port()
    more = f'[http]\nport = {port}\n[log]\nformat = "json"\n'
    config.write_text(f"{config.read_text(encoding='utf-8')}\n{more}", encoding="utf-8")
    command = ["env", f"SERVING_URL={environment['SERVING_URL']}", sys.executable, "-c", AT_THAT_TIME]
    running = Process([*command, str(directory), STARTED, "run"], port, directory / "run.log")
    try:
        running.started()
        shown = [
            dict(field.split("=", 1) for field in line.split()) for line in LINE.findall(said["run.log"][1])
        ]
        cycles = sum("panes" in line for line in shown)
        running.wait(lambda: len(running.logged("cycle")) == cycles, "all cycles of the page")
        found = [*running.logged("cycle"), *running.logged("running missed ticks")]
        assert told(found) == told(shown)
        command_of_figures, figures = said[METRICS]
        (wanted,) = re.findall("grep -E '(.*)'", command_of_figures)
        page = "".join(f"{line}\n" for line in running.page().splitlines() if re.search(wanted, line))
        assert values(page) == pytest.approx(values(figures), rel=1e-9)
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").text.strip() == said[HEALTH][1].strip()
        assert running.stop(signal.SIGTERM)[0] == 0
    finally:
        running.kill()


def told(lines: Iterable[Mapping[str, object]]) -> list[list[str]]:
    """What lines say of cycles, but how long they took, in any order of the models."""
    return sorted([str(line.get(name)) for name in TOLD] for line in lines)


def values(lines: str) -> dict[str, float]:
    """Value of each series."""
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines.splitlines())}
