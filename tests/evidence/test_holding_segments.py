"""Which segment holds a change of the number of records, told by days that lie together."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from synthetic import READING, START, predictions_of, reference_rows

from monitor.core.clock import DAY
from monitor.evidence.making import watch_of
from monitor.evidence.segments import HoldingSegment, held_by
from monitor.evidence.watched import Trait
from monitor.records.count_records import count_records
from monitor.records.pane import Part
from monitor.records.reference import reference_of
from monitor.states.strata import Strata
from monitor.windows.fold import fold

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
    return fold(COUNTING.layout(Part.RECORDS), (part.strata for part in parts))


BEFORE = counted(7, north=40, south=60)


@pytest.mark.parametrize("days", [1, 3, 14])
@pytest.mark.parametrize(
    ("north", "south", "sign", "held"),
    [
        (0, 60, -1.0, HoldingSegment("shop=north", 1.0, 0.4)),
        (140, 60, 1.0, HoldingSegment("shop=north", 1.0, 0.7)),
        (20, 30, -1.0, HoldingSegment()),
    ],
)
def test_records_of_a_segment_that_come_no_more_or_more_often_are_its_change_alone(
    days: int, north: int, south: int, sign: float, held: HoldingSegment
) -> None:
    watch = watch_of(COUNTING, Part.RECORDS, BEFORE)
    by = next(at for at, one in enumerate(watch.series) if one.trait is Trait.RECORDS)

    found = held_by(watch, COUNTING, by, sign, counted(days, north=north, south=south), BEFORE, (days, 7))

    assert found == held
