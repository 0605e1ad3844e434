"""Kept measurements as files and as frames."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sqlalchemy import text
from store_examples import START, commit, row

import monitor
from monitor.app.exports.export_files import (
    SCHEMA,
    KeptSelection,
    export_snapshots,
    read_batches,
    read_snapshots,
)
from monitor.cli import main
from monitor.core.clock import DAY, to_datetime, to_iso
from monitor.core.errors import CodecError, ConfigurationError, StoreError
from monitor.core.measurement import DetailTable
from monitor.measures.measurement_row import LabelTruth
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.store_database import migrate_store, open_store

ROWS = (
    row("a", 0.1),
    row("b", None, segment="carrier=AA"),
    row("a", 0.3, end=START + DAY, window="1d", version="v2", truth=LabelTruth.NONE),
)


@pytest.fixture
def filled(store: SqlStore) -> SqlStore:
    """Two cycles of one model, one of another: the second revises a row of the first."""
    store.commit_cycle("late", commit(snapshots=ROWS))
    store.commit_cycle("late", commit(as_of=START + DAY, snapshots=(row("a", 0.2),)))
    store.commit_cycle("other", commit(snapshots=(row("c", 0.9),)))
    return store


@pytest.fixture
def url(store_url: str) -> str:
    """URL of the store, whatever its database."""
    return store_url


@pytest.fixture
def revised(store: SqlStore) -> SqlStore:
    """Forty windows and subjects, each revised now and then on six days, by labels of any kind."""
    rng = random.Random(7)  # noqa: S311 -- not for secrets
    for day in range(6):
        rows = [
            row(
                measure,
                rng.choice((None, 0.25, 0.5)),
                end=START + at * DAY,
                window=window,
                truth=rng.choice((LabelTruth.PROVISIONAL, LabelTruth.NOWCAST, LabelTruth.SETTLED)),
                segment=rng.choice((None, "carrier=50%")),
                coverage=rng.choice((None, 0.5, 0.75)),
            )
            for measure in ("a", "b'c")
            for window in ("1d", "7d")
            for at in range(10)
            if rng.random() < 0.5
        ]
        detailed = [
            replace(
                one, measurement=replace(one.measurement, detail=DetailTable(("x",), ((rng.randrange(3),),)))
            )
            for one in rows
        ]
        store.commit_cycle(
            rng.choice(("late", "other")), commit(START + day * DAY, snapshots=tuple(detailed))
        )
    return store


@pytest.mark.parametrize("days", [None, 0, 2.5, 9])
def test_a_frame_holds_what_a_file_does_as_of_any_moment(
    revised: SqlStore, url: str, days: float | None
) -> None:
    as_of = None if days is None else START + int(days * DAY)
    some: tuple[dict[str, Any], ...] = (
        {},
        {"model": "late"},
        {"window": "7d", "measure": "b'c"},
        {"measure": ""},
    )
    for asked in some:
        tables = read_batches(revised, KeptSelection(as_of=as_of, **asked))
        expected = pa.Table.from_batches(tables, SCHEMA).to_pandas()

        when = None if as_of is None else to_datetime(as_of)
        found = read_snapshots(url, as_of=when, **asked)

        pd.testing.assert_frame_equal(found, expected)


def test_the_view_of_the_latest_holds_what_is_known_at_last(revised: SqlStore) -> None:
    with read_transaction(revised.engine) as connection:
        latest = connection.execute(text("SELECT * FROM snapshots_latest")).mappings().all()

    expected = revised.snapshots.read_snapshot_rows(as_of=START + 99 * DAY)
    found = {
        (
            one["model"],
            one["as_of"],
            one["window"],
            one["window_end"],
            one["measure"],
            one["segment"],
            one["truth"],
        )
        for one in latest
    }
    assert len(latest) == len(expected) > 20
    assert found == {
        (
            stored.model,
            stored.as_of,
            stored.row.window,
            stored.row.window_end,
            stored.row.measure,
            stored.row.segment or "",
            stored.row.truth.value,
        )
        for stored in expected
    }


def test_a_frame_holds_every_revision_with_utc_times(filled: SqlStore, url: str) -> None:
    frame = monitor.read_snapshots(url)

    assert list(frame.columns) == SCHEMA.names
    assert sorted(frame["measure"]) == ["a", "a", "a", "b", "c"]
    revisions = frame[(frame["measure"] == "a") & (frame["window"] == "7d")]
    assert revisions["value"].tolist() == [0.1, 0.2]
    assert revisions["as_of"].tolist() == [
        pd.Timestamp(to_datetime(START)),
        pd.Timestamp(to_datetime(START + DAY)),
    ]
    assert str(frame["window_end"].dtype) == "datetime64[us, UTC]"
    assert (str(frame["n"].dtype), str(frame["value"].dtype)) == ("int64", "float64")


def test_the_whole_and_what_is_absent_are_missing_in_a_frame(filled: SqlStore, url: str) -> None:
    frame = monitor.read_snapshots(url, model="late").set_index(["measure", "as_of"]).sort_index()

    absent = frame.loc["b"].iloc[0]
    assert pd.isna(absent["value"])
    assert pd.isna(absent["lower"])
    assert (absent["reason"], absent["segment"], absent["n"]) == ("one_class", "carrier=AA", 3)
    assert pd.isna(absent["version"])
    newest = frame[frame["window"] == "1d"].iloc[0]
    assert pd.isna(newest["truth"])
    assert (newest["version"], newest["subject"], newest["warning"]) == ("v2", "score", "partial")


def test_tables_behind_values_and_other_moments_are_exported(store: SqlStore, url: str) -> None:
    detail = DetailTable(("threshold", "recall"), ((0.5, 0.7), (None, 1.0)))
    whole = row("a", 0.1)
    curved = replace(whole, against="previous", measurement=replace(whole.measurement, detail=detail))
    store.commit_cycle("late", commit(snapshots=(whole, curved)))

    frame = monitor.read_snapshots(url).set_index("against")

    assert json.loads(str(frame.loc["previous", "detail"])) == {
        "columns": ["threshold", "recall"],
        "rows": [[0.5, 0.7], [None, 1.0]],
    }
    assert frame["detail"].isna().sum() == 1


def test_a_frame_can_be_asked_for_less(filled: SqlStore, url: str) -> None:
    def values(**asked: Any) -> list[float]:
        return sorted(read_snapshots(url, **asked)["value"].dropna())

    assert values(model="other") == [0.9]
    assert values(window="1d") == [0.3]
    assert values(measure="a") == [0.1, 0.2, 0.3]
    assert values(start=to_iso(START)) == [0.3]
    assert values(end=to_datetime(START)) == [0.1, 0.2, 0.9]
    assert values(as_of=datetime.fromtimestamp(START / 1e6, UTC)) == [0.1, 0.3, 0.9]
    assert values(as_of=to_iso(START + DAY)) == [0.2, 0.3, 0.9]
    assert values(run="other") == []


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such file"):
        monitor.read_snapshots(f"sqlite:///{tmp_path / 'monitor.db'}")

    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_public() -> None:
    misspelt = "read_snapshot"

    with pytest.raises(AttributeError, match="no attribute 'read_snapshot'"):
        getattr(monitor, misspelt)


@pytest.mark.parametrize("name", ["kept.parquet", "kept.csv"])
def test_a_file_holds_what_a_frame_holds(filled: SqlStore, url: str, tmp_path: Path, name: str) -> None:
    file = tmp_path / name

    rows = export_snapshots(filled, file, KeptSelection(model="late"))

    expected = monitor.read_snapshots(url, model="late")
    assert rows == len(expected) == 4
    if name.endswith(".csv"):
        read, kinds = pd.read_csv(file, parse_dates=["window_end", "as_of"]), expected.dtypes.to_dict()
        found = read.astype(object).where(read.notna(), None).astype(kinds)  # a missing text: None, not NaN
    else:
        found = pd.read_parquet(file)
    pd.testing.assert_frame_equal(found, expected)


def test_rows_go_out_in_batches(store: SqlStore, tmp_path: Path) -> None:
    for day in range(3):
        many = tuple(row(f"m{number:05}", 0.5, end=START + day * DAY) for number in range(9_000))
        store.commit_cycle("late", commit(as_of=START + day * DAY, snapshots=many))

    rows = export_snapshots(store, tmp_path / "kept.parquet", KeptSelection())

    file = pq.ParquetFile(tmp_path / "kept.parquet")
    assert rows == file.metadata.num_rows == 27_000
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [20_000, 7_000]


def test_a_file_of_another_kind_is_refused(filled: SqlStore, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"ends in \.parquet or \.csv"):
        export_snapshots(filled, tmp_path / "kept.xlsx", KeptSelection())

    with pytest.raises(StoreError, match="cannot be written: No such file or directory"):
        export_snapshots(filled, tmp_path / "none" / "kept.csv", KeptSelection())


def test_a_file_that_was_whole_stays_until_the_new_one_is(filled: SqlStore, tmp_path: Path) -> None:
    file = tmp_path / "kept.csv"
    export_snapshots(filled, file, KeptSelection())
    before = file.read_bytes()
    with write_transaction(filled.engine) as connection:
        connection.execute(text("DROP VIEW snapshots_latest"))
        connection.execute(text("DROP VIEW snapshots"))

    with pytest.raises(StoreError):
        export_snapshots(filled, file, KeptSelection())

    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.glob("kept*")] == ["kept.csv"]


def test_a_damaged_detail_is_named(filled: SqlStore, tmp_path: Path) -> None:
    table = DetailTable(("score",), ((0.5,),))
    kept = row("roc_auc", 0.7)
    kept = replace(kept, measurement=replace(kept.measurement, detail=table))
    filled.commit_cycle("late", commit(snapshots=(kept,)))
    with write_transaction(filled.engine) as connection:
        connection.execute(text("UPDATE details SET text = '{'"))

    with pytest.raises(CodecError, match="table details"):
        export_snapshots(filled, tmp_path / "kept.csv", KeptSelection())


def test_the_command_exports_what_was_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'monitor.db'}"
    migrate_store(url)
    store = open_store(url, "live")
    store.commit_cycle("late", commit(snapshots=(row("roc_auc", 0.7), row("roc_auc", 0.8, window="1d"))))
    store.close()
    config = tmp_path / "config.toml"
    config.write_text(_CONFIG.format(url=url), encoding="utf-8")
    file = tmp_path / "kept.parquet"

    done = CliRunner().invoke(
        main, ["export", str(file), "--config", str(config), "--window", "7d", "--measure", "roc_auc"]
    )
    wrong = CliRunner().invoke(main, ["export", str(file), "--config", str(config), "--window", "8d"])

    assert (done.exit_code, done.output) == (0, f"{file}: 1 row\n")
    assert pq.read_table(file)["value"].to_pylist() == [0.7]
    assert (wrong.exit_code, json.dumps("8d") in wrong.output) == (2, True)


_CONFIG = """
[store]
url = "{url}"

[sources.log]
url = "sqlite:///log.db"

[[models]]
name = "late"
source = "log"
task = "binary"
windows = ["1d", "7d"]
predictions = {{ table = "p", id = "id", event_time = "t", logged_at = "l", score = "s", threshold = 0.5 }}
"""


PARALLEL = "parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0"
MORE = """
INSERT INTO series (run, model, "window", truth, version, segment, measure, subject, against)
SELECT s.run, s.model, s."window", s.truth, '', '', 'more' || number, '', ''
FROM (SELECT * FROM series LIMIT 1) AS s, generate_series(1, 3000) AS number;
INSERT INTO snapshot_rows (row_set, series, value, n, resolution)
SELECT r.id, s.id, 0.5, 1, 0 FROM (SELECT id FROM row_sets LIMIT 1) AS r, series AS s
ON CONFLICT DO NOTHING;
ANALYZE
"""


@pytest.mark.postgres
def test_what_several_processes_of_postgresql_read_at_once_is_whole(postgres_url: str) -> None:
    migrate_store(postgres_url)
    store = open_store(postgres_url, "live")
    store.commit_cycle("late", commit(snapshots=ROWS[:1]))
    settings = [f"ALTER DATABASE {store.engine.url.database} SET {setting}" for setting in PARALLEL]
    with write_transaction(store.engine) as connection:
        for statement in (*MORE.split(";"), *settings):
            connection.exec_driver_sql(statement)
        kept = connection.execute(text("SELECT count(*) FROM series")).scalar_one()
    store.close()

    assert [len(read_snapshots(postgres_url)) for _ in range(4)] == [kept] * 4
