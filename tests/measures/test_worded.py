"""Values in words: laws that hold of every measure of the catalogue."""

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import BetterDirection
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.value_words import (
    CHANCE,
    certainty_words,
    comparison_words,
    format_interval_bounds,
    format_limit,
    format_measure_difference,
    format_measure_value,
    moment_text,
    value_with_interval,
)

NAMES = st.sampled_from([measure.name for measure in CATALOGUE])
VALUES = st.floats(-1e9, 1e9)
NOTHING = re.compile(r"[+−][0.,]*( points)?$")


@given(NAMES, VALUES)
def test_a_number_bears_a_minus_and_never_a_hyphen(name: str, value: float) -> None:
    moments = BY_NAME[name].moment
    texts = [
        format_measure_difference(name, value),
        format_limit(name, value, differs=True),
        format_measure_value(name, value),
    ]

    assert moments or not any(text.startswith("-") for text in texts)


@given(NAMES, st.floats(-1e-4, 1e-4))
def test_what_is_rounded_to_nothing_has_no_sign(name: str, value: float) -> None:
    assert not NOTHING.fullmatch(format_measure_difference(name, value))


@given(NAMES, VALUES.filter(lambda value: abs(value) > 1))
def test_a_difference_bears_its_sign(name: str, value: float) -> None:
    text = format_measure_difference(name, value)

    assert BY_NAME[name].moment or text[0] == ("+" if value > 0 else "−")


@given(NAMES, st.floats(0.0005, 0.9994))
def test_an_interval_is_told_as_its_value(name: str, value: float) -> None:
    text = value_with_interval(name, Measurement(value=value, n=9, interval=Interval(value, value)))
    told = format_measure_value(name, value).removesuffix(" %").removesuffix(" points")

    assert told.startswith("0.00") or f"[{told}, {told}]" in text


@given(NAMES, VALUES, st.floats(0, 10))
def test_a_difference_is_sure_exactly_where_its_interval_excludes_nothing(
    name: str, value: float, half: float
) -> None:
    interval = Interval(value - half, value + half)
    word = certainty_words(name, Measurement(value=value, n=9, interval=interval))

    assert (word == CHANCE) == (interval.lower <= 0 <= interval.upper)
    if word != CHANCE and BY_NAME[name].direction is not BetterDirection.NONE:
        assert (word == "surely better") == (
            (value > 0) == (BY_NAME[name].direction is BetterDirection.HIGHER)
        )


def test_without_an_interval_nothing_is_sure() -> None:
    assert certainty_words("roc_auc", Measurement(value=-0.3, n=9)) == "unknown"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Measurement.without_value(Reason.NO_LABELS, n=0), "previous (no_labels)"),
        (Measurement(value=-0.02, n=9), "previous unknown, difference −2.0 points"),
        (
            Measurement(
                value=-0.02,
                n=9,
                interval=Interval(-0.04, -0.01),
                detail=DetailTable(FIGURES, ((0.9, 0.8, 0.95, 99),)),
            ),
            "previous 90.0 %, difference −2.0 points [−4.0, −1.0]",
        ),
    ],
)
def test_what_is_compared_is_told_in_one_form(result: Measurement, expected: str) -> None:
    row = MeasurementRow(
        window="7d",
        window_end=0,
        truth=LabelTruth.SETTLED,
        version=None,
        segment=None,
        measure="accuracy",
        subject="",
        measurement=result,
        against="previous",
    )

    assert comparison_words(row) == expected


def test_a_moment_that_no_calendar_has_is_a_number() -> None:
    assert (moment_text(math.inf), moment_text(9e15)) == ("inf", "9,000,000,000,000,000")


def test_no_interval_has_no_brackets() -> None:
    assert format_interval_bounds("roc_auc", None) == ""


@given(NAMES, st.floats(-1e-3, 1e-3).filter(lambda value: abs(value) > 1e-9))
@example("log_loss", -0.00037)
def test_a_bound_that_is_not_0_is_not_told_as_0(name: str, value: float) -> None:
    told = [
        format_interval_bounds(name, Interval(value, value), differs=differs) for differs in (False, True)
    ]

    for text in (*told, format_measure_difference(name, value)):
        assert BY_NAME[name].moment or any(digit in "123456789" for digit in text)
