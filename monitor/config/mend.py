"""What is left of a faulty model without its faults: enough to look at its tables by."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from monitor.config.faults import meant_key
from monitor.config.places import Loc
from monitor.config.schema import Model, Source
from monitor.config.tables import keys_of, table_at
from monitor.specs.model import ModelSpec, Relation

_UNKNOWN = "\0"  # stands for a column whose key has a fault
_READ = (
    "source", "task", "enabled", "predictions", "labels", "classes",
    "reference", "features", "segments", "serving", "control",
)  # fmt: skip
_PLAIN = {
    "predictions": {"id": _UNKNOWN, "event_time": _UNKNOWN},
    "labels": {"label": _UNKNOWN},
}  # of the columns that must be there
_UNITS = {
    "event_time_unit": ("event_time", "logged_at", "reported_at"),
    "logged_at_unit": ("logged_at",),
    "reported_at_unit": ("reported_at",),
}  # times that nobody can read without them
_WHOLE = ("table", "query", "id")  # of the labels: without them they would be looked for elsewhere
_ROUNDS = 5


def mended_model(at: int, table: Mapping[str, Any], faults: Iterable[Loc]) -> Model | None:
    """Take a model's keys that tell of its tables, those with faults left out; None where too few are left.

    Parameters
    ----------
    at
        position in the file; the name of a model without a name.
    faults
        places in the model.
    """
    meant = as_meant(("models", at), table)
    left = {key: dict(value) if isinstance(value, dict) else value for key, value in meant.items()}
    left = {key: left[key] for key in _READ if key in left} | {"name": "left"}
    for loc in faults:
        _drop(left, loc)
    for _ in range(_ROUNDS):
        try:
            model = Model.model_validate(left)
        except ValidationError as error:
            for one in error.errors():
                _drop(left, one["loc"])
        else:
            name = table.get("name")
            known = [model.predictions.table, model.predictions.query].count(None) == 1
            named = name if name and isinstance(name, str) else f"models[{at}]"
            return model.model_copy(update={"name": named}) if known else None
    return None


def mended_source(name: str, table: Mapping[str, Any], faults: Collection[Loc]) -> Source | None:
    """Take what reading a source's tables needs; None where that has a fault.

    Parameters
    ----------
    faults
        places in the source.
    """
    if not faults:
        return Source.model_validate(table)
    meant = as_meant(("sources", name), table)
    needed = {key: meant[key] for key in ("url", "timezone") if key in meant}
    try:
        source = Source.model_validate(needed)
    except ValidationError:
        return None
    return None if {loc[:1] for loc in faults} & {(), ("url",), ("timezone",)} else source


def without_unknown(model: ModelSpec) -> ModelSpec:
    """Leave out the columns that are not known, and features that would be found by all the others."""
    reference = model.reference
    if reference is not None and reference.relation is not None:
        reference = replace(reference, relation=_known(reference.relation), versions=())
    return replace(
        model,
        predictions=_known(model.predictions),
        labels=None if model.labels is None else _known(model.labels),
        reference=reference,
        find_features=False,
    )


def as_meant(loc: Loc, table: Mapping[str, Any]) -> dict[str, Any]:
    """Put mistyped keys right, so that they cause no faults beyond their own."""
    schema = table_at(loc)
    if schema is None:
        return dict(table)
    meant: dict[str, Any] = {}
    for key, value in table.items():
        place = (*loc, key) if key in keys_of(schema) else meant_key((*loc, key))
        if place is not None and (place[-1] == key or place[-1] not in table):
            meant[str(place[-1])] = as_meant(place, value) if isinstance(value, dict) else value
    return meant


def _known(relation: Relation) -> Relation:
    return replace(relation, columns=tuple(pair for pair in relation.columns if pair[1] != _UNKNOWN))


def _drop(left: dict[str, Any], loc: Loc) -> None:
    """Leave out what stands at a place; with it what cannot be told without it."""
    head, *rest = loc
    table = left.get(str(head))
    if head == "task":
        left["task"] = "binary"  # of which labels and predictions may be of any type
    elif head in ("predictions", "labels", "features") and isinstance(table, dict):
        if head == "labels" and (not rest or rest[0] in _WHOLE):
            del left["labels"]
        elif rest:
            table.pop(rest[0], None)
            table |= {key: value for key, value in _PLAIN.get(str(head), {}).items() if key == rest[0]}
            _drop_times(left, rest[0])
    elif head != "name":
        left.pop(str(head), None)


def _drop_times(left: dict[str, Any], unit: str | int) -> None:
    for key in _UNITS.get(str(unit), ()):
        for head in ("predictions", "labels"):
            table = left.get(head)
            if isinstance(table, dict) and key in table:
                table.pop(key)
                table |= {key: _UNKNOWN} if key == "event_time" else {}
