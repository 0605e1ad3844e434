"""Places in the file: found, followed, printed."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from monitor.config.messages import quoted

Loc: TypeAlias = tuple[str | int, ...]
_LONGEST = 80  # characters of a key that is no key of ours


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


def traced(loc: Loc, tree: object) -> Loc:
    """Cut a validation's place after the first key that the file has not.

    >>> traced(("windows", 0, "length"), {"windows": ["7x"]})
    ('windows', 0)
    """
    found: list[str | int] = []
    for step in loc:
        if step == "[key]" or not isinstance(value_at(tuple(found), tree), dict | list):
            break
        found.append(step)
    return tuple(found)


def printed(loc: Loc, document: Mapping[str, Any]) -> str:
    """Print a place as people read it, under `defaults` where a model has the value from there.

    >>> printed(("models", 0, "predictions", "score"), {"models": [{"name": "late"}]})
    'models[0] "late".predictions.score'
    """
    text = ""
    place = origin(loc, document)
    for at, step in enumerate(place):
        if isinstance(step, int):
            text += f"[{step}]{_name_of(place[: at + 1], document)}"
        else:
            plain = len(step) <= _LONGEST and step.replace("_", "").replace("-", "").isalnum()
            key = step if plain else quoted(step)
            text += f".{key}" if text else key
    return text


def position(loc: Loc, document: Mapping[str, Any]) -> tuple[int, ...]:
    """Tell where a place stands in the file: sorts as the file is read, absent keys last.

    >>> position(("b", 1), {"a": 0, "b": [5, 6]})
    (1, 1)
    """
    place = origin(loc, document)
    return tuple(_rank(value_at(place[:at], document), step) for at, step in enumerate(place))


def _rank(value: object, step: str | int) -> int:
    if isinstance(step, int):
        return step
    keys = list(value) if isinstance(value, dict) else []
    return keys.index(step) if step in keys else len(keys)


def _name_of(place: Loc, document: Mapping[str, Any]) -> str:
    name = value_at((*place, "name"), document)
    return f" {quoted(name)}" if place[:-1] == ("models",) and isinstance(name, str) else ""


def origin(loc: Loc, document: Mapping[str, Any]) -> Loc:
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
