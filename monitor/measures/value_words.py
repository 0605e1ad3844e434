"""Values of measures in words, by unit: what messages, tables and sentences say of a number."""

import math
import re
from functools import lru_cache

from monitor.core.clock import FIRST, LAST, SECOND, to_iso
from monitor.core.measurement import Interval, Measurement
from monitor.core.text import duration_text, number_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.comparison_measures import CONTRIBUTION, LOSS_BY_MIX
from monitor.measures.catalogue.measure import (
    OF_SHIFT,
    BetterDirection,
    ChanceYardstick,
    MeasureFamily,
    MeasureUnit,
)
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import MeasurementRow

SIZES = (0.1, 0.25)  # where the classical bands end: below the first none, above the second significant
MINUS = "\N{MINUS SIGN}"
CHANCE = "no difference beyond chance"
UNKNOWN = "unknown"
_RATE = "missing_rate"  # shares of records are told as its values are
_SHARES = frozenset({"expected", "actual", "share", "share_before"})
_VALUES = frozenset({"value", "lower", "upper", "before"})
_AS_GIVEN = frozenset({MeasureFamily.VALUES, MeasureFamily.LOG})  # in the units of a feature; whole numbers
_LARGE = 1_000  # from here on three decimals say nothing
_FACTOR = 1.5  # from it on a number is told to be so many times another
_NONZERO, _ROUNDING = re.compile("[1-9]"), 1e-9  # what is not above it comes of computing
_NEARLY = math.log10(1.05)  # a power of ten, within 5 %: a day differs by chance too


def format_measure_value(measure: str, value: float | None) -> str:
    """Value of a measure with its unit.

    Rates have one decimal in %, scores such as AUC three decimals, durations two units, moments are dates.

    >>> [format_measure_value("accuracy", value) for value in (0.12345, 0.00003, 0.99999, 1.0, 0.0)]
    ['12.3 %', '< 0.1 %', '> 99.9 %', '100 %', '0 %']
    >>> (format_measure_value("roc_auc", 0.7314), format_measure_value("log_age", 52_353),
    ... format_measure_value("records", 31_204))
    ('0.731', '14h 33m', '31,204')
    >>> (format_measure_value("chi_squared_p_value", 0.00002),
    ... format_measure_value("stability_index", 0.0001), format_measure_value("f1", None))
    ('< 0.0001', '< 0.001', 'unknown')
    >>> format_measure_value("outcome_rate_difference", -0.0341)
    '−3.4 points'
    """
    if value is None:
        return UNKNOWN
    if _is_rate_difference(measure):
        return format_measure_difference(measure, value)
    if is_percent(measure):
        return _percent_text(value)
    if is_p_value(measure):
        return "< 0.0001" if 0 <= value < 0.0001 else _rounded_text(value, 4)
    return _value_text(measure, value)


def format_detail_cell(column: str, value: float | str | None, measure: str = "") -> str:
    """Cell of a detail's table: shares of records in %, what is of the measure in its unit.

    >>> (format_detail_cell("actual", 0.0), format_detail_cell("value", 0.7314, "roc_auc"),
    ... format_detail_cell("n", None))
    ('0 %', '0.731', 'unknown')
    >>> format_detail_cell("contribution", -0.0312, "accuracy"), format_detail_cell("contribution", 0.4837)
    ('−3.1 points', '0.4837')
    """
    if isinstance(value, str):
        return value
    if value is None:
        return UNKNOWN
    if measure and (column in _VALUES or column == measure):
        return format_measure_value(measure, value)
    if measure and column == "contribution":
        return format_measure_difference(measure, value)
    return format_measure_value(_RATE, value) if column in _SHARES else with_minus(number_text(value))


def format_measure_difference(measure: str, value: float | None) -> str:
    """Difference of two values of a measure, with its sign; that of two rates in percentage points.

    >>> (format_measure_difference("accuracy", -0.0213),
    ... [format_measure_difference("roc_auc", value) for value in (0.0213, -1e-9)])
    ('−2.1 points', ['+0.021', '0.000'])
    """
    if value is None:
        return UNKNOWN
    return f"{_difference_text(measure, value)}{' points' if is_percent(measure) else ''}"


def format_interval_bounds(measure: str, interval: Interval | None, *, differs: bool = False) -> str:
    """Bounds of an interval in brackets, without the unit of the value that they follow; empty for None.

    Parameters
    ----------
    differs
        of a difference: the bounds bear their signs.

    >>> format_interval_bounds("accuracy", Interval(0.101, 0.145))
    '[10.1, 14.5]'
    >>> format_interval_bounds("roc_auc", Interval(-0.04, 0.01), differs=True)
    '[−0.040, +0.010]'
    """
    if interval is None:
        return ""
    lower, upper = (
        format_interval_bound(measure, bound, differs=differs) for bound in (interval.lower, interval.upper)
    )
    return f"[{lower}, {upper}]"


def format_interval_bound(measure: str, value: float, *, differs: bool = False) -> str:
    """One bound of an interval, without a unit that its value has told already; no bound is rounded to 0.

    >>> (format_interval_bound("roc_auc", -0.00037, differs=True), format_interval_bound("accuracy", 2e-7),
    ... format_interval_bound("roc_auc", 1e-17))
    ('−0.0004', '0.00002', '0.000')
    """
    if differs or _is_rate_difference(measure):
        return _difference_text(measure, value)
    if is_percent(measure):
        return _format_near_zero(100 * value, _rounded_text(100 * value, 1))
    within = _rounded_text(value, 4) if is_p_value(measure) else _value_text(measure, value, within=True)
    return _format_near_zero(value, within)


def format_limit(measure: str, value: float | None, *, differs: bool = False) -> str:
    """A limit that somebody wrote: to four digits, so that it is known again.

    >>> format_limit("missing_rate", 0.00125), format_limit("roc_auc", -0.0371, differs=True)
    ('0.125 %', '−0.0371')
    """
    if value is None:
        return "unknown"
    measured = BY_NAME.get(measure)
    sign = "+" if differs and value > 0 else ""
    if measured is not None and measured.unit is MeasureUnit.SECONDS and not measured.moment:
        return sign + with_minus(duration_text(value))
    if is_percent(measure):
        return f"{sign}{with_minus(number_text(100 * value))}{' points' if differs else ' %'}"
    return sign + with_minus(number_text(value))


def value_beside_limit(measure: str, value: float | None, limit: float | None) -> str:
    """Value of a measure; a duration with as many units as tell it from its limit.

    >>> value_beside_limit("log_age", 129_780, 129_600), value_beside_limit("log_age", 151_200, 129_600)
    ('1d 12h 3m', '1d 18h')
    """
    sentence, measured = format_measure_value(measure, value), BY_NAME.get(measure)
    if value is None or limit is None or measured is None or measured.unit is not MeasureUnit.SECONDS:
        return sentence
    finer = (
        duration_text(value, units)
        for units in (3, 4)
        if duration_text(value, units) != duration_text(limit, units)
    )
    return next(finer, sentence) if sentence == format_limit(measure, limit) else sentence


def value_with_interval(measure: str, result: Measurement) -> str:
    """Value of a measure and its interval; the reason where there is no value.

    >>> value_with_interval("accuracy", Measurement(value=0.7, n=9, interval=Interval(0.4, 0.9)))
    '70.0 % [40.0, 90.0]'
    """
    if result.value is None:
        return f"({result.reason})"
    return (
        f"{format_measure_value(measure, result.value)} {format_interval_bounds(measure, result.interval)}"
    ).rstrip()


def comparison_words(row: MeasurementRow, now: Measurement | None = None) -> str:
    """What a row is the difference from, and the difference: the one form wherever two moments are compared.

    Parameters
    ----------
    now
        the value itself, where it is known: it tells what that of the other moment was, if the row does not.

    >>> from monitor.core.measurement import DetailTable
    >>> from monitor.measures.measurement_row import LabelTruth
    >>> then = DetailTable(FIGURES, ((0.752, 0.74, 0.764, 9_000),))
    >>> now = Measurement(value=-0.021, n=900, interval=Interval(-0.037, -0.006), detail=then)
    >>> place = {"window": "7d", "window_end": 0, "version": None, "segment": None, "subject": ""}
    >>> row = {"truth": LabelTruth.SETTLED, "measure": "roc_auc", "measurement": now, "against": "reference"}
    >>> comparison_words(MeasurementRow(**place, **row))
    'reference 0.752, difference −0.021 [−0.037, −0.006]'
    """
    result, measure = row.measurement, row.measure
    if result.value is None:
        return f"{row.against} ({result.reason})"
    step = format_measure_difference(measure, result.value)
    bounds = format_interval_bounds(measure, result.interval, differs=True)
    then = format_measure_value(measure, difference_base(result, now))
    return f"{row.against} {then}, difference {step} {bounds}".rstrip()


def is_compared_by_difference(measure: str, against: str) -> bool:
    """Whether values of a measure against another moment are differences; shift against one is none.

    >>> [is_compared_by_difference(name, "previous") for name in ("roc_auc", "stability_index",
    ... "segment_contribution")]
    [True, False, False]
    """
    measured, parts = BY_NAME.get(measure), (CONTRIBUTION, LOSS_BY_MIX)  # parts of differences are values
    return against != "" and measured is not None and measured.family not in OF_SHIFT and measure not in parts


def certainty_words(measure: str, difference: Measurement) -> str:
    """How sure a difference is, by its interval: surely worse, surely better, no difference beyond chance.

    Of a measure without a better direction: surely higher, surely lower. "unknown" without an interval.

    >>> certainty_words("roc_auc", Measurement(value=-0.02, n=9, interval=Interval(-0.04, -0.01)))
    'surely worse'
    >>> certainty_words("roc_auc", Measurement(value=-0.02, n=9, interval=Interval(-0.04, 0.01)))
    'no difference beyond chance'
    """
    interval = difference.interval
    if interval is None:
        return "unknown"
    if interval.lower <= 0 <= interval.upper:
        return CHANCE
    grows = interval.lower > 0
    measured = BY_NAME.get(measure)
    direction = BetterDirection.NONE if measured is None else measured.direction
    if direction is BetterDirection.NONE:
        return "surely higher" if grows else "surely lower"
    return "surely better" if grows == (direction is BetterDirection.HIGHER) else "surely worse"


@lru_cache(maxsize=1024)  # a page asks for each of its numbers
def is_percent(measure: str) -> bool:
    """Whether values of a measure are told in %: rates, but no probability of chance and no AUC."""
    measured = BY_NAME.get(measure)
    return (
        measured is not None
        and measured.unit is MeasureUnit.RATIO
        and measured.percent
        and measured.yardstick is not ChanceYardstick.P_VALUE
    )


def _is_rate_difference(measure: str) -> bool:
    """Whether values of a measure are themselves differences of two rates."""
    return is_percent(measure) and "_difference" in measure


@lru_cache(maxsize=1024)  # a page asks for each of its numbers
def is_p_value(measure: str) -> bool:
    """Whether values of a measure are probabilities of what was found, by chance."""
    measured = BY_NAME.get(measure)
    return measured is not None and measured.yardstick is ChanceYardstick.P_VALUE


def range_words(lower: float, upper: float) -> str:
    """Numbers from one on and below another, either of which may be infinite.

    >>> (range_words(-math.inf, 12.5), range_words(12.5, 37.2), range_words(37.2, math.inf),
    ... range_words(-math.inf, math.inf))
    ('below 12.5', '12.5 to 37.2', '37.2 and more', 'any number')
    """
    low, high = (with_minus(f"{bound:.6g}") for bound in (lower, upper))
    if math.isfinite(lower) and math.isfinite(upper):
        return f"{low} to {high}"
    if math.isfinite(lower):
        return f"{low} and more"
    return f"below {high}" if math.isfinite(upper) else "any number"


def with_minus(text: str) -> str:
    """Text of a number with the sign of subtraction, which is as wide as a plus, instead of a hyphen."""
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text


def moment_text(seconds: float) -> str:
    """Moment of a Unix time.

    >>> moment_text(1_356_998_400.0)
    '2013-01-01T00:00:00Z'
    """
    us = round(seconds) * SECOND if math.isfinite(seconds) else LAST + 1
    return to_iso(us) if FIRST <= us <= LAST else number_text(seconds)


def approximate_text(value: float) -> str:
    """Number to three digits, or whole.

    >>> approximate_text(0.012345), approximate_text(38.04), approximate_text(-3815.39)
    ('0.0123', '38', '−3,815')
    """
    return with_minus(number_text(float(f"{value:.3g}" if abs(value) < 1_000 else f"{value:.0f}")))


def format_factor(value: float, usual: float, *, of_few: bool = False) -> str:
    """How many times what is usual a number of the same sign is; empty: by less than a factor of 1.5.

    Parameters
    ----------
    of_few
        it is a mean, which some numbers make so large while most lie where they did: none is in other units.

    >>> (format_factor(61_000.0, 5_100.0), format_factor(9.0, 8.0), format_factor(9.0, -1.0),
    ... format_factor(3_815.0, 38.0))
    ('×12', '', '', '×100, as in other units')
    >>> format_factor(1.7e308, 0.5), format_factor(1e-200, 1e150), format_factor(math.nan, 1.0)
    ('', '', '')
    """
    factor = abs(value) / abs(usual) if _have_same_sign(value, usual) else 1.0
    if 1 / _FACTOR < factor < _FACTOR or not 0 < factor < math.inf:
        return ""
    unit = ", as in other units" if has_other_unit(value, usual) else ""
    return f"×{number_text(float(f'{factor:.2g}'))}{' by some of the numbers' if of_few else unit}"


def has_other_unit(value: float, usual: float) -> bool:
    """Whether one of two numbers is about the other times a power of ten."""
    tens = math.log10(abs(value)) - math.log10(abs(usual)) if _have_same_sign(value, usual) else 0.0
    return round(tens) != 0 and abs(tens - round(tens)) < _NEARLY


def _have_same_sign(value: float, usual: float) -> bool:
    """Whether two numbers are finite, not 0, and of the same sign."""
    finite = math.isfinite(value) and math.isfinite(usual)
    return finite and value != 0 and usual != 0 and (value > 0) == (usual > 0)


def difference_base(result: Measurement, now: Measurement | None) -> float | None:
    """Value that a difference is from; `now`: the value itself, by which it is known without a detail."""
    detail = result.detail
    if detail is not None and detail.columns == FIGURES and isinstance(detail.rows[0][0], float | int):
        return detail.rows[0][0]
    if now is None or now.value is None or result.value is None:
        return None
    return now.value - result.value


def _percent_text(value: float) -> str:
    if not math.isfinite(value):
        return number_text(value)
    if 0 < value < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= value < 1:
        return "> 99.9 %"
    whole = value == int(value)
    return f"{_rounded_text(100 * value, 0 if whole else 1)} %"


def _value_text(measure: str, value: float, *, within: bool = False) -> str:
    """Value as it is told without %; within brackets a bound, of which "< 0.001" would be odd."""
    measured = BY_NAME.get(measure)
    if measured is not None and measured.unit is MeasureUnit.SECONDS:
        return moment_text(value) if measured.moment else with_minus(duration_text(value))
    if not _has_decimals(measure) or not abs(value) < _LARGE:
        return with_minus(number_text(value))
    return "< 0.001" if 0 < value < 0.0005 and not within else _rounded_text(value, 3)


@lru_cache(maxsize=1024)  # a page asks for each of its numbers
def _has_decimals(measure: str) -> bool:
    """Whether the field tells values of a measure to three decimals, as those of an AUC."""
    measured = BY_NAME.get(measure)
    return (
        measured is not None
        and measured.unit in (MeasureUnit.RATIO, MeasureUnit.PLAIN)
        and measured.family not in _AS_GIVEN
    )


def _difference_text(measure: str, value: float) -> str:
    """Difference with its sign, without a unit; one that is nothing but rounding has none."""
    shown = 100 * value if is_percent(measure) else value
    text = _rounded_text(shown, 1) if is_percent(measure) else _value_text(measure, value, within=True)
    text = _format_near_zero(shown, text)
    return f"+{text}" if value > 0 and _NONZERO.search(text) else text


def _format_near_zero(value: float, text: str) -> str:
    """Text of a number, with one more digit that is not 0 where it would read as 0."""
    if _NONZERO.search(text) or not _ROUNDING < abs(value) < math.inf:
        return text
    return with_minus(f"{value:.{-math.floor(math.log10(abs(value)))}f}")


def _rounded_text(value: float, decimals: int) -> str:
    """Fixed decimals, thousands apart; what is rounded to nothing has no sign."""
    if not math.isfinite(value):
        return with_minus(number_text(value))
    return with_minus(f"{round(value, decimals) + 0.0:,.{decimals}f}")


def stability_band(index: float) -> str:
    """Classical band of a stability index by its size alone: none, minor or significant [1]_.

    The bands know nothing of how many records there are: that is what the critical value is for.

    Parameters
    ----------
    index
        0 or more; no unit.

    References
    ----------
    .. [1] Siddiqi (2006). Credit Risk Scorecards. Wiley. Chapter 12.

    >>> [stability_band(index) for index in (0.0, 0.099, 0.1, 0.25, 0.251, 4.2)]
    ['none', 'none', 'minor', 'minor', 'significant', 'significant']
    """
    small, large = SIZES
    if index < small:
        return "none"
    return "minor" if index <= large else "significant"
