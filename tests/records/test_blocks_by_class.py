"""Blocks that say which records get labels, how late, and with what losses: against plain Python."""

from collections import Counter
from math import log

import numpy as np
import pytest
from strategies import AS_OF, FIRST, PANES, Row, counting_of, record, table_of

from monitor.core.array_types import Floats
from monitor.core.clock import HOUR, SECOND
from monitor.records.count_records import count_records
from monitor.records.counting import DELAY_EDGES, DELAY_SUMS, LOSSES
from monitor.records.labels.count_labels import count_labels
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.states.views import ExactSums

COLUMNS = ["id", "event_time", "logged_at", "version", "arm", "score", "prediction"]
BINARY = counting_of("threshold")
RNG = np.random.default_rng(5)
ROWS = [
    record(
        f"{at}",
        FIRST + at,
        logged_at=None if at % 7 == 0 else FIRST + at + int(RNG.integers(0, 3 * HOUR)),
        score=f"{RNG.random():.3f}",
        label=str(at % 3) if at % 3 < 2 else None,
        reported_at=FIRST + int(RNG.integers(at, HOUR)) if at % 3 < 2 else None,
    )
    for at in range(60)
]


def labels_of(rows: list[Row]) -> Counters:
    table = table_of(rows, [*(name for name in COLUMNS if name != "prediction"), "label", "reported_at"])
    return count_labels(table, BINARY, panes=PANES[:1], as_of=AS_OF)[0].strata[WHOLE]


def test_records_are_counted_by_predicted_class_with_and_without_a_label() -> None:
    rows = [*ROWS, record("none", score=None, label="1", reported_at=FIRST)]

    found = BINARY.predicted_counts(labels_of(rows))

    positive = [row["score"] is not None and float(row["score"]) >= 0.3 for row in rows]
    expected = Counter(
        (row["label"] is not None, 3 if row["score"] is None else int(up))
        for row, up in zip(rows, positive, strict=True)
    )
    assert {place: count for place, count in np.ndenumerate(found) if count} == expected


def test_losses_of_the_classes_are_those_of_their_records_and_add_up() -> None:
    counters = labels_of(ROWS)

    block = counters.dense_block("losses").reshape(4, len(LOSSES), 2)
    by_class = [ExactSums(block[:, :, at], LOSSES, (1.0,) * len(LOSSES)) for at in (0, 1)]
    together = BINARY.losses_view(counters)

    for actual, losses in enumerate(by_class):
        scores = [float(row["score"]) for row in ROWS if row["label"] == str(actual)]
        assert losses.count_of("brier") == len(scores) > 0
        assert float(losses.exact_total("brier")) == pytest.approx(sum((p - actual) ** 2 for p in scores))
        right = [p if actual else 1 - p for p in scores]
        assert float(losses.exact_total("log_loss")) == pytest.approx(sum(-log(p) for p in right))
    for term in LOSSES:
        assert sum(losses.exact_total(term) for losses in by_class) == together.exact_total(term)


def test_delays_are_summed_with_the_ranks_of_the_scores_by_class() -> None:
    found = BINARY.delay_sums_view(labels_of(ROWS).dense_block("delay_sums"))

    assert BINARY.score is not None
    for actual, sums in enumerate(found):
        rows = [row for row in ROWS if row["label"] == str(actual)]
        delay = np.log([max((row["reported_at"] - row["event_time"]) / SECOND, 1.0) for row in rows])
        scores: Floats = np.asarray([float(row["score"]) for row in rows])
        rank = BINARY.score.value_cells(scores, np.zeros(len(rows), dtype=bool)) / BINARY.score.regular_size
        terms = delay, delay**2, rank, rank**2, delay * rank
        for name, term in zip(DELAY_SUMS, terms, strict=True):
            assert float(sums.exact_total(name)) == pytest.approx(term.sum()), name


def test_times_from_event_to_log_are_counted_of_the_winning_rows_that_say_when() -> None:
    first, again = record("x", logged_at=FIRST + 5 * SECOND), record("x", logged_at=FIRST + 900 * SECOND)
    rows = [*ROWS, again, first]

    part = count_records(table_of(rows, COLUMNS), BINARY, panes=PANES[:1], as_of=FIRST + 4 * HOUR)[0]

    winners = [row for row in [*ROWS, first] if row["logged_at"] is not None]
    delays = [(row["logged_at"] - row["event_time"]) / SECOND for row in winners]
    expected = Counter(np.searchsorted(DELAY_EDGES, delays, side="right").tolist())
    counts = BINARY.log_delays_view(part.strata[WHOLE]).counts
    assert {cell: count for cell, count in enumerate(counts.tolist()) if count} == expected
