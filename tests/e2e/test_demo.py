"""The demo's commands, over the first weeks of its log."""

import io
import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import process
import pytest
import servers
from click.testing import CliRunner
from page_pictures import PICTURES, PLACE, TALLEST, WIDTH, described, texts

from monitor.app.application import open_application
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import SECOND, from_iso
from monitor.core.text import number_text
from monitor.store.store_database import open_store

# The whole replay takes more than a minute: the same program over the last days of March.
SHORT = """
import sys
from monitor.app import demo_run
from monitor.cli import main
from monitor.core.clock import from_iso
demo_run.START, demo_run.END = from_iso("2013-03-30"), from_iso("2013-04-01")
main(["demo", *sys.argv[1:]])
"""
MARCH = "2013-04-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo left behind after March: what it printed, what it served."""

    directory: Path
    printed: str
    served: process.Series
    code: int

    def command(self, *arguments: str) -> str:
        """Standard output of another command on the demo's configuration."""
        done = CliRunner().invoke(main, [*arguments, "--config", str(self.directory / "config.toml")])
        assert done.exit_code == 0, done.stderr
        return done.stdout

    def shown(self, *options: str) -> list[dict[str, Any]]:
        """Rows that `monitor show` prints of whole models."""
        rows = json.loads(self.command("show", "--format", "json", "--segment", "", *options))
        return [row for row in rows if row["version"] is None]

    def started(self, *options: str) -> process.Process:
        """The demo once more in its directory."""
        port = servers.free_port()
        arguments = ("demo", "--directory", str(self.directory), "--port", str(port), *options)
        return process.Process(process.monitor(*arguments), port, self.directory / "again.log")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Load, replay two days, print, serve the last commit, end by Ctrl-C."""
    directory, port = tmp_path_factory.mktemp("demo") / "a b", servers.free_port()
    command = [sys.executable, "-c", SHORT, "--directory", str(directory)]
    command += ["--host", "0.0.0.0", "--port", str(port)]  # noqa: S104
    standing = process.Process(command, port, directory.with_name("demo.log"))
    try:
        standing.started()
        served = standing.series()
        code, _ = standing.stop(signal.SIGINT)
    finally:
        standing.kill()
    return Demo(directory, standing.log_file.read_text(encoding="utf-8"), served, code)


class Terminal(io.StringIO):
    """What a command writes to a terminal."""

    def isatty(self) -> bool:
        return True


READING = (
    "show --segments", "show --measure gain", "show --measure confusion_matrix", "show --explain",
    "show --measure roc_auc --history --provenance", "status", "alerts --history --explain",
    "changes", "budget", "backtest --model late --from 2013-03-30 --to 2013-04-01",
)  # fmt: skip


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_a_reading_command_is_wider_than_the_terminal(
    demo: Demo, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    for line in READING:
        with redirect_stdout(Terminal()) as terminal, suppress(SystemExit):
            main([*line.split(), "--config", str(demo.directory / "config.toml")])

        lines = click.unstyle(terminal.getvalue()).splitlines()
        assert lines, line
        assert [one for one in lines if len(one) > columns] == [], line


def test_the_standing_daemon_serves_the_last_commit_until_ctrl_c(demo: Demo) -> None:
    model = process.labelled({"model": "late"})

    assert demo.served["as_of_seconds", model] == from_iso(MARCH) / SECOND
    assert demo.code == 0
    assert "338,510 rows of the logs loaded" in demo.printed
    assert "look at http://0.0.0.0:" in demo.printed
    config = shlex.quote(str(demo.directory / "config.toml"))
    assert f"ask on: monitor status --config {config}\n" in demo.printed


def test_the_demo_ends_with_who_is_needed_and_the_first_reason_as_status_says_them(demo: Demo) -> None:
    with redirect_stdout(io.StringIO()) as out, suppress(SystemExit):
        main(["status", "--format", "json", "--config", str(demo.directory / "config.toml")])
    (late,) = (one for one in json.loads(out.getvalue()) if one["model"] == "late")

    assert f"late {late['state']} {late['because'][0]}" in " ".join(demo.printed.split())


def test_the_printed_month_the_kept_one_and_the_page_agree(demo: Demo) -> None:
    header, march = (line for line in demo.printed.splitlines() if line.startswith(("month", "2013-03")))
    rows = (row for row in demo.shown("--history", "--window", "month") if row["against"] is None)
    history = {(row["measure"], row["subject"]): row for row in rows}
    labels = {"model": "late", "window": "month"}

    def page(name: str, **others: str) -> float:
        return demo.served[name, process.labelled(labels | others)]

    provisional = {"truth": "provisional"}
    auc, index = history["roc_auc", ""], history["stability_index", "score"]
    assert (auc["truth"], auc["window_end"], auc["as_of"]) == ("provisional", MARCH, MARCH)
    assert auc["value"] == page("roc_auc_ratio", **provisional)
    assert auc["lower"] == page("roc_auc_ratio_lower", **provisional)
    assert history["profit", ""]["value"] == page("profit", **provisional)
    assert index["value"] == page("stability_index", subject="score")
    assert header.startswith("month")
    assert march.startswith("2013-03")
    for key in (
        ("records", ""),
        ("roc_auc", ""),
        ("ks_separation", ""),
        ("accuracy", ""),
        ("majority_accuracy", ""),
        ("profit", ""),
        ("stability_index", "score"),
        ("stability_index_critical", "score"),
        ("control_outcome_rate", ""),
        ("treatment_outcome_rate", ""),
    ):
        assert number_text(history[key]["value"]) in march
    assert f"[{auc['lower']:.3f}, {auc['upper']:.3f}]" in march
    assert f"{auc['coverage']:.1%}" in march
    assert march.endswith("provisional")


def test_what_is_current_is_what_is_served(demo: Demo) -> None:
    told = [row for row in demo.shown("--measure", "accuracy") if row["against"] is None]
    shown = {(row["window"], row["truth"]): row["value"] for row in told}

    served = {
        key: demo.served[
            "accuracy_ratio", process.labelled({"model": "late", "window": key[0], "truth": key[1]})
        ]
        for key in shown
    }

    assert served == shown
    assert {window for window, _ in shown} == {"1d", "7d", "30d", "month"}


def test_a_second_start_goes_on_without_loading_again(demo: Demo) -> None:
    command = process.monitor("demo", "--directory", str(demo.directory), "--exit", "--until", "2013-04-03")

    done = subprocess.run(command, capture_output=True, text=True, timeout=process.PATIENCE, check=False)

    assert done.returncode == 0, done.stderr
    assert "the logs are loaded already" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()][:3] == ["month", "2013-03", "late"]
    assert {row["as_of"] for row in demo.shown()} == {"2013-04-03T00:00:00Z"}


def test_with_a_pace_the_daemon_moves_on_day_by_day(demo: Demo) -> None:
    running = demo.started("--until", "2013-04-03", "--pace", "1s")
    try:
        running.started()
        running.wait(
            lambda: (running.value("as_of_seconds", model="late") or 0) >= from_iso("2013-04-05") / SECOND,
            "April",
        )
        assert running.status("/healthz") == 200
        code, seconds = running.stop()
    finally:
        running.kill()

    assert (code, seconds < 15) == (0, True)
    assert min(row["as_of"] for row in demo.shown()) >= "2013-04-05"


# What the pictured pages say of ten months and not of two days, or the other way round.
OF_DATA = {
    *("OK", "Warning", "The model is OK", "The model has a warning", "No incident is open."),
    *("No series has an alert.", "Next:", "Acknowledge…", "Accept as normal…", "Evidence", "Feed alerts"),
    *("as in the reference", "better than the reference", "clearly beyond the limit"),
    *("as usual", "a little low", "a little high", "As expected", "temp_f is as expected"),
    *("worse", "no change", "▼", "▼ clearly worse, ▲ clearly better", "–"),
    # what changed: of the model, of its inputs, of a feature
    *("Series", "What", "Usual", "Now", "Since", "mean", "missing", "none", "no values", "expected", "alert"),
    *("humid_pct", "origin_hour_load", "precip_in", "pressure_mb", "temp_f", "visib_mi", "wind_mph"),
    *("humid_pct, precip_in, temp_f, visib_mi and wind_mph", "recent_dep_delay_min", "spread"),
    "missing values by day; hatched: not compared",
    *("Alert closed, still different", "Alert now · in the same incident, perhaps another cause"),
    "recent_dep_delay_min is still different from before, though its alert is closed. Eight are as expected.",
    *("Incident with six more features", "Newest day", "Not compared", "(missing)", "Share missing by day"),
    # segments, experiments, the feed, measures
    *("better", "▲", "Segments, the worst first", "No segment is clearly worse than the rest"),
    *("No repeated, late or unreadable rows.", "estimated_roc_auc_error"),
    *("final", "labels still come", "estimated", "Challenger and model", "Weekly values", "Numbers"),
    # the window before, and windows beside it
    *("All measures", "Beside October", "There", "Here", "Value", "\u2039 earlier", "later \u203a"),
    *("Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "October", "November"),
}


def kept_text(picture: str) -> list[str]:
    """Lines beside a picture: what it is, then what its page says."""
    return (PLACE / picture).with_suffix(".txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_of_a_page_has_its_size_and_the_text_of_its_time(picture: str) -> None:
    (what, *_) = kept_text(picture)

    assert what == described(PLACE / picture)
    wide, tall = re.findall(r": (\d+) x (\d+),", what)[0]
    assert int(wide) == WIDTH
    assert int(tall) <= TALLEST


@pytest.mark.slow
def test_pictures_say_what_the_pages_say_now(demo: Demo) -> None:
    """All words but those of the data; all words of ten months: the test below. Mended by `make pictures`."""
    with open_application(
        settings_of(demo.directory / "config.toml", {}), demo.directory, keeps=False
    ) as app:
        said = dict(texts(app, from_iso(MARCH), newest=True))

    for picture, now in said.items():
        there, kept = (
            {line for line in lines if not any(map(str.isdigit, line))}
            for lines in (now.splitlines(), kept_text(picture)[1:])
        )
        assert there ^ kept <= OF_DATA, picture


@pytest.mark.long
def test_pictures_say_what_the_pages_of_the_whole_demo_say(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["demo", "--directory", str(tmp_path), "--exit"])
    assert done.exit_code == 0, done.stderr

    with open_application(settings_of(tmp_path / "config.toml", {}), tmp_path, keeps=False) as app:
        for picture, said in texts(app):
            assert said.splitlines() == kept_text(picture)[1:], picture


def test_the_demo_can_be_checked(demo: Demo) -> None:
    assert "1 model, no faults" in demo.command("check")


def test_links_lead_to_the_port_that_was_asked_for_and_an_edited_configuration_is_kept(demo: Demo) -> None:
    file, home = demo.directory / "config.toml", ("--directory", str(demo.directory))
    again = ("demo", *home, "--exit", "--until", "2013-03-03", "--port")

    first = CliRunner().invoke(main, [*again, "10001"])
    assert '"http://127.0.0.1:10001"' in file.read_text(encoding="utf-8")
    second = CliRunner().invoke(main, [*again, "10002"])
    written = file.read_text(encoding="utf-8")
    edited = written.replace('every = "1d"', 'every = "1d"  # as the flights')
    file.write_text(edited, encoding="utf-8")
    third = CliRunner().invoke(main, [*again, "10003"])
    kept = file.read_text(encoding="utf-8")
    file.write_text(written, encoding="utf-8")

    assert [done.exit_code for done in (first, second, third)] == [0, 0, 0]
    assert '"http://127.0.0.1:10002"' in written
    assert edited != written
    assert kept == edited
    assert "is kept" not in first.stderr + second.stderr
    assert f"{file}: it is not as this version of the demo writes it, and is kept" in third.stderr


@pytest.mark.postgres
def test_the_demo_keeps_its_results_in_postgresql_if_asked(demo: Demo, postgres_url: str) -> None:
    secret = postgres_url.replace("postgres@", "postgres:s3cret@")
    options = ("--directory", str(demo.directory), "--exit", "--until", "2013-03-03", "--store-url", secret)

    done = CliRunner().invoke(main, ["demo", *options])

    assert done.exit_code == 0, done.stderr
    assert "s3cret" not in done.output + (demo.directory / "config.toml").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.postgres
def test_the_demo_reads_its_logs_from_postgresql_if_asked(tmp_path: Path, postgres_url: str) -> None:
    kept = []
    for name, source in (("sqlite", ()), ("postgresql", ("--source-url", postgres_url))):
        options = ("--directory", str(tmp_path / name), "--exit", "--until", "2013-03-04", *source)
        done = CliRunner().invoke(main, ["demo", *options])
        assert done.exit_code == 0, done.stderr
        store = open_store(f"sqlite:///{tmp_path / name / 'monitor.db'}", "live")
        kept.append(store.snapshots.read_snapshot_rows())
        store.close()

    assert len(kept[0]) > 1_000
    assert kept[0] == kept[1]


@pytest.mark.parametrize("until", ["2013-01-01", "2014-03-01"])
def test_an_end_outside_of_the_flights_is_refused(tmp_path: Path, until: str) -> None:
    done = CliRunner().invoke(main, ["demo", "--directory", str(tmp_path / "demo"), "--until", until])

    rule = "--until must be after 2013-03-01T00:00:00Z, and at most 2014-01-01T00:00:00Z"
    assert done.exit_code == 2
    assert done.stderr == f"{rule}, where the flights end: got {until}T00:00:00Z\n"
    assert not (tmp_path / "demo").exists()
