"""Tables that are files: which of them are read, what their folders and footers say, what changes them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from delta_vectors import delete_by_vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs as pafs

from monitor.core.clock import DAY, SECOND, from_iso
from monitor.core.errors import SourceError
from monitor.sources import open_source
from monitor.sources.engines.readers.file_bounds import (
    BoundedFile,
    BoundedFiles,
    ColumnBounds,
    times_condition,
)
from monitor.sources.engines.readers.lake_formats import ParquetFolder
from monitor.sources.sql.time_ranges import TimesOfRows
from monitor.specs.model_spec import Relation, SourceSpec

START = from_iso("2026-01-01")
DAYS, PER_DAY = 20, 5_000
ICEBERG = pytest.param("iceberg", marks=pytest.mark.lakes)
KINDS = pytest.mark.parametrize("kind", ["parquet", "delta", ICEBERG])


def bytes_read() -> int:
    """Bytes that this process has read of files, by the kernel's count."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(counts["rchar"])


@dataclass(slots=True)
class ReadBytes:
    """Bytes that were read while something ran."""

    n: int = 0


@contextmanager
def counted_bytes() -> Iterator[ReadBytes]:
    """Count what is read meanwhile."""
    read, before = ReadBytes(), bytes_read()
    yield read
    read.n = bytes_read() - before


def day_of_rows(day: int, **other: pa.Array) -> pa.Table:
    """Rows of a day, logged a second later."""
    event = [START + day * DAY + at * (DAY // PER_DAY) for at in range(PER_DAY)]
    columns = {
        "id": pa.array([f"{day}-{at}" for at in range(PER_DAY)]),
        "event_time": pa.array(event, pa.timestamp("us")),
        "logged_at": pa.array([one + 1_000_000 for one in event], pa.timestamp("us")),
        "score": pa.array([at / PER_DAY for at in range(PER_DAY)]),
    }
    return pa.table(columns | other)


def write_days(folder: Path, kind: str, days: Iterable[int]) -> None:
    """A file, or a version, a day."""
    for day in days:
        if kind == "delta":
            import deltalake

            deltalake.write_deltalake(str(folder), day_of_rows(day), mode="append")
        elif kind == "iceberg":
            append_iceberg(folder, day_of_rows(day))
        else:
            folder.mkdir(exist_ok=True, parents=True)
            pq.write_table(day_of_rows(day), folder / f"day-{day:02}.parquet")


def iceberg_table(folder: Path, schema: pa.Schema | None = None) -> Any:
    """A table whose files are in a folder; its catalogue is not asked by who reads the folder."""
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = catalogs.SqlCatalog("default", uri=f"sqlite:///{folder.parent}/catalog.db")
    if schema is None:
        return catalog.load_table(("ml", folder.name))
    catalog.create_namespace_if_not_exists("ml")
    return catalog.create_table_if_not_exists(("ml", folder.name), schema, location=folder.as_uri())


def append_iceberg(folder: Path, rows: pa.Table) -> None:
    """A snapshot more."""
    iceberg_table(folder, rows.schema).append(rows)


def read(source: Any, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a query of a session of its own."""
    rows: list[tuple[Any, ...]] = source.read_with_retries(lambda session: session.read_rows(sql))
    return rows


def size_of(folder: Path) -> int:
    """Bytes of the Parquet files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


@KINDS
def test_a_day_is_read_of_its_own_file_alone(tmp_path: Path, kind: str) -> None:
    write_days(tmp_path / "scores", kind, range(DAYS))
    source, whole = open_source(SourceSpec(name="lake", url=tmp_path.as_uri())), size_of(tmp_path)
    day = "event_time >= TIMESTAMP '2026-01-05' AND event_time < TIMESTAMP '2026-01-06'"
    logged = "logged_at >= TIMESTAMP '2026-01-20 12:00:00'"
    read(source, 'SELECT count(*) FROM "scores" WHERE 1 = 0')
    for condition, rows in ((day, PER_DAY), (logged, PER_DAY // 2)):
        with counted_bytes() as counted:
            found = read(source, f'SELECT count(score), count(id) FROM "scores" WHERE {condition}')
        assert found == [(rows, rows)]
        assert counted.n < 2 * whole / DAYS


@KINDS
def test_what_a_cycle_reads_does_not_grow_with_the_table(tmp_path: Path, kind: str) -> None:
    """A new file is looked at, and read; files that were there before are not opened."""
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    write_days(tmp_path / "scores", kind, range(5))
    read(source, 'SELECT count(*) FROM "scores" WHERE 1 = 0')
    of_a_day = size_of(tmp_path) / 5
    for day in range(5, DAYS):
        write_days(tmp_path / "scores", kind, [day])
        since = f"TIMESTAMP '2026-01-{day + 1:02} 00:00:00'"
        with counted_bytes() as counted:
            found = read(source, f'SELECT count(score), count(id) FROM "scores" WHERE logged_at >= {since}')
        assert found == [(PER_DAY, PER_DAY)]
        assert counted.n < 3 * of_a_day, "its footer twice, and its rows"


@KINDS
def test_scattered_times_and_missing_ones_are_found_without_the_rest(tmp_path: Path, kind: str) -> None:
    """DuckDB hands no condition with OR or IS NULL to Arrow: the name of the table says what is wanted."""
    write_days(tmp_path / "scores", kind, range(DAYS))
    source, whole = open_source(SourceSpec(name="lake", url=tmp_path.as_uri())), size_of(tmp_path)
    read(source, 'SELECT count(*) FROM "scores" WHERE 1 = 0')
    days = tuple((START + day * DAY, START + day * DAY + DAY // 2) for day in (3, 11))
    for ranges, expected in ((days, PER_DAY), ((), 0)):
        times = TimesOfRows("event_time", "timestamp", None, ranges, undated=True)
        item = source.reader.engine.narrowed_sql(Relation(table="scores"), "p", times)
        picked = " OR ".join(
            f"(event_time >= make_timestamp({lo}) AND event_time < make_timestamp({hi}))" for lo, hi in ranges
        )
        with counted_bytes() as counted:
            found = read(source, f"SELECT count(score), count(id) FROM {item} WHERE {picked or '1 = 1'}")
        assert found == [(expected, expected)]
        assert counted.n < whole / 5, "two days of twenty"


def test_folders_named_by_a_value_are_columns(tmp_path: Path) -> None:
    for day in range(4):
        folder = tmp_path / "scores" / f"day={day}" / "region=eu"
        folder.mkdir(parents=True)
        pq.write_table(day_of_rows(day), folder / "part.parquet")
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT region, sum(day) FROM scores GROUP BY region") == [("eu", 6 * PER_DAY)]
    (tmp_path / "scores" / "day=4" / "region=us").mkdir(parents=True)
    pq.write_table(day_of_rows(4), tmp_path / "scores" / "day=4" / "region=us" / "part.parquet")
    with counted_bytes() as counted:
        assert read(source, "SELECT count(score), count(id) FROM scores WHERE region = 'us'") == [
            (PER_DAY, PER_DAY)
        ]
    assert counted.n < 2 * size_of(tmp_path) / 5


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_columns_may_come_later_or_become_wider(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "scores"
    older = day_of_rows(0, amount=pa.array(range(PER_DAY), pa.int32()))
    newer = day_of_rows(1, amount=pa.array(range(PER_DAY), pa.int64()), extra=pa.array(["x"] * PER_DAY))
    if kind == "delta":
        import deltalake

        deltalake.write_deltalake(str(folder), older)
        deltalake.write_deltalake(
            str(folder), newer.drop_columns(["amount"]), mode="append", schema_mode="merge"
        )
        expected = [(PER_DAY, PER_DAY, PER_DAY * (PER_DAY - 1) // 2)]
    else:
        folder.mkdir()
        pq.write_table(older, folder / "a.parquet")
        pq.write_table(newer, folder / "b.parquet")
        expected = [(2 * PER_DAY, PER_DAY, PER_DAY * (PER_DAY - 1))]
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT count(amount), count(extra), sum(amount)::BIGINT FROM scores") == expected


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.sets(st.integers(0, 19), min_size=1), min_size=1, max_size=3), data=st.data())
def test_rows_deleted_by_vectors_are_those_that_a_rewritten_table_lacks(
    tmp_path_factory: pytest.TempPathFactory, rows: list[set[int]], data: st.DataObject
) -> None:
    """Also when a file's vector becomes another one between two reads."""
    import deltalake

    place = tmp_path_factory.mktemp("law")
    tables = [day_of_rows(day).slice(0, 21) for day in range(len(rows))]
    for table in tables:
        deltalake.write_deltalake(str(place / "scores"), table, mode="append")
    source = open_source(SourceSpec(name="lake", url=place.as_uri()))
    # a writer commits no vector that is there already
    more = [{20, *data.draw(st.sets(st.integers(0, 19)))} for _ in rows]
    for deleted in (rows, [one | other for one, other in zip(rows, more, strict=True)]):
        delete_by_vectors(place / "scores", [sorted(one) for one in deleted])
        left = [
            table.take(pa.array(sorted({*range(21)} - one), pa.int64()))
            for table, one in zip(tables, deleted, strict=True)
        ]
        found = read(source, "SELECT id, score FROM scores")
        expected = pa.concat_tables(left).select(["id", "score"]).to_pylist()
        assert sorted(found) == sorted((row["id"], row["score"]) for row in expected)


def test_what_is_not_read_of_delta_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import deltalake

    for name, feature in {"mapped": "columnMapping", "scores": "deletionVectors"}.items():
        deltalake.write_deltalake(str(tmp_path / name), day_of_rows(0))
        delete_by_vectors(tmp_path / name, [[0]], feature=feature)
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    with pytest.raises(SourceError, match="columnMapping: read it by Spark"):
        read(source, "SELECT count(*) FROM mapped")
    monkeypatch.setattr("monitor.sources.engines.readers.lake_formats.MOST_HELD", 1_000)
    with pytest.raises(SourceError, match="held in memory: rewrite them"):
        read(source, "SELECT count(*) FROM scores")


def test_folders_and_times_of_a_delta_table_leave_files_out(tmp_path: Path) -> None:
    """By the folder that a file is in, whatever its name holds, and by times that the log cuts short."""
    import deltalake

    regions = ["north east", "a=b/c%20", "eu"]
    rows = pa.concat_tables(
        [day_of_rows(day, region=pa.array([name] * PER_DAY)) for day, name in enumerate(regions)]
    )
    deltalake.write_deltalake(str(tmp_path / "scores"), rows, partition_by=["region"])
    source, whole = open_source(SourceSpec(name="lake", url=tmp_path.as_uri())), size_of(tmp_path)
    counts = read(source, "SELECT region, count(*), count(score) FROM scores GROUP BY region")
    assert sorted(counts) == sorted((name, PER_DAY, PER_DAY) for name in regions)
    for where in ("region = 'a=b/c%20'", "event_time >= TIMESTAMP '2026-01-03'"):
        with counted_bytes() as counted:
            assert read(source, f"SELECT count(score), count(id) FROM scores WHERE {where}") == [
                (PER_DAY, PER_DAY)
            ]
        assert counted.n < 2 * whole / 3


def test_files_that_were_rewritten_or_went_away_are_noticed(tmp_path: Path) -> None:
    write_days(tmp_path / "scores", "parquet", range(3))
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT count(*) FROM scores") == [(3 * PER_DAY,)]
    (tmp_path / "scores" / "day-00.parquet").unlink()
    pq.write_table(day_of_rows(1).slice(0, 7), tmp_path / "scores" / "day-01.parquet")
    assert read(source, "SELECT count(*) FROM scores") == [(PER_DAY + 7,)]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(20, 0)])
def test_a_text_that_is_no_number_is_no_id_of_numbers(tmp_path: Path, kind: pa.DataType) -> None:
    """One such label ended every statement that joins, and with it the cycles of its model."""
    ids = pa.array([1, 2, 3, 16, 20]).cast(kind)
    texts = pa.array(["2", "unknown", "", None, "3.0", "0.6", "2.5", "2e1", "0x10"])
    for name, of in (("scores", ids), ("outcomes", texts)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"id": of}), tmp_path / name / "a.parquet")
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    engine = source.reader.engine
    with source.reader.open_session() as session:
        kinds = [engine.types_of(session, Relation(table=name))["id"] for name in ("scores", "outcomes")]
        for tables, those in ((("scores", "outcomes"), kinds), (("outcomes", "scores"), kinds[::-1])):
            same = engine.same_id("p.id", "l.id", *those)
            joined = f"SELECT count(*) FROM {tables[0]} AS p JOIN {tables[1]} AS l ON {same}"
            assert session.read_rows(joined) == [(2,)]


def test_what_is_hidden_or_elsewhere_is_no_table(tmp_path: Path) -> None:
    write_days(tmp_path / "scores", "parquet", range(1))
    (tmp_path / "scores" / "_temporary").mkdir()
    pq.write_table(day_of_rows(2), tmp_path / "scores" / "_temporary" / "part.parquet")
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT count(*) FROM scores") == [(PER_DAY,)]
    for name in ('"../scores"', '"/etc"', '"score"'):
        with pytest.raises(SourceError):
            read(source, f"SELECT count(*) FROM {name}")


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40)), max_size=12),
    kind=st.sampled_from(
        [pa.int64(), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("ns"), pa.date32()]
    ),
    at=st.integers(-(2**40), 2**40),
)
def test_no_row_is_left_out_by_what_a_footer_says(
    tmp_path_factory: pytest.TempPathFactory, values: list[int | None], kind: pa.DataType, at: int
) -> None:
    """Whatever the condition, rows are those that a filter of the whole table finds."""
    folder = tmp_path_factory.mktemp("law")
    if kind == pa.date32():
        values, at = [None if value is None else value % 40_000 for value in values], at % 40_000
    halves = [pa.table({"moment": pa.array(half, kind)}) for half in (values[::2], values[1::2])]
    for number, half in enumerate(halves):
        pq.write_table(half, folder / f"{number}.parquet", row_group_size=2)
    dataset = ParquetFolder(pafs.LocalFileSystem(), str(folder), is_file=False).open_files().dataset()
    import pyarrow.compute as pc

    limit = pa.scalar(at, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    whole = pa.concat_tables(halves)
    for condition in (
        pc.field("moment") >= limit,
        pc.field("moment") < limit,
        pc.field("moment").is_null(),
        (pc.field("moment") > limit) | pc.field("moment").is_null(),
    ):
        found = dataset.to_table(filter=condition)["moment"].to_pylist()
        expected = whole.filter(condition)["moment"].to_pylist()
        assert sorted(found, key=str) == sorted(expected, key=str)


@settings(max_examples=120, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 2**51)), max_size=12),
    kind=st.sampled_from(
        [pa.int64(), pa.date32(), pa.timestamp("ms", "UTC"), *map(pa.timestamp, ("s", "us", "ns"))]
    ),
    ranges=st.lists(st.tuples(st.integers(0, 2**51), st.integers(0, 2**63 - 1)), max_size=3),
    undated=st.booleans(),
    zone=st.sampled_from(["UTC", "America/New_York", "Pacific/Kiritimati"]),
    edge=st.booleans(),
)
def test_rows_of_the_times_that_are_wanted_are_found_and_no_others(
    values: list[int | None],
    kind: pa.DataType,
    ranges: list[tuple[int, int]],
    zone: str,
    *,
    undated: bool,
    edge: bool,
) -> None:
    """Where clocks do not change: exactly; else no row that may be wanted is left out."""
    if edge:  # rows at the very ends of what is wanted
        values += [moment for span in ranges for moment in span if moment < 2**51]
    moments = pa.array(values, pa.int64() if kind == pa.int64() else pa.timestamp("us")).cast(
        kind, safe=False
    )
    unit = "us" if kind == pa.int64() else None
    times = TimesOfRows("at", str(kind), unit, tuple(ranges), undated=undated, zone=zone)
    column = pads.field("at")
    condition = times_condition(kind, times, column, column, column.is_null())
    assert condition is not None
    found = pa.table({"at": moments, "n": range(len(values))}).filter(condition)["n"].to_pylist()
    micros = moments if kind == pa.int64() else moments.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    local = zone != "UTC" and kind != pa.int64() and getattr(kind, "tz", None) is None
    for n, value in enumerate(micros.to_pylist()):
        if value is None:
            assert (n in found) == undated
            continue
        instants = instants_of(value, zone) if local else [value]
        wanted = any(lo <= instant < hi for lo, hi in ranges for instant in instants)
        assert n in found or not wanted
        assert local or wanted or n not in found


@settings(max_examples=120, deadline=None)
@given(
    files=st.lists(st.lists(st.one_of(st.none(), st.integers(0, 60)), min_size=1, max_size=4), max_size=5),
    unknown=st.lists(st.booleans(), min_size=5, max_size=5),
    written=st.sampled_from([pa.timestamp("s"), pa.timestamp("ms")]),
    ranges=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=2),
    undated=st.booleans(),
)
def test_files_are_chosen_whose_bounds_hold_times_that_are_wanted(
    files: list[list[int | None]],
    unknown: list[bool],
    written: pa.DataType,
    ranges: list[tuple[int, int]],
    *,
    undated: bool,
) -> None:
    """Those of which nothing is known are chosen, too. Seconds, in a table whose column has microseconds."""

    def bounds_of(values: list[int | None]) -> ColumnBounds:
        known = [
            pa.scalar(value * SECOND, pa.timestamp("us")).cast(written)
            for value in values
            if value is not None
        ]
        least, most = (min(known, key=str), max(known, key=str)) if known else (None, None)
        return ColumnBounds(least, most, nulls=len(known) < len(values))

    listed = [
        BoundedFile(at, {} if unknown[at] else {"at": bounds_of(values)}) for at, values in enumerate(files)
    ]
    schema = pa.schema([("at", pa.timestamp("us"))])
    table = BoundedFiles(listed, schema, pads.ParquetFileFormat(), pafs.LocalFileSystem())
    spans = tuple((lo * SECOND, hi * SECOND) for lo, hi in ranges)
    chosen = table.choose_files(TimesOfRows("at", "timestamp", None, spans, undated=undated))

    def may_hold(values: list[int | None]) -> bool:
        known = [value for value in values if value is not None]
        between = any(known and min(known) < hi and max(known) >= lo for lo, hi in ranges)
        return between or (undated and None in values)

    assert chosen == [at for at, values in enumerate(files) if unknown[at] or may_hold(values)]
    assert table.choose_files(None) == list(range(len(files)))


def instants_of(micros: int, zone: str) -> list[int]:
    """Instants at which clocks of a zone show a time: two when they are turned back."""
    shown = datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001 -- of the zone
    first = datetime(1970, 1, 1, tzinfo=UTC)
    turns = (shown.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    return [(turn - first) // timedelta(microseconds=1) for turn in turns]


@KINDS
def test_a_day_of_utc_is_read_from_its_own_files(tmp_path: Path, kind: str) -> None:
    """Its neighbour's first row lies at the very end of it."""
    write_days(tmp_path / "scores", kind, range(4))
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    times = TimesOfRows("event_time", "timestamp", None, ((START + DAY, START + 2 * DAY),), undated=False)
    with source.reader.open_session() as session:
        assert source.reader.engine.count_files(session, Relation(table="scores"), times) == 1
