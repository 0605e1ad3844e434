"""The reference of all commands, as `--help` prints it: `docs/commands.md`."""

from collections.abc import Iterator

import click

from monitor.cli import main

_HEAD = """# Commands

What `monitor COMMAND --help` prints, but for options that commands share: `--help`, and of all that read a
configuration or a store

```text
{shared}
```

Written by `make docs`; a test compares.
"""
_SHARED = ("--config", "--run")  # as `show` has them
_WIDE = 100  # characters of a line


def markdown() -> str:
    """Text of the page."""
    return "\n".join([_HEAD.format(shared="\n".join(_shared_lines())), *_sections("monitor", main)])


def _shared_lines() -> Iterator[str]:
    context = _context(main.commands["show"], "show")
    for option in _shared_options():
        name, said = option.get_help_record(context) or ("", "")
        yield f"{name}  {' '.join(said.split())}"


def _shared_options() -> list[click.Option]:
    found = [one for one in main.commands["show"].params if isinstance(one, click.Option)]
    return [one for one in found if one.opts[0] in _SHARED]


def _context(command: click.Command, name: str) -> click.Context:
    settings = {**main.context_settings, "terminal_width": _WIDE, "max_content_width": _WIDE}
    return click.Context(command, info_name=name, **settings)


def _sections(name: str, command: click.Command) -> Iterator[str]:
    yield f"## {name}\n\n```text\n{_own_help(name, command)}\n```\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(_context(command, name)):
            yield from _sections(f"{name} {below}", command.commands[below])


def _own_help(name: str, command: click.Command) -> str:
    """Help of a command without the options that many share; of the program itself all of it."""
    context = _context(command, name)
    if command is main:
        return command.get_help(context)
    kept, shared = command.params, {(one.opts[0], one.help) for one in _shared_options()}
    command.params = [one for one in kept if (one.opts[0], getattr(one, "help", "")) not in shared]
    command.add_help_option, helped = False, command.add_help_option
    try:
        return command.get_help(context)
    finally:
        command.params, command.add_help_option = kept, helped
