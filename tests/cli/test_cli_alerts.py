"""`monitor alerts`, and what people decide of them."""

import csv
import io
import json
import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from kept_texts import compare_cases
from row_examples import firing
from serving import Bench, Monitor, Row, model, predictions, sqlite_bench
from sqlalchemy import update

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.app import clocks
from monitor.app.alert_decisions import PAST, Decision
from monitor.app.alerts.alert_acceptance import _matches_series_part
from monitor.app.clocks import frozen_clock
from monitor.core.change import Change, ExpectedBand
from monitor.core.clock import DAY, from_iso
from monitor.measures.measurement_row import CUMULATIVE
from monitor.store.alert_rows import write_alerts
from monitor.store.store_connections import write_transaction
from monitor.store.tables.service_schema import alerts, events

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1d"\nwindows = ["1d"]\nhorizon = "4d"\nsettle_after = "1d"\nresamples = 20'
RULES = """
[[models.alerts]]
name = "busy"
measure = "records"
above = 10
severity = "critical"

[[models.alerts]]
name = "quiet"
measure = "records"
below = 10
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of 50 records, one model with a rule that they break, a cycle after the second day."""
    bench = sqlite_bench(tmp_path, predictions(100, START, END), model(options=OPTIONS) + RULES)
    bench.cycle(END)
    return bench


@pytest.fixture
def monitor(bench: Bench) -> Monitor:
    """`monitor alerts` on that configuration."""
    return partial(bench.monitor, "alerts")


ASKED = ("--model", "late", "--rule", "busy", "--by", "ada", "--why", "a campaign")


def test_alerts_are_a_table_with_the_value_and_its_limit(monitor: Monitor) -> None:
    state, *_, head, line = monitor().stdout.splitlines()

    assert state.split()[:2] == ["late", "Critical"]
    assert head.split()[:4] == ["severity", "state", "model", "rule"]
    assert line.split()[:4] == ["critical", "firing", "late", "busy"]
    assert line.endswith("records 50, limit 10, n 50")


def test_alerts_are_json_and_csv_of_the_same_values(monitor: Monitor) -> None:
    (plain,) = json.loads(monitor("--format", "json").stdout)
    (flat,) = csv.DictReader(io.StringIO(monitor("--format", "csv").stdout))

    assert {name: "" if value is None else str(value) for name, value in plain.items()} == flat
    assert {
        name: plain[name] for name in ("rule", "state", "severity", "value", "limit", "since", "fired_at")
    } == {
        "rule": "busy",
        "state": "firing",
        "severity": "critical",
        "value": 50.0,
        "limit": 10.0,
        "since": "2024-03-03T00:00:00Z",
        "fired_at": "2024-03-03T00:00:00Z",
    }


def test_what_is_over_is_history(bench: Bench, monitor: Monitor) -> None:
    bench.cycle(END + 2 * DAY)

    (now,) = json.loads(monitor("--format", "json").stdout)
    past = json.loads(monitor("--history", "--format", "json").stdout)
    then = json.loads(monitor("--as-of", "2024-03-04", "--format", "json").stdout)

    assert now["rule"] == "quiet"
    assert [(one["rule"], one["state"], one["reason"]) for one in past] == [
        ("quiet", "firing", None),
        ("busy", "resolved", "cleared"),
    ]
    assert [one["rule"] for one in then] == ["busy"]


@pytest.mark.parametrize(("ended", "code"), [("usual", 0), ("cleared", 1)])
def test_a_change_that_has_not_gone_back_can_be_accepted_after_its_alert(
    bench: Bench, monitor: Monitor, ended: str, code: int
) -> None:
    bench.cycle(END + 2 * DAY)
    with bench.app() as app, app.store.engine.begin() as connection:
        connection.execute(update(alerts).where(alerts.c.rule == "busy").values(ended=ended))

    assert monitor("accept", *ASKED).exit_code == code
    assert monitor("ack", *ASKED).exit_code == 1
    busy = next(
        one for one in json.loads(monitor("--history", "--format", "json").stdout) if one["rule"] == "busy"
    )
    assert [one["decision"] for one in busy["decisions"]] == ["accepted"] * (code == 0)


def test_who_looks_after_an_alert_is_told_with_it(monitor: Monitor) -> None:
    done = monitor("ack", *ASKED)

    assert done.exit_code == 0
    assert "is acknowledged by ada. It fires on." in done.stdout
    (plain,) = json.loads(monitor("--format", "json").stdout)
    assert (plain["state"], plain["acknowledged"]) == ("firing", "ada: a campaign")
    silence = shlex.split(done.stdout.splitlines()[-1])
    assert silence[:3] == ["amtool", "silence", "add"]
    assert silence[3:6] == ['model="late"', 'rule="busy"', 'version=""']
    assert silence[6:9] == ['segment=""', f'window="{plain["window"]}"', 'subject=""']
    assert silence[9:] == ["--duration=4h", "--author=ada", "--comment=a campaign"]
    (decided,) = plain["decisions"]
    assert (decided["decision"], decided["who"], decided["why"], decided["until"]) == (
        "acknowledged", "ada", "a campaign", None,
    )  # fmt: skip
    assert f"acknowledged {decided['at'][:19]}Z by ada: a campaign" in monitor("--history").stdout
    assert "before" not in done.stdout
    again = [one.replace("ada", "bob") for one in ASKED]
    assert "by bob. It fires on. Acknowledged before by ada: a campaign" in monitor("ack", *again).stdout


def test_what_is_accepted_is_no_breach_until_then(bench: Bench, monitor: Monitor) -> None:
    done = monitor("accept", *ASKED, "--until", "2024-03-06")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == (
        "late: busy is accepted. From the next cycle on it is compared with the window that ends "
        "2024-03-02T23:00:00Z. This ends at 2024-03-06.\n"
    )
    bench.database.insert("predictions", predictions(50, END, END + DAY, prefix="q"))
    bench.database.insert("predictions", predictions(60, END + DAY, END + 2 * DAY, prefix="r"))

    bench.cycle(END + DAY)
    assert json.loads(monitor("--format", "json").stdout) == []
    bench.cycle(END + 2 * DAY)

    found = json.loads(monitor("--history", "--format", "json").stdout)
    assert [(one["state"], one["reason"], one["limit"]) for one in found] == [
        ("firing", None, 50.0),
        ("resolved", "accepted", 10.0),
    ]
    again, was = found
    assert [(one["decision"], one["who"], one["until"]) for one in was["decisions"]] == [
        ("accepted", "ada", "2024-03-06T00:00:00Z")
    ]
    assert again["decisions"] == []
    (row,) = (line for line in monitor("--history").stdout.split("\n") if "resolved" in line)
    assert f"accepted {was['decisions'][0]['at'][:19]}Z by ada until 2024-03-06: a campaign" in row
    assert '""decision"": ""accepted""' in monitor("--history", "--format", "csv").stdout
    with bench.app() as app:
        (event,) = app.store.events.read_events("late", "accepted")
    assert (event.who, event.why, event.subject) == ("ada", "a campaign", "busy/1d")


DECISIONS = [  # one after the other
    "ack --model late --rule busy --by ada --why campaign",
    "ack --model late --rule busy --by bob --why campaign",
    "ack --model late --rule b* --by ada --why all",
    "ack --model late --rule busy --segment x=1 --by ada --why campaign",
    "ack --model late --rule quiet --by ada --why campaign",
    "ack --model late --rule bsuy --by ada --why campaign",
    "accept --model late --rule quiet --by ada --why campaign",
    "accept --model late --rule bsuy --by ada --why campaign",
    "accept --model late --rule busy --by ada --why campaign",
    "accept --model late --rule busy --by ada --why campaign --until 2024-03-06",
    "withdraw --model late --rule busy --by ada --why over",
    "withdraw --model late --rule busy --by ada --why over",
    "withdraw --model late --rule bsuy --by ada --why over",
    "--history",
]


@pytest.mark.texts
def test_what_is_said_of_decisions(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "system_clock", frozen_clock(END))
    done = [(line, monitor(*line.split())) for line in DECISIONS]

    assert [each.exit_code for _, each in done] == [0, 0, 0, 1, 1, 2, 1, 2, 0, 0, 0, 1, 2, 0]
    compare_cases("command_decisions", [(f"alerts {line}", each.output) for line, each in done])


def test_a_decision_on_a_log_of_the_past_is_known_as_of_its_last_cycle(
    bench: Bench, monitor: Monitor
) -> None:
    with bench.app() as app:
        app.store.events.append_events(
            [Decision(END, "demo", "a log of the past").history_event("late", PAST)]
        )
    monitor("accept", *ASKED)
    bench.cycle(END + DAY)

    def decided(as_of: str) -> list[str]:
        found = json.loads(monitor("--history", "--as-of", as_of, "--format", "json").stdout)
        return [one["decision"] for alert in found if alert["rule"] == "busy" for one in alert["decisions"]]

    assert decided("2024-03-03") == ["accepted"]
    assert decided("2024-03-02T23:00") == []


def busy_again(bench: Bench) -> None:
    """Two days more of 50 records, of which the second is judged after a decision."""
    bench.database.insert("predictions", predictions(50, END, END + DAY, prefix="q"))
    bench.database.insert("predictions", predictions(50, END + DAY, END + 2 * DAY, prefix="r"))
    bench.cycle(END + DAY)


def firing_now(monitor: Monitor) -> list[str]:
    return [one["rule"] for one in json.loads(monitor("--format", "json").stdout)]


def test_what_is_accepted_can_be_withdrawn_when_no_alert_stands(bench: Bench, monitor: Monitor) -> None:
    monitor("accept", *ASKED)
    busy_again(bench)
    assert firing_now(monitor) == []

    done = monitor("withdraw", *ASKED)

    assert done.exit_code == 0, done.stderr
    assert done.stdout == (
        "late: busy is no longer accepted. From the next cycle on it is checked as before.\n"
    )
    bench.cycle(END + 2 * DAY)
    assert firing_now(monitor) == ["busy"]
    was = json.loads(monitor("--history", "--format", "json").stdout)[-1]
    assert [one["decision"] for one in was["decisions"]] == ["accepted", "withdrawn"]
    again = monitor("withdraw", *ASKED)
    assert again.exit_code == 1
    assert 'there is no acceptance that can be withdrawn of the rule "busy"' in again.stderr


@pytest.mark.parametrize(("until", "rules"), [("2024-03-05", ["busy"]), ("2024-03-06", [])])
def test_what_is_accepted_ends_at_another_moment_when_that_is_said_later(
    bench: Bench, monitor: Monitor, until: str, rules: list[str]
) -> None:
    monitor("accept", *ASKED)
    busy_again(bench)

    done = monitor("accept", *ASKED, "--until", until)

    assert done.stdout == f"late: busy stays accepted. This ends at {until}.\n"
    bench.cycle(END + 2 * DAY)
    assert firing_now(monitor) == rules


def test_what_is_accepted_is_said_wherever_one_looks(bench: Bench, monitor: Monitor) -> None:
    monitor("accept", *ASKED, "--until", "2026-03-06")
    told = "ada has accepted busy as it was, 1d to 2 Mar 2024 23:00, until 6 Mar 2026: a campaign."
    bench.cycle(END + DAY)

    (status,) = json.loads(bench.monitor("status", "--as-of", "2024-03-04", "--format", "json").stdout)

    assert status["sections"]["accepted"] == [told]
    for command in (("status", "--as-of", "2024-03-04"), ("alerts", "--as-of", "2024-03-04"), ("check",)):
        assert told.rstrip(".") in " ".join(bench.monitor(*command).stdout.split()), command


def test_a_damaged_decision_is_named_and_not_called_a_fault_of_the_program(
    bench: Bench, monitor: Monitor
) -> None:
    monitor("accept", *ASKED)
    with bench.app() as app, write_transaction(app.store.engine) as connection:
        connection.execute(update(events).where(events.c.kind == "accepted").values(detail="[1]"))

    found = monitor()

    assert found.exit_code == 1
    assert "table events, an accepted change" in found.stderr
    assert "fault of this program" not in found.stderr


def test_a_feature_is_meant_by_its_own_name_too() -> None:
    assert _matches_series_part("humid", "subject", "feature:humid")
    assert _matches_series_part("feature:h*", "subject", "feature:humid")
    assert not _matches_series_part("humid", "segment", "feature:humid")
    assert not _matches_series_part("hum", "subject", "feature:humid")


def told_of(directory: Path, rows: list[Row], kind: str, subject: str) -> Bench:
    """A log, and an alert on odd values of a feature that stands since its first day."""
    bench = sqlite_bench(directory, rows, model(options=OPTIONS))
    bench.cycle(END)
    change = Change(kind=kind, observed=0.5, expected=ExpectedBand(0, 0), since="2024-03-01")
    verdict = Verdict(outcome=Outcome.BREACH, window_end=END, value=9.0, change=change)
    alert = firing(AlertedSeries("changed", window=CUMULATIVE, subject=subject), verdict, END)
    with bench.app() as app, write_transaction(app.store.engine) as connection:
        write_alerts(connection, "live", "late", [alert])
    return bench


def test_explaining_names_values_that_no_reference_has_as_long_as_the_log_is_there(
    tmp_path: Path,
) -> None:
    rows = predictions(100, START, END)
    groups = [*12 * ["east\x1b[2J"], *6 * ["w" * 90], *4 * ["a2"], *3 * ["a3"], *2 * ["rare"]]
    rows = [row | {"group": group} for row, group in zip(rows, [*groups, *73 * ["a"]], strict=True)]
    bench = told_of(tmp_path, rows, "unseen", "feature:group")

    shares = f"east\\x1b[2J~086c9b83 24.0 %, {'w' * 39}… 12.0 %, a2 8.0 % and 1 more"
    assert (
        f"  Unseen on 2024-03-01, of all records: {shares}.\n" in bench.monitor("alerts", "--explain").stdout
    )
    assert "Unseen on" not in bench.monitor("alerts").stdout
    Path(bench.database.url.removeprefix("sqlite:///")).unlink()
    assert "Unseen on" not in bench.monitor("alerts", "--explain").stdout


@pytest.mark.parametrize("far", [[], [-9_990.0, -9_990.0], [-9_990.0, 96_800.0, 98_000.0, 105_000.0]])
def test_explaining_says_between_what_far_off_numbers_lie_if_they_are_three(
    tmp_path: Path, far: list[float]
) -> None:
    rows = predictions(100, START, END)
    rows = [row | {"amount": 100.0} for row in rows]
    for row, amount in zip(rows, far, strict=False):
        row["amount"] = amount

    told = told_of(tmp_path, rows, "beyond", "feature:amount").monitor("alerts", "--explain").stdout

    assert ("Beyond the reference's" in told) is (len(far) >= 3)
    if len(far) >= 3:
        assert (
            "  Beyond the reference's on 2024-03-01: 4 numbers from −9,990 to 105,000, "
            "half of them above 98,000; all of the reference's lie from "
        ) in told


@pytest.mark.parametrize("command", ["ack", "accept"])
def test_an_incident_is_decided_on_as_one(bench: Bench, monitor: Monitor, command: str) -> None:
    (before,) = json.loads(bench.monitor("status", "--format", "json").stdout)
    (incident,) = before["incidents"]
    by = ("--model", "late", "--by", "ada", "--why", "a campaign")

    done = monitor(command, *by, "--incident", incident["first_day"])

    assert (done.exit_code, incident["incident"]) == (0, f"{incident['first_day']}-records")
    assert "busy" in done.stdout
    (after,) = json.loads(bench.monitor("status", "--format", "json").stdout)
    assert command == "accept" or after["incidents"][0]["acknowledged_by"] == "ada: a campaign"


def test_incidents_that_are_open_are_listed_as_of_any_moment(bench: Bench, monitor: Monitor) -> None:
    (status,) = json.loads(bench.monitor("status", "--format", "json").stdout)
    (incident,) = status["incidents"]

    (listed,) = json.loads(bench.monitor("incidents", "--format", "json").stdout)
    table = bench.monitor("incidents").stdout
    before = bench.monitor("incidents", "--as-of", "2001-01-01")

    assert (listed["incident"], listed["state"]) == (incident["incident"], "open")
    assert listed["opened_at"] == incident["opened_at"] == listed["alerts"][0]["joined"]
    assert [step["turn"] for step in listed["steps"]] == ["opened"]
    assert incident["incident"] in table
    assert listed["headline"] in " ".join(table.split())
    assert (before.exit_code, before.stdout) == (0, "no incident so far\n")


def test_an_incident_that_is_not_there_is_named_with_those_that_are(monitor: Monitor) -> None:
    by = ("--model", "late", "--by", "ada", "--why", "a campaign")

    wrong = monitor("ack", *by, "--incident", "2020-01-01")
    both = monitor("ack", *by, "--incident", "2020-01-01", "--rule", "busy")
    neither = monitor("ack", *by)
    subject = monitor("ack", *by, "--incident", "2020-01-01", "--subject", "score")

    assert wrong.exit_code == 1
    assert re.search(
        r'late has no incident "2020-01-01"; those that there are: "[0-9-]+-records"', wrong.stderr
    )
    assert [one.exit_code for one in (both, neither, subject)] == [2, 2, 2]
    assert "'--rule' or '--incident'" in neither.stderr
