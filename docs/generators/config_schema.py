"""JSON Schema of the configuration file, for editors: keys, types, defaults, and what each means."""

import json
import re
from collections.abc import Mapping
from typing import Any

from monitor.config.file_places import config_tables, keys_of
from monitor.config.schema import Configuration
from monitor.core.clock import format_duration

_ENTRY = re.compile(r"(?:# )?([a-z_]+) = .*?\s# (.*)")
_HEADER = re.compile(r"\[+([a-z_.A-Z0-9\"-]+)\]+")


def schema_text(example: str) -> str:
    """Text of `config.schema.json`.

    Parameters
    ----------
    example
        text of `config.example.toml`: its comments are the descriptions.
    """
    return json.dumps(json_schema(meanings(example)), indent=2, ensure_ascii=False) + "\n"


def json_schema(described: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Schema with a description for each (table, key) that has one.

    Nothing that `[defaults]` or an included file may give is required.
    """
    schema = Configuration.model_json_schema()
    definitions = schema["$defs"]
    for name, table in (("Configuration", schema), *definitions.items()):
        properties = table.get("properties", {})
        for key, value in properties.items():
            text = described.get((name, key))
            properties[key] = _plain(value) | ({"description": text} if text else {})
    windows = definitions["ModelTable"]["properties"]["windows"]
    windows["items"] = {"anyOf": [{"type": "string"}, windows["items"]]}
    windows["default"] = [window["length"] for window in windows["default"]]
    for name in ("ModelTable", "Predictions", "LabelsTable", "Control", "Profit"):
        definitions[name].pop("required", None)
    schema.pop("required", None)
    schema["properties"]["models"].pop("minItems", None)
    schema["properties"]["defaults"] = {"$ref": "#/$defs/ModelTable", "description": "Any key of a model."}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def meanings(example: str) -> dict[tuple[str, str], str]:
    """What each key means: the comments of the example, by the schema's name of the table and the key."""
    names = {path: table.__name__ for path, table in config_tables()}
    known = {table.__name__: set(keys_of(table)) for _, table in config_tables()}
    found: dict[tuple[str, str], str] = {}
    at = names[()]
    for line in example.splitlines():
        header = _HEADER.match(line.removeprefix("# "))
        if header is not None:
            at = _table(header[1], names) or at
        elif (entry := _ENTRY.match(line)) and entry[1] in known[at]:
            found.setdefault((at, entry[1]), entry[2].removeprefix("example; ").strip())
    return found


def _table(header: str, names: Mapping[tuple[str, ...], str]) -> str | None:
    path = tuple(part.strip('"') for part in header.split("."))
    return next((name for known, name in names.items() if _is_at(path, known)), None)


def _is_at(path: tuple[str, ...], known: tuple[str, ...]) -> bool:
    pairs = zip(path, known, strict=False)
    return len(path) == len(known) and all(wanted in (step, "NAME") for step, wanted in pairs)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A property without null, which TOML has not, and with a duration as the file writes it."""
    options = [one for one in value.get("anyOf", ()) if one.get("type") != "null"]
    rest = {key: item for key, item in value.items() if key not in ("anyOf", "title")}
    merged = rest | (options[0] if len(options) == 1 else {"anyOf": options} if options else {})
    if merged.get("default", 0) is None or isinstance(merged.get("default"), dict):
        del merged["default"]
    if "pattern" in merged and isinstance(merged.get("default"), int):
        merged["default"] = format_duration(merged["default"])
    return merged
