"""The schema for editors is that of the file: kept equal, and wide enough for what the file may hold."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from config_schema import meanings, schema_text

from monitor.config.file_places import config_tables, keys_of

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "config.example.toml").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "config.schema.json").read_text(encoding="utf-8"))


def test_the_schema_in_the_repository_is_that_of_the_code() -> None:
    assert (ROOT / "config.schema.json").read_text(encoding="utf-8") == schema_text(EXAMPLE), "run make docs"


def test_the_example_names_the_schema_where_editors_look_for_it() -> None:
    assert EXAMPLE.splitlines()[0] == "#:schema ./config.schema.json"


@pytest.mark.parametrize("table", [table for _, table in config_tables()], ids=lambda table: table.__name__)
def test_every_key_is_in_the_schema_and_no_other(table: Any) -> None:
    found = SCHEMA if table.__name__ == "Configuration" else SCHEMA["$defs"][table.__name__]

    assert set(found["properties"]) == set(keys_of(table))
    assert found["additionalProperties"] is False


def test_keys_say_what_they_mean() -> None:
    said = meanings(EXAMPLE)

    assert said["Http", "port"] == "0: any free one"
    assert SCHEMA["$defs"]["ModelTable"]["properties"]["max_series"]["description"] == "at most, in /metrics"


def test_durations_are_text_with_defaults_as_the_file_writes_them() -> None:
    horizon = SCHEMA["$defs"]["ModelTable"]["properties"]["horizon"]

    assert (horizon["type"], horizon["default"]) == ("string", "60d")


def test_what_defaults_may_give_is_not_required() -> None:
    assert "required" not in SCHEMA
    assert "required" not in SCHEMA["$defs"]["ModelTable"]
    assert SCHEMA["properties"]["defaults"]["$ref"] == "#/$defs/ModelTable"


def test_no_class_reads_a_value_by_itself() -> None:
    """The signature of an enum is one that pydantic refuses from Python 3.12 on."""
    files = [path for room in ("config", "specs") for path in (ROOT / "monitor" / room).glob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    readers = re.findall(r"\w+Validator\(([\w.]+)\)", "".join(texts))

    assert readers
    assert [name for name in readers if name.split(".")[-1][0].isupper()] == []


def fits(value: object, rule: dict[str, Any]) -> bool:
    """As much of JSON Schema as the file needs: types, options, keys, items."""
    if "$ref" in rule:
        return fits(value, SCHEMA["$defs"][rule["$ref"].rsplit("/", 1)[-1]])
    if "anyOf" in rule:
        return any(fits(value, one) for one in rule["anyOf"])
    if "enum" in rule:
        return value in rule["enum"]
    if isinstance(value, dict):
        others = rule.get("additionalProperties", True)
        return rule["type"] == "object" and all(
            fits(item, rule["properties"][key])
            if key in rule.get("properties", {})
            else isinstance(others, dict) and fits(item, others)
            for key, item in value.items()
        )
    if isinstance(value, list):
        return rule["type"] == "array" and all(fits(item, rule.get("items", {})) for item in value)
    types = {str: {"string"}, bool: {"boolean"}, int: {"integer", "number"}, float: {"number"}}
    wanted = rule.get("type", [])
    return not rule or bool(types[type(value)] & set([wanted] if isinstance(wanted, str) else wanted))


def test_the_example_fits_the_schema_with_all_its_keys() -> None:
    lines = (
        line.removeprefix("# ") if line.startswith("# ") and " = " in line.split("#")[1] else line
        for line in EXAMPLE.splitlines()
    )
    text = "\n".join(line for line in lines if not line.startswith("#"))

    document = tomllib.loads(text)

    assert fits(document, SCHEMA)
    assert not fits(document | {"stor": {}}, SCHEMA)
