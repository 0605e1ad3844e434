"""Volume: records, what was odd about their rows, and the same hours of earlier weeks."""

from collections.abc import Iterator, Sequence

import scipy

from monitor.core.array_types import Ints
from monitor.core.measurement import LEVEL, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import score_bounds
from monitor.measures.statistics.label_delays import delay_quantile
from monitor.records.counting import VOLUME
from monitor.states.views import DelayTable

WEEKS = 4  # earlier ones that are looked at
VOLUME_MEASURES = {
    "records": "records",
    "duplicates": "duplicate_records",
    "stale": "stale_records",
    "adjusted_times": "adjusted_times",
    "no_logged_at": "unlogged_records",
}
LOG_DELAYS = {"log_delay_median": 0.5, "log_delay_p90": 0.9}


def volume_results(volume: Ints, unusual_names: int | None) -> Iterator[MeasureResult]:
    """Count rows: zeros are measurements, a window without records has them too.

    `unusual_names`: None: of versions, segments and arms, for which they are not counted.
    """
    counted = dict(zip(VOLUME, volume.tolist(), strict=True))
    figures = {measure: counted[name] for name, measure in VOLUME_MEASURES.items()}
    if unusual_names is not None:
        figures["unusual_names"] = unusual_names
    for measure, count in figures.items():
        yield MeasureResult(measure, "", Measurement(value=float(count), n=counted["records"]))


def measure_log_delays(delays: DelayTable | None, records: int) -> Iterator[MeasureResult]:
    """How long rows take from their event to the log.

    Parameters
    ----------
    delays
        None: no column says when rows were logged, which is `not_counted`.
    records
        of the window.
    """
    absent = Reason.NOT_COUNTED if records else Reason.NO_RECORDS
    for measure, share in LOG_DELAYS.items():
        counted = None if delays is None else delay_quantile(delays, share, absent)
        yield MeasureResult(
            measure, "", Measurement.without_value(absent, n=records) if counted is None else counted
        )


def volume_ratio(current: int, earlier: Sequence[int], level: float = LEVEL) -> Measurement:
    """Records of a window by the mean of the earlier weeks that had any.

    Totals x of the window and w_1, …, w_m of the weeks are taken as quasi-Poisson: variance φ times the mean,
    φ = max(1, s² / mean) of the weeks [1]_. Given their sum, the window's share p = x / (x + Σw) then has φ
    times a binomial's variance, so its score interval is Wilson's with (x + Σw) / φ trials and Student's t of
    m - 1 degrees of freedom; the ratio is m·p / (1 - p).

    Parameters
    ----------
    current
        records of the window.
    earlier
        records of the same hours of earlier weeks, those that were counted.

    Returns
    -------
    Measurement
        `not_counted` without an earlier week, `no_records` where none had a record. One week tells
        nothing of the spread: there is no interval.

    References
    ----------
    .. [1] McCullagh, Nelder (1989). Generalized Linear Models, 2nd ed., sections 4.5 and 6.2.

    >>> ratio = volume_ratio(30, [90, 110, 100, 100])
    >>> ratio.value, ratio.interval.upper < 0.6
    (0.3, True)
    """
    if not earlier:
        return Measurement.without_value(Reason.NOT_COUNTED, n=current)
    busy = [records for records in earlier if records]
    if not busy:
        return Measurement.without_value(Reason.NO_RECORDS, n=current)
    return Measurement(
        value=current * len(busy) / sum(busy), n=current, interval=_volume_interval(current, busy, level)
    )


def _volume_interval(current: int, weeks: list[int], level: float) -> Interval | None:
    m, total = len(weeks), current + sum(weeks)
    if m == 1:
        return None
    mean = sum(weeks) / m
    spread = max(1.0, sum((records - mean) ** 2 for records in weeks) / (m - 1) / mean)
    t = float(scipy.special.stdtrit(m - 1, 0.5 + level / 2))
    low, high = score_bounds(current / total, total / spread, t)
    value = current / mean
    if high >= 1.0:
        return None
    return Interval(min(m * low / (1 - low), value), max(m * high / (1 - high), value), level)
