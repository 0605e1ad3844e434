"""Whatever happened to the store's file, commands end with 0, 1 or 2 and a sentence, not with a traceback."""

import random
import socket
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from shutil import copy

import pytest
from hostile import Answer, attacked, invoke, spawned
from process import daemon
from serving import model, predictions, sqlite_bench
from stores import TORN, harmed, torn

from monitor.core.clock import DAY, HOUR, from_iso, to_iso

pytestmark = pytest.mark.usefixtures("here")
START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
NEXT = ("--as-of", to_iso(END + 12 * HOUR))
OPTIONS = (
    'every = "12h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nhorizon = "20d"\n'
    'reading = { ready_after = "0s" }\n'
)
OWN = model(
    options=OPTIONS + 'segments = ["pred"]\nagainst = ["previous"]\ndefault_alerts = true\n'
    '[[models.alerts]]\nname = "busy"\nmeasure = "records"\nabove = 10\nwindow = "1d"\n'
    '[models.control]\narm_column = "group"\ncontrol_value = "a"\ntreatment_value = "b"\n'
)
CHANNEL = '[[notify]]\nname = "dead"\nurl = "http://127.0.0.1:9/nobody"\n'
SPAN = ("--from", to_iso(START), "--to")
OF_ALERT = ("--model", "late", "--rule", "busy", "--by", "ann", "--why", "expected")
FIRST = ("replay", *SPAN, to_iso(END))
ACCEPTED = ("alerts", "accept", *OF_ALERT)
COMMANDS = (
    ("show",), ("show", "--all"), ("show", "--history"), ("show", "--provenance"),
    ("show", "--explain", "--all"), ("show", "--all", "--format", "json"),
    ("show", "--history", "--format", "csv"), ("show", "--as-of", to_iso(END)),
    ("show", "--provenance", "--format", "json"), ("alerts",), ("alerts", "--history", "--explain"),
    ("alerts", "--history", "--format", "json"), ("export", "kept.csv"), ("export", "kept.parquet"),
    ("cycle", *NEXT), ("cycle", *NEXT), ("cycle", *NEXT, "--dry-run"), ("check",), ("run",), ("migrate",),
    ("replay", "--run", "live", *SPAN, to_iso(END + DAY)), ("backtest", *SPAN, to_iso(END)),
    ("recount", "--model", "late", "--from", to_iso(END - DAY), "--to", to_iso(END)),
    ("forget", "--model", "late", "--yes"), ("alerts", "ack", *OF_ALERT), ACCEPTED, ("status",),
)  # fmt: skip
NOT_DELIVERED = COMMANDS[14]  # nobody takes the notice of a cycle


DAMAGED = (
    (
        "UPDATE current_rows SET n = 'x'",
        ("show",),
        "table current, column n: a whole number expected: got text",
    ),
    (
        "UPDATE current_rows SET as_of = 1 << 60",
        ("show",),
        "table current, column as_of: a time from year 1",
    ),
    (
        "UPDATE current_rows SET reason = 'why', value = NULL",
        ("show",),
        'a measurement "future_records" of',
    ),
    ("UPDATE details SET text = '{'", ("show", "--history"), "a measurement"),
    ("UPDATE alerts SET verdict = '[]'", ("alerts", "--history"), "table alerts: "),
    ("UPDATE panes SET blob = x'0102'", ("cycle", *NEXT), "part records: damaged blob"),
    (
        "UPDATE panes SET part = 'all' WHERE part = 'records'",
        ("cycle", *NEXT),
        'table panes, panes of "late"',
    ),
    ("UPDATE references_ SET counting = '3'", ("cycle", *NEXT), "table references_, key "),
    ("UPDATE models SET seen_again = '3'", ("cycle", *NEXT), "table models, columns seen_again"),
    ("UPDATE configurations SET content = '['", ("show", "--provenance"), "table configurations, hash "),
    ("UPDATE entries SET total = '{}x'", ("cycle", *NEXT), 'table entries, comparisons of "late"'),
    (
        "UPDATE events SET detail = 'x' WHERE kind = 'accepted'",
        ("cycle", *NEXT),
        "table events, an accepted change",
    ),
    ("DROP VIEW snapshots", ("show", "--history"), "no such table: snapshots; restore a backup"),
    ("UPDATE series SET model = CAST(x'ff' AS TEXT)", ("show",), "Could not decode to UTF-8 column"),
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a log, its configuration, and the store that a real replay left."""
    directory = tmp_path_factory.mktemp("stores")
    bench = sqlite_bench(directory, predictions(120, START, END + DAY), labelled=END + DAY)
    bench.configure(CHANNEL, OWN)
    for command in (FIRST, ACCEPTED):
        assert invoke(*command, "--config", str(directory / "config.toml")).code == 0
    with closing(sqlite3.connect(directory / "monitor.db")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    (directory / "monitor.db").rename(directory / "sound.db")
    return directory


def damaged(directory: Path, statement: str) -> None:
    """Copy the store, and run a statement on the copy."""
    harmed(directory / "sound.db", directory / "monitor.db", random.Random(0))  # noqa: S311 -- not for secrets
    copy(directory / "sound.db", directory / "monitor.db")
    with closing(sqlite3.connect(directory / "monitor.db", isolation_level=None)) as connection:
        connection.execute(statement)


def wrong_answers(directory: Path, seed: int, cases: int) -> Sequence[object]:
    def attack(rng: random.Random) -> Sequence[str]:
        harmed(directory / "sound.db", directory / "monitor.db", rng)
        return *rng.choice(COMMANDS), "--config", "config.toml"

    return attacked(seed, cases, attack, codes={0, 1})


@pytest.mark.parametrize("seed", [1, 2])
def test_a_broken_store_is_answered_by_a_sentence(directory: Path, seed: int) -> None:
    assert wrong_answers(directory, seed, 60) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 208))
def test_thousands_of_broken_stores_are_answered_by_sentences(directory: Path, seed: int) -> None:
    assert wrong_answers(directory, seed, 500) == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_does_its_work_on_the_store_before_it_is_broken(
    directory: Path, command: tuple[str, ...]
) -> None:
    (directory / "monitor.db").unlink(missing_ok=True)
    copy(directory / "sound.db", directory / "monitor.db")

    answer = invoke(*command, "--config", "config.toml")

    assert (answer.wrong, answer.code) == ("", int(command == NOT_DELIVERED))


@pytest.mark.parametrize(("statement", "command", "said"), DAMAGED)
def test_what_is_damaged_is_named_and_what_to_do(
    directory: Path, statement: str, command: tuple[str, ...], said: str
) -> None:
    damaged(directory, statement)

    answer = invoke(*command, "--config", "config.toml")

    assert (answer.wrong, answer.code) == ("", 1)
    assert said in answer.stderr
    assert 'restore a backup: see "A broken store" in docs/operations.md' in answer.stderr


@pytest.mark.parametrize("what", TORN)
def test_check_names_what_a_disk_has_done_to_the_file(directory: Path, what: str) -> None:
    torn(directory / "sound.db", directory / "monitor.db", TORN[what])

    answer = invoke("check", "--config", "config.toml")

    assert (answer.wrong, answer.code) == ("", 2)
    assert f"store sqlite:///{directory}/monitor.db: " in answer.stderr


@pytest.mark.parametrize(("statement", "command", "said"), DAMAGED)
def test_check_names_what_other_commands_stop_at(
    directory: Path, statement: str, command: tuple[str, ...], said: str
) -> None:
    damaged(directory, statement)

    answer = invoke("check", "--config", "config.toml")

    unseen = ("details", "panes SET blob")  # docs/operations.md says so
    assert (answer.wrong, answer.code) == ("", 0 if any(place in statement for place in unseen) else 2)
    assert answer.code == 0 or 'see "A broken store" in docs/operations.md' in answer.stderr, (command, said)


def test_a_damaged_pane_is_deleted_and_counted_again(directory: Path) -> None:
    """As docs/operations.md says."""
    harmed(directory / "sound.db", directory / "monitor.db", random.Random(0))  # noqa: S311 -- not for secrets
    copy(directory / "sound.db", directory / "monitor.db")
    first, last = (to_iso(END - DAY), to_iso(END))
    recount = ("recount", "--model", "late", "--from", first, "--to", last, "--config", "config.toml")
    with closing(sqlite3.connect(directory / "monitor.db", isolation_level=None)) as connection:
        # of labels a pane lacks what differences add: these are rows of their own until a day's first cycle
        asked = "SELECT start, part, rows, CASE part WHEN 'records' THEN checksum END FROM panes"
        sound = set(connection.execute(asked))
        chosen = f"start = {END - 5 * HOUR}"
        connection.execute(f"UPDATE panes SET blob = x'01' WHERE {chosen}")
        damaged = invoke(*recount)
        connection.execute(f"DELETE FROM panes WHERE {chosen}")
        counted = invoke(*recount)
        found = set(connection.execute(asked))

    assert (damaged.code, counted) == (1, Answer(0, "", ""))
    assert f'pane {to_iso(END - 5 * HOUR)} of "late"' in damaged.stderr
    assert found == sound


def test_a_model_whose_rows_are_damaged_does_not_stop_the_daemon_or_the_others(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bench = sqlite_bench(tmp_path, predictions(120, START, END), labelled=END)
    http = f'[http]\nport = {port}\n[log]\nformat = "json"\n[daemon]\ncatch_up = "1s"\n'
    bench.configure(http, model(options=OPTIONS), model("other", options=OPTIONS))
    bench.cycle(END)
    with closing(sqlite3.connect(tmp_path / "monitor.db", isolation_level=None)) as connection:
        connection.execute(
            "UPDATE current_rows SET n = 'x' WHERE series IN (SELECT id FROM series WHERE model = 'late')"
        )

    with daemon(tmp_path / "config.toml", port) as running:
        running.started()
        running.wait(lambda: running.value("panes_waiting", model="other") is not None, "the other model")
        failed = running.wait_cycle("late", "cycle failed")
        shown = running.logged("what is kept cannot be shown", model="late")

    why = "the store is damaged: table current, column n: a whole number expected: got text; restore a backup"
    assert failed["error"].startswith(why)
    assert [line["reason"].startswith(why) for line in shown] == [True]
    assert "Traceback" not in running.log_file.read_text(encoding="utf-8")


@pytest.mark.long
def test_processes_answer_broken_stores_by_sentences(directory: Path) -> None:
    rng = random.Random(11)  # noqa: S311 -- not for secrets
    wrong = []
    for command in (*COMMANDS, *COMMANDS):
        harmed(directory / "sound.db", directory / "monitor.db", rng)
        answer = spawned(directory, *command, "--config", "config.toml")
        if answer.wrong:
            wrong.append((command, answer))

    assert wrong == []
