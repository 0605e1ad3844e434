"""The reference of all commands, as `--help` prints it: `docs/commands.md`."""

from collections.abc import Iterator

import click

from monitor.cli import main

_HEAD = """# Commands

What `monitor COMMAND --help` prints. Written by `make docs`; a test compares.
"""
_WIDE = 100  # characters of a line


def markdown() -> str:
    """Text of the page."""
    return "\n".join([_HEAD, *_sections("monitor", main)])


def _sections(name: str, command: click.Command) -> Iterator[str]:
    settings = {**main.context_settings, "terminal_width": _WIDE, "max_content_width": _WIDE}
    context = click.Context(command, info_name=name, **settings)
    yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _sections(f"{name} {below}", command.commands[below])
