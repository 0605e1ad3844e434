"""Quality: missing, invalid and unseen values."""

from collections.abc import Iterator

from monitor.core.measurement import LEVEL, Reason
from monitor.measures.options import Result
from monitor.measures.statistics.intervals import rate
from monitor.states.grids import CategoryGrid
from monitor.states.views import Histogram


def results(subject: str, histogram: Histogram, absent: Reason, level: float = LEVEL) -> Iterator[Result]:
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
