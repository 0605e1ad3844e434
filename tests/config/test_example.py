"""The example's file holds what the schema holds: commented out lines included."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from monitor.config.config_loading import settings_of
from monitor.config.file_places import config_tables, keys_of
from monitor.config.schema import Configuration

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"
ENTRY = re.compile(r"# ([a-z_]+ = .*)")
VERSIONS = ("models", "reference", "versions", "NAME")
INSIDE = {("models", "windows"), ("defaults",), VERSIONS}  # shown within a value; free


def lines() -> list[str]:
    return EXAMPLE.read_text(encoding="utf-8").splitlines()


def uncommented() -> str:
    return "\n".join(found[1] if (found := ENTRY.fullmatch(line)) else line for line in lines())


def in_table(path: tuple[str, ...], document: Any) -> dict[str, Any]:
    for key in path:
        document = document["flights" if key == "NAME" else key]
        document = document[0] if isinstance(document, list) else document
    assert isinstance(document, dict)
    return document


TABLES = [(path, table) for path, table in config_tables() if path and path not in INSIDE]


@pytest.mark.parametrize(
    ("path", "table"), TABLES, ids=lambda value: ".".join(value) if isinstance(value, tuple) else ""
)
def test_every_key_of_the_schema_is_in_the_example_and_no_other(
    path: tuple[str, ...], table: type[BaseModel]
) -> None:
    example = in_table(path, tomllib.loads(uncommented()))

    assert sorted(example) == sorted(keys_of(table))


def test_every_table_of_the_schema_is_in_the_example_and_no_other() -> None:
    assert sorted(tomllib.loads(uncommented())) == sorted(keys_of(Configuration))


def test_the_steps_of_windows_are_shown_in_the_example() -> None:
    (windows,) = (line for line in lines() if line.startswith("# windows"))

    assert '{ length = "7d", step = "6h" }' in windows


def test_every_value_of_the_example_is_of_its_type() -> None:
    Configuration.model_validate(tomllib.loads(uncommented()))


def commented_defaults() -> list[tuple[tuple[str, ...], str, str, FieldInfo]]:
    path: tuple[str, ...] = ()
    by_path = {
        tuple("flights" if key == "NAME" else key for key in path): table for path, table in config_tables()
    }
    found = []
    for line in lines():
        if header := re.match(r"\[+([a-z_.]+)\]+", line):
            path = tuple(header[1].split("."))
        entry = ENTRY.fullmatch(line)
        if entry and path not in INSIDE:
            key = entry[1].split(" = ")[0]
            found.append((path, key, entry[1], keys_of(by_path[path])[key]))
    return found


@pytest.mark.parametrize(
    ("path", "key", "text", "info"), commented_defaults(), ids=lambda value: str(value)[:40]
)
def test_what_is_commented_out_is_the_default_or_says_that_it_is_an_example(
    path: tuple[str, ...], key: str, text: str, info: FieldInfo
) -> None:
    read: Any = Configuration.model_validate(tomllib.loads(uncommented()))
    for step in path:
        read = read[step] if isinstance(read, dict) else getattr(read, step)
        read = read[0] if isinstance(read, list | tuple) else read
    aliases = {info.alias: name for name, info in getattr(type(read), "model_fields", {}).items()}

    if "# example" in text:
        assert info.default in (None, [], (), {})
    else:
        assert getattr(read, aliases.get(key, key)) == info.default


def test_every_line_of_a_key_says_what_it_means() -> None:
    silent = [
        line for line in lines() if re.match(r"(# )?[a-z_]+ = ", line) and not re.search(r"  # \S", line)
    ]

    assert [line.split(" = ")[0].removeprefix("# ") for line in silent] == []


def test_the_example_is_valid_as_it_stands() -> None:
    settings = settings_of(EXAMPLE, {})

    assert [spec.name for spec in settings.models] == ["late"]
    assert settings.store.url == f"sqlite:///{EXAMPLE.parent / 'monitor.db'}"


def test_the_example_without_its_optional_tables_is_valid(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").split("[models.labels]")[0]
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")

    (spec,) = settings_of(file, {}).models

    assert spec.labels is None
    assert spec.reference is None
