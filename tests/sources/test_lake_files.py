"""Tables that are files: which of them are read, what their folders and footers say, what changes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import servers
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs as pafs

from monitor.core.clock import DAY, from_iso
from monitor.core.errors import SourceError
from monitor.sources import open_source
from monitor.sources.engines.readers import lake_tables
from monitor.sources.engines.readers.lake_formats import ParquetFolder, rows_condition
from monitor.sources.engines.readers.lake_place import LakePlace, open_place
from monitor.sources.sql.time_ranges import TimesOfRows
from monitor.specs.model_spec import SourceSpec

pytestmark = pytest.mark.columnar
START = from_iso("2026-01-01")
DAYS, PER_DAY = 20, 50


@pytest.fixture(autouse=True)
def _needs_duckdb() -> None:
    servers.require_extra("duckdb")


class CountedFiles(pafs.FileSystemHandler):
    """A file system that notes which files are opened."""

    def __init__(self, files: pafs.FileSystem) -> None:
        self.files = files
        self.opened: list[str] = []

    def open_input_file(self, path: str) -> Any:
        self.opened.append(path.rpartition("/")[2])
        return self.files.open_input_file(path)

    def open_input_stream(self, path: str) -> Any:
        self.opened.append(path.rpartition("/")[2])
        return self.files.open_input_stream(path)

    def get_file_info(self, paths: list[str]) -> Any:
        return self.files.get_file_info(paths)

    def get_file_info_selector(self, selector: pafs.FileSelector) -> Any:
        return self.files.get_file_info(selector)

    def get_type_name(self) -> str:
        return "counted"

    def normalize_path(self, path: str) -> str:
        return path

    def create_dir(self, path: str, recursive: bool) -> None:  # noqa: FBT001
        raise NotImplementedError

    delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = create_dir  # type: ignore[assignment]
    move = copy_file = open_output_stream = open_append_stream = create_dir  # type: ignore[assignment]


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


def write_days(folder: Path, kind: str, days: Iterator[int] | range) -> None:
    """A file, or a version, a day."""
    for day in days:
        if kind == "delta":
            deltalake = pytest.importorskip("deltalake")
            deltalake.write_deltalake(str(folder), day_of_rows(day), mode="append")
        else:
            folder.mkdir(exist_ok=True, parents=True)
            pq.write_table(day_of_rows(day), folder / f"day-{day:02}.parquet")


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedFiles:
    """Files below the test's folder, which are counted as they are opened."""
    handler = CountedFiles(pafs.LocalFileSystem())

    def place(url: str, limit: float) -> LakePlace:
        real = open_place(url, limit)
        return LakePlace(real.shown, pafs.PyFileSystem(handler), real.folder, real.delta_options)

    monkeypatch.setattr(lake_tables, "open_place", place)
    return handler


def read(source: Any, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a query of a session of its own."""
    rows: list[tuple[Any, ...]] = source.read_with_retries(lambda session: session.read_rows(sql))
    return rows


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_day_is_read_of_its_own_file_alone(tmp_path: Path, counted: CountedFiles, kind: str) -> None:
    write_days(tmp_path / "scores", kind, range(DAYS))
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    day = "event_time >= TIMESTAMP '2026-01-05' AND event_time < TIMESTAMP '2026-01-06'"
    logged = "logged_at >= TIMESTAMP '2026-01-20 12:00:00'"
    read(source, 'SELECT count(*) FROM "scores" WHERE 1 = 0')
    for condition, rows in ((day, PER_DAY), (logged, PER_DAY // 2)):
        counted.opened.clear()
        assert read(source, f'SELECT count(score) FROM "scores" WHERE {condition}') == [(rows,)]
        assert len(set(counted.opened)) == 1


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_what_a_cycle_reads_does_not_grow_with_the_table(
    tmp_path: Path, counted: CountedFiles, kind: str
) -> None:
    """A new file is looked at, and read; files that were there before are not opened."""
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    write_days(tmp_path / "scores", kind, range(5))
    read(source, 'SELECT count(*) FROM "scores" WHERE 1 = 0')
    for day in range(5, DAYS):
        write_days(tmp_path / "scores", kind, [day])
        counted.opened.clear()
        since = f"TIMESTAMP '2026-01-{day + 1:02} 00:00:00'"
        assert read(source, f'SELECT count(score) FROM "scores" WHERE logged_at >= {since}') == [(PER_DAY,)]
        assert len(set(counted.opened)) == 1


def test_folders_named_by_a_value_are_columns(tmp_path: Path, counted: CountedFiles) -> None:
    for day in range(4):
        folder = tmp_path / "scores" / f"day={day}" / "region=eu"
        folder.mkdir(parents=True)
        pq.write_table(day_of_rows(day), folder / "part.parquet")
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT region, sum(day) FROM scores GROUP BY region") == [("eu", 6 * PER_DAY)]
    (tmp_path / "scores" / "day=4" / "region=us").mkdir(parents=True)
    pq.write_table(day_of_rows(4), tmp_path / "scores" / "day=4" / "region=us" / "part.parquet")
    counted.opened.clear()
    assert read(source, "SELECT count(*) FROM scores WHERE region = 'us' AND score >= 0") == [(PER_DAY,)]
    assert len(counted.opened) == 3, "its footer, its types, its rows: nothing of other files"


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_columns_may_come_later_or_become_wider(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "scores"
    older = day_of_rows(0, amount=pa.array(range(PER_DAY), pa.int32()))
    newer = day_of_rows(1, amount=pa.array(range(PER_DAY), pa.int64()), extra=pa.array(["x"] * PER_DAY))
    if kind == "delta":
        deltalake = pytest.importorskip("deltalake")
        deltalake.write_deltalake(str(folder), older)
        deltalake.write_deltalake(
            str(folder), newer.drop_columns(["amount"]), mode="append", schema_mode="merge"
        )
        expected = [(PER_DAY, PER_DAY, 1225)]
    else:
        folder.mkdir()
        pq.write_table(older, folder / "a.parquet")
        pq.write_table(newer, folder / "b.parquet")
        expected = [(2 * PER_DAY, PER_DAY, 2450)]
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT count(amount), count(extra), sum(amount)::BIGINT FROM scores") == expected


def test_files_that_were_rewritten_or_went_away_are_noticed(tmp_path: Path) -> None:
    write_days(tmp_path / "scores", "parquet", range(3))
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))
    assert read(source, "SELECT count(*) FROM scores") == [(3 * PER_DAY,)]
    (tmp_path / "scores" / "day-00.parquet").unlink()
    pq.write_table(day_of_rows(1).slice(0, 7), tmp_path / "scores" / "day-01.parquet")
    assert read(source, "SELECT count(*) FROM scores") == [(PER_DAY + 7,)]


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
    dataset = ParquetFolder(pafs.LocalFileSystem(), str(folder), is_file=False).open_dataset()
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


@settings(max_examples=80, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 2**51)), max_size=12),
    kind=st.sampled_from(
        [pa.int64(), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("ns"), pa.date32()]
    ),
    ranges=st.lists(st.tuples(st.integers(0, 2**51), st.integers(0, 2**63 - 1)), max_size=3),
    undated=st.booleans(),
)
def test_no_row_of_the_times_that_are_wanted_is_left_out(
    values: list[int | None], kind: pa.DataType, ranges: list[tuple[int, int]], *, undated: bool
) -> None:
    """What a condition of times leaves out lies outside of them all."""
    moments = pa.array(values, pa.int64() if kind == pa.int64() else pa.timestamp("us")).cast(
        kind, safe=False
    )
    unit = "us" if kind == pa.int64() else None
    condition = rows_condition(
        pa.schema([("at", kind)]), TimesOfRows("at", unit, tuple(ranges), undated=undated)
    )
    assert condition is not None
    found = pa.table({"at": moments, "n": range(len(values))}).filter(condition)["n"].to_pylist()
    micros = moments if kind == pa.int64() else moments.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    for n, value in enumerate(micros.to_pylist()):
        if value is None:
            assert not undated or n in found
        elif any(lo <= value < hi for lo, hi in ranges):
            assert n in found
