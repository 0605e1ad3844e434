"""What stands behind numbers: data, moment, code, configuration, grids and references, decisions."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from monitor.core.clock import to_iso
from monitor.core.text import readable
from monitor.show.plain import Further, Shown, as_csv, as_json
from monitor.show.table import as_table
from monitor.specs.rows import Event, KeptConfiguration, KeptReference, Provenance
from monitor.store.adapter import SqlStore

_UNKNOWN = "not kept"
_FLAT = ("rows_read", "newest_logged_at", "newest_reported_at", "code", "grid", "reference", "config")


@dataclass(frozen=True, slots=True)
class Behind:
    """What stood behind the numbers of one model as of one moment.

    Parameters
    ----------
    references
        (key, what is known of it), the default one first; None: it was kept by an older version.
    configuration
        None: an older version kept its hash only.
    """

    model: str
    provenance: Provenance
    references: tuple[tuple[str, KeptReference | None], ...]
    configuration: KeptConfiguration | None


def behind(store: SqlStore, rows: Iterable[Shown]) -> list[Behind]:
    """What stood behind the rows, once for each model and as of."""
    wanted = {(model, as_of) for model, as_of, _ in rows}
    references: dict[str, KeptReference | None] = {}
    configurations: dict[str, KeptConfiguration | None] = {}
    found = []
    for model in sorted({model for model, _ in wanted}):
        for _, one in store.provenance(model):
            if (model, one.as_of) not in wanted:
                continue
            if one.config not in configurations:
                configurations[one.config] = store.configuration(one.config)
            keys = one.reference.split()
            references |= {key: store.reference_facts(key) for key in keys if key not in references}
            known = tuple((key, references[key]) for key in keys)
            found.append(Behind(model, one, known, configurations[one.config]))
    return found


def with_provenance(
    store: SqlStore, rows: Sequence[Shown], form: str, table: Callable[[Sequence[Shown]], str] = as_table
) -> str:
    """Rows as table, JSON or CSV, and what stands behind them."""
    found = behind(store, rows)
    by_moment = {(one.model, one.provenance.as_of): one for one in found}

    def whole(model: str, as_of: int) -> dict[str, object]:
        one = by_moment.get((model, as_of))
        return {"provenance": None if one is None else plain(one)}

    def flat(model: str, as_of: int) -> dict[str, object]:
        one = by_moment.get((model, as_of))
        return {} if one is None else {name: _data(one.provenance)[name] for name in _FLAT}

    match form:
        case "json":
            return as_json(rows, Further(values=whole))
        case "csv":
            return as_csv(rows, Further(_FLAT, flat))
    events = [event for model in sorted({row[0] for row in rows}) for event in store.events(model)]
    return "\n\n".join(part for part in (table(rows), as_text(found, events)) if part)


def plain(one: Behind) -> dict[str, object]:
    """Plain values; times are ISO-8601 UTC."""
    kept = one.configuration
    return _data(one.provenance) | {
        "reference": [_plain_reference(key, known) for key, known in one.references],
        "configuration": None if kept is None else json.loads(kept.content),
    }


def _data(found: Provenance) -> dict[str, object]:
    return {
        "rows_read": found.rows_read,
        "newest_logged_at": _iso(found.newest_logged_at),
        "newest_reported_at": _iso(found.newest_reported_at),
        "code": found.code,
        "grid": found.grid,
        "reference": found.reference,
        "config": found.config,
    }


def as_text(found: Sequence[Behind], events: Sequence[Event] = ()) -> str:
    """For people: a paragraph for each moment, then each configuration once, then what was decided."""
    blocks = [_moment(one) for one in found]
    kept = {one.provenance.config: one.configuration for one in found}
    blocks += [_configuration(key, configuration) for key, configuration in kept.items()]
    if events:
        blocks.append("\n".join(["events", *(f"  {_event(event)}" for event in events)]))
    return "\n\n".join(blocks)


def _moment(one: Behind) -> str:
    data = one.provenance
    newest = (_iso(moment) or "none" for moment in (data.newest_logged_at, data.newest_reported_at))
    logged, reported = newest
    lines = [
        ("data", f"{data.rows_read:,} rows read by this cycle; newest row logged {logged}"),
        ("", f"newest label reported {reported}"),
        ("code", f"monitor {data.code}"),
        ("grids", data.grid),
        *(line for key, known in one.references for line in _reference(key, known)),
        ("configuration", data.config),
    ]
    text = [f"  {name:<15}{readable(value)}" for name, value in lines]
    return "\n".join([f"behind {one.model} as of {to_iso(data.as_of)}", *text])


def _reference(key: str, known: KeptReference | None) -> list[tuple[str, str]]:
    if known is None:
        return [("reference", f"{key} ({_UNKNOWN})")]
    made = known.made_of or "what it was made of is " + _UNKNOWN
    rest = f"{known.rows:,} rows, grids {known.grid}, kept {to_iso(known.created)}"
    return [("reference", f"{key}: {made}"), ("", rest)]


def _plain_reference(key: str, known: KeptReference | None) -> dict[str, object]:
    if known is None:
        return {"key": key}
    return {
        "key": key,
        "made_of": known.made_of,
        "rows": known.rows,
        "grid": known.grid,
        "kept": to_iso(known.created),
    }


def _configuration(key: str, kept: KeptConfiguration | None) -> str:
    if kept is None:
        return f"configuration {key} ({_UNKNOWN})"
    content = json.dumps(json.loads(kept.content), indent=2, ensure_ascii=False)
    return f'configuration {key} of "{kept.model}", first used {to_iso(kept.created)}\n{content}'


def _event(event: Event) -> str:
    told = [to_iso(event.at), event.model, event.kind, event.subject]
    told += [f"by {event.who}" if event.who else "", event.why, "" if event.detail == "{}" else event.detail]
    return readable(", ".join(part for part in told if part))


def _iso(moment: int | None) -> str | None:
    return None if moment is None else to_iso(moment)
