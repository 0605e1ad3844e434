"""Keys of models for tests: with values as the program holds them, not as a file writes them."""

from dataclasses import fields, replace
from typing import Any

from pydantic import BaseModel

from monitor.specs.model_spec import ModelSpec
from monitor.specs.model_table import LabelsTable, ModelTable, Predictions, ReferenceTable

_LABELS, _REFERENCE = LabelsTable(label="label"), ReferenceTable.model_validate({})
_PREDICTIONS = Predictions(table="predictions", id="id", event_time="event_time")
_FIELDS = {field.name for field in fields(ModelSpec)}


def model_keys(name: str, source: str = "source", **changes: Any) -> ModelTable:
    """Keys of a binary model; all others have their defaults."""
    made = ModelTable(name=name, source=source, task="binary", predictions=_PREDICTIONS)
    return made.model_copy(update=_nested(made, changes))


def with_changes(spec: ModelSpec, **changes: Any) -> ModelSpec:
    """The model with other fields, or other keys, its table's own or those of the tables in it."""
    own = {name: value for name, value in changes.items() if name in _FIELDS}
    keys = {name: value for name, value in changes.items() if name not in _FIELDS}
    return replace(spec.with_keys(**_nested(spec.keys, keys)), **own)


def _nested(keys: ModelTable, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of the table's own keys; those of the tables in it are put into them."""
    labels, reference = keys.labels or _LABELS, keys.reference or _REFERENCE
    inner: dict[str, BaseModel] = {"reading": keys.reading, "labels": labels, "reference": reference}
    update: dict[str, Any] = {}
    for name, value in changes.items():
        if name in ModelTable.model_fields:
            update[name] = value
            continue
        at = next(at for at, table in inner.items() if name in type(table).model_fields)
        update[at] = inner[at] = inner[at].model_copy(update={name: value})
    return update
