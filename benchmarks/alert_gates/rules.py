"""Rules that the field watches days by, on the same counters: each day against the first 28."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import scipy
from alert_gates.found import Told
from alert_gates.logs import Counted

from monitor.core.typing import Floats, Ints
from monitor.evidence.daily import day_values
from monitor.evidence.days import DayValues
from monitor.evidence.making import watch_of
from monitor.evidence.watched import Trait, Watch
from monitor.records.pane import PanePart, Part
from monitor.states.grids import EXTRA_CELLS, NumericGrid
from monitor.states.strata import WHOLE
from monitor.windows.fold import fold

LEARN = 28
_SHAPED = (Trait.SPREAD, Trait.SKEW, Trait.SHAPE)
Breaches = Iterator[tuple[int, str, str, Part]]  # day, subject, rule


def told_by(rule: str, of: Counted) -> list[Told]:
    """Alerts of a rule: a subject's breach on a day, if it breached none the day before."""
    breached = {(day, subject, part) for day, subject, _, part in RULES[rule](of)}
    return sorted(
        (
            Told(day + (of.age if part is Part.LABELS else 0), subject, rule, part)
            for day, subject, part in breached
            if (day - 1, subject, part) not in breached
        ),
        key=lambda one: one.day,
    )


def _outputs(of: Counted) -> Iterator[tuple[str, bool, Ints, list[Ints]]]:
    """Name, whether it is a number, the counts of the first days, and those of each day."""
    for name, grid in of.counting.outputs.items():
        days = [_block(one, name, grid.size) for one in of.records]
        yield name, isinstance(grid, NumericGrid), np.sum(days[:LEARN], axis=0), days


def _block(part: PanePart, name: str, size: int) -> Ints:
    return part.strata[WHOLE].block(name) if WHOLE in part.strata else np.zeros(size, dtype=np.int64)


def _p_value(of: Counted) -> Breaches:
    """Kolmogorov-Smirnov test of numbers, chi-squared test of categories: p < 0.05."""
    for name, number, first, days in _outputs(of):
        for day, counts in enumerate(days[LEARN:], LEARN):
            if min(counts.sum(), first.sum()) and (_ks if number else _chi_squared)(first, counts) < 0.05:
                yield day, name, "p", Part.RECORDS


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


def _index(least: float) -> Callable[[Counted], Breaches]:
    """Population stability index, of deciles of numbers, above a limit."""

    def breaches(of: Counted) -> Breaches:
        for name, number, first, days in _outputs(of):
            group = _deciles(first) if number else np.arange(len(first))
            before = _smoothed(first, group)
            for day, counts in enumerate(days[LEARN:], LEARN):
                after = _smoothed(counts, group)
                if counts.sum() and ((after - before) * np.log(after / before)).sum() > least:
                    yield day, name, "index", Part.RECORDS

    return breaches


def _deciles(first: Ints) -> Ints:
    regular = first[:-EXTRA_CELLS]
    rank = (np.cumsum(regular) - regular / 2) / max(1, regular.sum())
    return np.concatenate([np.minimum((10 * rank).astype(np.int64), 9), np.arange(10, 10 + EXTRA_CELLS)])


def _smoothed(counts: Ints, group: Ints) -> Floats:
    cells = np.bincount(group, counts) + 0.5
    return cells / cells.sum()


def _deviations(of: Counted) -> Breaches:
    """Mean, share, count or performance of a day beyond 3 standard deviations of the first days'."""
    for part in Part:
        watch, days = _values(of, part)
        values = np.stack([day.values for day in days]).astype(np.float64)
        for at, one in enumerate(watch.series):
            first = values[:LEARN, at][np.isfinite(values[:LEARN, at])]
            if one.trait in _SHAPED or len(first) < 2:
                continue
            far = np.abs(values[:, at] - first.mean()) > 3 * first.std(ddof=1)
            yield from (
                (int(day), watch.subjects[one.subject], "3 sd", part)
                for day in np.flatnonzero(far)
                if day >= LEARN
            )


def _values(of: Counted, part: Part) -> tuple[Watch, list[DayValues]]:
    parts = of.records if part is Part.RECORDS else of.labels
    watch = watch_of(of.counting, part, fold(of.counting.layout(part), [one.strata for one in parts[:LEARN]]))
    return watch, [day_values(watch, of.counting, one.strata, of.first + at) for at, one in enumerate(parts)]


RULES: Mapping[str, Callable[[Counted], Breaches]] = {
    "p < 0.05": _p_value,
    "index > 0.1": _index(0.1),
    "index > 0.25": _index(0.25),
    "mean ± 3 sd": _deviations,
}
