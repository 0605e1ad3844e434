"""Sixteen days of one log that three models read: of two classes, of three, and of numbers."""

from pathlib import Path
from typing import Any

import numpy as np
from serving import Bench, bench_in

from monitor.core.clock import DAY, HOUR, MINUTE, floor_to, to_iso
from monitor.store.store_database import migrate_store

NAMES = ("ant", "bee", "cat")
TYPES = {"score": "REAL", "pred": "TEXT", "other": "REAL", "version": "TEXT", "arm": "TEXT", "region": "TEXT"}
TYPES |= {"amount": "REAL", "p_ant": "REAL", "p_bee": "REAL", "p_cat": "REAL"}
TYPES |= {"animal": "TEXT", "other_animal": "TEXT", "spend": "REAL"}
ACTUAL = {"late": "INTEGER", "seen": "TEXT", "spent": "REAL"}
TIMES = {"id": "TEXT", "event_time": "TEXT", "logged_at": "TEXT"}
MODEL = """
[[models]]
name = "{name}"
source = "log"
task = "{task}"
every = "1h"
windows = [{{ length = "1d", step = "6h" }}]
horizon = "20d"
settle_after = "6h"
pane = "6h"
resamples = 20
segments = ["region"]
reference = {{ table = "reference" }}
features = {{ numeric = ["amount"], categorical = ["region"] }}
control = {{ arm_column = "arm", control_value = "0", treatment_value = "1", control_share = 0.3 }}
reading = {{ ready_after = "0s" }}
predictions = {{ table = "predictions", id = "id", event_time = "event_time", logged_at = "logged_at", \
version = "version", {outputs} }}
labels = {{ table = "labels", id = "id", label = "{label}", reported_at = "reported_at" }}
{more}
"""
MODELS = (
    MODEL.format(
        name="flight",
        task="binary",
        outputs='score = "score", threshold = 0.5',
        label="late",
        more='challenger = { score = "other", threshold = 0.5 }\n'
        'profit = { matrix = { "1" = { "1" = 9, "0" = 0 }, "0" = { "1" = -3, "0" = 0 } } }',
    ),
    MODEL.format(
        name="animal",
        task="multiclass",
        outputs='prediction = "animal", probabilities = { ant = "p_ant", bee = "p_bee", cat = "p_cat" }',
        label="seen",
        more='challenger = { prediction = "other_animal" }\nprofit = { matrix = '
        "{ ant = { ant = 1, bee = 0, cat = 0 }, bee = { ant = 0, bee = 1, cat = 0 }, "
        "cat = { ant = 0, bee = 0, cat = 1 } } }",
    ),
    MODEL.format(
        name="basket",
        task="regression",
        outputs='prediction = "spend"',
        label="spent",
        more="default_alerts = true\n"
        'alerts = [{ name = "busy", measure = "records", window = "1d", above = 1.0 }]',
    ),
)


def outputs(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """What was predicted, fed and, later, found out: the scores tell the labels' probabilities."""
    score = rng.uniform(size=count).round(4)
    actual = rng.choice(3, count, p=[0.5, 0.3, 0.2])
    odds = np.exp(rng.normal(size=(count, 3)) + 1.5 * (np.arange(3) == actual[:, None]))
    shares = np.round(odds / odds.sum(axis=1, keepdims=True), 5)
    amount = rng.normal(100, 20, count).round(2)
    arms = np.where(rng.uniform(size=count) < 0.3, "0", "1")
    columns: dict[str, list[Any]] = {
        "score": score.tolist(),
        "pred": np.where(score >= 0.5, "1", "0").tolist(),
        "other": np.clip(score + rng.normal(0, 0.1, count), 0, 1).round(4).tolist(),
        "version": rng.choice(["a-1", "a-2"], count).tolist(),
        "arm": arms.tolist(),
        "region": rng.choice(["north", "south"], count).tolist(),
        "amount": amount.tolist(),
        **{f"p_{name}": shares[:, at].tolist() for at, name in enumerate(NAMES)},
        "animal": [NAMES[at] for at in shares.argmax(axis=1)],
        "other_animal": [NAMES[at] for at in (odds * rng.uniform(0.5, 1.5, odds.shape)).argmax(axis=1)],
        "spend": (amount / 2).round(2).tolist(),
        "late": (rng.uniform(size=count) < score).astype(int).tolist(),
        "seen": [NAMES[at] for at in actual],
        "spent": (amount / 2 + rng.normal(0, 5, count)).round(2).tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def fleet(directory: Path, now: int, port: int) -> Bench:
    """The log up to a moment, a reference with labels, and the configuration of the three models."""
    bench = bench_in(directory)
    database, rng = bench.database, np.random.default_rng(3)
    database.create("predictions", **TIMES, **TYPES)
    database.create("labels", id="TEXT", reported_at="TEXT", **ACTUAL)
    database.create("reference", **TYPES, **ACTUAL)
    times = range(floor_to(now, HOUR) - 16 * DAY, now, 10 * MINUTE)
    rows = outputs(rng, len(times))
    database.insert("reference", outputs(rng, 1_000))
    database.insert(
        "predictions",
        [
            {"id": str(at), "event_time": to_iso(at), "logged_at": to_iso(at)}
            | {name: row[name] for name in TYPES}
            for at, row in zip(times, rows, strict=True)
        ],
    )
    database.insert(
        "labels",
        [
            {"id": str(at), "reported_at": to_iso(at + HOUR)} | {name: row[name] for name in ACTUAL}
            for at, row in zip(times, rows, strict=True)
        ],
    )
    bench.configure(*MODELS)
    config = directory / "config.toml"
    text = f'[http]\nport = {port}\n[log]\nformat = "json"\n' + config.read_text(encoding="utf-8")
    config.write_text(text, encoding="utf-8")
    migrate_store(bench.store_url)
    return bench
