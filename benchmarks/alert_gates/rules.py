"""Rules that the field watches days by, on the same counters: each day against the first 28.

`p` is that of the Kolmogorov-Smirnov test for numbers and of the χ² test for categories, as of Evidently for
small logs; Jensen and Shannon's distance that of NannyML, and of Evidently for large ones.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import scipy
from alert_gates.found import Told
from alert_gates.logs import Counted

from monitor.core.array_types import Floats, Ints
from monitor.evidence.day_record import DayValues
from monitor.evidence.day_values import day_values
from monitor.evidence.watch import DailyStatistic, Watch, make_watch
from monitor.records.pane import PaneHalf, PanePart
from monitor.states.grids import EXTRA_CELLS, Grid, NumericGrid
from monitor.states.strata import WHOLE
from monitor.windows.strata_folding import fold_strata

LEARN = 28
_SHAPED = (DailyStatistic.SPREAD, DailyStatistic.SKEW, DailyStatistic.SHAPE)
Value = tuple[int, str, PaneHalf, float]  # day, subject, how far it is from the first days
Distance = Callable[[Ints, Ints, Grid], float]


def told_by(rule: str, of: Counted) -> list[Told]:
    """Alerts of a rule."""
    statistic, limit = RULES[rule]
    return told(list(STATISTICS[statistic](of)), limit, of.age)


def told(values: list[Value], limit: float, age: int) -> list[Told]:
    """Alerts beyond a limit: a subject's breach on a day, if it breached none the day before."""
    breached = {(day, subject, part) for day, subject, part, value in values if value > limit}
    return sorted(
        (
            Told(day + (age if part is PaneHalf.LABELS else 0), subject, "", part)
            for day, subject, part in breached
            if (day - 1, subject, part) not in breached
        ),
        key=lambda one: one.day,
    )


def limit_of(statistic: str, quiet: list[Counted], alerts: int) -> float:
    """Lowest limit beyond which days on which nothing happens have so many alerts at most."""
    values = [(of.age, list(STATISTICS[statistic](of))) for of in quiet]
    found = sorted((one[-1] for _, many in values for one in many), reverse=True)
    limits = found[: 3 * alerts + 1]
    fits = [limit for limit in limits if sum(len(told(many, limit, age)) for age, many in values) <= alerts]
    return min(fits)


def _of_outputs(distance: Distance) -> Callable[[Counted], Iterator[Value]]:
    """A distance between the counts of the first days and of each day, of every feature and output."""

    def values(of: Counted) -> Iterator[Value]:
        for name, grid in of.counting.output_grids.items():
            days = [_block(one, name, grid.size) for one in of.records]
            first = np.sum(days[:LEARN], axis=0)
            for day, counts in enumerate(days[LEARN:], LEARN):
                if min(counts.sum(), first.sum()):
                    yield day, name, PaneHalf.RECORDS, distance(first, counts, grid)

    return values


def _block(part: PanePart, name: str, size: int) -> Ints:
    return part.strata[WHOLE].dense_block(name) if WHOLE in part.strata else np.zeros(size, dtype=np.int64)


def _p_value(first: Ints, counts: Ints, grid: Grid) -> float:
    """Less p."""
    return -(_ks if isinstance(grid, NumericGrid) else _chi_squared)(first, counts)


def _ks(first: Ints, counts: Ints) -> float:
    one, two = first[:-EXTRA_CELLS], counts[:-EXTRA_CELLS]
    n, m = one.sum(), two.sum()
    if not min(n, m):
        return 1.0
    distance = np.abs(np.cumsum(one) / n - np.cumsum(two) / m).max()
    return float(scipy.special.kolmogorov(distance * np.sqrt(n * m / (n + m))))


def _chi_squared(first: Ints, counts: Ints) -> float:
    table = np.stack([first, counts])[:, (first + counts) > 0]
    return float(scipy.stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def _index(first: Ints, counts: Ints, grid: Grid) -> float:
    """Population stability index, of deciles of numbers."""
    before, after = _both(first, counts, grid)
    return float(((after - before) * np.log(after / before)).sum())


def _jensen_shannon(first: Ints, counts: Ints, grid: Grid) -> float:
    """Jensen and Shannon's distance, of deciles of numbers."""
    return float(scipy.spatial.distance.jensenshannon(*_both(first, counts, grid)))


def _both(first: Ints, counts: Ints, grid: Grid) -> tuple[Floats, Floats]:
    group = _deciles(first) if isinstance(grid, NumericGrid) else np.arange(len(first))
    return _smoothed(first, group), _smoothed(counts, group)


def _deciles(first: Ints) -> Ints:
    regular = first[:-EXTRA_CELLS]
    rank = (np.cumsum(regular) - regular / 2) / max(1, regular.sum())
    return np.concatenate([np.minimum((10 * rank).astype(np.int64), 9), np.arange(10, 10 + EXTRA_CELLS)])


def _smoothed(counts: Ints, group: Ints) -> Floats:
    cells = np.bincount(group, counts) + 0.5
    return cells / cells.sum()


def _deviations(of: Counted) -> Iterator[Value]:
    """Means, shares, counts and performance, in standard deviations of the first days'."""
    for part in PaneHalf:
        watch, days = _values(of, part)
        values = np.stack([day.values for day in days]).astype(np.float64)
        farthest: dict[tuple[int, str], float] = defaultdict(float)
        for at, one in enumerate(watch.series):
            first = values[:LEARN, at][np.isfinite(values[:LEARN, at])]
            if one.statistic in _SHAPED or len(first) < 2:
                continue
            far = np.abs(values[LEARN:, at] - first.mean()) / max(first.std(ddof=1), 1e-12)
            for day, value in enumerate(far, LEARN):
                if np.isfinite(value):
                    key = day, watch.subjects[one.subject]
                    farthest[key] = max(farthest[key], float(value))
        yield from ((day, subject, part, value) for (day, subject), value in farthest.items())


def _values(of: Counted, part: PaneHalf) -> tuple[Watch, list[DayValues]]:
    parts = of.records if part is PaneHalf.RECORDS else of.labels
    watch = make_watch(
        of.counting, part, fold_strata(of.counting.layout_of(part), [one.strata for one in parts[:LEARN]])
    )
    return watch, [day_values(watch, of.counting, one.strata, of.first + at) for at, one in enumerate(parts)]


STATISTICS: Mapping[str, Callable[[Counted], Iterator[Value]]] = {
    "p": _of_outputs(_p_value),
    "index": _of_outputs(_index),
    "Jensen-Shannon": _of_outputs(_jensen_shannon),
    "mean ± k sd": _deviations,
}
RULES: Mapping[str, tuple[str, float]] = {
    "p < 0.05": ("p", -0.05),
    "index > 0.1": ("index", 0.1),
    "index > 0.25": ("index", 0.25),
    "mean ± 3 sd": ("mean ± k sd", 3.0),
}
