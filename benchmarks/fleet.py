"""Many models on one store: cycles, scrapes, imports and starts.

Models read one log of 60 predictions an hour, 25 features each, and are run every hour; `--only` parts run in
processes of their own. Of a large fleet ten models have their first cycles, the others begin as copies of
them in the store; then the cycles of a hundred models are measured. The scrape is that of a page of 10,000
series over HTTP on loopback; the start is `monitor run` on a store of 100 models' last measurements, until
/readyz answers 200, with the CPU seconds of the process until then.
python benchmarks/fleet.py DIRECTORY [MODELS …]
"""

import contextlib
import functools
import gzip
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import data
import sqlalchemy as sa
import watched
from timing import Run, child, save, tell, timed

from monitor.app.application import App
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.exposition.series_selection import exposed_measures
from monitor.specs.protocols import CycleReport
from monitor.store.measurements.series_rows import write_current, write_snapshots
from monitor.store.store_connections import write_transaction
from monitor.store.tables.measurement_schema import current, snapshots
from monitor.store.tables.shared_columns import METADATA
from monitor.web.server import ThreadedServer, make_app

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers

ROWS, LOG_DAYS = 60 * 24 * 4, 4
FLEETS = 1, 10, 100, 1_000
TICKS = 3
FIRST, MEASURED = 10, 100  # models that have first cycles; whose cycles are measured
OF_A_MODEL = (
    "models",
    "panes",
    "waiting",
    "windows",
    "entries",
    "provenance",
    "alerts",
)
SERIES = 10_000
STARTED = 100
BARS = {"models_of_a_core_share": 0.05, "scrape": 0.050, "start": 2.0, "import": 0.4}
OPTIONS = 'settle_after = "1d"\nhorizon = "3d"'

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: what starts is compiled already


def configured(directory: Path, place: Path, models: int, head: str = "") -> Path:
    """Configuration of so many models."""
    known = data.reference(directory)
    text = [watched.model(known, f"model-{at:04}", options=OPTIONS) for at in range(models)]
    return watched.configure(place, f"sqlite:///{data.sqlite(directory, ROWS, LOG_DAYS)}", *text, head=head)


def cycles(app: App, names: Iterable[str], as_of: int, page: Exposition | None = None) -> None:
    """Run models once, and publish what they found, as the daemon does."""
    for name in names:
        report = run_single_cycle(app, name, as_of)
        assert report.error is None, report.error
        if page is not None:
            publish(app, name, page, report)


def publish(app: App, name: str, page: Exposition, report: CycleReport) -> None:
    """Publish what the store has of a model."""
    measures = exposed_measures(app.find_spec(name))
    rows = [stored.row for stored in app.store.current.read_current(name, measures)]
    page.publish_model(name, report.as_of, rows, [alert for _, alert in app.store.alerts.read_alerts(name)])
    cursor = app.store.states.read_state(name).logged_cursor
    page.observe_cycle(report, at=report.as_of / SECOND, newest_logged_at=cursor)


def filled(config: Path, as_of: int) -> float:
    """Fill the store as if all models had had a cycle; CPU seconds of a first one."""
    with watched.closed_at_end(watched.opened(config)) as app:
        names = app.model_names()
        first = timed(lambda: cycles(app, names[:FIRST], as_of))
        with write_transaction(app.store.engine) as connection:
            for at, name in enumerate(names[FIRST:], FIRST):
                _copied(connection, names[at % FIRST], name)
    return first.cpu / min(FIRST, len(names))


def _copied(connection: sa.Connection, model: str, name: str) -> None:
    """Rows of a model once more under another name."""
    for table in OF_A_MODEL:
        named = [sa.literal(name) if c.name == "model" else c for c in METADATA.tables[table].c]
        rows = sa.select(*named).where(METADATA.tables[table].c.model == model)
        connection.execute(METADATA.tables[table].insert().from_select(METADATA.tables[table].c.keys(), rows))
    for view, write in ((current, write_current), (snapshots, write_snapshots)):
        named = [sa.literal(name).label("model") if c.name == "model" else c for c in view.c]
        rows = connection.execute(sa.select(*named).where(view.c.model == model))
        write(connection, [tuple(row) for row in rows])


def lived(directory: Path, models: int) -> dict[str, object]:
    """CPU seconds of a model's cycle, once all have had their first, with its publication."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        config = configured(directory, Path(name), models)
        as_of = data.START + (LOG_DAYS - 1) * DAY
        first = filled(config, as_of)
        with watched.closed_at_end(watched.opened(config)) as app:
            page = Exposition(app.settings.models, SelfMetrics("0", 0.0))
            names = app.model_names()
            restored = timed(
                lambda: [publish(app, one, page, CycleReport(model=one, as_of=as_of)) for one in names]
            )
            chosen = names[:: max(1, models // MEASURED)]
            cycles(app, chosen, as_of + HOUR, page)  # reads their references
            runs = [
                timed(functools.partial(cycles, app, chosen, as_of + at * HOUR, page))
                for at in range(2, TICKS + 2)
            ]
        store = sum(file.stat().st_size for file in Path(name).glob("monitor.db*"))
    cycle = statistics.median(run.cpu for run in runs) / len(chosen)
    return {
        "models": models,
        "measured": len(chosen),
        "first_cycle": first,
        "restored": restored.cpu / models,
        "cycle": cycle,
        "share_of_a_core_hourly": cycle * models / 3_600,
        "store_mb_a_model": store / models / 1e6,
    }


def scraped(directory: Path) -> dict[str, object]:
    """Seconds of a scrape of 10,000 series, plain and packed, after a commit and again."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        app = watched.opened(configured(directory, Path(name), 1))
        as_of = data.START + (LOG_DAYS - 1) * DAY
        with watched.closed_at_end(app):
            cycles(app, app.model_names(), as_of)
            rows, spec = (
                [stored.row for stored in app.store.current.read_current()],
                app.find_spec("model-0000"),
            )
    page = Exposition([spec], SelfMetrics("0", 0.0))
    page.publish_model(spec.name, as_of, rows)
    names = [f"other-{at:04}" for at in range(-(-SERIES // _series(page.render_page()[0])))]
    page = Exposition([spec.with_keys(name=one) for one in names], SelfMetrics("0", 0.0))
    for one in names:
        page.publish_model(one, as_of, rows)
        page.observe_cycle(CycleReport(model=one, as_of=as_of), at=0.0)
    found: dict[str, object] = {"series": _series(page.render_page()[0]), "models": len(names)}
    commit = timed(lambda: page.publish_model(names[0], as_of, rows))
    rendered, packed_cpu = timed(page.render_page), timed(page.render_gzip)
    with _served(page) as port:
        for packed in (False, True):
            fresh, again = [], []
            for _ in range(9):
                page.publish_model(names[0], as_of, rows)
                fresh.append(_get(port, packed=packed))
                again.append(_get(port, packed=packed))
            key = "gzip" if packed else "plain"
            found[f"{key}_after_commit"] = statistics.median(one for one, _ in fresh)
            found[key] = statistics.median(one for one, _ in again)
            found[f"{key}_bytes"] = again[-1][1]
    return found | {"publish_cpu": commit.cpu, "render_cpu": rendered.cpu, "pack_cpu": packed_cpu.cpu}


def _series(page: bytes) -> int:
    return sum(1 for line in page.splitlines() if not line.startswith(b"#"))


@contextlib.contextmanager
def _served(page: Exposition) -> Iterator[int]:
    server = ThreadedServer(make_app(page, healthy=lambda: None, ready=lambda: None), port=0)
    server.start_serving()
    try:
        yield server.port
    finally:
        server.stop_serving()


def _get(port: int, path: str = "/metrics", *, packed: bool = False) -> tuple[float, int]:
    """Seconds and bytes of an answer."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip" if packed else "identity"})
    body = connection.getresponse().read()
    connection.close()
    took = time.perf_counter() - began
    assert not packed or gzip.decompress(body)
    return took, len(body)


def starts(directory: Path) -> dict[str, object]:
    """Seconds from the start of `monitor run` with 100 models until it is ready."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        place, port = Path(name), servers.free_port()
        head = f'[http]\nport = {port}\n[log]\nformat = "json"\n'
        config = configured(directory, place, STARTED, head)
        filled(config, data.START + (LOG_DAYS - 1) * DAY)
        found = [_started(config, port) for _ in range(5)]
    walls, cpus = zip(*found, strict=True)
    return {"models": STARTED, "wall": statistics.median(walls), "cpu": statistics.median(cpus), "all": found}


def _started(config: Path, port: int) -> tuple[float, float]:
    """Seconds, by the wall and of the process' CPU."""
    command = [sys.executable, "-m", "monitor.cli", "run", "--config", str(config)]
    began = time.perf_counter()
    with (
        (config.parent / "log").open("ab") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        while not _ready(port):
            assert process.poll() is None
            time.sleep(0.01)
        took = time.perf_counter() - began
        user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        process.terminate()
    return took, (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _ready(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def imports() -> dict[str, float]:
    """Seconds of processes that import, less those of one that does not."""

    def took(statement: str) -> float:
        command = [sys.executable, "-c", statement]
        runs: list[Run] = [timed(lambda: subprocess.run(command, check=True)) for _ in range(7)]
        return statistics.median(run.wall for run in runs)

    nothing = took("pass")
    found = {
        name: took(f"import {name}") - nothing
        for name in ("monitor", "monitor.cli", "monitor.app.daemon_wiring")
    }
    return found | {"python": nothing}


def main() -> None:
    """Measure, print."""
    if sys.argv[1] == "--only":
        place, models = Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
        parts = {
            "lived": lambda: lived(place, models),
            "scraped": lambda: scraped(place),
            "starts": lambda: starts(place),
        }
        tell(parts[sys.argv[2]])
        return
    directory = Path(sys.argv[1])
    fleets: Sequence[int] = [int(given) for given in sys.argv[2:]] or FLEETS
    configured(directory, directory, 1)
    found: dict[str, object] = {"imports": imports()}
    for part in ("scraped", "starts"):
        found[part] = child(__file__, part, directory).told
        print(part, found[part], flush=True)
    fleet = []
    for size in fleets:
        run = child(__file__, "lived", directory, size)
        fleet.append(run.told | {"peak": run.peak})
        print(fleet[-1], flush=True)
    save("fleet", [], bars=BARS, fleets=fleet, **found)


if __name__ == "__main__":
    main()
