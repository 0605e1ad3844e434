"""What changed, in words: from the detail of the evidence of days. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.measurement import Detail
from monitor.core.text import readable
from monitor.measures.catalogue.daily import CHANGED
from monitor.measures.worded import about, difference_of, factor_of, value_of, with_minus
from monitor.sentences.known import named

_Cells: TypeAlias = Mapping[str, float | str | None]
_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_NUMBERS = {
    "level": "level {} usual",
    "spread": "spread {} usual",
    "skew": "skew {} usual",
    "shape": "shape {} from usual, as χ²",
}
_OWN = {"level": "mean", "spread": "spread about"}
_MEASURES = {  # how a value is told: as that of this measure
    "records": ("records", "{} records"),
    "roc_auc": ("roc_auc", "ROC AUC {}"),
    "log_loss": ("log_loss", "log loss {}"),
    "error_rate": ("error_rate", "error rate {}"),
    "root_mean_squared_error": ("root_mean_squared_error", "RMSE {}"),
    "coverage": ("coverage", "labels for {} of the records"),
    "share": ("missing_rate", "{level} in {} of the records"),
    "base_rate": ("missing_rate", "{level} in {} of the labels"),
    "missing": ("missing_rate", "missing in {} of the records"),
}
VERSION = "version"  # fault of the log whose level names the versions
_FAULTS = {
    "missing": "missing values in {} of the records",
    "invalid": "invalid values in {} of the records",
    "unseen": "unseen values in {} of the records",
    "beyond": "numbers far beyond all of the reference's in {} of the records",
    "duplicates": "repeated rows: {} of all",
    "stale": "rows logged after the horizon: {} of all",
    "unlogged": "rows without a logged_at: {} of all",
    "late": "rows logged far later than usual: {} of all",
    "future": "rows logged before their event, or at once: {} of all",
    VERSION: "records of a new version: {} of all",
    "early": "labels reported before their event: {} of all",
    "corrected": "corrected labels: {} of all",
    "retracted": "labels taken back: {} of the records",
}
_CALLED = {
    "missing": "missing values",
    "invalid": "invalid values",
    "unseen": "unseen values",
    "beyond": "far-off numbers",
}
UNVALUED = {
    "learning": "fewer than 14 days are learned",
    "too_few": "fewer than 20 records",
    "no_records": "no values, look whether they are written",
    "undefined": "their formula has no value",
    "unusual": "the day is one of unusual_days",
    "not_followed": "all values alike, or no reference",
    "not_chosen": "fewer than 20 records on its first days, or not one of the 20 largest",
}
_OF_LABELS = (
    "roc_auc",
    "log_loss",
    "error_rate",
    "root_mean_squared_error",
    "base_rate",
    "early",
    "corrected",
)
_OF_VALUES = (*_NUMBERS, "invalid", "unseen", "beyond")  # of scores and of labels alike
_RATIOS = ("records", "root_mean_squared_error")
_MILLION = 1_000_000.0
_MISSING = 0.01  # of the values, from which on it is told that more are missing than is usual
_MOST_MOVED = 1.0  # sd of the robust level, below which a mean that is a multiple is that by few numbers
_AS_FAR = 2.0  # times its level that a mean moved, up to which all numbers moved with it
_THURSDAY = 3  # 1970-01-01


def is_change(detail: Detail | None) -> bool:
    """Whether a detail is that of the evidence of days."""
    return detail is not None and detail.columns[:2] == CHANGED[:2] and len(detail.rows) == 1


def changed(detail: Detail, end: int) -> str:
    """What changed, how much, what was expected, when it began, how rare by chance, which segment holds it.

    Parameters
    ----------
    end
        of the judged day; microseconds.

    >>> row = ("records", "", "falls", 1200.0, 3000.0, 3600.0, 0.9, "2024-03-03", 4321.0, 1.5, 56)
    >>> changed(Detail(CHANGED[:11], (row,)), 19_787 * DAY)  # doctest: +NORMALIZE_WHITESPACE
    '1,200 records (−64 %) on 2024-03-04, expected 3,000 to 3,600 on Mondays; began 2024-03-03; by chance
    once in 4,300 months'
    """
    cells = cells_of(detail)
    parts = [_now(cells, end), _missing(cells), _began(cells), _chance(cells), _where(cells)]
    return readable("; ".join(part for part in parts if part))


@dataclass(frozen=True, slots=True)
class ToldSeries:
    """What is followed of a subject from day to day.

    Parameters
    ----------
    what
        in words: "level", "missing", "share of UA".
    kind, level
        the same as they are kept.
    own
        whether numbers are in the unit of their column.
    usual, deviation
        of a level: what 0 and a standard deviation of usual days are in that unit.
    since
        first day of the change, its date.
    unit
        of a number; "sd" where its column's is not known.
    measure
        as whose values it is told; empty: as a plain number.
    """

    what: str
    kind: str
    level: str
    own: bool
    since: str
    unit: str
    measure: str
    usual: float = 0.0
    deviation: float = 0.0


def told_series(detail: Detail | None) -> ToldSeries | None:
    """Of what the evidence is; None: of nothing, or it is not known since when."""
    if detail is None or not is_change(detail):
        return None
    cells = cells_of(detail)
    kind, level, since = str(cells["what"]), str(cells["level"]), cells["since"] or cells.get("day")
    level = "" if kind == VERSION else level
    own = _three(cells, "own", "own_low", "own_high")
    plain = _three(cells, "value", "expected_low", "expected_high")
    if not since or plain is None:
        return None
    told = _CALLED.get(kind, kind.replace("_", " "))
    what = " of ".join(part for part in (told, level) if part)
    unit = "" if own or kind not in _NUMBERS else "χ²" if kind == "shape" else "sd"
    measure = "" if kind in _NUMBERS else "missing_rate" if kind in _FAULTS and not level else _measure(kind)
    usual, deviation = 0.0, 0.0
    if own is not None and plain[2] > plain[1]:
        deviation = (own[2] - own[1]) / (plain[2] - plain[1])
        usual = own[1] - plain[1] * deviation
    return ToldSeries(what, kind, level, own is not None, str(since), unit, measure, usual, deviation)


def _three(cells: _Cells, *names: str) -> tuple[float, float, float] | None:
    value, low, high = (cells.get(name) for name in names)
    if isinstance(value, float | int) and isinstance(low, float | int) and isinstance(high, float | int):
        return value, low, high
    return None


def usual_since(detail: Detail | None) -> str:
    """First day of the change that is what is expected now: it did not go back. Empty: there is none."""
    return str(cells_of(detail).get("usual_since") or "") if detail is not None and is_change(detail) else ""


def whose(subject: str, segment: str | None) -> str:
    """What is followed, in words: a subject, of the whole or in a segment.

    >>> whose("feature:age", None), whose("", "region=north")
    ('age', 'performance in region=north')
    """
    name = named(subject) if subject else "performance"
    return f"{name} in {named(segment)}" if segment else name


def of_all(detail: Detail, changed: int) -> str:
    """How many of the subjects that are watched changed in a cycle; empty: their number is not known.

    >>> of_all(Detail((*CHANGED[:2], "subjects"), (("level", "", 21),)), 1)
    '1 of 21 subjects changed in this cycle.'
    """
    subjects = cells_of(detail).get("subjects")
    if not isinstance(subjects, float | int) or subjects < changed:
        return ""
    order = ", the most urgent first" if changed > 1 else ""
    return f"{changed} of {subjects:.0f} subjects changed in this cycle{order}."


def commands(model: str, subject: str, segment: str = "") -> Iterator[str]:
    """What to type, to see more: what else moves, and the numbers of what changed.

    >>> list(commands("late", "feature:a b"))[1]
    "monitor show --model late --subject 'feature:a b'"
    """
    of, named = shlex.quote(model), subject.startswith("feature:") or subject in ("score", "prediction")
    yield readable(f"monitor changes --model {of}")
    options = (("--subject", subject if named else ""), ("--segment", segment))
    asked = "".join(f" {option} {shlex.quote(value)}" for option, value in options if value)
    yield readable(f"monitor show --model {of}{asked}")


def now_and_since(detail: Detail, end: int) -> str:
    """What is now, what was expected, and when it began: less than `changed`."""
    cells = cells_of(detail)
    return "; ".join(part for part in (_now(cells, end), _began(cells)) if part)


def cells_of(detail: Detail) -> dict[str, float | str | None]:
    """Cells by column: what was kept before a column was there lacks it."""
    return dict(zip(detail.columns, detail.rows[0], strict=True))


def _now(cells: _Cells, end: int) -> str:
    what, level, value = str(cells["what"]), str(cells["level"]), cells["value"]
    low, high = cells["expected_low"], cells["expected_high"]
    if not isinstance(value, float | int):
        return f"{what.replace('_', ' ')} changed, now not known{_unvalued(cells)}" if what else ""
    if not (isinstance(low, float | int) and isinstance(high, float | int)):
        return _told(what, level, value, None)
    if low == 0 and what in _FAULTS and (what == VERSION or not level):
        usual = f"at most {value_of('missing_rate', high)}" if high else "none"
        told = _FAULTS[what].format(value_of("missing_rate", value))
        told = told.replace("a new version", f"the new version {level}") if level else told
        return f"{told}, {usual} on the days before"
    own = _three(cells, "own", "own_low", "own_high")
    if what in _OWN and own is not None:
        told, *bounds = (about(one) for one in own)
        moved, middle = abs(value - (low + high) / 2), (own[1] + own[2]) / 2
        alike = abs(own[0] - middle) * (high - low) <= _AS_FAR * moved * (own[2] - own[1])
        few_of = what == "level" and moved < _MOST_MOVED and not alike
        factor = factor_of(own[0], middle if own[1] * own[2] > 0 else 0.0, of_few=few_of)
        told = f"{_OWN[what]} {told} ({factor or f'{_signed(value - (low + high) / 2)} sd'})"
    elif what in _NUMBERS:
        unit = "" if what == "shape" else " sd"
        told, bounds = _away(what, value), [_signed(low), f"{_signed(high)}{unit}"]
    else:
        told = _told(what, level, value, (low + high) / 2)
        bounds = [value_of(_measure(what), bound) for bound in (low, high)]
    over, at = cells.get("over"), _judged_at(cells, end)
    day, weekday = to_iso(at)[:10], _WEEKDAYS[(at // DAY + _THURSDAY) % 7]
    if over == 0:
        why = _unvalued(cells)
        return f"{told} when it was found, expected {bounds[0]} to {bounds[1]}; now not known{why}"
    return f"{told} {_beside(cells, day, weekday, bounds)}"


def _beside(cells: _Cells, day: str, weekday: str, bounds: Sequence[str]) -> str:
    """Of which days a value is, and what was expected of one. What several days show, none may show alone."""
    over, figures = cells.get("over"), _three(cells, "expected_low", "value", "expected_high")
    several = over if isinstance(over, float | int) and over > 1 else 0
    within = figures is not None and sorted(figures) == list(figures)
    on = f"on average over {several:.0f} days to {day}" if several else f"on {day}"
    if several or (within and cells.get("since") == day):
        return f"{on}, though a single {weekday[:-1]} may be from {bounds[0]} to {bounds[1]}"
    expected = "as is expected again:" if within else "expected"
    return f"{on}, {expected} {bounds[0]} to {bounds[1]} on {weekday}"


def _unvalued(cells: _Cells) -> str:
    """Why the values of the day were not judged, after what is not known."""
    why = UNVALUED.get(str(cells.get("unvalued")), "")
    return f": {why}" if why else ""


def _measure(what: str) -> str:
    """Measure as whose values a statistic is told."""
    return _MEASURES.get(what, (what, ""))[0]


def _told(what: str, level: str, value: float, usual: float | None) -> str:
    """A value with its unit, and by how much it differs from what is usual: of counts the share of it."""
    measure, words = _MEASURES.get(what, (what, what.replace("_", " ") + " {}"))
    told = words.format(value_of(measure, value), level=level)
    if usual is None:
        return told
    if what in _RATIOS:
        return f"{told} ({with_minus(f'{100 * (value / usual - 1):+.0f} %')})" if usual else told
    return f"{told} ({difference_of(measure, value - usual)})"


def _signed(value: float | str | None) -> str:
    return with_minus(f"{value:+.2f}") if isinstance(value, float | int) else "unknown"


def _away(what: str, value: float) -> str:
    """How far a trait of numbers is from what is usual, where it has no unit of their own.

    >>> _away("spread", 2.49), _away("level", -1.4)
    ('spread 2.49 sd above usual', 'level 1.40 sd below usual')
    """
    if what == "shape":
        return _NUMBERS[what].format(_signed(value))
    return _NUMBERS[what].format(f"{abs(value):.2f} sd {'above' if value >= 0 else 'below'}")


def _judged_at(cells: _Cells, end: int) -> int:
    """A moment of the judged day; what was kept before its date was there is taken as of UTC."""
    day = cells.get("day")
    return from_iso(day) if isinstance(day, str) else end - DAY // 2


def _missing(cells: _Cells) -> str:
    """Values that are missing besides what changed: the change is one of those that are there."""
    now, usual = cells.get("missing"), cells.get("missing_before")
    if cells["what"] == "missing" or not (isinstance(now, float | int) and isinstance(usual, float | int)):
        return ""
    told = f"besides, {value_of('missing_rate', now)} of the values are missing, "
    return f"{told}at most {value_of('missing_rate', usual)} expected" if now - usual >= _MISSING else ""


def _began(cells: _Cells) -> str:
    return f"began {cells['since']}" if cells["since"] else ""


def _where(cells: _Cells) -> str:
    """Which segment holds the change; empty: not known."""
    segment, held, records = (cells.get(name) for name in ("segment", "held", "of_records"))
    if segment is None:
        return ""
    if not (segment and isinstance(held, float | int) and isinstance(records, float | int)):
        return "no segment stands out"
    what = cells["what"]
    of = "labels" if what in _OF_LABELS else "values" if what in _OF_VALUES else "records"
    return f"{100 * held:.0f} % of it in {segment}, which has {100 * records:.0f} % of the {of}"


def _chance(cells: _Cells) -> str:
    """How rare such evidence is where nothing changes; to two digits."""
    months = cells["months"]
    if not isinstance(months, float | int) or months < 1:
        return ""
    if months >= _MILLION:
        return "by chance less than once in a million months"
    rounded = float(f"{months:.2g}")
    return "by chance once a month" if rounded < 1.5 else f"by chance once in {rounded:,.0f} months"
