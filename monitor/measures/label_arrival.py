"""Labels: how many have come, how late, and what was odd about them."""

from collections.abc import Iterator, Sequence

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import rate_measurement, wilson_interval
from monitor.measures.statistics.label_delays import delay_quantile
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
_PAIR = 2
_SURELY, _TIMES = 0.999, 2.0  # level of the intervals, and how much more often labels come for some classes
SHARES = {"label_delay_median": 0.5, "label_delay_p90": 0.9, "label_delay_p99": 0.99}


def class_coverage(
    classes: Sequence[str], predicted: Ints, level: float, only_for: Sequence[str] = ()
) -> Iterator[MeasureResult]:
    """Coverage of the records that were predicted as each class, subject `class:NAME`.

    Parameters
    ----------
    predicted
        int64, shape (2, classes and more): records without and with a label, by predicted class.
    only_for
        classes of which records are counted at all; empty: all.
    """
    for name, (without, labelled) in zip(classes, predicted.T.tolist(), strict=False):
        if name in only_for or not only_for:
            covered = rate_measurement(labelled, without + labelled, level, Reason.NO_RECORDS)
            yield MeasureResult("coverage", f"class:{name}", covered)


def preferred_classes(classes: Sequence[str], predicted: Ints) -> tuple[str, ...]:
    """Predicted classes that labels come for, where they surely come less than half as often for another.

    Classes are told apart by intervals of their coverage (Wilson, level 0.999): the highest lower bound is at
    least twice the lowest upper one. Preferred is a class that is covered at least half as well as the best.
    Of records that are old enough, since labels of one class may come later than those of another.

    Parameters
    ----------
    predicted
        as in `class_coverage`.

    Returns
    -------
    classes
        empty where nothing is surely preferred.

    >>> preferred_classes(("no", "yes"), np.asarray([[10, 480], [740, 20]]))
    ('no',)
    >>> preferred_classes(("no", "yes"), np.asarray([[110, 130], [640, 370]]))
    ()
    """
    n = predicted[:, : len(classes)].sum(axis=0)
    share = np.divide(predicted[1, : len(classes)], n, out=np.full(len(n), np.nan), where=n > 0)
    there = np.flatnonzero(n)
    # By the shares alone first: nearly always they are near enough, and no interval is needed.
    if len(there) < _PAIR or share[there].max() < _TIMES * share[there].min():
        return ()
    bounds = [wilson_interval(int(predicted[1, at]), int(n[at]), _SURELY) for at in there]
    if max(one.lower for one in bounds) < _TIMES * min(one.upper for one in bounds):
        return ()
    return tuple(classes[at] for at in there.tolist() if _TIMES * share[at] >= share[there].max())


def label_results(tally: Ints, delays: DelayTable | None, level: float) -> Iterator[MeasureResult]:
    """All measures of the labels.

    `delays`: None: of versions, segments and arms, whose delays are not counted.
    """
    counted = dict(zip(TALLY, tally.tolist(), strict=True))
    records, labelled = counted["records"], counted["labelled"]
    yield MeasureResult("coverage", "", rate_measurement(labelled, records, level, Reason.NO_RECORDS))
    for name, measure in TALLY_MEASURES.items():
        yield MeasureResult(measure, "", Measurement(value=float(counted[name]), n=records))
    invalid = counted["invalid"]
    yield MeasureResult(
        "invalid_label_rate", "", rate_measurement(invalid, labelled + invalid, level, Reason.NO_LABELS)
    )
    if delays is None:
        return
    for measure, share in SHARES.items():
        delay = delay_quantile(delays, share, Reason.NO_LABELS)
        if delay.reason is Reason.NO_LABELS and labelled:
            delay = Measurement.without_value(Reason.NOT_COUNTED, n=labelled)
        yield MeasureResult(measure, "", delay)
