"""Rows of Iceberg that are changed, removed, moved, or late: a cycle counts what one from scratch would."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from test_rewritten_lakes import DAYS, NOW, Tables, rows_of
from test_rewritten_lakes import cycles as lake_cycles

from monitor.app.application import open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR
from monitor.records.pane import PaneHalf, PanePart

pytestmark = pytest.mark.lakes
pytest.importorskip("pyiceberg")
BOTH = ("scores", "outcomes")
Panes = dict[tuple[PaneHalf, int], PanePart]


def catalog_of(place: Path) -> Any:
    """A catalogue in a file of SQLite."""
    from pyiceberg.catalog.sql import SqlCatalog

    place.mkdir(exist_ok=True)
    catalog = SqlCatalog("default", uri=f"sqlite:///{place}/catalog.db", warehouse=place.as_uri())
    catalog.create_namespace_if_not_exists("ml")
    return catalog


def table_of(place: Path, name: str) -> Any:
    return catalog_of(place).load_table(f"ml.{name}")


def append(place: Path, tables: Tables) -> None:
    """Commit rows."""
    for name, rows in tables.items():
        catalog_of(place).create_table_if_not_exists(f"ml.{name}", rows.schema).append(rows)


def cycles(place: Path, store: Path, *moments: int) -> Panes:
    """Panes after cycles at some moments, by the catalogue."""
    return lake_cycles(
        place, store, *moments, more=f'"\ncatalog = "sqlite:///{place}/catalog.db?namespace=ml'
    )


def delete_scores(place: Path) -> None:
    """Not those of the first hours: where a log's oldest rows go, its own retention took them."""
    table_of(place, "scores").delete("score < 0.1 and event_time >= '2026-01-02T00:00:00+00:00'")


def correct_labels(place: Path) -> None:
    """In place: their time of report stays."""
    wrong = rows_of(range(2, 3))["outcomes"].slice(0, 5)
    table_of(place, "outcomes").upsert(wrong.set_column(1, "label", pa.array([1] * 5)), join_cols=["id"])


def overwrite_day(place: Path) -> None:
    """Other scores of a day in place of those that were there."""
    day = rows_of(range(3, 4))["scores"]
    other = day.set_column(3, "score", pc.subtract(1.0, day["score"]))
    between = "event_time >= '2026-01-04T00:00:00+00:00' and event_time < '2026-01-05T00:00:00+00:00'"
    table_of(place, "scores").overwrite(other, between)


def append_late(place: Path) -> None:
    """Rows whose own times were searched long ago."""
    late = {
        name: table.set_column(0, "id", pc.binary_join_element_wise(table["id"], "late", "-"))
        for name, table in rows_of(range(1, 2)).items()
    }
    append(place, late)


def overwrite_alike(place: Path) -> None:
    """The same rows, written anew."""
    for name in BOTH:
        table_of(place, name).overwrite(table_of(place, name).scan().to_arrow())


def compact(place: Path, *names: str) -> None:
    """One file in place of all of some tables, as rewrite_data_files does."""
    from pyiceberg.io.pyarrow import _dataframe_to_data_files
    from pyiceberg.table.snapshots import Operation, Summary
    from pyiceberg.table.update.snapshot import _OverwriteFiles

    class Compaction(_OverwriteFiles):  # type: ignore[misc]
        def _summary(self, *given: Any, **named: Any) -> Any:
            summary = super()._summary(*given, **named)
            return Summary(Operation.REPLACE, **summary.additional_properties)

    for name in names or BOTH:
        table = table_of(place, name)
        files = list(_dataframe_to_data_files(table.metadata, table.scan().to_arrow(), table.io))
        with (
            table.transaction() as transaction,
            Compaction(operation=Operation.OVERWRITE, transaction=transaction, io=table.io) as replaced,
        ):
            for task in table.scan().plan_files():
                replaced.delete_data_file(task.file)
            for file in files:
                replaced.append_data_file(file)


def delete_positions(place: Path) -> None:
    """Every fifth row of the second day's files and of all others, by files that name positions."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
    from pyiceberg.table.snapshots import Operation
    from pyiceberg.table.update.snapshot import _FastAppendFiles
    from pyiceberg.typedef import Record

    class DeletesWriter(ManifestWriterV2):  # type: ignore[misc]
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    class Deletion(_FastAppendFiles):  # type: ignore[misc]
        def new_manifest_writer(self, spec: Any) -> Any:
            return DeletesWriter(
                spec, table.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
            )

    table = table_of(place, "scores")
    named = [
        (task.file.file_path, at)
        for task in table.scan().plan_files()
        for at in range(1, task.file.record_count, 5)
    ]
    path = place / f"{uuid.uuid4()}.parquet"
    paths, positions = zip(*named, strict=True)
    fields = [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
    ]
    pq.write_table(pa.table([list(paths), list(positions)], pa.schema(fields)), path)
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(named),
        file_size_in_bytes=path.stat().st_size,
        _table_format_version=2,
    )
    file.spec_id = table.spec().spec_id
    with (
        table.transaction() as transaction,
        Deletion(operation=Operation.DELETE, transaction=transaction, io=table.io) as deleted,
    ):
        deleted.append_data_file(file)


def change_columns(place: Path) -> None:
    """A column that no role names is added, renamed and dropped; another one gets an older one's name."""
    for name in BOTH:
        with table_of(place, name).update_schema() as update:
            from pyiceberg.types import LongType

            update.add_column("extra", LongType())
        with table_of(place, name).update_schema() as update:
            update.rename_column("extra", "other")


def expire(place: Path, *names: str) -> None:
    """All snapshots but the current one."""
    for name in names or BOTH:
        table = table_of(place, name)
        old = [one.snapshot_id for one in table.snapshots() if one != table.current_snapshot()]
        table.maintenance.expire_snapshots().by_ids(old).commit()


def roll_back(place: Path) -> None:
    """To what the first snapshot held of the scores; none of today's comes from the one that was read."""
    table = table_of(place, "scores")
    table.manage_snapshots().rollback_to_snapshot(table.history()[0].snapshot_id).commit()


CHANGES: dict[str, tuple[Callable[[Path], None], ...]] = {
    "delete": (delete_scores,),
    "merge": (correct_labels,),
    "overwrite": (overwrite_day,),
    "compact": (compact,),
    "late": (append_late,),
    "alike": (overwrite_alike,),
    "positions": (delete_positions,),
    "columns": (change_columns, append_late),
    "late, then compact": (append_late, compact),
    "positions, then compact": (delete_positions, compact),
    "expired": (delete_scores, overwrite_day, correct_labels, expire),
    "rolled back": (roll_back,),
    "all": (delete_scores, compact, correct_labels, append_late, overwrite_alike, delete_positions),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_next_cycle_counts_what_one_from_scratch_would(tmp_path: Path, name: str) -> None:
    place = tmp_path / "lake"
    append(place, rows_of(range(DAYS - 4)))
    append(place, rows_of(range(DAYS - 4, DAYS)))
    first = cycles(place, tmp_path / "kept.db", NOW - DAY, NOW)
    for change in CHANGES[name]:
        change(place)

    kept = cycles(place, tmp_path / "kept.db", NOW + HOUR)

    assert kept == cycles(place, tmp_path / "scratch.db", NOW + HOUR)
    if name not in ("compact", "alike"):
        assert kept != first, "the change is one that panes show"


@pytest.mark.parametrize("name", ["compact", "alike"])
def test_what_was_merely_laid_out_anew_is_not_counted_again(tmp_path: Path, name: str) -> None:
    place, store = tmp_path / "lake", tmp_path / "kept.db"
    append(place, rows_of(range(DAYS)))
    cycles(place, store, NOW)
    for change in CHANGES[name]:
        change(place)
    with open_application(settings_of(store.with_suffix(".toml"), {}), tmp_path) as app:
        report = run_single_cycle(app, "m", NOW + HOUR)
    assert report.error is None
    assert report.panes_counted <= 3, "those that time goes through"
