"""`monitor export-rules`: alerting rules for Prometheus, and tests of them, from the configuration."""

import os
from pathlib import Path

import click

from monitor.app.saying import say, say_lines
from monitor.config.messages import listed
from monitor.core.errors import MonitorError
from monitor.exposition.forwarding import Forwarding
from monitor.exposition.prometheus_rules import rules_text
from monitor.exposition.prometheus_tests import tests_text
from monitor.specs.settings import Settings


def export_rules(settings: Settings, how: Forwarding, output: Path | None, tests: Path | None) -> None:
    """Write the rules, and their tests; files that are there are written anew.

    Parameters
    ----------
    output
        None: to standard output.
    tests
        file for `promtool test rules`; None: none.
    """
    if tests is not None and output is None:
        raise click.UsageError("--tests needs --output: the tests name the file of rules")
    if told := [model.name for model in settings.models if model.rules and settings.recipients(model.name)]:
        twice = "where Prometheus has these rules they arrive twice"
        say(f"warning: [[notify]] tells of alerts of {listed(told)}: {twice}", err=True)
    rules = rules_text(settings.models, how)
    if output is None:
        say_lines(rules)
        return
    _write(output, rules)
    if tests is not None:
        _write(tests, tests_text(settings.models, how, os.path.relpath(output, tests.parent)))


def _write(file: Path, text: str) -> None:
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise MonitorError(f"{file} cannot be written: {error.strerror or error}") from error
    say(f"{file} is written", err=True)
