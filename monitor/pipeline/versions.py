"""Versions of a model: when each was first seen."""

import json

from monitor.core.clock import to_iso
from monitor.pipeline.model import FIRST_SEEN, Monitored
from monitor.specs.rows import Event
from monitor.states.strata import NONE


def newly_seen(monitored: Monitored, as_of: int) -> list[Event]:
    """First sight of each version that was never counted before; it is remembered here."""
    found = {version: start for version, start in monitored.panes.versions.items() if version != NONE}
    new = sorted(found.keys() - monitored.first_seen.keys())
    monitored.first_seen |= dict.fromkeys(new, as_of)
    return [
        Event(
            model=monitored.name,
            at=as_of,
            kind=FIRST_SEEN,
            subject=version,
            detail=json.dumps({"oldest_pane": to_iso(found[version])}),
        )
        for version in new
    ]
