"""Every command on a small log: what it prints, and its exit code."""

import csv
import io
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kept_texts import compare_cases
from serving import Bench, Monitor, model, predictions, sqlite_bench

from monitor.app import clocks
from monitor.app.clocks import frozen_clock
from monitor.app.run_lock import ExclusiveRun
from monitor.cli import main
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.show.terminal_layout import display_width

FIRST = "`monitor init` writes a first one, --config or MONITOR_CONFIG names another"

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
AS_OF = to_iso(END)
OPTIONS = (
    'every = "1d"\nwindows = ["1d"]\nhorizon = "20d"\nsettle_after = "1d"\nresamples = 20\n'
    'reading = { ready_after = "0s" }'
)
LATE = model(options=OPTIONS)
BROKEN = model("broken", options=OPTIONS).replace('table = "predictions"', 'table = "prediction"')
WARNED = LATE.replace("resamples", "max_series = 20\nresamples")
KEYS = [
    "model", "version", "window", "window_end", "as_of", "truth", "segment", "measure", "subject", "against",
    "value", "reason", "n", "lower", "upper", "resolution", "coverage", "warning", "detail",
]  # fmt: skip

TABLES = (
    "show", "show --all", "show --explain", "show --measure roc_auc --history", "show --measure roc_curve",
    "show --provenance", "budget", "changes", "incidents",
)  # fmt: skip

HIDDEN = "postgresql://ann:s3cr%40t@127.0.0.1:1/none?connect_timeout=2&sslpassword=s3cr%40t"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Three days of a log in SQLite, one model."""
    bench = sqlite_bench(tmp_path, predictions(300, START, END), LATE, labelled=END + DAY)
    bench.database.run("CREATE INDEX by_time ON predictions (event_time)")
    return bench


def test_check_finds_no_fault_in_a_sound_configuration(bench: Bench, monitor: Monitor) -> None:
    done = monitor("check")

    assert (done.exit_code, done.stderr) == (0, "")
    log, by_difference, *watched, summary = done.stdout.splitlines()
    assert [line.removeprefix('model "late": ').split(":")[0] for line in watched] == [
        "watched", "rules that run from the first cycle on", "rules that run later",
        "gross faults fire when their day is checked", "first settling", "labels against scores", "expected",
    ]  # fmt: skip
    assert log.startswith('model "late": log: rows from 20')
    assert by_difference.startswith('model "late": labels are counted by difference: each is read about ')
    assert summary == f"{bench.config}: 1 model, no faults, 0 warnings"
    assert not (bench.directory / "monitor.db").exists()


def test_check_names_every_fault_of_the_tables_and_exits_with_2(bench: Bench, monitor: Monitor) -> None:
    bench.configure(LATE.replace('score = "score"', 'score = "scores"'), BROKEN)

    done = monitor("check")

    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        'model "late": table "predictions" has no column "scores" (score); did you mean "score"?',
        'model "late": table "reference" has no column "scores" (score); did you mean "score"?',
        'model "broken": there is no table or view "prediction"; did you mean "predictions"?',
    ]


def test_check_warns_and_fails_on_warnings_only_if_strict(bench: Bench, monitor: Monitor) -> None:
    bench.database.run("DELETE FROM predictions")

    lenient, strict, offline = (
        monitor("check"),
        monitor("check", "--strict"),
        monitor("check", "--offline", "--strict"),
    )

    assert lenient.stderr == 'warning: model "late": table "predictions" is empty\n'
    assert [done.exit_code for done in (lenient, strict, offline)] == [0, 1, 0]


@pytest.mark.parametrize(("text", "code"), [(LATE, 0), (WARNED, 1), (BROKEN, 2)])
def test_the_process_of_a_strict_check_tells_by_its_exit_code(bench: Bench, text: str, code: int) -> None:
    bench.configure(text)
    command = [sys.executable, "-m", "monitor.cli", "check", "--strict", "--config", "config.toml"]

    done = subprocess.run(command, cwd=bench.directory, capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == bool(code)


def test_check_offline_looks_at_no_database(bench: Bench, monitor: Monitor) -> None:
    (bench.directory / "log.db").unlink()

    assert monitor("check", "--offline").exit_code == 0
    assert "there is no file" in monitor("check").stderr


def test_check_lists_the_features_that_are_found(bench: Bench, monitor: Monitor) -> None:
    bench.configure(LATE[: LATE.index("[models.features]")])

    done = monitor("check")

    assert done.exit_code == 0, done.stderr
    assert 'model "late": numeric features: amount; categorical: group\n' in done.stdout


def test_faults_of_the_file_are_named_at_once(bench: Bench, monitor: Monitor) -> None:
    bench.configure(LATE.replace("windows", "window").replace('task = "binary"', 'task = "binray"'))

    for command in ("check", "run", "cycle", "show", "migrate"):
        done = monitor(command)
        assert done.exit_code == 2
        assert done.stderr.splitlines() == [
            (
                'models[0] "late".task: must be one of "binary", "multiclass", "regression": got "binray"; '
                'did you mean "binary"?'
            ),
            'models[0] "late".window: unknown key; did you mean "windows"?',
        ]


def test_a_configuration_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["cycle", "--config", str(tmp_path / "none.toml")])

    assert (done.exit_code, done.stderr) == (
        2,
        f"{tmp_path / 'none.toml'}: cannot be read: No such file or directory; {FIRST}\n",
    )


def test_the_configuration_may_be_named_in_the_environment(bench: Bench) -> None:
    path = str(bench.config)

    assert CliRunner().invoke(main, ["check"], env={"MONITOR_CONFIG": path}).exit_code == 0


def test_a_cycle_says_what_it_did(monitor: Monitor) -> None:
    done = monitor("cycle", "--as-of", AS_OF)

    assert (done.exit_code, done.stderr) == (0, "")
    assert re.fullmatch(
        "late as of 2024-03-04T00:00:00Z: 300 rows and 300 label rows read, 7[23] panes counted, 0 waiting, "
        r"\d+ measurements, \d+ kept\n",
        done.stdout,
    )


def test_a_failing_model_does_not_stop_the_others(bench: Bench, monitor: Monitor) -> None:
    bench.configure(BROKEN, LATE)
    line = (
        'monitor: model "broken" as of 2024-03-0{}T00:00:00Z: '
        'there is no table or view "prediction"; did you mean "predictions"?'
    )

    cycled = monitor("cycle", "--as-of", AS_OF)
    replayed = monitor("replay", "--from", to_iso(START), "--to", AS_OF, "--run", "again")

    assert (cycled.exit_code, cycled.stderr) == (1, f"{line.format(4)}\n")
    assert cycled.stdout.startswith("late as of 2024-03-04")
    assert replayed.exit_code == 1
    assert line.format(2) in replayed.stderr.splitlines()
    assert "late: 3 cycles done; " in replayed.stderr


def test_a_bug_in_one_model_does_not_stop_the_others(
    bench: Bench, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from monitor.app.application import App

    sound = App.prepare_model

    def buggy(app: App, name: str, as_of: int) -> object:
        return 1 // 0 if name == "first" else sound(app, name, as_of)

    bench.configure(model("first", options=OPTIONS), LATE)
    monkeypatch.setattr(App, "prepare_model", buggy)

    done = monitor("cycle", "--as-of", AS_OF)

    assert done.exit_code == 1
    assert "ZeroDivisionError: integer division or modulo by zero (test_cli.py:" in done.stderr
    assert done.stdout.startswith("late as of")


def test_a_dry_run_writes_nothing(bench: Bench, monitor: Monitor) -> None:
    done = monitor("cycle", "--as-of", AS_OF, "--dry-run")

    assert done.exit_code == 0
    assert re.fullmatch(
        "late as of 2024-03-04T00:00:00Z: 7[23] panes to count, 300 changed rows; nothing was written\n",
        done.stdout,
    )
    with bench.app() as app:
        assert app.store.panes.read_waiting_panes("late") == []
        assert app.store.states.read_state("late").as_of is None


WRONG = [
    "cycle --as-of 2999-01-01",
    "cycle --as-of soon",
    "cycle --model lat",
    "replay --from 2024-03-02 --to 2024-03-01",
    "replay --from 2024-03-02 --to 2999-03-01",
    "replay --from 2024-03-01 --to 2024-03-02 --every 0s",
    "replay --from 2024-03-01 --to 2024-03-02 --every 1x",
    "replay --to 2024-03-02",
    "show --model x",
    "show --window 2d",
    "show --measure roc_auk",
    "show --measure rmse",
    "show --measure PSI",
    "show --segment region=Nort",
    "show --subject region=Nort",
    "show --model-version region=Nort",
]
NO_ROWS = [
    "show --subject amuont",
    "show --subject feature:amount1",
    "show --model-version v9",
    "show --history --model-version v9",
    "show --segment group=a",
    "show --measure roc_auc --subject score",
    "show --measure roc_auc --subject score --format json",
]


@pytest.mark.texts
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(monitor: Monitor) -> None:
    monitor("migrate")
    told = [(line, monitor(*line.split())) for line in WRONG]
    monitor("cycle", "--as-of", AS_OF)
    told += [(f"{line}, after a cycle", monitor(*line.split())) for line in NO_ROWS]

    assert {(done.exit_code, done.stdout) for _, done in told} == {(2, "")}
    compare_cases("command_wrong_usage", [(line, done.stderr) for line, done in told])


def test_a_window_that_was_never_measured_is_answered_with_what_to_do(bench: Bench) -> None:
    bench.monitor("cycle", "--as-of", AS_OF)
    text = bench.config.read_text(encoding="utf-8")
    bench.config.write_text(text.replace('["1d"]', '["1d", "2d"]'), encoding="utf-8")

    done = bench.monitor("show", "--window", "2d")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "of the window 2d nothing has been measured yet: `monitor replay --run NAME`" in done.stderr


def test_a_cycle_before_the_last_one_is_refused(monitor: Monitor) -> None:
    monitor("cycle", "--as-of", AS_OF)

    done = monitor("cycle", "--as-of", to_iso(START))

    assert done.exit_code == 1
    assert done.stderr == (
        'monitor: model "late" as of 2024-03-01T00:00:00Z: '
        "this moment lies before its last tick 2024-03-04T00:00:00Z\n"
    )


def test_a_replay_fills_the_live_history_once_and_goes_on_where_it_stopped(monitor: Monitor) -> None:
    span = ("--from", to_iso(START), "--to")

    first = monitor("replay", *span, to_iso(END - DAY))
    unnamed = monitor("replay", *span, AS_OF)
    named = monitor("replay", *span, AS_OF, "--run", "live")
    again = monitor("replay", *span, AS_OF, "--run", "live")

    assert first.exit_code == 0
    assert first.stderr.splitlines()[-1].startswith("late: 2 cycles done; ")
    assert (unnamed.exit_code, unnamed.stderr) == (
        1,
        (
            'monitor: the run "live" has a history of "late": '
            "name another run with --run NAME, or go on with this one by --run live\n"
        ),
    )
    assert (named.exit_code, named.stderr.splitlines()[-1]) == (
        0,
        "late: 1 cycle done; 0 alerts found: monitor status",
    )
    assert again.stderr.splitlines()[-1] == "late: nothing to do, the run has passed these ticks"


def test_a_replay_is_refused_while_a_daemon_has_the_run(bench: Bench, monitor: Monitor) -> None:
    span = ("--from", to_iso(START), "--to", AS_OF)

    with bench.app() as app, ExclusiveRun(app):
        refused, other = monitor("replay", *span), monitor("replay", *span, "--run", "other")
    freed = monitor("replay", *span)

    owner = f"process {os.getpid()} on {socket.gethostname()}"
    rule = "wait, or name another run with --run NAME"
    assert (refused.exit_code, refused.stderr) == (
        1,
        f'monitor: a daemon or a replay has the run "live" ({owner}): {rule}\n',
    )
    assert [other.exit_code, freed.exit_code] == [0, 0]


def test_show_says_that_nothing_has_been_measured_yet(monitor: Monitor) -> None:
    monitor("migrate")

    done = monitor("show")

    assert done.exit_code == 0
    assert done.stdout.startswith("late  No data  No cycle has run yet")
    assert done.stdout.endswith("\n\nnothing has been measured yet\n")
    assert json.loads(monitor("show", "--format", "json").stdout) == []


def test_json_rows_have_the_documented_keys(monitor: Monitor) -> None:
    monitor("cycle", "--as-of", AS_OF)

    rows = json.loads(monitor("show", "--format", "json").stdout)

    assert {tuple(row) for row in rows} == {tuple(KEYS)}
    plain = [row for row in rows if row["against"] is None]
    auc = next(row for row in plain if row["measure"] == "roc_auc" and row["truth"] == "settled")
    assert (auc["model"], auc["version"], auc["segment"], auc["subject"]) == ("late", None, None, "")
    assert (auc["window"], auc["window_end"], auc["as_of"]) == (
        "1d",
        "2024-03-03T00:00:00Z",
        "2024-03-04T00:00:00Z",
    )
    assert auc["lower"] < auc["value"] < auc["upper"]
    assert (auc["n"], auc["reason"], auc["coverage"]) == (100, None, 1.0)


def test_csv_holds_what_json_holds(monitor: Monitor) -> None:
    monitor("cycle", "--as-of", AS_OF)

    rows = list(csv.DictReader(io.StringIO(monitor("show", "--format", "csv").stdout)))
    expected = json.loads(monitor("show", "--format", "json").stdout)

    as_text = [{key: "" if value is None else str(value) for key, value in row.items()} for row in expected]
    for text, row in zip(as_text, expected, strict=True):
        text["detail"] = "" if row["detail"] is None else json.dumps(row["detail"])
    assert rows == as_text


def test_the_table_groups_measures_under_their_window(monitor: Monitor) -> None:
    monitor("cycle", "--as-of", AS_OF)

    _, _, table = monitor("show").stdout.partition("\n\n")
    lines = table.splitlines()

    headings = [line for line in lines if line and not line.startswith("  ")]
    assert headings == [
        "as of 2024-03-04",
        "late, 1d to 2024-03-03, settled, coverage 100.0%, 100 records",
        "late, 1d to 2024-03-04, nowcast, coverage 96.0%, 96 records",
        "late, 1d to 2024-03-04, provisional, coverage 96.0%, 100 records",
        "late, 1d to 2024-03-04, 100 records",
        "late, the log itself",
        "… 4 more: --all",  # of judged days
    ]
    first = lines.index(headings[1]) + 1
    assert lines[first].split() == ["performance", "value", "interval", "reference"]
    assert lines[first + 1].split()[0] == "accuracy"
    delays = [line.split() for line in lines if "label_delay_median" in line]
    assert [line[1:] for line in delays] == [["1h", "0m"]] * 2


@pytest.mark.parametrize("width", [80, 100])
def test_no_table_in_a_pipe_is_wider_than_its_columns(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monitor("replay", "--from", to_iso(START), "--to", to_iso(END + DAY))
    whole = {line: monitor(*line.split()).stdout for line in TABLES}
    monkeypatch.setenv("COLUMNS", str(width))
    made = {line: monitor(*line.split()).stdout for line in TABLES}

    assert any(len(one) > width for one in whole["show --all"].splitlines())  # each row is a line there
    for line, text in made.items():
        assert text
        assert [one for one in text.splitlines() if display_width(one) > width] == [], line
        assert set(whole[line].split()) - {"note"} <= set(text.split()), line  # nothing is cut


def test_curves_stand_in_json_and_csv_where_they_are_asked_for(monitor: Monitor) -> None:
    monitor("cycle", "--as-of", AS_OF)

    def rows(*options: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(monitor("show", "--format", "json", *options).stdout)
        return found

    plain, full = rows(), rows("--explain")
    long = [row for row in full if row["detail"] is not None and len(row["detail"]) > 1]
    flat = list(csv.DictReader(monitor("show", "--format", "csv").stdout.splitlines()))

    assert [row | {"detail": None} for row in plain] == [row | {"detail": None} for row in full]
    assert {"roc_auc", "lift_top_decile", "stability_index"} <= {row["measure"] for row in long}
    assert max(len(row["detail"] or ()) for row in plain) == 1
    assert max(len(row["detail"]) for row in flat) < 300
    curves = [row["detail"] for row in long if row["measure"] == "roc_auc" and not row["segment"]]
    asked = rows("--measure", "roc_curve", "--segment", "")
    assert [row["detail"] for row in asked if not row["against"] and row["detail"]] == curves


def test_one_measure_is_a_line_for_each_window_and_revision(monitor: Monitor) -> None:
    monitor("replay", "--from", to_iso(START), "--to", to_iso(END + DAY))

    lines = monitor("show", "--measure", "accuracy", "--window", "1d", "--history").stdout.splitlines()

    assert lines[:2] == ["late, accuracy, 1d", ""]
    assert lines[2].split("  ")[0] == "to"
    of_third = [line.split()[:4] for line in lines if line.startswith("2024-03-03")]
    assert [(line[1], line[3]) for line in of_third] == [
        ("nowcast", "2024-03-03"),
        ("provisional", "2024-03-03"),
        ("settled", "2024-03-04"),
    ]
    asked = ("show", "--measure", "accuracy", "--window", "1d", "--last", "1")
    (newest,) = json.loads(monitor(*asked, "--history", "--format", "json").stdout)
    assert (newest["window_end"], newest["as_of"]) == (to_iso(END + DAY), to_iso(END + DAY))
    assert len(monitor(*asked, "--history").stdout.splitlines()) == 1 + 1 + 1 + 1
    assert "--last is for --history" in monitor(*asked).stderr


def test_what_stands_behind_the_values_follows_the_table_where_it_is_asked_for(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor("cycle", "--as-of", AS_OF)
    monkeypatch.setattr(clocks, "system_clock", frozen_clock(END))  # the head says how long ago a cycle was

    table, explained = (monitor("show", *options).stdout for options in ((), ("--explain",)))

    assert explained.startswith(table)
    assert "cell" in explained[len(table) :]
    assert "contribution" in explained[len(table) :]


def test_filters_leave_what_was_asked_for(monitor: Monitor) -> None:
    monitor("cycle", "--as-of", AS_OF)

    def shown(*options: str) -> set[tuple[str, str]]:
        rows = json.loads(monitor("show", "--format", "json", *options).stdout)
        return {(row["measure"], row["subject"]) for row in rows}

    assert shown("--measure", "ks_distance") == {("ks_distance", "score"), ("ks_distance", "feature:amount")}
    assert shown("--measure", "ks_distance", "--subject", "score") == {("ks_distance", "score")}
    assert shown("--measure", "records", "--subject", "", "--segment", "") == {("records", "")}
    assert shown("--measure", "records", "--model-version", "") == {("records", "")}


def test_history_shows_all_revisions_and_as_of_what_was_known_then(monitor: Monitor) -> None:
    monitor("replay", "--from", to_iso(START), "--to", to_iso(END + DAY))

    def kept(*options: str) -> list[tuple[str, str, str]]:
        asked = ("--measure", "accuracy", "--segment", "", "--window", "1d", "--format", "json")
        rows = json.loads(monitor("show", *asked, *options).stdout)
        plain = [row for row in rows if row["against"] is None]
        return [(row["window_end"][8:10], row["as_of"][8:10], row["truth"]) for row in plain]

    of_third = [("03", "03", "nowcast"), ("03", "03", "provisional"), ("03", "04", "settled")]
    assert [row for row in kept("--history") if row[0] == "03"] == of_third
    assert [row for row in kept("--as-of", "2024-03-03T12:00") if row[0] == "03"] == of_third[:2]
    assert [row for row in kept("--as-of", "2024-03-04") if row[0] == "03"] == of_third[2:]
    assert [row for row in kept("--history", "--as-of", "2024-03-03T12:00") if row[0] == "03"] == of_third[:2]


def test_runs_are_shown_apart(monitor: Monitor) -> None:
    monitor("replay", "--from", to_iso(START), "--to", AS_OF, "--run", "other")

    assert monitor("show").stdout.endswith("\nnothing has been measured yet\n")
    assert "accuracy" in monitor("show", "--run", "other").stdout


def test_migrate_says_where_and_shows_no_password(bench: Bench, monitor: Monitor) -> None:
    done = monitor("migrate")

    assert (done.exit_code, done.stdout) == (0, f"{bench.store_url}: the tables are up to date\n")


@pytest.mark.parametrize("command", ["migrate", "cycle", "show", "run", "check"])
def test_the_password_of_the_store_is_not_shown(bench: Bench, monitor: Monitor, command: str) -> None:
    _replace(bench, bench.store_url, HIDDEN)

    done = monitor(command)

    assert done.exit_code == (2 if command == "check" else 1)
    assert "ann:***@127.0.0.1:1/none" in done.stderr
    assert "s3cr" not in done.output


@pytest.mark.parametrize("command", ["cycle", "check"])
def test_the_password_of_a_source_is_not_shown(bench: Bench, monitor: Monitor, command: str) -> None:
    _replace(bench, bench.database.url, HIDDEN)

    done = monitor(command)

    assert done.exit_code == (2 if command == "check" else 1)
    assert "ann:***@127.0.0.1:1/none does not answer" in done.stderr
    assert "s3cr" not in done.output


def _replace(bench: Bench, old: str, new: str) -> None:
    path = bench.config
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
