"""Which segment holds a change of the number of records, told by days that lie together."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from synthetic import READING, START, predictions_of, reference_rows

from monitor.core.change import SegmentShare
from monitor.core.clock import DAY
from monitor.evidence.segment_attribution import ChangeCounts, find_holding_segment
from monitor.evidence.watch import DailyStatistic, make_watch
from monitor.records.count_records import count_records
from monitor.records.counting import number_grid
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.records.reference import reference_of
from monitor.states.strata import Strata
from monitor.windows.strata_folding import fold_strata

SHOPS = pa.array(300 * ["north", "south"])
COUNTING = reference_of(
    reference_rows().append_column("segment:shop", SHOPS), replace(READING, segments=("shop",), pane=DAY)
).counting


def counted(days: int, *, north: int, south: int) -> Strata:
    """Counters of some days, each with so many records of two shops."""
    shop = days * (north * ["north"] + south * ["south"])
    day = np.repeat(np.arange(days), north + south)
    table = predictions_of(START + day * DAY).append_column("segment:shop", pa.array(shop, pa.string()))
    panes = START + np.arange(days) * DAY
    parts = count_records(table, COUNTING, panes=panes, as_of=START + 30 * DAY)
    return fold_strata(COUNTING.layout_of(PaneHalf.RECORDS), (part.strata for part in parts))


BEFORE = counted(7, north=40, south=60)


@pytest.mark.parametrize("days", [1, 3, 14])
@pytest.mark.parametrize(
    ("north", "south", "sign", "held"),
    [
        (0, 60, -1.0, SegmentShare("shop=north", 1.0, 0.4)),
        (140, 60, 1.0, SegmentShare("shop=north", 1.0, 0.7)),
        (20, 30, -1.0, SegmentShare()),
    ],
)
def test_records_of_a_segment_that_come_no_more_or_more_often_are_its_change_alone(
    days: int, north: int, south: int, sign: float, held: SegmentShare
) -> None:
    watch = make_watch(COUNTING, PaneHalf.RECORDS, BEFORE)
    by = next(at for at, one in enumerate(watch.series) if one.statistic is DailyStatistic.RECORDS)

    found = find_holding_segment(
        watch, COUNTING, ChangeCounts(by, sign, counted(days, north=north, south=south), BEFORE, days, 7)
    )

    assert found == held


def test_of_performance_the_share_of_a_segment_is_that_of_its_labels() -> None:
    """A residual has an n of its own, that of its variance: where scores are sure it is another."""

    def labelled(days: int, *, wrong: bool) -> Strata:
        at = START + np.repeat(np.arange(days), 100) * DAY
        south = np.tile(np.arange(100) < 20, days)
        shop = pa.array(np.where(south, "south", "north").tolist(), pa.string())
        score = np.where(south, 0.5, np.where(np.arange(len(at)) % 2 == 0, 0.95, 0.05))
        true = np.where(south & wrong, 0, np.where(score > 0.3, 1, 0))
        score = np.where(south & wrong, 0.9, score)
        table = predictions_of(at).append_column("segment:shop", shop)
        columns = {
            "score": score,
            "reported_at": at + 60_000_000,
            "revision": np.zeros(len(at)),
            "label": true.astype(str),
        }
        for name, values in columns.items():
            if name in table.column_names:
                table = table.drop_columns([name])
            table = table.append_column(name, pa.array(values))
        panes = START + np.arange(days) * DAY
        parts = count_labels(table, COUNTING, panes=panes, as_of=START + 30 * DAY)
        return fold_strata(COUNTING.layout_of(PaneHalf.LABELS), (part.strata for part in parts))

    before, now = labelled(7, wrong=False), labelled(1, wrong=True)
    watch = make_watch(COUNTING, PaneHalf.LABELS, before)
    by = next(at for at, one in enumerate(watch.series) if one.statistic is DailyStatistic.RESIDUAL_LEVEL)

    found = find_holding_segment(watch, COUNTING, ChangeCounts(by, -1.0, now, before, 1, 7))

    assert found is not None
    assert (found.name, found.of_records) == ("shop=south", 0.2)


@pytest.mark.parametrize("factor", [2.0, 30.0])
def test_of_an_error_of_numbers_a_segment_adds_its_squares(factor: float) -> None:
    """Logarithms of errors do not add up: a fifth whose error is ×30 would hold a quarter."""
    reading = replace(
        READING,
        task=ModelTask.REGRESSION,
        classes=(),
        has_score=False,
        threshold=None,
        segments=("shop",),
        pane=DAY,
    )
    rng = np.random.default_rng(3)
    rows = pa.table(
        {
            "prediction": rng.normal(size=600),
            "label": rng.normal(size=600),
            "segment:shop": SHOPS,
        }
    )
    # Without a reference predictions have no cells, and their errors are all that is followed.
    counting = replace(reference_of(rows, reading).counting, prediction=number_grid(None))

    def labelled(days: int, times: float) -> Strata:
        at = START + np.repeat(np.arange(days), 100) * DAY
        south = np.tile(np.arange(100) < 20, days)
        error = np.tile(np.where(np.arange(100) % 2 == 0, 1.0, -1.0), days) * np.where(south, times, 1.0)
        table = pa.table(
            {
                "id": pa.array([str(one) for one in range(len(at))]),
                "event_time": at,
                "reported_at": at + 60_000_000,
                "revision": np.zeros(len(at), dtype=np.int64),
                "prediction": error,
                "label": np.zeros(len(at)),
                "segment:shop": pa.array(np.where(south, "south", "north").tolist(), pa.string()),
            }
        )
        chunks = {name: pa.chunked_array([table[name].combine_chunks()]) for name in table.column_names}
        panes = START + np.arange(days) * DAY
        parts = count_labels(pa.table(chunks), counting, panes=panes, as_of=START + 30 * DAY)
        return fold_strata(counting.layout_of(PaneHalf.LABELS), (part.strata for part in parts))

    before, now = labelled(7, 1.0), labelled(1, factor)
    watch = make_watch(counting, PaneHalf.LABELS, before)
    by = next(at for at, one in enumerate(watch.series) if one.statistic is DailyStatistic.RMSE)

    found = find_holding_segment(watch, counting, ChangeCounts(by, 1.0, now, before, 1, 7))

    assert found is not None
    assert found.name == "shop=south"
    assert found.of_change == pytest.approx(1.0)
    assert found.of_records == 0.2
