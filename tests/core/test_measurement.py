"""What a measurement can be."""

import math

import pytest

from monitor.core.errors import ConfigurationError, LeaseLost, MonitorError, SourceUnavailable
from monitor.core.measurement import Interval, Measurement, Reason


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="a value is finite"):
        Measurement(value=value, n=1)


def test_a_value_has_no_reason() -> None:
    with pytest.raises(ValueError, match="either a value or a reason"):
        Measurement(value=1.0, n=1, reason=Reason.TOO_FEW)


def test_no_value_has_a_reason() -> None:
    with pytest.raises(ValueError, match="either a value or a reason"):
        Measurement(value=None, n=1)


def test_an_absent_measurement_says_why_and_of_how_many() -> None:
    absent = Measurement.without_value(Reason.ONE_CLASS, n=7)

    assert (absent.value, absent.reason, absent.n) == (None, Reason.ONE_CLASS, 7)


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 0.0), (math.nan, 1.0), (0.0, math.nan)])
def test_bounds_of_an_interval_are_numbers_in_order(lower: float, upper: float) -> None:
    with pytest.raises(ValueError, match="lower must be at most upper"):
        Interval(lower, upper)


def test_an_interval_may_be_a_point_or_open() -> None:
    assert Interval(1.0, 1.0).level == 0.95
    assert Interval(-math.inf, math.inf).lower == -math.inf


def test_all_errors_are_of_one_tree() -> None:
    assert issubclass(LeaseLost, MonitorError)
    assert issubclass(SourceUnavailable, MonitorError)


def test_a_configuration_error_names_every_fault() -> None:
    error = ConfigurationError(["models[0].name: missing", "http.port: a number"])

    assert error.faults == ("models[0].name: missing", "http.port: a number")
    assert str(error) == "models[0].name: missing\nhttp.port: a number"
