"""Changes that somebody expects: until a moment they are no breach."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from monitor.alerts.rules import Series
from monitor.core.clock import to_iso
from monitor.core.errors import DAMAGE, damaged

ACCEPTED = "accepted"  # kind of event, and first word of what rows of the accepted window are against
ACKNOWLEDGED = "acknowledged"  # kind of event: somebody has seen an alert


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A window of one series that is the new normal.

    Parameters
    ----------
    start, end
        of the accepted window; microseconds.
    lower, upper
        bounds of the accepted value: its interval, or twice the value where it has none.
    since
        as of of the cycle that whoever accepted it had seen: it holds from the next one on, also where
        ticks that were missed are run later.
    until
        microseconds; None: for ever.
    """

    series: Series
    start: int
    end: int
    lower: float
    upper: float
    since: int = 0
    until: int | None = None

    @property
    def against(self) -> str:
        """What rows that are measured against the accepted window bear."""
        return f"{ACCEPTED}:{self.series.rule}"

    def text(self) -> str:
        """JSON, as an event's detail."""
        series = self.series
        key = [series.rule, series.version, series.segment, series.window, series.subject]
        plain = {
            "series": key,
            "start": self.start,
            "end": self.end,
            "since": self.since,
            "until": self.until,
        }
        return json.dumps(plain | {"lower": self.lower, "upper": self.upper}, sort_keys=True)


Accepted: TypeAlias = Mapping[Series, Acceptance]


def read(texts: Iterable[str], at: int) -> dict[Series, Acceptance]:
    """What is accepted at a moment, of events' details in their order: of a series the last one counts."""
    standing: dict[Series, Acceptance] = {}
    for text in texts:
        acceptance = _acceptance(text)
        if acceptance.since < at:
            standing[acceptance.series] = acceptance
    return {
        series: acceptance
        for series, acceptance in standing.items()
        if acceptance.until is None or at < acceptance.until
    }


def _acceptance(text: str) -> Acceptance:
    try:
        plain = json.loads(text)
        acceptance = Acceptance(series=Series(*map(str, plain.pop("series"))), **plain)
        for moment in (acceptance.start, acceptance.end, acceptance.since, acceptance.until or 0):
            to_iso(moment)
    except DAMAGE as error:
        raise damaged("table events, an accepted change", repr(error)) from error
    return acceptance
