"""What changed, in words: from the detail of the evidence of days. Pure."""

from monitor.core.clock import DAY
from monitor.core.measurement import Detail
from monitor.core.text import readable
from monitor.measures.catalogue.daily import CHANGED
from monitor.measures.worded import value_of, with_minus

_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_NUMBERS = {
    "level": "level {} sd from usual",
    "spread": "spread {} sd from usual",
    "skew": "skew {} sd from usual",
    "shape": "shape {} from usual, as χ²",
}
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
_FAULTS = {
    "missing": "missing values in {} of the records",
    "invalid": "invalid values in {} of the records",
    "unseen": "unseen values in {} of the records",
    "duplicates": "repeated rows: {} of all",
    "stale": "rows logged after the horizon: {} of all",
    "unlogged": "rows without a logged_at: {} of all",
    "late": "rows logged far later than usual: {} of all",
    "future": "rows logged before their event, or at once: {} of all",
    "version": "records of an unknown version: {} of all",
    "early": "labels reported before their event: {} of all",
    "corrected": "corrected labels: {} of all",
    "retracted": "labels taken back: {} of the records",
}
_MILLION = 1_000_000.0
_THURSDAY = 3  # 1970-01-01


def is_change(detail: Detail | None) -> bool:
    """Whether a detail is that of the evidence of days."""
    return detail is not None and detail.columns == CHANGED and len(detail.rows) == 1


def changed(detail: Detail, end: int) -> str:
    """What changed, how much, what was expected, since when, how rare by chance.

    Parameters
    ----------
    end
        of the judged day; microseconds.

    >>> row = ("records", "", "falls", 1200.0, 3000.0, 3600.0, 0.9, "2024-03-03", 4321.0, 1.5, 56)
    >>> changed(Detail(CHANGED, (row,)), 19_787 * DAY)
    '1,200 records, expected 3,000 to 3,600 on Mondays; since 2024-03-03; by chance once in 4,300 months'
    """
    cells = dict(zip(detail.columns, detail.rows[0], strict=True))
    parts = [_now(cells, end), _since(cells), _chance(cells)]
    return readable("; ".join(part for part in parts if part))


def _now(cells: dict[str, float | str | None], end: int) -> str:
    what, level, value = str(cells["what"]), str(cells["level"]), cells["value"]
    low, high = cells["expected_low"], cells["expected_high"]
    if not isinstance(value, float | int):
        return what.replace("_", " ")
    if (
        isinstance(low, float | int)
        and isinstance(high, float | int)
        and low == 0
        and what in _FAULTS
        and not level
    ):
        usual = f"at most {value_of('missing_rate', high)}" if high else "none"
        return f"{_FAULTS[what].format(value_of('missing_rate', value))}, {usual} on the days before"
    if what in _NUMBERS:
        told, bounds = _NUMBERS[what].format(_signed(value)), [_signed(bound) for bound in (low, high)]
    else:
        measure, words = _MEASURES.get(what, (what, what.replace("_", " ") + " {}"))
        told = words.format(value_of(measure, value), level=level)
        bounds = [value_of(measure, bound) if isinstance(bound, float | int) else "" for bound in (low, high)]
    return f"{told}, expected {bounds[0]} to {bounds[1]} on {_weekday(end)}"


def _signed(value: float | str | None) -> str:
    return with_minus(f"{value:+.2f}") if isinstance(value, float | int) else "unknown"


def _weekday(end: int) -> str:
    return _WEEKDAYS[((end - DAY // 2) // DAY + _THURSDAY) % 7]


def _since(cells: dict[str, float | str | None]) -> str:
    return f"since {cells['since']}" if cells["since"] else ""


def _chance(cells: dict[str, float | str | None]) -> str:
    """How rare such evidence is where nothing changes; to two digits."""
    months = cells["months"]
    if not isinstance(months, float | int) or months < 1:
        return ""
    if months >= _MILLION:
        return "by chance less than once in a million months"
    rounded = float(f"{months:.2g}")
    return f"by chance once in {rounded:,.0f} month{'' if rounded == 1 else 's'}"
