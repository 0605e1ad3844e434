"""Columns that hold JSON: which they are, what is in them, and how it is taken out."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from monitor.look.table_look import ColumnLook
from monitor.sources.engines.engine import Engine

_TYPES = ("json", "jsonb")
_LOOKED_AT = 100  # texts
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def json_values_query(engine: Engine, table: str, nested: Sequence[ColumnLook]) -> str:
    """SELECT that takes the values out of columns that hold JSON, under their own names."""

    def name(part: str) -> str:
        return part if _PLAIN.fullmatch(part) else engine.quote_name(part.strip('"'))

    columns = [
        f"{engine.json_value_sql(f't.{name(column.name)}', column.type, key, is_number=is_number)} AS "
        f"{name(key)}"
        for column in nested
        for key, is_number in keys_in(column.texts.to_pylist()) or (("key", False),)
    ]
    return f"SELECT t.*, {', '.join(columns)} FROM {'.'.join(map(name, table.split('.')))} AS t"


def keys_in(texts: Sequence[str | None]) -> tuple[tuple[str, bool], ...]:
    """Keys of the first JSON objects of a column whose values are no objects or lists themselves.

    Each with whether its values are numbers.

    >>> keys_in(['{"km": 3, "plan": "a", "deep": {}}', '{"km": null, "age": null}', None])
    (('km', True), ('plan', False), ('age', False))
    """
    found: dict[str, list[object]] = {}
    for value in _json_objects(texts):
        for key, item in value.items():
            if not isinstance(item, dict | list):
                found.setdefault(key, []).append(item)
    return tuple(
        (key, {type(value) for value in values} - {type(None)} in ({int}, {float}, {int, float}))
        for key, values in found.items()
    )


def holds_json(column: ColumnLook) -> bool:
    """Whether a column is of JSON, or its first texts are objects: not every database has a type for them."""
    looked = [text for text in column.texts.to_pylist() if text is not None][:_LOOKED_AT]
    return column.type in _TYPES or (
        bool(looked) and looked[0].startswith("{") and len(list(_json_objects(looked))) == len(looked)
    )


def _json_objects(texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
    for text in [text for text in texts if text is not None][:_LOOKED_AT]:
        with suppress(ValueError, RecursionError):  # what is no JSON, or deeper than a parser goes
            value = json.loads(text)
            if isinstance(value, dict):
                yield value
