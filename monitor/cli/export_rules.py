"""`monitor export-rules`: alerting rules for Prometheus, from the configuration."""

from pathlib import Path

from monitor.app.saying import say, say_lines
from monitor.config.messages import listed
from monitor.core.errors import MonitorError
from monitor.exposition.forwarding import Forwarding
from monitor.exposition.prometheus_rules import rules_text
from monitor.specs.settings import Settings


def export_rules(settings: Settings, how: Forwarding, output: Path | None) -> None:
    """Write the rules; a file that is there is written anew.

    Parameters
    ----------
    output
        None: to standard output.
    """
    if told := [model.name for model in settings.models if model.rules and settings.recipients(model.name)]:
        twice = "where Prometheus has these rules they arrive twice"
        say(f"warning: [[notify]] tells of alerts of {listed(told)}: {twice}", err=True)
    rules = rules_text(settings.models, how)
    if output is None:
        say_lines(rules)
        return
    part = output.with_name(f"{output.name}.part")
    try:
        part.write_text(rules, encoding="utf-8")
        part.replace(output)
    except OSError as error:
        raise MonitorError(f"{output} cannot be written: {error.strerror or error}") from error
    say(f"{output} is written", err=True)
