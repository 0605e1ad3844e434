"""When will the next window settle, and why then? Or why that cannot be known. Times are microseconds."""

from dataclasses import dataclass

from monitor.core.clock import DAY, HOUR, to_iso
from monitor.windows.settling import (
    LabelledPanes,
    SettlingAges,
    SettlingRule,
    coverage_of,
    find_give_up_delay,
    find_needed_heard_time,
    measure_heard_time,
)
from monitor.windows.window_ends import Window


@dataclass(frozen=True, slots=True)
class SettlingForecast:
    """When a window is expected to settle."""

    at: int | None  # moment; None: it cannot be known
    because: str  # why then, or why it cannot be known: half a sentence, to be read after "because"


def next_end(window: Window, newest: int | None, first: int) -> int:
    """End of the first window of a kind to settle: after the newest settled one, or after the first count."""
    newest = window.newest_end(first) if newest is None else newest
    return window.newest_end(newest + window.length) if window.is_calendar else newest + window.step


def forecast_settling(
    window: tuple[int, int],
    as_of: int,
    panes: LabelledPanes,
    ages: SettlingAges,
    rule: SettlingRule,
    usual: float,
) -> SettlingForecast:
    """When the window [start, end), which has not settled, is expected to do so.

    Delays that are still to be seen can move the moment on.

    Parameters
    ----------
    usual
        see `usual_coverage`.
    """
    if not panes.labelled.any():
        return SettlingForecast(None, "no record has a label yet")
    _, end = window
    expected = forecast_by_age(end, ages, rule, measure_heard_time(panes, rule))
    assert expected.at is not None
    return expected if expected.at > as_of else _overdue_forecast(window, as_of, panes, ages, rule, usual)


def forecast_by_age(end: int, ages: SettlingAges, rule: SettlingRule, last_heard: int) -> SettlingForecast:
    """When a window that ends at `end` is old enough, by the delays alone.

    Parameters
    ----------
    last_heard
        for how long the feed was heard: see `measure_heard_time`.
    """
    if rule.after is not None:
        return SettlingForecast(
            end + rule.after, f"windows settle {hours_or_days(rule.after)} after they end (settle_after)"
        )
    if not ages.curves:
        return SettlingForecast(
            end + rule.horizon,
            "too few labels tell how late labels come, so windows wait for the horizon of "
            f"{hours_or_days(rule.horizon)}",
        )
    labels = "each class's labels" if len(ages.curves) > 1 else "the labels"
    share = f"{100 * rule.share:.0f} % of {labels} come within {hours_or_days(ages.settled)}"
    enough = find_needed_heard_time(ages, rule)
    if last_heard >= enough:
        return SettlingForecast(end + ages.settled, share)
    return SettlingForecast(
        max(end + ages.settled, rule.heard - last_heard + enough),
        f"so far {share}, and the feed must be heard for {hours_or_days(enough)} to show later ones; "
        f"it was heard for {hours_or_days(last_heard)}",
    )


def _overdue_forecast(
    window: tuple[int, int],
    as_of: int,
    panes: LabelledPanes,
    ages: SettlingAges,
    rule: SettlingRule,
    usual: float,
) -> SettlingForecast:
    """It is old enough: labels are missing, or a count."""
    start, end = window
    inside = (panes.start >= start) & (panes.start < end)
    coverage = coverage_of(panes, inside)
    if coverage >= rule.share * usual and coverage > 0.0:
        return SettlingForecast(None, "some of its panes wait to be counted, or its last day lacks labels")
    low = f"{100 * coverage:.0f} % of its records have a label, where {100 * usual:.0f} % are usual"
    needed = find_give_up_delay(ages, rule)
    if end + needed > as_of:
        return SettlingForecast(end + needed, f"{low}; by then it settles with the warning low_coverage")
    return SettlingForecast(None, f"{low}, and the feed has reported nothing since {_day_text(rule.heard)}")


def hours_or_days(us: int) -> str:
    """A duration as people say it: whole hours, or whole days from two days on.

    >>> hours_or_days(36 * HOUR), hours_or_days(58 * DAY - HOUR), hours_or_days(0)
    ('36 hours', '58 days', '0 hours')
    """
    unit, name = (DAY, "day") if us >= 2 * DAY else (HOUR, "hour")
    many = round(us / unit)
    return f"{many} {name}{'' if many == 1 else 's'}"


def _day_text(moment: int) -> str:
    return to_iso(moment).partition("T")[0]
