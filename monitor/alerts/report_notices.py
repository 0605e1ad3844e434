"""Reports that are sent by themselves: which period is over with a cycle, and the notice of it. Pure."""

import json
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from monitor.alerts.alert_links import page_address
from monitor.alerts.alert_messages import PAGE, Notice
from monitor.alerts.alert_rules import Severity
from monitor.core.clock import to_datetime, to_iso
from monitor.core.text import readable_text
from monitor.windows.window_ends import floor_to_unit

REPORT = "report"  # kind of such a notice


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan:
    """How often a model's report is sent, and to which channels."""

    every: str  # "week", "month" or "quarter"
    zone: str  # of whose calendar
    channels: tuple[str, ...]


def make_report_notices(
    model: str, plan: ReportPlan | None, before: int | None, at: int, *, wait: int, url: str
) -> tuple[Notice, ...]:
    """The notice of the newest period that is over with a cycle, and was not with the one before.

    A period is told once, as each moment lies between two cycles once, and what a cycle writes it writes
    whole or not at all. What the words of its report are is known as it is sent.

    Parameters
    ----------
    before
        as of of the cycle before; None: there was none, and nothing is told of what was before it.
    at
        as of of the cycle.
    wait
        microseconds after a period's end until its rows are there.
    url
        address of the pages from outside.
    """
    if plan is None or not plan.channels or before is None:
        return ()
    end = floor_to_unit(plan.every, plan.zone, at - wait)
    if before - wait >= end:
        return ()
    period = name_period(plan.every, plan.zone, end)
    page = f"{url}{page_address(('models', model, 'report'), {'period': period})}"
    said: dict[str, Any] = {
        "kind": REPORT,
        "growth": None,
        "model": model,
        "incident": "",
        "severity": Severity.INFO.value,
        "as_of": to_iso(at),
        "period": period,
        "page": page,
        "title": f"Report · {readable_text(model)} · {period}",
        "text": f"The report of {readable_text(model)} is ready.\n\n{PAGE}{page}",
        "alerts": [],
        "labels": {},
        "annotations": {},
    }
    return (
        Notice(
            incident=f"{REPORT}-{period}",
            kind=REPORT,
            severity=Severity.INFO,
            as_of=end,  # of the period alone: its key is the same whichever cycle writes it
            channels=plan.channels,
            payload=json.dumps(said, ensure_ascii=False, sort_keys=True),
        ),
    )


def name_period(every: str, zone: str, end: int) -> str:
    """The week, month or quarter that ends at a moment, as `monitor report --period` takes it.

    >>> from monitor.core.clock import from_iso
    >>> [name_period(every, "UTC", from_iso(end)) for every, end in
    ... (("month", "2014-01-01"), ("quarter", "2014-01-01"), ("week", "2013-12-30"))]
    ['2013-12', '2013-Q4', '2013-W52']
    """
    start = to_datetime(floor_to_unit(every, zone, end - 1)).astimezone(ZoneInfo(zone))
    if every == "week":
        year, week, _ = start.isocalendar()
        return f"{year}-W{week:02}"
    return f"{start:%Y}-Q{(start.month + 2) // 3}" if every == "quarter" else f"{start:%Y-%m}"
