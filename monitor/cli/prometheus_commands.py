"""Commands for Prometheus: the alerting rules."""

from pathlib import Path
from typing import Any

import click

from monitor.cli import command_options
from monitor.cli.command_options import DurationType, exit_on_error, read_settings
from monitor.core.clock import format_duration
from monitor.core.errors import MonitorError
from monitor.exposition.forwarding import AlertForwarding
from monitor.show.terminal_words import say_line, say_lines
from monitor.specs.fault_words import quote_names, quote_value

_FILE = click.Path(path_type=Path, dir_okay=False)
_DEFAULT = AlertForwarding()


@click.command("export-rules")
@command_options.config
@click.option("--output", type=_FILE, help="File to write. Default: standard output.")
@click.option(
    "--job", default=_DEFAULT.job, show_default=True, help="Job under which Prometheus scrapes monitors."
)
@click.option("--kubernetes", is_flag=True, help="Write a PrometheusRule, for the Prometheus Operator.")
@click.option(
    "--runbook",
    default="",
    help="Address of your runbook, to which alerts lead. Default: the monitor's own page, by [http] url.",
)
@click.option(
    "--last-word",
    type=DurationType(),
    default=format_duration(_DEFAULT.last_word),
    show_default=True,
    help="How long the alerts of a silent monitor stand.",
)
@click.option(
    "--keep-firing-for",
    type=DurationType(),
    default=format_duration(_DEFAULT.keep_firing_for),
    show_default=True,
    help="How long an alert fires on that nobody reports any more.",
)
@click.option(
    "--down-after",
    type=DurationType(),
    default=format_duration(_DEFAULT.down_after),
    show_default=True,
    help="How long no monitor answers before that is an alert.",
)
@exit_on_error
def export_rules(path: Path, output: Path | None, runbook: str, *, kubernetes: bool, **how: Any) -> None:
    """Write alerting rules for Prometheus.

    They forward the alerts of the models, and watch the monitor itself.
    """
    from monitor.alerts.alert_links import RUNBOOK
    from monitor.exposition.forwarding import is_reachable_address
    from monitor.exposition.prometheus_rules import rules_text

    settings = read_settings(path, outside=False)
    twice = [model.name for model in settings.models if model.rules and settings.list_recipients(model.name)]
    if twice:
        rule = "where Prometheus has these rules they arrive twice"
        say_line(f"warning: [[notify]] tells of alerts of {quote_names(twice)}: {rule}", err=True)
    url = settings.http.url or ""
    runbook = runbook or (url and f"{url}{RUNBOOK}")
    leads = is_reachable_address(runbook)
    if not leads:
        got = f": got {quote_value(runbook)}" if runbook else ""
        say_line(
            f"warning: alerts lead to no runbook: give --runbook https://…, or [http] url{got}", err=True
        )
    for model in settings.models:
        own = dict(model.rules[0].annotations).get("runbook_url") if model.rules else None
        if own is not None and not is_reachable_address(own):
            rule = "begins with https:// or http://, and is left out"
            say_line(
                f"warning: runbook_url of {quote_value(model.name)} leads nowhere: an address {rule}",
                err=True,
            )
    forwarding = AlertForwarding(runbook=runbook if leads else "", url=url, **how)
    rules = rules_text(settings.models, forwarding, kubernetes=kubernetes)
    if output is None:
        say_lines(rules)
        return
    part = output.with_name(f"{output.name}.part")
    try:
        part.write_text(rules, encoding="utf-8")
        part.replace(output)
    except OSError as error:
        raise MonitorError(f"{output} cannot be written: {error.strerror or error}") from error
    say_line(f"{output} is written", err=True)
