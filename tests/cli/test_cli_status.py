"""`monitor status`, and what scripts are told by exit codes."""

import json
from pathlib import Path

import pytest
from serving import Bench, Monitor, model, predictions, sqlite_bench

from monitor.app.alert_decisions import PAST, Decision
from monitor.core.clock import DAY, from_iso, to_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1d"\nwindows = ["1d"]\nhorizon = "4d"\nsettle_after = "1d"\nresamples = 20'
RULE = """
[[models.alerts]]
name = "busy"
measure = "records"
above = {above}
severity = "critical"
"""
NOW = ("--as-of", to_iso(END))
ASKED = ("--model", "late", "--rule", "busy", "--by", "ada", "--why", "a campaign")


def bench_of(directory: Path, above: int) -> Bench:
    """Two days of 50 records without labels; one rule, and the default ones, none of them settled."""
    bench = sqlite_bench(
        directory, predictions(100, START, END), model(options=OPTIONS) + RULE.format(above=above)
    )
    bench.cycle(END)
    return bench


@pytest.fixture
def monitor(tmp_path: Path) -> Monitor:
    """`monitor` on a model whose rule is in breach."""
    return bench_of(tmp_path, 10).monitor


def test_a_model_is_one_screen_with_its_state_first(monitor: Monitor) -> None:
    done = monitor("status", *NOW)
    lines = done.stdout.splitlines()

    assert (done.exit_code, lines[0]) == (0, "late: Critical")
    assert lines[1].startswith(
        "  Records are above your limit since 2 Mar: 50 a day, limit 10 (rule busy). What"
    )
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_a_script_is_told_by_the_exit_code(monitor: Monitor, tmp_path: Path) -> None:
    assert monitor("status", "--exit-code", *NOW).exit_code == 3
    assert monitor("alerts", "--exit-code", *NOW).exit_code == 3
    assert monitor("alerts", "ack", *ASKED).exit_code == 0
    assert monitor("status", "--exit-code", *NOW).exit_code == 0
    (plain,) = json.loads(monitor("status", "--format", "json", *NOW).stdout)
    assert (plain["model"], plain["state"], plain["badges"]) == ("late", "Critical", ["acknowledged"])
    assert plain["because"][0].endswith("Acknowledged by ada: a campaign.")

    other = tmp_path / "other"
    other.mkdir()
    calm = bench_of(other, 1_000).monitor
    assert calm("status", "--exit-code", *NOW).exit_code == 0
    assert calm("alerts", "--exit-code", *NOW).exit_code == 0
    assert calm("alerts", *NOW).stdout.startswith("late  OK  No alert. Too early to say")


def test_a_model_that_is_not_there_is_a_wrong_question(monitor: Monitor) -> None:
    done = monitor("status", "--exit-code", "--model", "lat")

    assert done.exit_code == 2
    assert 'did you mean "late"?' in done.stderr


def test_a_model_without_a_cycle_today_is_stale(monitor: Monitor) -> None:
    late = ("--as-of", to_iso(END + 4 * DAY))

    assert "No cycle has succeeded for 4 days" in monitor("status", *late).stdout


def test_a_log_that_is_of_the_past_on_purpose_is_not_stale(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, 10)
    assert "No cycle has succeeded" in bench.monitor("status").stdout

    with bench.app() as app:
        app.store.events.append_events([Decision(END, "demo").history_event("late", PAST)])

    assert "No cycle has succeeded" not in bench.monitor("status").stdout


def test_status_reads_the_store_alone(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, 10)
    before = bench.monitor("status", *NOW).stdout

    bench.database.run("DROP TABLE predictions", "DROP TABLE labels", "DROP TABLE reference")

    assert bench.monitor("status", *NOW).stdout == before


def test_what_was_known_then_is_told_of_then(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, 10)
    bench.cycle(END + 3 * DAY)

    then = bench.monitor("status", *NOW).stdout

    assert "(rule busy)" in then
    assert "is not kept" not in then
    assert "As of 3 Mar 2024 UTC" in then


def test_cycles_that_fail_need_somebody_until_one_succeeds(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, 1_000)

    def cycled(days: int) -> str:
        bench.cycle(END + days * DAY)
        (plain,) = json.loads(bench.monitor("status", "--format", "json").stdout)
        return " ".join(plain["because"])

    bench.database.run("ALTER TABLE predictions RENAME TO gone")
    assert "Cycles have failed" not in cycled(1)
    said = cycled(2)
    assert "Cycles have failed 2 times since 4 Mar 2024, and nothing newer than 3 Mar 2024 is known" in said
    assert 'there is no table or view "predictions"' in said

    bench.database.run("ALTER TABLE gone RENAME TO predictions")
    assert "Cycles have failed" not in cycled(2)
