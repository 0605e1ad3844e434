"""Labels: how many have come, how late, and what was odd about them."""

from collections.abc import Iterator

import numpy as np

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Ints
from monitor.measures.options import Result
from monitor.measures.statistics.intervals import rate
from monitor.records.counting import TALLY
from monitor.states.views import DelayTable

TALLY_MEASURES = {
    "labelled": "labelled_records",
    "corrections": "corrected_labels",
    "retracted": "retracted_labels",
    "invalid": "invalid_labels",
    "stale": "stale_labels",
    "early": "early_labels",
}
SHARES = {"label_delay_median": 0.5, "label_delay_p90": 0.9, "label_delay_p99": 0.99}


def label_delay(delays: DelayTable, share: float) -> Measurement:
    """Seconds within which a share of the reported labels came.

    The upper edge of the cell that holds the order statistic of rank ⌈share · n⌉; the exact value lies below
    it by at most the resolution, the cell's width (1 %). Delays below 1 s, early labels among them, give 1 s.

    Returns
    -------
    Measurement
        or ``no_labels``; ``out_of_range`` in the open last cell (beyond 20 years).
    """
    n = int(delays.counts.sum())
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    cell = int(np.searchsorted(np.cumsum(delays.counts), share * n))
    if cell == len(delays.edges):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    lower = delays.edges[cell - 1] if cell else 0.0
    return Measurement(value=delays.edges[cell], n=n, resolution=delays.edges[cell] - lower)


def results(tally: Ints, delays: DelayTable | None, level: float) -> Iterator[Result]:
    """All measures of the labels.

    Parameters
    ----------
    delays
        None: of versions, segments and arms, whose delays are not counted.
    """
    counted = dict(zip(TALLY, tally.tolist(), strict=True))
    records, labelled = counted["records"], counted["labelled"]
    yield Result("coverage", "", rate(labelled, records, level, Reason.NO_RECORDS))
    for name, measure in TALLY_MEASURES.items():
        yield Result(measure, "", Measurement(value=float(counted[name]), n=records))
    invalid = counted["invalid"]
    yield Result("invalid_label_rate", "", rate(invalid, labelled + invalid, level, Reason.NO_LABELS))
    if delays is None:
        return
    for measure, share in SHARES.items():
        delay = label_delay(delays, share)
        if delay.reason is Reason.NO_LABELS and labelled:
            delay = Measurement.absent(Reason.NOT_COUNTED, n=labelled)
        yield Result(measure, "", delay)
