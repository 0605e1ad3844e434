"""A model of three classes that logs a probability each: from the tables to what is shown."""

from pathlib import Path

import numpy as np
import pytest
from serving import Bench, Database
from sklearn import metrics

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import MINUTE, from_iso, to_iso
from monitor.measures.measurement_row import LabelTruth

START, END = from_iso("2024-03-01"), from_iso("2024-03-02")
NAMES = ("ant", "bee", "cat")
MODEL = """
[[models]]
name = "animal"
source = "log"
task = "multiclass"
windows = ["1d"]
every = "1d"
settle_after = "1d"
resamples = 20
reading = { ready_after = "0s" }

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
probabilities = { ant = "p_ant", bee = "p_bee", cat = "p_cat" }

[models.labels]
label = "animal"
"""


@pytest.fixture
def log() -> tuple[Ints, Floats]:
    """Actual classes, and probabilities with four decimals."""
    rng = np.random.default_rng(5)
    actual = rng.choice(3, 1000, p=[0.6, 0.3, 0.1])
    odds = np.exp(rng.normal(size=(1000, 3)) + 2 * (np.arange(3) == actual[:, None]))
    return actual, np.round(odds / odds.sum(axis=1, keepdims=True), 4)


def loaded(directory: Path, actual: Ints, given: Floats) -> Bench:
    """A bench with the rows in one table, and four that are not to be used."""
    bench = Bench(
        directory, Database(f"sqlite:///{directory / 'log.db'}"), f"sqlite:///{directory / 'monitor.db'}"
    )
    columns = {"p_ant": "REAL", "p_bee": "REAL", "p_cat": "REAL"}
    bench.database.create("predictions", id="TEXT", event_time="TEXT", **columns, animal="TEXT")
    good = [(*row, NAMES[at]) for row, at in zip(given.tolist(), actual.tolist(), strict=True)]
    bad = [(0.5, 0.5, None, "ant"), (1.5, -0.5, 0.0, "ant"), (0.5, 0.5, 0.5, "ant"), (0.2, 0.3, 0.5, "dog")]
    rows = [
        {"id": str(at), "event_time": to_iso(START + at * MINUTE), **dict(zip(columns, row[:3], strict=True))}
        | {"animal": row[3]}
        for at, row in enumerate([*good, *bad])
    ]
    bench.database.insert("predictions", rows)
    bench.configure(MODEL)
    return bench


def test_probabilities_of_three_classes_are_measured(tmp_path: Path, log: tuple[Ints, Floats]) -> None:
    actual, given = log

    cycled = loaded(tmp_path, actual, given).cycle(END)

    assert cycled.error is None
    found = {
        (measure, subject): measurement
        for (_, _, measure, subject, truth), measurement in cycled.measured.items()
        if truth is not LabelTruth.NONE
    }
    for average in ("macro", "weighted"):
        one = found[f"roc_auc_{average}", ""]
        expected = metrics.roc_auc_score(
            actual, given / given.sum(1)[:, None], multi_class="ovr", average=average
        )
        assert one.value == pytest.approx(expected, abs=one.resolution + 1e-4)
        assert one.interval is not None
    for at, name in enumerate(NAMES):
        one = found["roc_auc", f"class:{name}"]
        assert one.value == pytest.approx(
            metrics.roc_auc_score(actual == at, given[:, at]), abs=one.resolution
        )
    right = given[np.arange(1000), actual]
    brier = ((given - np.eye(3)[actual]) ** 2).sum(axis=1).mean()
    assert found["log_loss", ""].value == pytest.approx(-np.log(right).mean(), abs=1e-9)
    assert found["brier_score", ""].value == pytest.approx(brier, abs=1e-9)
    assert (found["unusable_probabilities", ""].value, found["unusable_probabilities", ""].n) == (4, 1004)
    assert found["accuracy", ""].n == 1002  # the most probable class needs valid probabilities alone
