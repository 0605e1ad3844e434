"""Ids and rare names of a log are looked for in every byte that the daemon leaves: there are none."""

import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import process
import pytest
import servers
from click.testing import CliRunner
from serving import Bench, Database, Row, create_tables, labels, model, predictions

from monitor.cli import main
from monitor.core.clock import DAY, floor_to
from monitor.states.grids import level_digest

MARK = "Zyxwv"  # in every id, and in all names that must be found nowhere
OPTIONS = """
every = "1s"
pane = "10m"
windows = [{ length = "1d", step = "1d" }, { length = "1h", step = "10m" }]
segments = ["group"]
horizon = "2d"
settle_after = "0s"
resamples = 20
reading = { overlap = "1m", tolerance = "5s", ready_after = "0s" }
control = { arm_column = "arm", control_value = "control", treatment_value = "treatment" }
"""
DATABASES = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgres),
    pytest.param("postgresql?reader=fetchmany", marks=[pytest.mark.postgres, pytest.mark.slow]),
]


@dataclass(frozen=True, slots=True)
class Traces:
    """What a daemon left behind."""

    store: bytes
    values: bytes
    log: bytes
    page: bytes


@pytest.fixture(scope="module", params=DATABASES)
def traces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traces]:
    """Traces of a daemon at debug level, one of whose models fails on a value that is no number."""
    directory = tmp_path_factory.mktemp("privacy")
    if request.param == "sqlite":
        yield _left_by_a_daemon(directory, f"sqlite:///{directory / 'log.db'}")
        return
    server: servers.PostgresServer = request.getfixturevalue("postgres_server")
    with server.database() as url:
        yield _left_by_a_daemon(directory, url + request.param.removeprefix("postgresql"))


def test_the_store_holds_no_id_and_no_rare_name(traces: Traces) -> None:
    assert b"stability_index" in traces.store
    assert b"group=a" in traces.values
    assert b"arm=other" in traces.values
    assert b"group=other" in traces.values
    assert level_digest(f"{MARK}-rare").encode() in traces.values  # of the reference: other, not unseen
    assert level_digest(f"{MARK}-unseen").encode() not in traces.values
    assert MARK.encode() not in traces.store
    assert MARK.encode() not in traces.values


def test_the_log_holds_no_id_and_no_rare_name_at_debug_level(traces: Traces) -> None:
    assert b'"level": "debug"' in traces.log
    assert b'"event": "cycle"' in traces.log

    assert [line for line in traces.log.splitlines() if MARK.encode() in line] == []


def test_the_page_of_metrics_holds_no_id_and_no_rare_name(traces: Traces) -> None:
    assert b'model_monitor_unseen_rate_ratio{model="late",segment="",subject="prediction"' in traces.page
    assert MARK.encode() not in traces.page


def _left_by_a_daemon(directory: Path, url: str) -> Traces:
    bench = Bench(directory, Database(url.partition("?")[0]), f"sqlite:///{directory / 'monitor.db'}")
    port = servers.free_port()
    _fill(bench.database)
    _configure(bench, url, port)
    config = directory / "config.toml"
    assert CliRunner().invoke(main, ["migrate", "--config", str(config)]).exit_code == 0
    with process.daemon(config, port) as running:
        running.started()
        running.first_cycle("late")
        if bench.database.postgres:
            running.wait(lambda: bool(running.logged("cycle failed", model="broken")), "a failure of broken")
            assert "double precision: ***" in running.logged("cycle failed", model="broken")[0]["error"]
        page, written = running.page().encode(), _bytes_of(directory)
        running.stop()
    store = written + _bytes_of(directory)
    return Traces(store, _values(directory / "monitor.db"), running.log_file.read_bytes(), page)


def _configure(bench: Bench, url: str, port: int) -> None:
    failing = """CASE WHEN p."group" LIKE '%rare' THEN CAST(p."group" AS double precision) END AS hurt"""
    query = f"query = '''SELECT p.*, {failing} FROM predictions AS p'''"
    broken = model("broken", options=OPTIONS).replace('table = "predictions"', query)
    bench.configure(model(options=OPTIONS), broken.replace('numeric = ["amount"]', 'numeric = ["hurt"]'))
    text = bench.config.read_text(encoding="utf-8").replace(bench.database.url, url)
    head = f'[http]\nport = {port}\n[log]\nformat = "json"\nlevel = "debug"\n'
    bench.config.write_text(head + text, encoding="utf-8")


def _fill(database: Database) -> None:
    """Rows of yesterday and today with marked ids; some with marked groups, classes, numbers, arms, times."""
    now = time.time_ns() // 1_000
    rows = predictions(600, floor_to(now, DAY) - DAY, now, prefix=f"{MARK}-id-")
    known = labels(rows, end=now)
    rows = [row | {"arm": ("control", "treatment")[at % 2]} for at, row in enumerate(rows)]
    create_tables(database, arm="text", **({"amount": "text"} if database.postgres else {}))
    if database.postgres:
        rows = [row | {"amount": str(row["amount"])} for row in rows]
        database.run("ALTER TABLE labels ALTER late TYPE text")
        known = [row | {"late": str(row["late"])} for row in known]
    _mark(rows, known, times=not database.postgres)
    database.insert("predictions", rows)
    database.insert("labels", known)
    rare: list[Row] = [{"score": 0.5, "pred": "1", "amount": 1.0, "group": f"{MARK}-rare", "late": 0}] * 5
    database.insert("reference", rare)
    database.run("ALTER TABLE reference ADD hurt double precision", "UPDATE reference SET hurt = amount")


def _mark(rows: list[Row], known: list[Row], *, times: bool) -> None:
    for at in range(0, 600, 50):
        rows[at] |= {"group": f"{MARK}-rare"}
        rows[at + 1] |= {"group": f"{MARK}-unseen"}
        rows[at + 2] |= {"pred": f"{MARK}-class"}
        rows[at + 3] |= {"amount": f"{MARK}-number"}
        rows[at + 4] |= {"arm": f"{MARK}-arm"}
        if times:
            rows[at + 5] |= {"event_time": f"{MARK}-time", "score": f"{MARK}-score"}
    for at in range(0, len(known) - 50, 50):
        known[at + 6] |= {"late": f"{MARK}-label"}
        known[at + 7] |= {"id": f"{MARK}-orphan"}


def _bytes_of(directory: Path) -> bytes:
    """All bytes of the store's files, as they lie on the disk."""
    return b"".join(path.read_bytes() for path in sorted(directory.glob("monitor.db*")))


def _values(file: Path) -> bytes:
    """All values of all tables of the store, what is packed in blobs unpacked."""
    found = []
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                found += [_unpacked(value) if isinstance(value, bytes) else str(value) for value in row]
    return "\n".join(found).encode()


def _unpacked(blob: bytes) -> str:
    return zlib.decompress(blob[1:]).decode("latin-1") if blob else ""
