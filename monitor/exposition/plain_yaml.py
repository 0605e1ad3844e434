"""Plain values as YAML that a person reads: mappings, lists, texts, whole numbers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from monitor.core.text import double_quoted

Plain: TypeAlias = "str | int | Sequence[Plain] | Mapping[str, Plain]"

_UNQUOTED = re.compile(
    r"[A-Za-z_/][\w/.()-]*(?: [\w/.()-]+)*|\d+[smhdw]"
)  # nothing that YAML reads otherwise
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def as_yaml(value: Mapping[str, Plain]) -> str:
    r"""Text of a mapping; texts of several lines as blocks.

    >>> print(as_yaml({"groups": [{"name": "a", "n": 1, "expr": "x\n  > 1"}], "job": "a: b"}), end="")
    groups:
      - name: a
        "n": 1
        expr: |-
          x
            > 1
    job: "a: b"
    """
    return "".join(f"{line}\n" for line in _mapping_lines(value))


def _mapping_lines(value: Mapping[str, Plain]) -> Iterator[str]:
    for key, entry in value.items():
        yield from _entry_lines(f"{_yaml_text(key)}:", entry)


def _entry_lines(head: str, value: Plain) -> Iterator[str]:
    match value:
        case str() if _is_block(value):
            yield f"{head} |-"
            yield from (f"  {line}" for line in value.split("\n"))
        case str() | int():
            yield f"{head} {_yaml_text(value) if isinstance(value, str) else value}"
        case Mapping():
            yield head if value else f"{head} {{}}"
            yield from (f"  {line}" for line in _mapping_lines(value))
        case _:
            yield head if value else f"{head} []"
            for entry in value:
                yield from (f"  {line}" for line in _item_lines(entry))


def _item_lines(value: Plain) -> Iterator[str]:
    if not isinstance(value, Mapping) or not value:
        yield from _entry_lines("-", value)
        return
    first, *others = _mapping_lines(value)
    yield f"- {first}"
    yield from (f"  {line}" for line in others)


def _yaml_text(value: str) -> str:
    if _UNQUOTED.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return double_quoted(value)


def _is_block(value: str) -> bool:
    """Whether a text reads the same as a block: lines that are seen, and begin and end with a sign."""
    lines = value.split("\n")
    ends = (lines[0][:1].strip(), lines[-1].strip())
    return len(lines) > 1 and all(map(str.isprintable, lines)) and all(ends)
