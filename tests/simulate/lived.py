"""A monitor that lives beside a simulated log: cycles, restarts, a final audit; and one that counts once."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa
from keyed_models import with_changes
from simulation import Log, Mix, plan, truth

from monitor.app.application import App
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.array_types import Ints
from monitor.core.clock import DAY, MINUTE, from_iso, to_iso
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.audit import SINCE_AUDIT
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.windows.due_windows import UNEVEN
from monitor.pipeline.windows.log_rows import AGES, LATE, NEXT_SETTLING, SETTLING_AGE, WAITING
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.read_ranges import counted_ranges
from monitor.specs.settings import Settings
from monitor.store.store_database import migrate_store, open_store
from monitor.store.tables import measurement_schema, service_schema

START = from_iso("2024-01-01")
MODEL = "late"
TOLERANCE = 5 * MINUTE

CONFIG = """
[store]
url = "${STORE}"

[sources.log]
url = "${SOURCE}"

[[models]]
name = "late"
source = "log"
task = "binary"
every = "1h"
pane = "${PANE}"
horizon = "${HORIZON}"
windows = [{ length = "1d", step = "1d" }, { length = "3d", step = "1d" }]
measures = ["shift", "values"]
reference = { file = "reference.parquet" }
features = { numeric = ["temp"] }
classes = { positive = 1, negative = 0 }

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
event_time_unit = "us"
logged_at = "logged_at"
score = "score"
threshold = 0.4
version = "model_version"

[models.labels]
table = "labels"
id = "id"
label = "label"
reported_at = "reported_at"
revision = "revision"
"""

VALUE = ("window", "window_end", "version", "segment", "truth", "measure", "subject", "against")
Content = tuple[object, ...]
Key = tuple[PaneHalf, int]


@cache
def template() -> Path:
    """A directory with the configuration, a reference without faults, and a migrated store."""
    directory = Path(tempfile.mkdtemp(prefix="simulated-"))
    (directory / "config.toml").write_text(CONFIG, encoding="utf-8")
    planned = plan(Mix(), 2024, (START - 5 * DAY, START))
    rows = dict(planned.predictions.take(np.argsort(planned.predictions.columns["id"])).columns)
    rows["label"] = truth(planned, START + 1_000 * DAY).label
    pq.write_table(pa.table(rows), directory / "reference.parquet")
    migrate_store(f"sqlite:///{directory / 'empty.db'}")
    return directory


def settings(
    source: str, store: str, horizon: str, pane: str, *, append_only: bool | None = None
) -> Settings:
    """Settings of a model on a log; intervals by resampling are left out."""
    known = {"SOURCE": source, "STORE": store, "HORIZON": horizon, "PANE": pane}
    made = settings_of(template() / "config.toml", known)
    models = tuple(with_changes(one, resamples=0, append_only=append_only) for one in made.models)
    return replace(made, models=models)


@contextmanager
def simulated(
    mix: Mix,
    seed: int,
    days: int,
    *,
    horizon: str = "10d",
    pane: str = "1h",
    source: str | None = None,
    store: str | None = None,
    retention: int | None = None,
    append_only: bool | None = None,
) -> Iterator["Lived"]:
    """A log of so many days and a monitor beside it; without URLs of empty databases in SQLite files."""
    planned = plan(mix, seed, (START, START + days * DAY))
    with tempfile.TemporaryDirectory(prefix="simulated-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        url = source or f"sqlite:///{directory / 'log.db'}"
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        if store is not None:
            migrate_store(store)
        live = store or _made(directory / "live.db")
        lived = Lived(directory, url, live, horizon, pane, Log(planned), engine, retention, append_only)
        with engine.begin() as connection:
            lived.log.create(connection)
        try:
            yield lived
        finally:
            lived.stop()


@dataclass
class Lived:
    """A monitor on a log that goes on.

    Parameters
    ----------
    append_only
        what is said of the label feed; None: nothing, differences are on as it has revisions.
    moved
        start and as of of every pane that labels were added to by difference.
    """

    directory: Path
    url: str
    store_url: str
    horizon: str
    pane: str
    log: Log
    engine: sa.Engine
    retention: int | None = None
    append_only: bool | None = None
    as_of: int = START
    ticks: list[int] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    removed: int = 0
    moved: set[tuple[int, int]] = field(default_factory=set)
    _app: App | None = None

    @property
    def app(self) -> App:
        """The application, started when it is asked for."""
        if self._app is None:
            self._app = self._opened(self.store_url, self.retention)
        return self._app

    @property
    def model(self) -> CycleModel:
        """The model."""
        return self.app.find_cycle_model(MODEL, self.as_of)

    def stop(self) -> None:
        """End the process, with all of its caches."""
        if self._app is not None:
            self._app.close_all()
        self._app = None

    def restart(self) -> None:
        """The next cycle is that of a new process."""
        self.steps.append("restart")
        self.stop()

    def cycle(self, as_of: int, *, behind: int = 0) -> None:
        """A cycle of a tick that runs a little later."""
        self.steps.append(f"cycle {to_iso(as_of)} +{behind // MINUTE}m")
        self.advance(max(as_of + behind, self.log.now))
        self._run(as_of)

    def advance(self, until: int) -> None:
        """Let the log go on up to a moment."""
        with self.engine.begin() as connection:
            self.log.advance(connection, until)

    def _run(self, as_of: int) -> None:
        report = run_single_cycle(self.app, MODEL, as_of)
        assert report.error is None, report.error
        self.ticks.append(as_of)
        self.as_of = as_of
        facts = self.app.store.panes.read_pane_facts(MODEL, 0)
        self.moved |= {(one.start, as_of) for one in facts if as_of == one.labelled_as_of > one.counted_as_of}

    def audit(self) -> None:
        """Daily cycles while nothing happens any more, until an audit was made and nothing waits."""
        for _ in range(4):
            as_of = -(-(max(self.log.now, self.as_of) + 1) // DAY) * DAY + DAY
            self._run(as_of)
            quiet = as_of - self.log.now >= DAY
            if quiet and self.audited_now and not self.app.store.panes.read_waiting_panes(MODEL):
                return
        raise AssertionError("something waits for ever")

    @property
    def audited_now(self) -> bool:
        """The last cycle audited."""
        return self.app.store.states.read_state(MODEL).audited_as_of == self.as_of

    @contextmanager
    def from_scratch(self, *ticks: int) -> Iterator[App]:
        """An application that first looks at the log now, as of some ticks."""
        app = self._opened(_made(self.directory / "scratch.db"))
        try:
            for tick in ticks:
                report = run_single_cycle(app, MODEL, tick)
                assert report.error is None, report.error
            yield app
        finally:
            app.close_all()
            (self.directory / "scratch.db").unlink()

    def comparable_from(self) -> int:
        """Start of what is not frozen: panes within the horizon, from the log's oldest row on, if any."""
        oldest = "SELECT min(event_time) FROM predictions WHERE logged_at <= :now AND event_time <= :latest"
        given = {"now": self.as_of, "latest": self.as_of + TOLERANCE}
        cut = self.model.find_horizon_start(self.as_of)
        since = f" AND event_time >= {2 * cut - self.as_of - DAY}"
        with self.engine.connect() as connection:
            found = connection.execute(sa.text(oldest + since), given).scalar()
        return self.as_of + DAY if found is None else max(cut, int(found))

    def _opened(self, store_url: str, retention: int | None = None) -> App:
        made = settings(self.url, store_url, self.horizon, self.pane, append_only=self.append_only)
        made = replace(made, store=replace(made.store, retention=retention))
        return App(made, template(), open_store(store_url, "live"))


def _made(file: Path) -> str:
    """URL of a migrated store in a new file."""
    shutil.copy(template() / "empty.db", file)
    return f"sqlite:///{file}"


def panes_of(
    app: App, as_of: int, since: int, *, without: frozenset[str] = frozenset()
) -> dict[Key, Content]:
    """Stored panes that have rows; blocks of some subjects, and the moments with them, left out."""
    blocks = without | {"moments"} if without else without
    counting = app.find_cycle_model(MODEL, as_of).counting
    found: dict[Key, Content] = {}
    for part in PaneHalf:
        starts = [one.start for one in app.store.panes.read_pane_facts(MODEL, since) if one.part is part]
        panes = app.store.panes.load_panes(MODEL, part, starts, counting)
        found |= {(part, start): content(pane, blocks) for start, pane in panes.items() if pane.rows}
    return found


def content(pane: PanePart, without: frozenset[str]) -> Content:
    """All that a pane holds, comparable."""
    strata = {}
    for stratum, counters in pane.strata.items():
        kept = np.ones(len(counters.index), dtype=bool)
        for where in map(counters.layout.block_slice, without & counters.layout.blocks_by_name.keys()):
            kept &= (counters.index < where.start) | (counters.index >= where.stop)
        strata[stratum] = (counters.index[kept].tolist(), counters.value[kept].tolist())
    return pane.rows, pane.newest, pane.records, pane.labelled, pane.checksum, strata


def differing_labels(lived: Lived) -> list[str]:
    """Panes whose labels are not what a whole count finds at this moment, as of the last cycle."""
    model, as_of = lived.model, lived.as_of
    waiting = {pane.start for pane in lived.app.store.panes.read_waiting_panes(MODEL)}
    facts = lived.app.store.panes.read_pane_facts(MODEL, model.find_horizon_start(as_of))
    starts = [one.start for one in facts if one.part is PaneHalf.LABELS and one.start not in waiting]
    if not starts:
        return []
    kept = lived.app.store.panes.load_panes(MODEL, PaneHalf.LABELS, starts, model.counting)
    panes, ranges = np.asarray(starts), counted_ranges(starts, model.reading, as_of)
    whole = model.source.count_panes(
        model.spec, PaneHalf.LABELS, ranges, model.counting, panes=panes, as_of=as_of
    )
    nothing: frozenset[str] = frozenset()
    pairs = [(content(kept[one.start], nothing), content(one, nothing)) for one in whole.parts]
    return [
        f"{to_iso(start)} as of {to_iso(as_of)}: {_first(*pair)}"
        for start, pair in zip(starts, pairs, strict=True)
        if pair[0] != pair[1]
    ]


def measured(app: App, as_of: int, since: int) -> list[MeasurementRow]:
    """Measurements of the windows that begin at or after a moment, made anew of the stored panes."""
    model, caches = app.prepare_model(MODEL, as_of)
    nothing: Ints = np.empty(0, np.int64)
    rows: list[MeasurementRow] = []
    for window in model.spec.windows:
        settled = None if caches.last is None else caches.last.settled.get(window.name)
        measures = WindowMeasures(model, caches, window, since, nothing, since, settled)
        end = window.newest_end(as_of)
        while window.start_of(end) >= since:
            rows += [
                *measures.measure_without_labels(end),
                *measures.measure_with_labels(end, LabelTruth.PROVISIONAL),
            ]
            end = window.previous_end(end)
    return rows


def current(app: App, as_of: int, since: int) -> list[MeasurementRow]:
    """Committed rows of the newest windows, and the figures of the audit."""
    windows = {window.name: window for window in app.find_cycle_model(MODEL, as_of).spec.windows}
    history = (LabelTruth.SETTLED, LabelTruth.NOWCAST)  # stand on how late older labels were, too
    rows = [stored.row for stored in app.store.current.read_current(MODEL) if stored.row.truth not in history]
    newest = [
        replace(row, warning=row.warning.removesuffix(UNEVEN))  # of older delays too: history, as settling is
        for row in rows
        if row.window in windows and windows[row.window].start_of(row.window_end) >= since
        if row.measure not in ("volume_ratio", NEXT_SETTLING)  # whose earlier weeks may be frozen; history
    ]
    own = (*LATE, *WAITING, *AGES, *SINCE_AUDIT, SETTLING_AGE)  # tell what cycles saw, not what the log holds
    whole = (row for row in rows if row.window == "" and row.version is None)
    figures = [row for row in whole if row.measure not in own]
    return sorted([*newest, *figures], key=repr)


def history(app: App) -> dict[str, list[Content]]:
    """What happened to the kept windows, and the kept rows of them."""
    with app.store.engine.connect() as connection:
        found = {
            table.name: [tuple(row) for row in connection.execute(table.select())]
            for table in (service_schema.windows, measurement_schema.snapshots, service_schema.alerts)
        }
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def differing_history(lived: Lived) -> list[str]:
    """What another history says that was replayed over the same ticks on the log as it is now.

    The other one keeps all: retention may have taken old revisions that are no first and no last ones.
    """
    with lived.from_scratch(*lived.ticks) as replayed:
        found, expected = history(lived.app), history(replayed)
    words = []
    for name, rows in found.items():
        kept, others = set(rows), set(expected[name])
        gone = others - kept
        if lived.retention is not None and name == "snapshots":
            lived.removed = len(gone & (old := _old_revisions(lived, others)))
            gone -= old
        words += [f"{name}: not {row}" for row in sorted(gone, key=repr)[:3]]
        words += [f"{name}: but {row}" for row in sorted(kept - others, key=repr)[:3]]
    return words


def _old_revisions(lived: Lived, rows: Iterable[Content]) -> set[Content]:
    """Rows older than all that is followed, between a value's first and last with one truth."""
    names = [column.name for column in measurement_schema.snapshots.c]
    moment, of = names.index("as_of"), [names.index(name) for name in VALUE]
    before = lived.as_of - lived.model.counting.reading.horizon - lived.model.longest_window_length()
    values: dict[Content, list[Content]] = {}
    for row in sorted(rows, key=lambda one: int(str(one[moment]))):
        values.setdefault(tuple(row[at] for at in of), []).append(row)
    return {row for revisions in values.values() for row in revisions[1:-1] if int(str(row[moment])) < before}


def differing(lived: Lived, scratch: App, *, without: frozenset[str] = frozenset()) -> list[str]:
    """What is not as one count from scratch finds it, in words."""
    since = lived.comparable_from()
    found, expected = (panes_of(app, lived.as_of, since, without=without) for app in (lived.app, scratch))
    words = [
        f"{part.value} {to_iso(start)}: {_first(found.get((part, start)), expected.get((part, start)))}"
        for part, start in sorted(found.keys() | expected.keys())
        if found.get((part, start)) != expected.get((part, start))
    ]
    empty = scratch.store.states.read_state(MODEL).oldest is None  # within the horizon: no window is measured
    for read in (measured,) if empty else (measured, current):
        rows, others = (read(app, lived.as_of, since) for app in (lived.app, scratch))
        mine, theirs = ({row for row in some if row.subject not in without} for some in (rows, others))
        words += [f"{read.__name__}: not {one}" for one in sorted(theirs - mine, key=repr)[:3]]
        words += [f"{read.__name__}: but {one}" for one in sorted(mine - theirs, key=repr)[:3]]
    return words


def _first(found: Content | None, expected: Content | None) -> str:
    if found is None or expected is None:
        return f"{found and found[:5]} instead of {expected and expected[:5]}"
    if found[:5] != expected[:5]:
        return f"{found[:5]} instead of {expected[:5]}"
    return "other counters"
