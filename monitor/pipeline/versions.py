"""Versions of a model: when each was first seen."""

import json
from dataclasses import replace

from monitor.core.clock import SECOND, to_iso
from monitor.core.measurement import Measurement
from monitor.pipeline.figures import log_row
from monitor.pipeline.monitored import FIRST_SEEN, Monitored
from monitor.specs.rows import Event, MeasurementRow
from monitor.states.strata import NONE
from monitor.windows.fold import VERSIONS

MEASURE = "version_first_seen_timestamp"


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


def first_seen_rows(monitored: Monitored) -> list[MeasurementRow]:
    """When the versions that came last were first seen."""
    newest = sorted(monitored.first_seen.items(), key=lambda item: (-item[1], item[0]))[:VERSIONS]
    return [
        replace(log_row(at, MEASURE, Measurement(value=at / SECOND, n=0)), version=version)
        for version, at in newest
    ]
