"""Logs whose truth comes late, for tests of crashes: rows seen late, labels corrected or retracted."""

from collections.abc import Sequence

import numpy as np
from serving import Database, Row, create_tables, labels, predictions

from monitor.core.clock import SECOND, from_iso, to_iso

OPTIONS = """
every = "{every}"
pane = "{pane}"
windows = [{{ length = "1d", step = "{step}" }}, {{ length = "6h", step = "{step}" }}]
horizon = "{horizon}"
settle_after = "{settle_after}"
segments = ["group"]
resamples = 20
against = ["previous"]
reading = {{ overlap = "{overlap}", tolerance = "5s", ready_after = "0s" }}
"""


def late_predictions(count: int, start: int, end: int, *, longest: int) -> list[Row]:
    """Predictions, each tenth logged late, by at most `longest`."""
    rng = np.random.default_rng(3)
    rows = predictions(count, start, end)
    for row, luck in zip(rows, rng.uniform(size=count).tolist(), strict=True):
        if luck < 0.1:
            row["logged_at"] = _later(row["event_time"], int(luck * 10 * longest))
    return rows


def late_labels(rows: Sequence[Row], *, typical: int) -> list[Row]:
    """Labels after a log-normal delay around `typical`; a twentieth is corrected, some are retracted."""
    rng = np.random.default_rng(5)
    known = labels(rows, end=from_iso("2100-01-01"))
    delays = (typical * rng.lognormal(0, 0.7, size=len(known))).astype(np.int64)
    for label, row, delay in zip(known, rows, delays.tolist(), strict=True):
        label["reported_at"] = _later(row["event_time"], delay)
    wrong = rng.choice(len(known), size=len(known) // 20, replace=False).tolist()
    again = [
        known[at]
        | {"late": None if at % 5 == 0 else 1 - known[at]["late"]}
        | {"reported_at": _later(known[at]["reported_at"], typical)}
        for at in wrong
    ]
    return known + again


def fill(database: Database, rows: list[Row], *, typical: int) -> None:
    """Write the log, all of it: what comes after a cycle's as of is not visible to it."""
    create_tables(database)
    database.insert("predictions", rows)
    database.insert("labels", late_labels(rows, typical=typical))


def _later(time: str, by: int) -> str:
    return to_iso((from_iso(time) + by) // SECOND * SECOND)
