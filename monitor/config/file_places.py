"""Places in the file, and the schema's tables there: found, followed, printed."""

from collections.abc import Iterator, Mapping
from functools import cache
from inspect import isclass
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from monitor.config.schema import Configuration, SpecKeys
from monitor.specs.fault_words import quote_value

Loc: TypeAlias = tuple[str | int, ...]
Faults: TypeAlias = Iterator[tuple[Loc, str]]
_LONGEST = 80  # characters of a key that is no key of ours
_NAMED = (("sources",), ("models", "reference", "versions"))  # tables of tables, each with a name


def step_into(value: object, step: str | int) -> Any:
    """Look up a key of a table or list; None where there is nothing."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


def value_at(loc: Loc, tree: object) -> Any:
    """Value at a place; None where there is none."""
    value = tree
    for step in loc:
        value = step_into(value, step)
    return value


def cut_place(loc: Loc, tree: object) -> Loc:
    """Cut a validation's place after the first key that the file has not.

    >>> cut_place(("windows", 0, "length"), {"windows": ["7x"]})
    ('windows', 0)
    """
    place: list[str | int] = []
    for step in loc:
        if step == "[key]" or not isinstance(value_at(tuple(place), tree), dict | list):
            break
        place.append(step)
    return tuple(place)


def place_text(loc: Loc, document: Mapping[str, Any]) -> str:
    """Print a place as people read it, under `defaults` where a model has the value from there.

    >>> place_text(("models", 0, "predictions", "score"), {"models": [{"name": "late"}]})
    'models[0] "late".predictions.score'
    """
    text = ""
    place = place_origin(loc, document)
    for at, step in enumerate(place):
        if isinstance(step, int):
            text += f"[{step}]{_name_of(place[: at + 1], document)}"
        else:
            plain = len(step) <= _LONGEST and step.replace("_", "").replace("-", "").isalnum()
            key = step if plain else quote_value(step)
            text += f".{key}" if text else key
    return text


def place_position(loc: Loc, document: Mapping[str, Any]) -> tuple[int, ...]:
    """Tell where a place stands in the file: sorts as the file is read, absent keys last.

    >>> place_position(("b", 1), {"a": 0, "b": [5, 6]})
    (1, 1)
    """
    place = place_origin(loc, document)
    return tuple(_step_rank(value_at(place[:at], document), step) for at, step in enumerate(place))


def _step_rank(value: object, step: str | int) -> int:
    if isinstance(step, int):
        return step
    keys = list(value) if isinstance(value, dict) else []
    return keys.index(step) if step in keys else len(keys)


def _name_of(place: Loc, document: Mapping[str, Any]) -> str:
    name = value_at((*place, "name"), document)
    return f" {quote_value(name)}" if place[:-1] == ("models",) and isinstance(name, str) else ""


def place_origin(loc: Loc, document: Mapping[str, Any]) -> Loc:
    """Where a place stands in the file: under `defaults` where a model has the value from there."""
    own, inherited, rest = value_at(loc[:2], document), document.get("defaults"), loc[2:]
    if loc[:1] != ("models",) or not isinstance(own, dict) or not isinstance(inherited, dict):
        return loc
    for key in rest[:2]:  # defaults are merged that deep
        if not isinstance(own, dict) or not isinstance(inherited, dict) or key not in {*own, *inherited}:
            return loc
        if key not in own:
            return ("defaults", *rest)
        own, inherited = own[key], inherited.get(key)
    return loc


def keys_of(table: type[BaseModel]) -> dict[str, FieldInfo]:
    """Keys of a table as the file names them."""
    return {info.alias or name: info for name, info in table.model_fields.items()}


def config_tables() -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """Path and schema of every table of the file; the name of a source or a version is NAME."""
    yield from _tables_below((), Configuration)


def table_at(loc: Loc) -> type[BaseModel] | None:
    """Find the schema's table at a place of the file."""
    path = [step for step in loc if isinstance(step, str)]
    for named in _NAMED:
        if len(path) > len(named) and path[: len(named)] == list(named):
            path[len(named) : len(named) + 1] = ["NAME"]
    return _tables_by_path().get(tuple(path))


@cache
def _tables_by_path() -> dict[tuple[str, ...], type[BaseModel]]:
    return dict(config_tables())


def table_header(path: tuple[str, ...]) -> str:
    """Write a table's header as the file does."""
    return "[[models]]" if path == ("models",) else f"[{'.'.join(path)}]"


def _tables_below(
    path: tuple[str, ...], table: type[BaseModel]
) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    yield path, table
    for key, info in keys_of(table).items():
        parts = (*info.metadata, info.annotation)
        below = next((nested for part in parts if (nested := _nested_table(part))), None)
        if below is not None:
            place = (*path, key)
            yield from _tables_below((*place, "NAME") if place in _NAMED else place, below)


def _nested_table(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, SpecKeys):
        return annotation.table
    if isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((table for part in get_args(annotation) if (table := _nested_table(part)) is not None), None)
