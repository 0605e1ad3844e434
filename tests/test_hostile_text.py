"""Every output of commands and of the daemon, where columns, versions, segments, categories are hostile."""

import csv
import io
import json
import logging
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow.csv as arrow_csv
import pytest
import structlog
from click.testing import CliRunner
from hostile_log import AMOUNT, Hostile
from hostile_texts import CONTROLS, FORGED, FORMULAS, HOSTILE, acting, assert_quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from row_examples import firing, row_of

from monitor.alerts.alert_rules import ACKNOWLEDGED, AlertedSeries, Severity
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.app.exports.export_files import _CsvWriter, _make_batch
from monitor.cli import main
from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import DetailTable, Measurement
from monitor.core.text import double_quoted
from monitor.daemon.log_setup import LogFormat, configure_logging
from monitor.measures.measurement_row import StoredMeasurement
from monitor.show.alert_tables import (
    AlertDecision,
    ShownAlert,
    alerts_as_csv,
    alerts_as_json,
    alerts_as_table,
)
from monitor.show.detail_tables import table_with_details
from monitor.show.measurement_tables import measurements_as_table
from monitor.show.plain_rows import rows_as_csv, rows_as_json


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    made = Hostile(tmp_path_factory.mktemp("hostile"), "console")
    assert made.run("migrate").exit_code == 0
    done = made.run("cycle", "--as-of", to_iso(made.end))
    assert done.exit_code == 0, done.output
    assert "Columns are missing" in done.output
    return made


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("check", "--explain"),
        ("check", "--format", "json", "--explain"),
        ("cycle", "--dry-run"),
        ("show",),
        ("show", "--all", "--explain", "--provenance"),
        ("show", "--measure", "records", "--history"),
        ("show", "--format", "json"),
        ("show", "--format", "csv"),
        ("status",),
        ("status", "--format", "json"),
        ("alerts",),
        ("alerts", "--explain"),
        ("alerts", "--format", "json"),
        ("alerts", "--format", "csv"),
        ("accept", "--model", "late"),
        ("export-rules",),
    ],
)
def test_no_command_prints_what_acts_on_a_terminal_or_lines_of_others(
    hostile: Hostile, command: tuple[str, ...]
) -> None:
    done = hostile.run(*command)

    assert done.output


def test_backtests_and_replays_and_decisions_are_quiet(hostile: Hostile) -> None:
    end = ("--from", to_iso(hostile.end - DAY), "--to", to_iso(hostile.end))

    assert hostile.run("replay", "--run", "again", *end).exit_code == 0
    assert hostile.run("backtest", *end).exit_code == 0
    assert json.loads(hostile.run("backtest", "--format", "json", *end).stdout)["model"] == "late"
    decided = ["--model", "late", "--rule", "busy", "--by", f"x\n{FORGED}\x1b[2J", "--why", f"\r{FORGED}"]
    one = ["--segment", json.loads(hostile.run("alerts", "--format", "json").stdout)[0]["segment"]]
    done = CliRunner().invoke(main, ["alerts", "ack", "--config", str(hostile.config), *decided, *one])
    assert_quiet(done.output)
    assert "is acknowledged by" in done.output
    several = CliRunner().invoke(main, ["alerts", "ack", "--config", str(hostile.config), *decided])
    assert_quiet(several.output)
    assert "are meant, say which" in several.output
    hostile.run("alerts")


def test_a_first_configuration_holds_the_names_and_no_line_of_theirs(hostile: Hostile) -> None:
    url = f"sqlite:///{hostile.directory}/log.db"
    asked = ["init", "--url", url, "--predictions", "predictions", "--labels", "labels"]

    done = CliRunner().invoke(main, asked)

    assert_quiet(done.stdout)
    assert_quiet(done.stderr)
    assert set(tomllib.loads(done.stdout)) == {"sources", "models"}
    assert tomllib.loads(done.stdout)["models"][0]["features"]["numeric"] == [AMOUNT]


def test_faults_of_a_configuration_are_quiet(hostile: Hostile) -> None:
    faulty = hostile.directory / "faulty.toml"
    text = hostile.config.read_text(encoding="utf-8")
    wrong = double_quoted(f"w\n{FORGED}\x1b[2J\u202e")
    changes = {'"busy"': wrong, '"records"': wrong, "[http]": f"[http]\n{wrong} = 1"}
    for there, instead in changes.items():
        assert there in text
        faulty.write_text(text.replace(there, instead), encoding="utf-8")
        for command in ("check", "cycle", "export-rules"):
            done = CliRunner().invoke(main, [command, "--config", str(faulty)])
            assert done.exit_code == 2
            assert_quiet(done.stdout)
            assert_quiet(done.stderr)


def test_warnings_and_failures_that_nobody_expected_are_quiet() -> None:
    said = (
        "from monitor.show.terminal_words import install_error_hooks; install_error_hooks(); name = "
        f"'x\\x1b[2J\\n{FORGED}\\u202e'"
    )
    for fails in ("import warnings; warnings.warn(name)", "raise KeyError(name)", "raise ValueError(name)"):
        done = subprocess.run(
            [sys.executable, "-c", f"{said}; {fails}"], capture_output=True, text=True, check=False
        )
        assert_quiet(done.stderr)
        assert FORGED in done.stderr


def test_cells_of_an_exported_csv_are_no_formulas_and_its_numbers_are_numbers(hostile: Hostile) -> None:
    file = hostile.directory / "kept.csv"
    assert hostile.run("export", str(file)).exit_code == 0

    table = arrow_csv.read_csv(file)

    assert_quiet(file.read_text(encoding="utf-8"))
    assert str(table["value"].type) == "double"
    assert str(table["n"].type) == "int64"
    with file.open(encoding="utf-8", newline="") as lines:
        assert_no_formulas(csv.DictReader(lines))


def assert_no_formulas(rows: Iterable[dict[str, str]]) -> None:
    """What a cell begins with is no formula's, other than in numbers."""
    for row in rows:
        for cell in row.values():
            if cell.lstrip().startswith(("=", "+", "-", "@")):
                float(cell)


def rows_of(text: str, other: str) -> list[StoredMeasurement]:
    """Rows as an old store may have them: everything that is text is hostile."""
    detail = DetailTable((text, "share", other), ((other, 0.5, text), (text, None, "-1")))
    whole = Measurement(-0.25, 10, detail=detail)
    row = row_of(
        "stability_index",
        whole,
        window="1d",
        window_end=DAY,
        subject=f"feature:{other}",
        against=text,
        warning=other,
    )
    return [
        StoredMeasurement("late", DAY, replace(row, version=version, segment=segment))
        for version, segment in ((None, None), (text, None), (None, f"{text}={other}"), (other, text))
    ]


@given(text=HOSTILE, other=HOSTILE)
@settings(max_examples=150)
def test_rows_of_an_old_store_are_shown_quietly_and_as_json_exactly(text: str, other: str) -> None:
    rows = rows_of(text, other)

    for told in (
        measurements_as_table(rows),
        table_with_details(rows),
        rows_as_csv(rows),
        rows_as_json(rows),
        measurements_as_table(rows[1:2]),
    ):
        assert_quiet(told)
    assert {one["version"] for one in json.loads(rows_as_json(rows))} == {None, text, other}
    flat = list(csv.DictReader(io.StringIO(rows_as_csv(rows, details=True))))
    assert_no_formulas(flat)
    assert [one["value"] for one in flat] == ["-0.25"] * 4
    assert json.loads(flat[0]["detail"])[0] == json.loads(rows_as_json(rows, details=True))[0]["detail"][0]


@given(text=HOSTILE, other=HOSTILE)
@settings(max_examples=150)
def test_alerts_of_an_old_store_are_told_quietly_and_as_json_exactly(text: str, other: str) -> None:
    cause = DetailTable((text, other + "'"), ((other, text), (-1.0, None)))
    verdict = Verdict(outcome=Outcome.BREACH, window_end=DAY, value=-0.2, n=9, limit=0.05, cause=cause)
    series = AlertedSeries(
        "moved", version=text, segment=f"{other}={text}", window="1d", subject=f"feature:{other}"
    )
    alert = firing(series, verdict, 0, severity=Severity.INFO, judged_at=DAY)
    seen = AlertDecision(DAY, ACKNOWLEDGED, text, other)
    told = [ShownAlert("late", alert, decisions=(seen,))]

    for shown in (alerts_as_table(told, explain=True), alerts_as_csv(told), alerts_as_json(told)):
        assert_quiet(shown)
    (plain,) = json.loads(alerts_as_json(told))
    assert (plain["version"], plain["acknowledged"]) == (text, f"{text}: {other}")
    (flat,) = csv.DictReader(io.StringIO(alerts_as_csv(told)))
    assert_no_formulas([flat])
    assert flat["value"] == "-0.2"


@given(names=st.lists(HOSTILE, min_size=1, max_size=5))
@settings(max_examples=60)
def test_an_export_of_an_old_store_is_quiet_in_csv_and_exact_in_parquet(names: list[str]) -> None:
    detail = json.dumps({"columns": names, "rows": []}, ensure_ascii=False)
    numbers = (-1.5, "", 1, None, None, None, 0.0, None)
    rows = [
        ("late", DAY, "1d", DAY, "", name, name, "psi", name, name, *numbers, name, detail) for name in names
    ]
    batch, out = _make_batch("live", rows), io.BytesIO()

    with _CsvWriter(out) as writer:
        writer.write_batch(batch)

    assert_quiet(out.getvalue().decode())
    written = list(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    assert_no_formulas(written)
    assert [one["value"] for one in written] == ["-1.5"] * len(names)
    assert [json.loads(one["detail"])["columns"] for one in written] == [names] * len(names)
    assert batch["version"].to_pylist() == names


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The log's stream; logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


@pytest.mark.parametrize("form", list(LogFormat))
def test_what_is_logged_is_a_line_each_and_no_traceback_passes_for_lines(
    form: LogFormat, log: io.StringIO
) -> None:
    configure_logging(form, stream=log)
    for name in (*CONTROLS, *FORMULAS):
        ours = structlog.stdlib.get_logger("monitor")
        ours.warning(
            name, model=name, columns=[name, {name: name}], error=ValueError(name), **{f"k{name}": 1}
        )
        logging.getLogger("library").warning("library said %s", name)
        try:
            raise ValueError(f"{name}\n{FORGED} 2026-01-01T00:00:00Z [error] forged")  # noqa: TRY301 -- of a test
        except ValueError:
            ours.exception("failed")
            logging.getLogger("library").exception("failed")

    assert acting(log.getvalue()) == set()
    lines = log.getvalue().splitlines()
    assert not [line for line in lines if line.startswith((FORGED, "2026-01-01"))]
    assert [line for line in lines if "forged" in line]
    if form is LogFormat.JSON:
        assert {json.loads(line)["level"] for line in lines} == {"warning", "error"}
