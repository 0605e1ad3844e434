"""The command that writes out what was installed with the program."""

from pathlib import Path

import click

from monitor.cli.command_options import exit_on_error
from monitor.show.terminal_words import counted_noun, say_line


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@exit_on_error
def files(directory: Path) -> None:
    """Write example files below DIRECTORY.

    They are configuration, schema, dashboards, and files for Prometheus, Kubernetes and systemd.
    """
    from monitor.setup.example_files import write_files

    written = write_files(directory)
    for path in written:
        say_line(str(path))
    say_line(f"{counted_noun(len(written), 'file')} written", err=True)
