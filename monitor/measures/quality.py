"""Quality: missing, invalid and unseen values, and what was odd about the rows."""

from collections.abc import Iterator

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Ints
from monitor.measures.options import Result
from monitor.measures.statistics.intervals import rate
from monitor.records.counting import VOLUME
from monitor.states.grids import CategoryGrid
from monitor.states.views import Histogram

VOLUME_MEASURES = {
    "records": "records",
    "duplicates": "duplicate_records",
    "stale": "stale_records",
    "adjusted_times": "adjusted_times",
    "no_logged_at": "unlogged_records",
}


def results(subject: str, histogram: Histogram, absent: Reason, level: float = 0.95) -> Iterator[Result]:
    """Rates of one output or feature, with Wilson's interval; numbers cannot be unseen.

    Parameters
    ----------
    absent
        reason where the subject has no record.
    """
    counts = {"missing_rate": histogram.missing, "invalid_rate": histogram.invalid}
    if isinstance(histogram.grid, CategoryGrid):
        counts["unseen_rate"] = histogram.unseen
    n = histogram.n
    for name, count in counts.items():
        yield Result(name, subject, rate(count, n, level, absent))


def volume_results(volume: Ints, unusual_names: int | None) -> Iterator[Result]:
    """Count rows: zeros are measurements, a window without records has them too.

    Parameters
    ----------
    unusual_names
        None: of versions, segments and arms, for which they are not counted.
    """
    counted = dict(zip(VOLUME, volume.tolist(), strict=True))
    figures = {measure: counted[name] for name, measure in VOLUME_MEASURES.items()}
    if unusual_names is not None:
        figures["unusual_names"] = unusual_names
    for measure, count in figures.items():
        yield Result(measure, "", Measurement(value=float(count), n=counted["records"]))
