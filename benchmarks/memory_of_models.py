"""Memory of one daemon with many models: what the program takes, the first model, each further one.

33,600 predictions a day with 25 features, labels of three days, a horizon of 60 days that is full, windows of
7, 30 and 60 days. One model counts the log; the others are copies of it in the store. Then all of them live
some hours, in a process of their own, as in a daemon that was started again.
python benchmarks/memory_of_models.py DIRECTORY [MODELS]
"""

import contextlib
import gc
import sys
import tempfile
import time
from pathlib import Path

import data
import sqlalchemy as sa
import watched
from cycles import AN_HOUR, Log
from timing import child, save, tell

from monitor.app.model_cycles import cycle_once
from monitor.core.clock import HOUR
from monitor.store.measurements.series_rows import write_current, write_snapshots
from monitor.store.store_connections import write_transaction
from monitor.store.tables import METADATA, current, snapshots

MODELS, HOURS = 100, 3
SPREAD = 3  # days after which the last label of an hour has come
ROWS = 61 * 24 * AN_HOUR
WINDOWS = "7d", "30d", "60d"


def configured(directory: Path, place: Path, models: int) -> Path:
    """Configuration of so many models."""
    reference = data.reference(directory)
    text = [
        watched.model(
            reference, f"model-{at:03}", windows=WINDOWS, options='horizon = "60d"', labels=watched.APART
        )
        for at in range(models)
    ]
    return watched.configure(place, f"sqlite:///{place / 'log.db'}", *text)


def counted(directory: Path, place: Path, models: int) -> dict[str, object]:
    """Count the log for the first model; copy what is stored of it for the others."""
    log = Log(place / "log.db", SPREAD)
    log.grow(ROWS)
    with (
        contextlib.closing(log),
        contextlib.closing(watched.opened(configured(directory, place, models))) as app,
    ):
        began = time.process_time()
        while cycle_once(app, "model-000", log.end // HOUR * HOUR).rows_read:
            pass
        took = time.process_time() - began
        with write_transaction(app.store.engine) as connection:
            for name in app.model_names()[1:]:
                _copied(connection, "model-000", name)
    return {"rows": log.rows, "history_counted_cpu": took}


def _copied(connection: sa.Connection, model: str, name: str) -> None:
    for table in METADATA.tables.values():
        if "model" in table.primary_key.columns and table.name != "leases":
            named = [sa.literal(name) if c.name == "model" else c for c in table.c]
            rows = sa.select(*named).where(table.c.model == model)
            connection.execute(table.insert().from_select(table.c.keys(), rows))
    for view, write in ((current, write_current), (snapshots, write_snapshots)):
        named = [sa.literal(name).label("model") if c.name == "model" else c for c in view.c]
        rows = connection.execute(sa.select(*named).where(view.c.model == model))
        write(connection, [tuple(row) for row in rows])


def lived(directory: Path, place: Path, models: int) -> dict[str, object]:
    """Resident megabytes, and CPU seconds of a cycle, once so many models have lived some hours."""
    resident = [_resident()]
    log, cpu = Log(place / "log.db", SPREAD), 0.0
    with (
        contextlib.closing(log),
        contextlib.closing(watched.opened(configured(directory, place, models))) as app,
    ):
        for hour in range(HOURS):
            log.add(AN_HOUR)
            for at, name in enumerate(app.model_names()):
                began = time.process_time()
                report = cycle_once(app, name, log.end // HOUR * HOUR)
                cpu += time.process_time() - began if hour else 0.0
                assert report.error is None, report.error
                if not hour and at == 0:
                    resident.append(_resident())
        gc.collect()
        resident.append(_resident())
    program, first, all_of_them = resident
    return {
        "program": program,
        "first_model": first - program,
        "all": all_of_them,
        "each_further": (all_of_them - first) / max(1, models - 1),
        "cpu_of_a_cycle": cpu / (HOURS - 1) / models,
    }


def _resident() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    """Count, live, print."""
    if sys.argv[1] == "--only":
        run = {"counted": counted, "lived": lived}[sys.argv[2]]
        tell(lambda: run(Path(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])))
        return
    directory, models = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else MODELS
    data.reference(directory)
    with tempfile.TemporaryDirectory(dir=directory) as name:
        for what in ("counted", "lived"):
            run = child(__file__, what, directory, name, models)
            print(f"{what}: {run.told}, at most {run.peak:.0f} MB", flush=True)
    save("memory", [], models=models, **run.told, peak=run.peak)


if __name__ == "__main__":
    main()
