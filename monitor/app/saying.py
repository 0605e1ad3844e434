"""What commands print: nothing of it acts on the terminal."""

import click

from monitor.core.text import readable, readable_lines


def say(line: object, *, err: bool = False) -> None:
    """Print one line; an end of line within it came from somewhere else, and is shown as an escape."""
    click.echo(readable(str(line)), err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Print text whose ends of line are our own."""
    click.echo(readable_lines(text.rstrip("\n")), err=err)
