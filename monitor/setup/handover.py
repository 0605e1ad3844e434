"""How `monitor init` hands its configuration over, and says what is left to do."""

from collections.abc import Mapping
from pathlib import Path

import click

from monitor.core.errors import MonitorError
from monitor.setup.first_config import FirstConfig, first_config
from monitor.show.terminal import say, say_lines


def run_init(
    output: Path | None,
    environ: Mapping[str, str],
    now: int,
    *,
    url: str,
    predictions: str,
    labels: str | None,
    labels_where: str | None,
    name: str | None,
) -> int:
    """Write a first configuration; return the exit code: 1 where something must be filled in by hand.

    Parameters
    ----------
    output
        None: to standard output. An existing file is never overwritten.
    now
        what lies after it is in the future.
    """
    if output is not None and output.exists():
        raise click.UsageError(f"{output} is there already and is not overwritten: name another file")
    found = first_config(url, predictions, labels, name, environ, now, labels_where=labels_where)
    if output is None:
        say_lines(found.text)
    else:
        _write(output, found.text)
        say(f"{output} is written", err=True)
    for line in _left_to_do(found):
        say(line, err=True)
    return 1 if found.missing or found.faults else 0


def _write(output: Path, text: str) -> None:
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise MonitorError(f"{output} cannot be written: {error.strerror}") from error


def _left_to_do(found: FirstConfig) -> list[str]:
    lines = [f"fill in before use: {role} (no column looks like it)" for role in found.missing]
    lines += [f"fault: {text}" for text in found.faults]
    lines += [f"warning: {text}" for text in found.warnings]
    lines += [f"set the environment variable {name} where the monitor runs" for name in found.variables]
    return lines
