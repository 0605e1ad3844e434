"""Commands around alerts: which there are, and what people decide of them."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from monitor.cli import command_options
from monitor.cli.command_options import MomentType, exit_on_error, read_settings, refuse_empty_span
from monitor.core.text import readable_text
from monitor.show.terminal_words import say_line, say_lines, terminal_width, wrap_width

_OF_ONE_ALERT = (
    command_options.config,
    click.option("--model", required=True, help="Name of the model."),
    click.option("--rule", help="Name of the rule."),
    click.option(
        "--subject", help="Which of several alerts: that of this subject. 'feature:*': those of all features."
    ),
    click.option("--segment", help="Which of several: that of this segment."),
    click.option("--model-version", "version", help="Which of several: that of this version."),
    command_options.run,
    command_options.who,
    command_options.required_why,
)


_incident = click.option(
    "--incident",
    metavar="DATE",
    help="All alerts of the incident that began on that day: see monitor incidents; in place of --rule.",
)


@click.group(invoke_without_command=True)
@command_options.config
@command_options.model
@command_options.run
@click.option("--history", is_flag=True, help="Also those that are over.")
@click.option("--as-of", type=MomentType(), help="As they stood at that time.")
@click.option(
    "--explain", is_flag=True, help="Also what is behind them; odd values are read from the source."
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table")
@command_options.exit_code
@click.pass_context
@exit_on_error
def alerts(
    context: click.Context,
    /,
    path: Path,
    run_name: str,
    form: str,
    *,
    explain: bool,
    exit_code: bool,
    **asked: Any,
) -> None:
    """Print the alerts that are pending or firing.

    `accept` takes one for the new normal, `withdraw` takes that back, `ack` says who looks after it.
    """
    if context.invoked_subcommand is not None:
        return
    from monitor.alerts.model_standing import exit_code as code_of
    from monitor.app.alert_decisions import list_alerts, list_standings
    from monitor.app.clocks import system_clock
    from monitor.app.kept_run import open_kept_run
    from monitor.show.alert_tables import alerts_as_csv, alerts_as_json, alerts_as_table
    from monitor.show.model_status import accepted_lines, head_lines

    name = asked["model"]
    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        listing = list_alerts(kept_run, **asked)
        if explain and form == "table":
            from monitor.app.odd_values import with_odd_values

            listing = with_odd_values(kept_run, listing)
        models = (
            []
            if kept_run.is_history_only(name)
            else list_standings(kept_run, name, system_clock(), asked["as_of"])
        )
    match form:
        case "json":
            text = alerts_as_json(listing)
        case "csv":
            text = alerts_as_csv(listing)
        case _:
            sentences = [
                alerts_as_table(listing, explain=explain, width=wrap_width()),
                *accepted_lines(models),
            ]
            text = "\n" + "\n\n".join(sentences)
            command_options.say_styled(head_lines(models, terminal_width()))
    say_lines(text, width=wrap_width() if form == "table" else None)
    sys.exit(code_of(models) if exit_code else 0)


@click.command()
@command_options.config
@command_options.model
@command_options.run
@click.option("--as-of", type=MomentType(), help="As they were known at that time.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@exit_on_error
def incidents(path: Path, run_name: str, model: str | None, as_of: int | None, form: str) -> None:
    """Print the incidents that are open, and those that are over.

    An incident is all alerts of one cause, from the first to the last.
    """
    from monitor.app.alert_decisions import list_incidents
    from monitor.app.kept_run import open_kept_run
    from monitor.show.incident_tables import incidents_as_json, incidents_as_table

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        listing = list_incidents(kept_run, model=model, as_of=as_of)
    if form == "json":
        say_lines(incidents_as_json(listing))
    else:
        say_lines(incidents_as_table(listing, wrap_width()), width=wrap_width())


def _add_alert_options(command: Any) -> Any:
    for option in reversed(_OF_ONE_ALERT):
        command = option(command)
    return command


def _require_alert(alert: dict[str, Any]) -> None:
    """One of --rule and --incident, not both: they say which alerts are meant."""
    if (alert["rule"] is None) == (alert.get("incident") is None):
        others = "'--rule' or '--incident'" if "incident" in alert else "'--rule'"
        raise click.UsageError(f"Missing option {others}: which alert is meant.")
    if alert.get("incident") is not None and any(
        alert[key] is not None for key in ("subject", "segment", "version")
    ):
        raise click.UsageError("'--incident' takes all of its alerts: leave '--subject' and the like out.")


def _say_wrapped(lines: Iterable[str]) -> None:
    say_lines("\n".join(map(readable_text, lines)), width=wrap_width())


@alerts.command()
@_add_alert_options
@_incident
@click.option(
    "--until",
    type=MomentType(),
    help="When this ends, also of what is accepted already; left out: never by itself.",
)
@exit_on_error
def accept(path: Path, run_name: str, until: int | None, who: str, why: str, **alert: Any) -> None:
    """Accept what an alert shows as the new normal.

    From the next cycle on the rule checks against the window of the alert; of `changed`, its days are what is
    expected. The alert ends, and a further change fires. Accepting ends at --until, where you give it, or
    by `withdraw`.
    """
    _require_alert(alert)
    from monitor.app.alert_decisions import Decision
    from monitor.app.alerts.alert_acceptance import accept_alerts as accept_alert
    from monitor.app.clocks import system_clock
    from monitor.app.kept_run import open_kept_run

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        lines = accept_alert(kept_run, Decision(system_clock(), who, why), until, **alert)
    _say_wrapped(lines)


@alerts.command()
@_add_alert_options
@_incident
@exit_on_error
def withdraw(path: Path, run_name: str, who: str, why: str, **alert: Any) -> None:
    """Withdraw what was accepted: from the next cycle on the rule checks as before.

    Days that `changed` has learned from stay what is expected: of these only what no cycle has seen yet is
    withdrawn.
    """
    _require_alert(alert)
    from monitor.app.alert_decisions import Decision
    from monitor.app.alerts.alert_acceptance import withdraw_acceptance as withdraw_accepted
    from monitor.app.clocks import system_clock
    from monitor.app.kept_run import open_kept_run

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        lines = withdraw_accepted(kept_run, Decision(system_clock(), who, why), **alert)
    _say_wrapped(lines)


@alerts.command()
@_add_alert_options
@_incident
@exit_on_error
def ack(path: Path, run_name: str, who: str, why: str, **alert: Any) -> None:
    """Acknowledge an alert: say who looks after it. It fires on; the command to silence it is printed."""
    _require_alert(alert)
    from monitor.app.alert_decisions import Decision
    from monitor.app.alerts.alert_acceptance import acknowledge_alerts
    from monitor.app.clocks import system_clock
    from monitor.app.kept_run import open_kept_run

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        told = acknowledge_alerts(kept_run, Decision(system_clock(), who, why), **alert)
    _say_wrapped(line for line, _ in told)
    say_line("Alertmanager sends it on, unless it is silenced:")
    for _, command in told:
        say_line(command)


@click.command()
@command_options.config
@command_options.model
@command_options.run
@click.option("--rule", help="Only this rule.")
@click.option("--from", "start", type=MomentType(), required=True, help="First moment that is checked.")
@click.option("--to", "end", type=MomentType(), required=True, help="Last moment that is checked.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@exit_on_error
def backtest(
    path: Path, model: str | None, run_name: str, rule: str | None, start: int, end: int, form: str
) -> None:
    """Try the rules on what was kept.

    It prints when each would have fired, how often, and for how long.
    """
    from monitor.app.alert_decisions import backtest_model
    from monitor.app.kept_run import open_kept_run
    from monitor.show.backtest_tables import backtest_json, backtest_report

    refuse_empty_span(start, end)
    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        for name in kept_run.model_names(model):
            summed, fired = backtest_model(kept_run, name, rule, (start, end))
            if form == "json":
                say_lines(backtest_json(name, summed, fired, (start, end)))
            else:
                say_lines(f"{name}\n{backtest_report(summed, fired, wrap_width())}", width=wrap_width())
