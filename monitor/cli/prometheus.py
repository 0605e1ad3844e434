"""Commands for Prometheus: the alerting rules."""

from pathlib import Path
from typing import Any

import click

from monitor.app.arguments import Span
from monitor.cli import options
from monitor.cli.options import read_settings, told

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("export-rules")
@options.config
@click.option("--output", type=_FILE, help="File of rules to write; default: standard output.")
@click.option("--job", default="monitor", show_default=True, help="Under which Prometheus scrapes monitors.")
@click.option("--runbook", default="docs/runbook.md", show_default=True, help="Page that alerts point to.")
@click.option(
    "--last-word",
    type=Span(),
    default="6h",
    show_default=True,
    help="For how long the alerts of a monitor that is silent stand.",
)
@click.option(
    "--keep-firing-for",
    type=Span(),
    default="5m",
    show_default=True,
    help="For how long an alert fires on that nobody reports any more.",
)
@click.option(
    "--down-after",
    type=Span(),
    default="2m",
    show_default=True,
    help="For how long no monitor answers before that is an alert.",
)
@told
def export_rules(path: Path, output: Path | None, **how: Any) -> None:
    """Write alerting rules for Prometheus: the models' alerts, forwarded, and the monitor itself."""
    from monitor.app.export_rules import export_rules as write
    from monitor.exposition.forwarding import Forwarding

    write(read_settings(path), Forwarding(**how), output)
