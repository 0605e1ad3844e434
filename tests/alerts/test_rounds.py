"""All rules of a model at once."""

from dataclasses import replace

from test_verdicts import ABOVE, row

from monitor.alerts.alert_rules import Acceptance, AlertedSeries
from monitor.alerts.judging_rounds import advance_alerts
from monitor.alerts.lifecycle import AlertState, EndReason
from monitor.core.clock import DAY

SERIES = AlertedSeries("shift", window="7d")


def test_an_alert_that_fires_is_written_and_has_turned() -> None:
    found = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    assert [alert.series for alert in found.written] == [SERIES]
    assert found.turned == found.written
    assert found.standing[SERIES].state is AlertState.FIRING


def test_nothing_is_written_where_nothing_is_new() -> None:
    first = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    again = advance_alerts([ABOVE], [row(0.9)], first.standing, 9)

    assert (again.written, again.turned, again.dropped) == ((), (), ())
    assert again.standing == first.standing


def test_what_ended_stands_no_longer() -> None:
    first = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    ended = advance_alerts([ABOVE], [row(0.1, end=14)], first.standing, 15)

    assert ended.standing == {}
    [alert] = ended.written
    assert (alert.state, alert.ended) == (AlertState.RESOLVED, EndReason.CLEARED)
    assert ended.turned == (alert,)


def test_a_window_that_was_not_looked_at_leaves_its_alerts_as_they_are() -> None:
    first = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    found = advance_alerts([ABOVE], [], first.standing, 8 + 2 * DAY)

    assert found.standing == first.standing


def test_a_series_without_a_row_ends_for_want_of_data() -> None:
    first = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    other = row(0.9, subject="score")
    found = advance_alerts([ABOVE], [other], first.standing, 9)
    ended = advance_alerts([ABOVE], [other], found.standing, 9 + DAY)

    assert found.standing[SERIES].unknown_since == 9
    assert [alert.ended for alert in ended.written] == [EndReason.NO_DATA]


def test_a_segment_ends_for_want_of_data_where_a_newer_window_has_none_of_any_segment() -> None:
    """A revision measures the whole alone: that a segment is not among its rows says nothing."""
    each = replace(ABOVE, segment="origin=*")
    first = advance_alerts([each], [row(0.9), row(0.9, segment="origin=JFK")], {}, 8)

    revised = advance_alerts([each], [row(0.8)], first.standing, 8 + 2 * DAY)
    silent = advance_alerts([each], [row(0.0, end=14)], revised.standing, 8 + 3 * DAY)
    ended = advance_alerts([each], [row(0.0, end=21)], silent.standing, 8 + 4 * DAY)

    assert revised.standing == first.standing
    [alert] = silent.standing.values()
    assert (alert.series.segment, alert.unknown_since) == ("origin=JFK", 8 + 3 * DAY)
    assert [alert.ended for alert in ended.turned] == [EndReason.NO_DATA]


def test_alerts_of_a_rule_that_is_gone_end() -> None:
    first = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    found = advance_alerts([], [], first.standing, 9)

    assert [alert.ended for alert in found.turned] == [EndReason.REMOVED]
    assert found.standing == {}


def test_an_alert_ends_as_accepted_only_if_its_newest_breach_was_accepted() -> None:
    accepted = {SERIES: Acceptance(series=SERIES, start=0, end=7, lower=0.8, upper=0.95)}
    first = advance_alerts([ABOVE], [row(0.9)], {}, 8)

    expected = advance_alerts([ABOVE], [row(0.9, end=14)], first.standing, 15, accepted=accepted)
    later = advance_alerts([ABOVE], [row(0.99, end=21)], {}, 22, accepted=accepted)
    cleared = advance_alerts([ABOVE], [row(0.1, end=28)], later.standing, 29, accepted=accepted)

    kept = replace(ABOVE, keep_firing_for=100)
    at_once = advance_alerts([kept], [row(0.9, end=14)], first.standing, 15, accepted=accepted)

    assert [alert.ended for alert in expected.turned] == [EndReason.ACCEPTED]
    assert (at_once.turned, at_once.standing) == (expected.turned, {})
    assert [alert.ended for alert in cleared.turned] == [EndReason.CLEARED]
