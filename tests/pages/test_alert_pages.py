"""Pages of alerts: where their links lead, and what of them was known then."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from looked_at import END, Pages, copied, looking
from row_examples import firing
from serving import Bench

from monitor.alerts.alert_rules import ACKNOWLEDGED, AlertedSeries, Severity
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change
from monitor.core.clock import DAY, to_iso
from monitor.measures.measurement_row import CUMULATIVE
from monitor.specs.stored_rows import HistoryEvent
from monitor.store import alert_rows
from monitor.store.store_connections import write_transaction

CHANGE = Change(kind="missing")


@contextmanager
def with_alerts(bench: Bench, directory: Path, *others: Alert) -> Iterator[Pages]:
    """Pages of a copy of the store that has these alerts too."""
    changed = copied(bench, directory)
    with changed.app() as app:
        with write_transaction(app.store.engine) as connection:
            alert_rows.write_alerts(connection, "live", "late", others)
        app.store.events.append_events([seen(alert) for alert in others])
    with looking(changed) as pages:
        yield pages


def seen(alert: Alert) -> HistoryEvent:
    """Somebody looks after an alert since the last day."""
    told = {
        "subject": str(alert.series),
        "detail": f'{{"since": {alert.since}}}',
        "who": "Ann",
        "why": "mine",
    }
    return HistoryEvent(model="late", at=END, kind=ACKNOWLEDGED, **told)


def changed(subject: str) -> Alert:
    """A feature that changed on the last day."""
    verdict = Verdict(outcome=Outcome.BREACH, window_end=END, value=3.0, change=CHANGE)
    return firing(AlertedSeries("changed", window=CUMULATIVE, subject=subject), verdict, END)


def test_an_alert_of_a_feature_that_changed_leads_to_the_page_of_the_feature_on_that_day(
    bench: Bench, tmp_path: Path
) -> None:
    with with_alerts(bench, tmp_path, changed("feature:amount")) as pages:
        page = pages.at("/models/late/incidents/2024-04-09-inputs-missing")
        links = [str(one["href"]) for tag, one in page.elements if tag == "a" and "&end=" in str(one["href"])]
        (feature,) = [pages.at(link) for link in links if "/feature?" in link]

    assert feature.status == 200
    assert "9 Apr 2024" in feature.words


def test_an_alert_as_known_then_stands_as_it_stood_and_nobody_has_it_yet(
    bench: Bench, tmp_path: Path
) -> None:
    verdict = Verdict(outcome=Outcome.BREACH, window_end=END - 4 * DAY, value=30.0, limit=20.0)
    over = firing(
        AlertedSeries("busy", window="1d"),
        verdict,
        END - 9 * DAY,
        severity=Severity.CRITICAL,
        state=AlertState.RESOLVED,
        judged_at=END - 4 * DAY,
        resolved_at=END - 2 * DAY,
        ended=EndReason.CLEARED,
        told=((END - 9 * DAY, replace(verdict, value=25.0)), (END - 5 * DAY, verdict)),
    )
    with with_alerts(bench, tmp_path, over) as pages:
        listed = pages.at("/models/late/alerts")
        then = pages.at(f"/models/late/alerts?as_of={to_iso(END - 6 * DAY)}")
        told = pages.at(f"/alerts.json?as_of={to_iso(END - 6 * DAY)}").plain()

    assert "8 Apr 2024, back within its limit; acknowledged 10 Apr 2024 by Ann: mine" in listed.words
    assert "cleared" not in then.words
    assert "by Ann" not in then.words
    assert "records 30, limit 20" in listed.words
    assert "records 25, limit 20" in then.words
    assert "records 30, limit 20" not in then.words
    (alert,) = (one for one in told if one["since"] == to_iso(over.since))
    assert (alert["state"], alert["resolved_at"], alert["acknowledged"]) == ("firing", None, None)
    assert (alert["value"], alert["as_of"]) == (25.0, to_iso(END - 9 * DAY))


def test_events_that_came_later_take_no_mark_from_the_chart_of_then(bench: Bench, tmp_path: Path) -> None:
    changed = copied(bench, tmp_path)
    marked = HistoryEvent(model="late", at=END - 8 * DAY, kind="recounted")
    later = [replace(marked, at=END - at, kind=ACKNOWLEDGED) for at in range(20)]
    with changed.app() as app:
        app.store.events.append_events([marked, *later])

    with looking(changed) as pages:
        then = pages.at(f"/models/late?window=1d&as_of={to_iso(END - 4 * DAY)}")

    assert "<title>recounted · " in then.text
