"""Labels of a number in a wrong unit are a fault of the labels: some, not all, and surely far."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from synthetic import READING, START

from monitor.core.clock import DAY
from monitor.evidence.day_values import day_values
from monitor.evidence.watch import SubjectGroup, make_watch
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.records.reference import reference_of
from monitor.states.strata import Strata
from monitor.windows.strata_folding import fold_strata

READ = replace(READING, task=ModelTask.REGRESSION, classes=(), has_score=False, threshold=None, pane=DAY)
RNG = np.random.default_rng(5)
REFERENCE = pa.table({"prediction": RNG.normal(10.0, 2.0, 900), "label": RNG.normal(10.0, 2.0, 900)})
COUNTING = reference_of(REFERENCE, READ).counting


def labelled(days: int, factor: float = 1.0, share: float = 0.0, without: int = 0) -> Strata:
    """Labels of some days of 500 records, a share of them times a factor; some have no prediction."""
    n = 500 * days
    at = START + np.repeat(np.arange(days), 500) * DAY
    label = RNG.normal(10.0, 2.0, n) * np.where(np.arange(n) % 500 < share * 500, factor, 1.0)
    prediction = pa.array(RNG.normal(10.0, 2.0, n), mask=np.arange(n) < without)
    table = pa.table(
        {
            "id": pa.array([str(one) for one in range(n)]),
            "event_time": at,
            "reported_at": at + 60_000_000,
            "revision": np.zeros(n, dtype=np.int64),
            "prediction": prediction,
            "label": label,
        }
    )
    chunks = {name: pa.chunked_array([table[name].combine_chunks()]) for name in table.column_names}
    panes = START + np.arange(days) * DAY
    parts = count_labels(pa.table(chunks), COUNTING, panes=panes, as_of=START + 30 * DAY)
    return fold_strata(COUNTING.layout_of(PaneHalf.LABELS), (part.strata for part in parts))


@pytest.mark.parametrize(
    ("factor", "share", "without", "expected"),
    [(1000.0, 0.02, 0, 10), (1.0, 0.0, 0, 0), (1.3, 0.02, 0, 0), (1000.0, 0.02, 20, 0)],
    ids=["a wrong unit", "as ever", "merely large", "not each has a prediction: not known"],
)
def test_labels_far_beyond_the_reference_are_counted(
    factor: float, share: float, without: int, expected: int
) -> None:
    watch = make_watch(COUNTING, PaneHalf.LABELS, labelled(14))
    at = next(
        at
        for at, fault in enumerate(watch.faults)
        if fault.name == "beyond" and watch.groups[fault.subject] is SubjectGroup.LABEL
    )

    day = day_values(watch, COUNTING, labelled(1, factor, share, without), 20_000)

    # Those that are merely beyond the outermost edge are counted with them.
    assert expected <= day.hits[at] <= 2 * expected
    assert day.trials[at] == 500
