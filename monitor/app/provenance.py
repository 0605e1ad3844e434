"""What stands behind numbers: data, moment, code, configuration, grids and references, decisions."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from monitor.core.clock import DAY, format_duration, to_iso
from monitor.core.text import readable_text
from monitor.core.version import VERSION
from monitor.measures.measurement_row import StoredMeasurement
from monitor.show.measurement_tables import measurements_as_table
from monitor.show.plain_rows import FurtherColumns, rows_as_csv, rows_as_json
from monitor.show.terminal_words import iso_or_none
from monitor.specs.stored_rows import HistoryEvent, KeptConfiguration, KeptReference, Provenance
from monitor.store.sql_store import SqlStore

_UNKNOWN = "not kept"
_DURATIONS = {
    *("every", "pane", "horizon", "settle_after", "step", "for", "keep_firing_for", "unknown_after"),
    *("overlap", "tolerance", "lookback", "ready_after", "revise_every"),
}
_MOMENTS = {"from", "to", "since", "start", "end", "until"}
_FLAT = ("rows_read", "newest_logged_at", "newest_reported_at", "code", "grid", "reference", "config")


@lru_cache(maxsize=1)
def running_code_version() -> str:
    """Version of this program, and the start of a hash of its sources: what runs, whoever built it.

    Cost: 20 ms, once a process.
    """
    package = Path(str(files("monitor")))
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(f"{file.relative_to(package).as_posix()}\n".encode() + file.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class MomentProvenance:
    """What stood behind the numbers of one model as of one moment."""

    model: str
    provenance: Provenance
    # (key, what is known of it), the default one first; None: it was kept by an older version.
    references: tuple[tuple[str, KeptReference | None], ...]
    configuration: KeptConfiguration | None  # None: an older version kept its hash only


def read_provenances(store: SqlStore, rows: Iterable[StoredMeasurement]) -> list[MomentProvenance]:
    """What stood behind the rows, once for each model and as of."""
    wanted = {(stored.model, stored.as_of) for stored in rows}
    references: dict[str, KeptReference | None] = {}
    configurations: dict[str, KeptConfiguration | None] = {}
    moments = []
    for model in sorted({model for model, _ in wanted}):
        for _, provenance in store.snapshots.read_provenance(model):
            if (model, provenance.as_of) not in wanted:
                continue
            if provenance.config not in configurations:
                configurations[provenance.config] = store.configurations.read_configuration(provenance.config)
            keys = provenance.reference.split()
            references |= {
                key: store.references.describe_reference(key) for key in keys if key not in references
            }
            named = tuple((key, references[key]) for key in keys)
            moments.append(MomentProvenance(model, provenance, named, configurations[provenance.config]))
    return moments


def render_with_provenance(
    store: SqlStore,
    rows: Sequence[StoredMeasurement],
    form: str,
    table: Callable[[Sequence[StoredMeasurement]], str] = measurements_as_table,
    as_of: int | None = None,
    *,
    details: bool = False,
) -> str:
    """Rows as table, JSON or CSV, and what stands behind them; as of a moment no later decision.

    `details` as in `rows_as_json`.
    """
    moments = read_provenances(store, rows)
    by_moment = {(moment.model, moment.provenance.as_of): moment for moment in moments}

    def whole(model: str, as_of: int) -> dict[str, object]:
        moment = by_moment.get((model, as_of))
        return {"provenance": None if moment is None else plain_provenance(moment)}

    def flat(model: str, as_of: int) -> dict[str, object]:
        moment = by_moment.get((model, as_of))
        return {} if moment is None else {name: _plain_data(moment.provenance)[name] for name in _FLAT}

    match form:
        case "json":
            return rows_as_json(rows, FurtherColumns(values=whole), details=details)
        case "csv":
            return rows_as_csv(rows, FurtherColumns(_FLAT, flat), details=details)
    every = [
        event
        for model in sorted({stored.model for stored in rows})
        for event in _events_by_moment(store, model)
    ]
    events = [event for event in every if as_of is None or event.at <= as_of]
    return "\n\n".join(part for part in (table(rows), provenance_text(moments, events)) if part)


def _events_by_moment(store: SqlStore, model: str) -> list[HistoryEvent]:
    """Events by when they happened in the log: a replay is noted as it begins, by where it ends."""
    return sorted(store.events.read_events(model), key=lambda event: event.at)


def plain_provenance(moment: MomentProvenance) -> dict[str, object]:
    """Plain values; times are ISO-8601 UTC."""
    configuration = moment.configuration
    return _plain_data(moment.provenance) | {
        "reference": [_plain_reference(key, reference) for key, reference in moment.references],
        "configuration": None if configuration is None else json.loads(configuration.content),
    }


def _plain_data(provenance: Provenance) -> dict[str, object]:
    return {
        "rows_read": provenance.rows_read,
        "newest_logged_at": iso_or_none(provenance.newest_logged_at),
        "newest_reported_at": iso_or_none(provenance.newest_reported_at),
        "code": provenance.code,
        "grid": provenance.grid,
        "reference": provenance.reference,
        "config": provenance.config,
    }


def provenance_text(moments: Sequence[MomentProvenance], events: Sequence[HistoryEvent] = ()) -> str:
    """For people: a paragraph for each moment, then each configuration once, then what was decided."""
    blocks = [_moment_text(moment) for moment in moments]
    kept = {moment.provenance.config: moment.configuration for moment in moments}
    blocks += [_configuration_text(key, configuration) for key, configuration in kept.items()]
    if events:
        blocks.append("\n".join(["events", *(f"  {_event_text(event)}" for event in events)]))
    return "\n\n".join(blocks)


def _moment_text(moment: MomentProvenance) -> str:
    data = moment.provenance
    logged, reported = (iso_or_none(at) or "none" for at in (data.newest_logged_at, data.newest_reported_at))
    lines = [
        ("data", f"newest row logged {logged}; newest label reported {reported}"),
        ("", f"this cycle read {data.rows_read:,} rows anew; what n stands on besides was counted before"),
        ("code", f"monitor {data.code}"),
        ("grids", data.grid),
        *(line for key, reference in moment.references for line in _reference_lines(key, reference)),
        ("configuration", data.config),
    ]
    text = [f"  {name:<15}{readable_text(value)}" for name, value in lines]
    return "\n".join([f"behind {moment.model} as of {to_iso(data.as_of)}", *text])


def _reference_lines(key: str, reference: KeptReference | None) -> list[tuple[str, str]]:
    if reference is None:
        return [("reference", f"{key} ({_UNKNOWN})")]
    made = reference.made_of or "what it was made of is " + _UNKNOWN
    rest = f"{reference.rows:,} rows, grids {reference.grid}, kept {to_iso(reference.created)}"
    return [("reference", f"{key}: {made}"), ("", rest)]


def _plain_reference(key: str, reference: KeptReference | None) -> dict[str, object]:
    if reference is None:
        return {"key": key}
    return {
        "key": key,
        "made_of": reference.made_of,
        "rows": reference.rows,
        "grid": reference.grid,
        "kept": to_iso(reference.created),
    }


def _configuration_text(key: str, configuration: KeptConfiguration | None) -> str:
    if configuration is None:
        return f"configuration {key} ({_UNKNOWN})"
    content = json.dumps(_readable_value(json.loads(configuration.content)), indent=2, ensure_ascii=False)
    return (
        f'configuration {key} of "{configuration.model}", first used '
        f"{to_iso(configuration.created)}\n{content}"
    )


def _event_text(event: HistoryEvent) -> str:
    parts = [to_iso(event.at), event.model, event.kind, event.subject]
    parts += [f"by {event.who}" if event.who else "", event.why]
    detail = json.loads(event.detail)
    detail.pop("series", None)  # it is the subject
    if detail.get("until", 0) is None:
        detail["until"] = "no end"
    parts += [f"{name} {value}" for name, value in _readable_value(detail).items() if value is not None]
    return readable_text(", ".join(part for part in parts if part))


def _readable_value(value: Any, key: str = "") -> Any:
    """Plain value with moments, days and durations as people write them."""
    match value:
        case dict():
            return {name: _readable_value(item, name) for name, item in value.items()}
        case [int(first), int(last)] if key == "unusual_days":
            return f"{to_iso(first * DAY)[:10]} to {to_iso(last * DAY)[:10]}"
        case list():
            return [_readable_value(item, key) for item in value]
        case int() if key in _MOMENTS:
            return to_iso(value)
        case int() if key in _DURATIONS:
            return format_duration(value)
        case _:
            return value
