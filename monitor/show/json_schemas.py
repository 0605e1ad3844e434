"""What `--format json` prints, and pages answer with `.json`, as JSON Schemas (draft 2020-12)."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.lifecycle import AlertState, EndReason
from monitor.alerts.model_standing import HealthState, StateBadge
from monitor.alerts.verdicts import Outcome
from monitor.core.measurement import Reason
from monitor.measures.measurement_row import LabelTruth

Schema: TypeAlias = Mapping[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_MOMENT: Schema = {"type": "string", "format": "date-time", "description": "ISO 8601, UTC"}
_ERROR = "error"


def _nullable_schema(schema: Schema, description: str = "") -> Schema:
    """A value that may be absent."""
    either: dict[str, Any] = {"oneOf": [schema, {"type": "null"}]}
    return {**either, "description": description} if description else either


def _enum_schema(names: Iterable[str]) -> Schema:
    return {"type": "string", "enum": sorted(set(names) - {""})}


def _object_schema(fields: Mapping[str, Schema]) -> Schema:
    """An object that has these fields, all of them and no other."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


_CELL: Schema = {"oneOf": [_NUMBER, _TEXT, {"type": "null"}]}
_TABLE: Schema = {"type": "array", "items": {"type": "object", "additionalProperties": _CELL}}
_WHOLE = "null: the whole"

ROWS: Mapping[str, Schema] = {
    "measurement": _object_schema(
        {
            "model": _TEXT,
            "version": _nullable_schema(_TEXT, _WHOLE),
            "window": _nullable_schema(_TEXT, "null: of the log itself"),
            "window_end": {**_MOMENT, "description": "exclusive; ISO 8601, UTC"},
            "as_of": _MOMENT,
            "truth": _nullable_schema(_enum_schema(LabelTruth), "null: it stands on no labels"),
            "segment": _nullable_schema(_TEXT, _WHOLE),
            "measure": _TEXT,
            "subject": {
                **_TEXT,
                "description": "score, prediction, feature:NAME, class:NAME; empty: the model",
            },
            "against": _nullable_schema(_TEXT, "what the value is a difference from"),
            "value": _nullable_schema(_NUMBER, "null: see the reason"),
            "reason": _nullable_schema(_enum_schema(Reason)),
            "n": _COUNT,
            "lower": _nullable_schema(_NUMBER, "of the interval"),
            "upper": _nullable_schema(_NUMBER, "of the interval"),
            "resolution": _NUMBER,
            "coverage": _nullable_schema(_NUMBER, "share of the records with a label"),
            "warning": _nullable_schema(_TEXT),
            "detail": _nullable_schema(_TABLE, "the table behind the value"),
        }
    ),
    "alert": _object_schema(
        {
            "model": _TEXT,
            "rule": _TEXT,
            "version": _nullable_schema(_TEXT, _WHOLE),
            "segment": _nullable_schema(_TEXT, _WHOLE),
            "window": _nullable_schema(_TEXT),
            "subject": _TEXT,
            "severity": _enum_schema(Severity),
            "state": _enum_schema(AlertState),
            "since": _MOMENT,
            "fired_at": _nullable_schema(_MOMENT),
            "resolved_at": _nullable_schema(_MOMENT),
            "reason": _nullable_schema(_enum_schema(EndReason), "why it ended"),
            "value": _nullable_schema(_NUMBER, "of the newest breach"),
            "lower": _nullable_schema(_NUMBER),
            "upper": _nullable_schema(_NUMBER),
            "limit": _nullable_schema(_NUMBER),
            "n": _COUNT,
            "window_end": _MOMENT,
            "as_of": {**_MOMENT, "description": "of the newest verdict; ISO 8601, UTC"},
            "verdict": _enum_schema(Outcome),
            "cause": _nullable_schema(_TABLE, "cells, segments or features behind it"),
            "acknowledged": _nullable_schema(_TEXT, "who has it"),
            "decisions": {**_TABLE, "description": "at, decision, who, why, until"},
        }
    ),
    "incident": _object_schema(
        {
            "model": _TEXT,
            "incident": {**_TEXT, "description": "first day and kind as it opened"},
            "kind": _enum_schema(IncidentKind),
            "state": _enum_schema(("open", "recovering", "over")),
            "severity": _enum_schema(Severity),
            "headline": _TEXT,
            "first_day": {**_TEXT, "format": "date"},
            "last_day": {**_TEXT, "format": "date"},
            "opened_at": _MOMENT,
            "resolved_at": _nullable_schema(_MOMENT, "null: it is open"),
            "alerts": {
                "type": "array",
                "items": _object_schema(
                    {
                        "alert": _TEXT,
                        "since": _MOMENT,
                        "severity": _enum_schema(Severity),
                        "joined": _MOMENT,
                        "left": _nullable_schema(_MOMENT, "null: it fires"),
                        "reason": _nullable_schema(_enum_schema(EndReason)),
                    }
                ),
            },
            "steps": {
                "type": "array",
                "items": _object_schema(
                    {
                        "at": _MOMENT,
                        "turn": _enum_schema(("opened", "grew", "resolved")),
                        "growth": _nullable_schema(_TEXT, "why it is told again"),
                    }
                ),
            },
        }
    ),
    "status": _object_schema(
        {
            "model": _TEXT,
            "state": _enum_schema(HealthState),
            "badges": {"type": "array", "items": _enum_schema(StateBadge)},
            "because": {"type": "array", "items": _TEXT},
            "incidents": {
                "type": "array",
                "items": _object_schema(
                    {
                        "incident": {**_TEXT, "description": "first day and kind as it opened"},
                        "kind": _enum_schema(IncidentKind),
                        "severity": _enum_schema(Severity),
                        "first_day": {**_TEXT, "description": "of the first of its alerts"},
                        "last_day": {**_TEXT, "description": "first day of the last of them"},
                        "opened_at": {**_MOMENT, "description": "as of at which its first alert fired"},
                        "recovering": {"type": "boolean", "description": "none of its alerts fires"},
                        "headline": {**_TEXT, "description": "what happened, since when"},
                        "consequence": {**_TEXT, "description": "what it costs, or when that is known"},
                        "next": {**_TEXT, "description": "what to do"},
                        "acknowledged_by": _nullable_schema(_TEXT, "who has all of it"),
                        "alerts": {"type": "array", "items": _TEXT},
                        "same_day": {
                            "type": "array",
                            "items": {**_TEXT, "description": "address of another of the same day"},
                        },
                        "shared_with": {
                            "type": "array",
                            "items": {**_TEXT, "description": "model to which the same happened"},
                        },
                    }
                ),
            },
            "as_of": _nullable_schema(_MOMENT, "null: no cycle has run"),
            "figures": {
                "type": "array",
                "items": _object_schema(
                    {
                        "title": {**_TEXT, "description": "performance, inputs, labels or records"},
                        "days": {**_TEXT, "description": "first to last day, in words"},
                        "value": {**_TEXT, "description": "in words; empty: the note says why"},
                        "beside": _TEXT,
                        "mark": _nullable_schema(_TEXT, "critical, warning or ok; null: no colour"),
                        "note": _TEXT,
                        "exact": {**_TEXT, "description": "code name, interval, number of records"},
                    }
                ),
            },
            "changed": {
                "type": "array",
                "items": _object_schema(
                    {
                        "subject": _TEXT,
                        "what": _TEXT,
                        "usual": _TEXT,
                        "now": _TEXT,
                        "since": {**_TEXT, "description": "first day"},
                        "incident": _nullable_schema(_TEXT, "address; null: its alert is closed"),
                    }
                ),
            },
            "sections": {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}},
        }
    ),
    _ERROR: _object_schema({"error": _TEXT}),
}
PARAMETERS: Mapping[str, str] = {
    "run": "history in the store; left out: the live one",
    "as_of": "a date or time: what was known then",
    "q": "part of a name: of a model, a rule, a state; of a measure, a feature, a segment",
    "window": "as configured: 7d, month",
    "end": "end of the window, exclusive: a date or time; left out: the newest one",
    "from": "beginning of any whole panes: a date or time; together with `to`, instead of window and end",
    "to": "their end, exclusive",
    "measure": "name of a measure",
    "range": "90d, 180d, 1y or all",
    "segment": "column=value; left out: the whole",
    "version": "of the model; left out: all together",
    "name": "of the feature",
    "sort": "what comes first",
    "by": "what the cells show",
    "since": "of the first breach, microseconds since 1970; left out: the newest episode",
    "subject": "score, prediction, feature:NAME",
    "against": "reference, previous, season, or a span as 28d: what the value is the difference from",
}


def operation_schema(about: str, rows: str, path: Iterable[str], query: Iterable[str]) -> Schema:
    """OpenAPI of one address: what it takes, and a list of such rows."""

    def parameter(name: str, where: str) -> Schema:
        told = {"description": PARAMETERS[name]} if name in PARAMETERS else {}
        required = where == "path" or name == "name"
        return {"name": name, "in": where, "required": required, "schema": _TEXT, **told}

    def answered(schema: Schema, description: str) -> Schema:
        return {"description": description, "content": {"application/json": {"schema": schema}}}

    def named(name: str) -> Schema:
        return {"$ref": f"#/components/schemas/{name}"}

    faults = {
        "400": "it asks for what the page does not know",
        "404": "there is no such model, rule, measure or feature",
    }
    return {
        "get": {
            "summary": about,
            "parameters": [
                *(parameter(one, "path") for one in path),
                *(parameter(one, "query") for one in query),
            ],
            "responses": {
                "200": answered({"type": "array", "items": named(rows)}, f"a list of rows: {rows}"),
                **{status: answered(named(_ERROR), why) for status, why in faults.items()},
            },
        }
    }
