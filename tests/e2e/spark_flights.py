"""The flights in Parquet and in SQLite, and what is counted of them by one engine and the other."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from keyed_models import with_changes

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, from_iso, to_datetime
from monitor.demo.load_flights import load_logs
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.model_spec import ModelSpec, SourceSpec
from monitor.store.store_database import migrate_store

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
CONFIG = Path(__file__).with_name("oracle_flights.toml")
FIRST, LAST = from_iso("2013-03-01"), from_iso("2013-04-10")
MOMENTS = (from_iso("2013-03-08"), from_iso("2013-03-09"), from_iso("2013-03-20"), LAST)
WEEK = (from_iso("2013-03-04"), from_iso("2013-03-05"), from_iso("2013-03-08"))
MODELS = ("late", "delay")
PaneKey = tuple[str, PaneHalf, int]


@dataclass(frozen=True, slots=True)
class Flights:
    """A directory with predictions.parquet, labels.parquet, reference.parquet, log.db.

    Parameters
    ----------
    catalogue
        database of Spark's catalogue that has both tables; empty: Spark reads the files.
    partition
        column of the days of both tables, if they have one.
    """

    directory: Path
    catalogue: str = ""
    partition: str = ""

    @property
    def local(self) -> SourceSpec:
        """The SQLite file."""
        return SourceSpec(name="log", url=f"sqlite:///{self.directory / 'log.db'}", audit=7 * DAY)

    def spark(self, url: str) -> SourceSpec:
        """A cluster."""
        return SourceSpec(name="log", url=url, engine="spark", audit=7 * DAY)

    def model(self, model: ModelSpec) -> ModelSpec:
        """The model on the Parquet files, or on the catalogue's tables."""
        labels = model.labels
        return replace(
            model,
            predictions=replace(model.predictions, table=self._table("predictions")),
            labels=labels and replace(labels, table=self._table("labels")),
        )

    def in_partitions(self, model: ModelSpec) -> ModelSpec:
        """The model on tables that are laid out by a column of days."""
        assert model.labels is not None
        relations = (
            replace(one, columns=(*one.columns, ("partition", self.partition)))
            for one in (model.predictions, model.labels)
        )
        predictions, labels = relations
        return replace(model, predictions=predictions, labels=labels)

    def _table(self, name: str) -> str:
        return f"{self.catalogue}.{name}" if self.catalogue else str(self.file(name))

    def file(self, name: str) -> Path:
        """Parquet file of a table."""
        return self.directory / f"{name}.parquet"

    @contextmanager
    def wired(self, source: SourceSpec, store: Path) -> Iterator[App]:
        """The application on a source; no window is measured on the way."""
        migrate_store(f"sqlite:///{store}")
        settings = settings_of(CONFIG, {"SOURCE": "sqlite:///x.db", "STORE": f"sqlite:///{store}"})
        models = tuple(
            with_changes(self.model(one) if source.engine == "spark" else one, windows=(), resamples=50)
            for one in (map(self.in_partitions, settings.models) if self.partition else settings.models)
        )
        with open_application(replace(settings, sources=(source,), models=models), self.directory) as app:
            yield app

    def cycles(
        self,
        source: SourceSpec,
        store: Path,
        *,
        models: Sequence[str] = MODELS,
        moments: Sequence[int] = MOMENTS,
    ) -> dict[PaneKey, PanePart]:
        """Panes after cycles as of some moments."""
        with self.wired(source, store) as app:
            failed = [run_single_cycle(app, name, moment).error for name in models for moment in moments]
            assert set(failed) == {None}, failed
            return panes_of(app, models)


def panes_of(app: App, models: Sequence[str]) -> dict[PaneKey, PanePart]:
    """All panes of a store, decoded."""
    found: dict[PaneKey, PanePart] = {}
    for name in models:
        assert app.store.panes.read_waiting_panes(name) == []
        for part in PaneHalf:
            starts = [one.start for one in app.store.panes.read_pane_facts(name, FIRST) if one.part is part]
            counting = app.find_cycle_model(name).counting
            loaded = app.store.panes.load_panes(name, part, starts, counting)
            found |= {(name, part, start): pane for start, pane in loaded.items()}
    return found


def write_flights(directory: Path, last: int) -> None:
    """Write the flights up to a day, and their reference."""
    predictions = pq.read_table(FLIGHTS / "predictions.parquet")
    before = pa.scalar(to_datetime(last)).cast(predictions["event_time"].type)
    predictions = predictions.filter(pc.less(predictions["event_time"], before))
    labels = pq.read_table(FLIGHTS / "labels.parquet")
    known = pc.is_in(labels["prediction_id"], value_set=predictions["prediction_id"].combine_chunks())
    pq.write_table(predictions, directory / "predictions.parquet")
    pq.write_table(labels.filter(known), directory / "labels.parquet")
    (directory / "reference.parquet").symlink_to(FLIGHTS / "reference.parquet")


def flights_in(directory: Path, last: int = LAST) -> Flights:
    """The flights up to a day, in files and in SQLite."""
    write_flights(directory, last)
    flights = Flights(directory)
    load_logs(flights.local.url, directory)
    return flights
