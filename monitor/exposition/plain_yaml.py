"""Plain values as YAML that a person reads: mappings, lists, texts, whole numbers."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import yaml

Plain: TypeAlias = "str | int | Sequence[Plain] | Mapping[str, Plain]"


class _ReadableDumper(yaml.SafeDumper):  # type: ignore[misc]
    """Texts of several lines as blocks, lists set in below their key, nothing by reference."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else "|" if all(map(str.isprintable, text.split("\n"))) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_ReadableDumper.add_representer(str, _represent_text)


def as_yaml(value: Mapping[str, Plain]) -> str:
    r"""Text of a mapping; texts of several lines as blocks.

    >>> print(as_yaml({"groups": [{"name": "a", "n": 1, "expr": "x\n  > 1"}], "job": "a: b"}), end="")
    groups:
      - name: a
        n: 1
        expr: |-
          x
            > 1
    job: 'a: b'
    """
    # a width that nothing reaches: a line of a rule is one line of its file
    text: str = yaml.dump(value, Dumper=_ReadableDumper, sort_keys=False, allow_unicode=True, width=2**20)
    return text
