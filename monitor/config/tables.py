"""The schema's tables: which keys there are, and where."""

from collections.abc import Iterator
from functools import cache
from inspect import isclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from monitor.config.places import Loc
from monitor.config.schema import Configuration

_NAMED = (("sources",), ("models", "reference", "versions"))  # tables of tables, each with a name


def keys_of(table: type[BaseModel]) -> dict[str, FieldInfo]:
    """Keys of a table as the file names them."""
    return {info.alias or name: info for name, info in table.model_fields.items()}


def tables() -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """Path and schema of every table of the file; the name of a source or a version is NAME."""
    yield from _below((), Configuration)


def table_at(loc: Loc) -> type[BaseModel] | None:
    """Find the schema's table at a place of the file."""
    path = [step for step in loc if isinstance(step, str)]
    for named in _NAMED:
        if len(path) > len(named) and path[: len(named)] == list(named):
            path[len(named) : len(named) + 1] = ["NAME"]
    return _tables().get(tuple(path))


@cache
def _tables() -> dict[tuple[str, ...], type[BaseModel]]:
    return dict(tables())


def header(path: tuple[str, ...]) -> str:
    """Write a table's header as the file does."""
    return "[[models]]" if path == ("models",) else f"[{'.'.join(path)}]"


def _below(
    path: tuple[str, ...], table: type[BaseModel]
) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    yield path, table
    for key, info in keys_of(table).items():
        below = _nested(info.annotation)
        if below is not None:
            yield from _below((*path, key, "NAME") if (*path, key) in _NAMED else (*path, key), below)


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _nested(part)) is not None), None)
