"""What pages and commands say of one store, whole: page_*.txt and command_*.txt of tests/texts."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from kept_texts import compare_text
from looked_at import END, Pages, looking, visible_text
from serving import Bench

from monitor.app import clocks
from monitor.app.clocks import frozen_clock
from monitor.cli import main

PAGES = {
    "fleet": "/",
    "alerts": "/alerts",
    "model": "/models/late",
    "model_as_of": "/models/late?as_of=2024-03-21",
    "model_without_labels": "/models/bare",
    "model_that_never_ran": "/models/never",
    "performance": "/models/late/performance?window=7d&end=2024-04-04",
    "performance_then": "/models/late/performance?window=7d&end=2024-03-21&as_of=2024-03-25",
    "performance_of_span": "/models/late/performance?from=2024-03-05&to=2024-03-20",
    "performance_without_labels": "/models/bare/performance",
    "features": "/models/late/features",
    "feature": "/models/late/feature?name=amount",
    "compare": "/models/late/compare",
    "segments": "/models/late/segments",
    "measures": "/models/late/measures?q=amount&as_of=2024-03-25",
    "measure": "/models/late/measures/roc_auc?window=1d&range=all",
    "log": "/models/late/log",
    "model_alerts": "/models/late/alerts",
    "incident": "/models/late/incidents/2024-03-08-records",
    "no_incident": "/models/late/incidents/2024-03-08-record",
    "no_model": "/models/nobody",
    "no_measure": "/models/late/measures/nothing",
    "wrong_window": "/models/late/report?window=mont",
}
COMMANDS = {
    "status": "status",
    "status_of_model": "status --model late --all",
    "show": "show --model late --window 7d --as-of 2024-04-10",
    "show_measure": "show --model late --measure accuracy --history --last 3",
    "show_explain": "show --model late --window month --measure stability_index --explain",
    "show_nothing": "show --model never",
    "show_no_measure": "show --measure roc_auk",
    "alerts": "alerts --explain",
    "alerts_history": "alerts --history",
    "changes": "changes",
    "budget": "budget",
    "check": "check",
    "check_explain": "check --explain",
    "check_offline": "check --offline",
    "backtest": "backtest --model late --from 2024-03-01 --to 2024-04-10",
}
SQL = "     "  # statements of `check --explain` and their plans, which are those of a version of SQLite


@pytest.fixture(scope="module")
def pages(bench: Bench) -> Iterator[Pages]:
    with looking(bench, END) as found:
        yield found


@pytest.mark.texts
@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_says(pages: Pages, name: str) -> None:
    page = pages.at(PAGES[name])

    compare_text(f"page_{name}", f"{page.status} {PAGES[name]}\n\n{visible_text(page.text)}")


@pytest.mark.texts
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_says(bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "system_clock", frozen_clock(END))
    done = bench.monitor(*COMMANDS[name].split())
    lines = [line for line in done.output.splitlines() if not line.startswith(SQL) or name != "check_explain"]

    compare_text(f"command_{name}", "\n".join([f"monitor {COMMANDS[name]}: {done.exit_code}", "", *lines]))


@pytest.mark.texts
def test_what_init_writes(bench: Bench) -> None:
    tables = ("--predictions", "predictions", "--labels", "labels", "--name", "late")
    done = CliRunner().invoke(main, ["init", "--url", bench.database.url, *tables])

    compare_text("command_init", f"{done.stdout}\n{done.stderr}")
