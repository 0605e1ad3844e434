"""Faults: where in the file, what the rule is, what was got."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails

from monitor.alerts.default_rules import NAMES
from monitor.config.file_places import (
    Loc,
    config_tables,
    cut_place,
    keys_of,
    table_at,
    table_header,
    value_at,
)
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value, suggest_word

_RULES = {
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "too_short": "must have at least one entry",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
}


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One fault."""

    loc: Loc  # place in the file after the defaults were merged into the models
    text: str


def structural_faults(errors: Sequence[ErrorDetails], tree: Mapping[str, Any]) -> list[ConfigFault]:
    """Faults of a validation's errors.

    A required key that is there under a mistyped name is not reported as missing too.

    `tree`: what was validated.
    """
    meant = {meant_key(error["loc"]) for error in errors if error["type"] == "extra_forbidden"}
    return [
        ConfigFault(cut_place(error["loc"], tree), _fault_sentence(error, tree))
        for error in errors
        if not (error["type"] == "missing" and error["loc"] in meant)
    ]


def meant_key(loc: Loc) -> Loc | None:
    """Place of the known key that an unknown one was most likely meant to be."""
    *table, key = loc
    meant = suggest_word(str(key), _known_keys(tuple(table)))
    return None if meant is None else (*table, meant)


def correct_mistyped_keys(loc: Loc, table: Mapping[str, Any]) -> dict[str, Any]:
    """Put mistyped keys right, so that they cause no faults beyond their own."""
    schema = table_at(loc)
    if schema is None:
        return dict(table)
    meant: dict[str, Any] = {}
    for key, value in table.items():
        place = (*loc, key) if key in keys_of(schema) else meant_key((*loc, key))
        if place is not None and (place[-1] == key or place[-1] not in table):
            meant[str(place[-1])] = correct_mistyped_keys(place, value) if isinstance(value, dict) else value
    return meant


def _known_keys(table: Loc) -> Iterable[str]:
    schema = table_at(table)
    return () if schema is None else keys_of(schema)


def _fault_sentence(error: ErrorDetails, tree: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    got = value_at(cut_place(error["loc"], tree), tree)
    match error["type"]:
        case "value_error":
            return str(context["error"])
        case "extra_forbidden":
            return f"unknown key{_key_hint(error['loc'])}"
        case "missing":
            return f"required, but missing{_own_rule(error['loc'], tree)}"
        case "literal_error" | "enum":
            options = [word.strip("'") for word in re.split(", | or ", context["expected"])]
            return (
                f"must be one of {quote_names(options)}: got "
                f"{quote_value(got)}{did_you_mean(str(got), options)}"
            )
        case "list_type" if error["loc"] == ("models",) and isinstance(got, dict):
            return 'must be a list of tables: "[[models]]" instead of "[models]"'
        case kind:
            return f"{_RULES.get(kind, error['msg']).format(**context)}: got {quote_value(got)}"


def _own_rule(loc: Loc, tree: Mapping[str, Any]) -> str:
    """What a rule lacks that was perhaps meant to change a default one, which there is not."""
    *table, key = loc
    rule = value_at(cut_place(tuple(table), tree), tree)
    if key != "measure" or not isinstance(rule, dict) or not isinstance(name := rule.get("name"), str):
        return ""
    if name in NAMES:
        return ""
    return f": there is no default rule {quote_value(name)}, and a rule of your own says what it measures"


def _key_hint(loc: Loc) -> str:
    *table, last = loc
    key = str(last)
    near = did_you_mean(key, _known_keys(tuple(table)))
    if near:
        return near
    section = tuple(table[:1])  # a key of [http] is no hint for a model
    places = [
        path for path, schema in config_tables() if key in keys_of(schema) and path[: len(section)] == section
    ]
    return f"; it belongs in {table_header(places[0])}" if len(places) == 1 and places[0] else ""
