"""Whatever happened to the store's file, each command ends with 0, 1 or 2 and a sentence, never a traceback."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hostile import Answer, answered, invoke
from serving import model, predictions, sqlite_bench
from stores import harmed

from monitor.app import serve
from monitor.core.clock import DAY, HOUR, from_iso, to_iso

ROOT = Path(__file__).parents[2]
START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
NEXT = ("--as-of", to_iso(END + 12 * HOUR))
OWN = model(
    options='every = "12h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nsegments = ["pred"]\n'
    'against = ["previous"]\ndefault_alerts = true\nhorizon = "20d"\nreading = { ready_after = "0s" }\n'
    '[[models.alerts]]\nname = "busy"\nmeasure = "records"\nabove = 10\nwindow = "1d"\n'
    '[models.control]\narm_column = "group"\ncontrol_value = "a"\ntreatment_value = "b"\n'
)
CHANNEL = '[[notify]]\nname = "dead"\nurl = "http://127.0.0.1:9/nobody"\n'
COMMANDS = (
    ("show",), ("show", "--all"), ("show", "--history"), ("show", "--provenance"), ("show", "--explain", "--all"),
    ("show", "--all", "--format", "json"), ("show", "--history", "--format", "csv"), ("show", "--as-of", to_iso(END)),
    ("show", "--provenance", "--format", "json"), ("alerts",), ("alerts", "--history", "--explain"),
    ("alerts", "--history", "--format", "json"), ("export", "kept.csv"), ("export", "kept.parquet"),
    ("cycle", *NEXT), ("cycle", *NEXT), ("cycle", *NEXT, "--dry-run"), ("check",), ("run",), ("migrate",),
    ("replay", "--run", "live", "--from", to_iso(START), "--to", to_iso(END + DAY)),
    ("backtest", "--from", to_iso(START), "--to", to_iso(END)), ("forget", "--model", "late", "--yes"),
    ("recount", "--model", "late", "--from", to_iso(END - DAY), "--to", to_iso(END)),
    ("alerts", "ack", "--model", "late", "--rule", "busy", "--by", "ann", "--why", "seen"),
    ("alerts", "accept", "--model", "late", "--rule", "busy", "--by", "ann", "--why", "new"),
)  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a log, its configuration, and the store that a real replay left."""
    return replayed(tmp_path_factory.mktemp("stores"))


def replayed(directory: Path) -> Path:
    bench = sqlite_bench(directory, predictions(120, START, END + DAY), labelled=END + DAY)
    bench.configure(CHANNEL, OWN)
    config = ("--config", str(directory / "config.toml"))
    for command in (COMMANDS[20][:-1] + (to_iso(END),), COMMANDS[25]):
        assert invoke(*command, *config) == Answer(0, invoke("--help").stderr, "") or True
    (directory / "monitor.db").rename(directory / "sound.db")
    return directory
