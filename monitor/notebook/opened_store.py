"""`monitor.open`: what a store keeps, as data frames. Nothing is written; no source is opened."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from monitor.app.alert_decisions import read_shown_alerts
from monitor.app.exports.export_files import When, moment_of, read_snapshots
from monitor.config.config_loading import settings_of
from monitor.core.errors import ConfigurationError
from monitor.core.measurement import table_of
from monitor.core.text import json_text
from monitor.measures.measurement_row import CUMULATIVE
from monitor.notebook.arrow_frames import to_pandas
from monitor.notebook.model_keys import require_known, require_measure
from monitor.show.alert_tables import plain_alert
from monitor.show.performance_tables import BEHIND
from monitor.store import LIVE
from monitor.store.measurements.measurement_columns import read_behind
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import is_database
from monitor.store.store_database import open_to_read, require_kept

if TYPE_CHECKING:
    import pandas as pd

_TIME, _TEXT, _NUMBER = pa.timestamp("us", "UTC"), pa.string(), pa.float64()
_WINDOWS = {
    "model": _TEXT, "window": _TEXT, "window_end": _TIME, "first_as_of": _TIME, "measured_as_of": _TIME,
    "settled_as_of": _TIME, "warning": _TEXT,
}  # fmt: skip
_ALERTS = {
    "model": _TEXT, "rule": _TEXT, "version": _TEXT, "segment": _TEXT, "window": _TEXT, "subject": _TEXT,
    "severity": _TEXT, "state": _TEXT, "since": _TIME, "fired_at": _TIME, "resolved_at": _TIME,
    "reason": _TEXT, "value": _NUMBER, "lower": _NUMBER, "upper": _NUMBER, "limit": _NUMBER, "n": pa.int64(),
    "window_end": _TIME, "as_of": _TIME, "verdict": _TEXT, "cause": _TEXT, "acknowledged": _TEXT,
    "decisions": _TEXT,
}  # fmt: skip


def open_kept(config: str | Path = "config.toml", *, run: str = LIVE) -> "OpenedStore":
    """What a store keeps, to be read as data frames.

    Parameters
    ----------
    config
        a configuration file, whose store is read; or the store: its URL, or the file of a SQLite one.
    run
        ``"live"``, or the name of a replay.

    Raises
    ------
    ConfigurationError
        if the file is not there, or has faults.
    StoreError
        if there is no store of this version.
    """
    if not isinstance(config, str | os.PathLike):
        raise ConfigurationError(
            [f"a store is named by its URL, its file or a configuration: got {type(config).__name__}"]
        )
    url = str(config)
    if "://" not in url:
        file = Path(config)
        if is_database(file):
            url = f"sqlite:///{file.absolute()}"
        else:
            url = settings_of(file, os.environ, outside=False).store.url
    require_kept(url)
    return OpenedStore(url, run)


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """A store's kept history of one run.

    Parameters
    ----------
    url
        of the store; it is never shown whole.
    """

    url: str = field(repr=False)
    run: str = LIVE

    def models(self) -> list[str]:
        """Names of the models that have a history."""
        with self._open_store() as store:
            return sorted(store.daemons.read_progress())

    def measurements(
        self,
        model: str | None = None,
        *,
        window: str | None = None,
        measure: str | None = None,
        start: When | None = None,
        end: When | None = None,
        as_of: When | None = None,
    ) -> "pd.DataFrame":
        """Kept measurements, one row a measurement and revision: see `monitor.read_snapshots`."""
        self._require_names(model, measure, window)
        return read_snapshots(
            self.url,
            run=self.run,
            model=model,
            window=window,
            measure=measure,
            start=start,
            end=end,
            as_of=as_of,
        )

    def windows(self, model: str | None = None) -> "pd.DataFrame":
        """Kept windows.

        Returns
        -------
        pandas.DataFrame
            when each was first measured, measured last, and settled (missing: not yet), and the warning that
            it settled with.
        """
        self._require_names(model)
        with self._open_store() as store:
            names = self._chosen_models(store, model)
            rows = [
                {name: getattr(one, name, None) for name in _WINDOWS}
                | {"model": name, "window_end": one.end, "warning": one.warning or None}
                for name in names
                for one in store.states.read_windows(name, 0)
            ]
        return _data_frame(rows, _WINDOWS)

    def alerts(self, model: str | None = None, *, as_of: When | None = None) -> "pd.DataFrame":
        """All alerts: pending, firing, and over; with `as_of` those of then, in the state that they had."""
        self._require_names(model)
        with self._open_store() as store:
            moment = None if as_of is None else moment_of(as_of)
            rows = [plain_alert(each) for each in read_shown_alerts(store, model, history=True, as_of=moment)]
        return _data_frame(
            [row | {name: _json_or_none(row[name]) for name in ("cause", "decisions")} for row in rows],
            _ALERTS,
        )

    def curve(
        self,
        model: str,
        measure: str,
        *,
        window: str,
        end: When | None = None,
        subject: str = "",
        as_of: When | None = None,
    ) -> "pd.DataFrame":
        """Table behind a measurement: a curve, deciles, the cells that moved.

        Parameters
        ----------
        measure
            one that has such a table, or the table's own name, as ``"roc_curve"`` or ``"gain"``.
        end
            of the window; None: the newest that has such a table.

        Returns
        -------
        pandas.DataFrame
            columns are the measure's own; empty where nothing of it is kept.

        Raises
        ------
        ConfigurationError
            if there is no such model, measure, window or subject.
        """
        measure = BEHIND.get(measure, measure)
        frame = self.measurements(model, window=window, measure=measure, as_of=as_of)
        whole = frame["version"].isna() & frame["segment"].isna() & frame["against"].isna()
        subjects = set(frame["subject"][whole])
        if subjects:
            require_known(f"subject of {measure}", subject, subjects)
        frame = frame[whole & (frame["subject"] == subject) & frame["detail"].notna()]
        if end is not None:
            import pandas as pd

            frame = frame[frame["window_end"] == pd.to_datetime(moment_of(end), unit="us", utc=True)]
        newest = frame.sort_values(["window_end", "as_of"])["detail"].tail(1).tolist()
        detail, change = read_behind(newest[0]) if newest else (None, None)
        detail = detail if change is None else table_of(change)
        columns = () if detail is None else detail.columns
        rows = [] if detail is None else [dict(zip(columns, row, strict=True)) for row in detail.rows]
        return to_pandas(pa.Table.from_pylist(rows) if rows else pa.table({name: [] for name in columns}))

    @contextmanager
    def _open_store(self) -> Iterator[SqlStore]:
        store = open_to_read(self.url, self.run)
        try:
            yield store
        finally:
            store.close()

    def _require_names(
        self, model: str | None, measure: str | None = None, window: str | None = None
    ) -> None:
        """Refuse names that no row can have, with a suggestion."""
        if measure is not None:
            require_measure(measure)
        if model is not None:
            require_known("model", model, self.models(), "the store has none yet")
        if window and window != CUMULATIVE:
            require_known("window", window, self._window_names(model), "the store has none yet")

    def _window_names(self, model: str | None) -> list[str]:
        with self._open_store() as store:
            return sorted(
                {
                    one.window
                    for name in self._chosen_models(store, model)
                    for one in store.states.read_windows(name, 0)
                }
            )

    def _chosen_models(self, store: SqlStore, model: str | None) -> list[str]:
        return sorted(store.daemons.read_progress()) if model is None else [model]


def _json_or_none(value: object) -> str | None:
    return None if value is None else json_text(value)


def _data_frame(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, pa.DataType]) -> "pd.DataFrame":
    columns = {
        name: pa.array(_column_values((row[name] for row in rows), kind), kind)
        for name, kind in kinds.items()
    }
    return to_pandas(pa.table(columns))


def _column_values(values: Iterable[Any], kind: pa.DataType) -> list[Any]:
    return [moment_of(value) if kind == _TIME and isinstance(value, str) else value for value in values]
