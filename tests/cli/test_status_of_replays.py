"""While a replay runs, other processes say where it is, on either store."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serving import Bench, model, predictions, sqlite_bench
from waiting import wait_for

from monitor.app.model_cycles import replay_model
from monitor.core.clock import DAY, from_iso

START, END = from_iso("2024-03-01"), from_iso("2024-05-01")
OPTIONS = (
    'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nreading = { ready_after = "0s" }'
)
SPAN = ("--from", "2024-03-01", "--to", "2024-05-01")


TRIAL = ("--run", "trial")
STORES = ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow])]


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Two months of two models on one log, the store on either database."""
    other = model(options=OPTIONS).replace('"late"', '"second"')
    bench = sqlite_bench(tmp_path, predictions(600, START, END), model(options=OPTIONS), labelled=END)
    if request.param == "postgresql":
        bench = replace(bench, store_url=request.getfixturevalue("postgres_url"))
    bench.configure('[daemon]\nlease_ttl = "2s"\n', model(options=OPTIONS), other)
    return bench


def told(bench: Bench, *arguments: str) -> dict[str, dict[str, Any]]:
    """What status says of each model."""
    done = bench.monitor("status", "--format", "json", *arguments)
    assert done.exit_code == 0, done.stderr
    return {one["model"]: one for one in json.loads(done.stdout)}


@contextmanager
def replaying(bench: Bench, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """`monitor replay` as a process of its own, ended by us."""
    command = [
        sys.executable,
        "-m",
        "monitor.cli",
        "replay",
        "--config",
        str(bench.config),
        *SPAN,
        *arguments,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("bench", "run"),
    [
        ("sqlite", ()),
        pytest.param("sqlite", TRIAL, marks=pytest.mark.slow),
        pytest.param("postgresql", (), marks=[pytest.mark.postgres, pytest.mark.slow]),
        pytest.param("postgresql", TRIAL, marks=pytest.mark.postgres),
    ],
    indirect=["bench"],
)
def test_status_says_where_a_replay_is_as_long_as_it_runs(bench: Bench, run: tuple[str, ...]) -> None:
    with bench.app():  # its tables are there
        pass
    with replaying(bench, *run) as process:
        wait_for(lambda: told(bench, *run)["late"]["as_of"] is not None, 60)
        said = told(bench, *run)
        assert process.poll() is None

        (first, *_) = said["late"]["because"]
        assert re.fullmatch(r"Replaying: at \d+ (Mar|Apr) 2024( \d\d:00)? of 1 May 2024\.", first)
        assert "replaying" in said["late"]["badges"]
        assert "the replay goes on to 1 May 2024" in " ".join(said["late"]["sections"].get("next", []))
        assert said["second"]["because"] == ["Replaying to 1 May 2024: no cycle of this model has ended yet."]
        everything = json.dumps(said)
        assert "No cycle has" not in everything
        assert "monitor run goes on" not in everything

        past = told(bench, *run, "--as-of", "2024-03-01T01:00:00Z")
        assert "Replaying" not in json.dumps(past)

    wait_for(lambda: "Replaying" not in json.dumps(told(bench, *run)), 20)


@pytest.mark.parametrize("bench", STORES, indirect=True)
def test_a_replay_that_has_ended_is_told_of_no_more(bench: Bench) -> None:
    with bench.app() as app:
        _, reports = replay_model(app, "late", START, START + 2 * DAY)
        assert [report.error for report in reports] == [None] * 48

    assert "Replaying" not in json.dumps(told(bench))
