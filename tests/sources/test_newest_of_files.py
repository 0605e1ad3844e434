"""Where the newest and the oldest rows of a large table of files are: found by bounds, without reading it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs as pafs

from monitor.cli import main
from monitor.core.clock import DAY, HOUR, from_iso, to_iso
from monitor.look.row_edges import RowEdge
from monitor.look.table_look import files_by_time, look_at_table, look_at_time
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources import SqlSource, open_source
from monitor.specs.model_spec import Relation, SourceSpec
from monitor.specs.protocols import Range

FIRST, END = from_iso("2020-01-01"), from_iso("2024-01-01")
TYPES = {
    "us": pa.timestamp("us"),
    "utc": pa.timestamp("ms", "UTC"),
    "epoch": pa.int64(),
    "date": pa.date32(),
}


def write_file(folder: Path, name: str, hours: list[int], kind: str) -> None:
    """A file of times, so many hours after the first."""
    moments = [FIRST + hour * HOUR for hour in hours]
    values = pa.array(moments, pa.int64()) if kind == "epoch" else pa.array(moments, pa.timestamp("us"))
    pq.write_table(pa.table({"at": values.cast(TYPES[kind], safe=False)}), folder / f"{name}.parquet")


def edge_of(source: SqlSource, edge: RowEdge, unit: str | None = None) -> Range | None:
    """Where the rows of the table are."""
    units = (("event_time", unit),) if unit else ()
    reading = ReadingOptions(task=ModelTask.BINARY, time_units=units)
    with source.reader.open_session() as session:
        table = look_at_table(session, source.reader.engine, Relation(table="log"), "p")
        time = look_at_time(session, table, "at", "event_time", reading)
        files = files_by_time(table, "at", time.time)
        assert files is not None
        return files.find_edge(session, edge)


@settings(max_examples=60, deadline=None)
@given(
    files=st.lists(st.lists(st.integers(0, 24 * 900), max_size=6), min_size=1, max_size=6),
    kind=st.sampled_from(list(TYPES)),
    rows=st.integers(1, 6),
    until=st.integers(1, 24 * 1000),
    newest=st.booleans(),
)
def test_the_part_has_the_rows_at_its_end(
    files: list[list[int]], kind: str, rows: int, until: int, *, newest: bool
) -> None:
    """As many as are wanted, or all that there are."""
    span = (FIRST, FIRST + until * HOUR)
    with TemporaryDirectory() as directory:
        (Path(directory) / "log").mkdir()
        for at, hours in enumerate(files):
            write_file(Path(directory) / "log", f"{at}", hours, kind)
        source = open_source(SourceSpec(name="lake", url=Path(directory).as_uri()))
        part = edge_of(source, RowEdge(span, rows, newest=newest), "us" if kind == "epoch" else None)
    width = DAY if kind == "date" else 1
    held = sorted(
        moment // width * width
        for hours in files
        for moment in (FIRST + hour * HOUR for hour in hours)
        if span[0] <= moment // width * width < span[1]
    )
    wanted = held[-rows:] if newest else held[:rows]

    assert part is None or span[0] <= part[0] <= part[1] <= span[1]
    if part is None:
        assert held == []  # few files are read whatever they hold
    else:
        assert [moment for moment in wanted if part[0] <= moment < part[1]] == wanted


def test_files_that_are_not_laid_out_by_a_time_are_not_searched_by_it(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for at in range(40):
        write_file(tmp_path / "log", f"{at}", [at, 24 * 900 - at], "us")
    source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri()))

    assert edge_of(source, RowEdge((FIRST, END), 10)) is None


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A log of 300,000 rows by year, month and day, whose labels come a day later, by day."""
    rows, files = 7_500, pafs.LocalFileSystem()
    for day in range(40):
        start = from_iso("2026-01-01") + day * DAY
        ids = pa.array([f"{day:02}-{at}" for at in range(rows)])
        times = pa.array([start + at * (DAY // rows) for at in range(rows)], pa.timestamp("us"))
        later = pa.array([start + DAY + at * (DAY // rows) for at in range(rows)], pa.timestamp("us"))
        scores = pa.array([(at * 37 % 1000) / 1000 for at in range(rows)])
        amount = pa.array([float(at * 91 % 1009) for at in range(rows)])
        label = pa.array([int(at * 17 % 1000 < at * 37 % 1000) for at in range(rows)])
        text = to_iso(start)[:10]
        year, month, number = text.split("-")
        for folder, table in (
            (
                f"scores/year={year}/month={int(month)}/day={int(number)}",
                pa.table({"id": ids, "created_at": times, "score": scores, "amount": amount}),
            ),
            (f"outcomes/dt={text}", pa.table({"id": ids, "label": label, "reported_at": later})),
        ):
            files.create_dir(f"{tmp_path}/{folder}", recursive=True)
            pq.write_table(table, f"{tmp_path}/{folder}/part.parquet")
    return tmp_path


def test_a_first_configuration_of_a_large_log_is_of_its_newest_rows(
    large: Path,
) -> None:
    """Folders by time are no features; labels are found; the reference is of the first days of all."""
    output = large / "config.toml"
    named = ["--predictions", "scores", "--labels", "outcomes", "--output", str(output)]

    done = CliRunner().invoke(main, ["init", "--url", large.as_uri(), *named])

    text = output.read_text(encoding="utf-8")
    assert done.exit_code == 0, done.output
    assert "5,000 rows of 300,000 in scores (Parquet, 40 files)" in text
    assert "200 of 200 labels looked at are found by it" in text
    assert 'from = "2026-01-01"' in text
    assert 'numeric = ["amount"]' in text
    assert "year" not in text.partition("[models.features]")[2]
    assert "a day of it is in " in text
    checked = CliRunner().invoke(main, ["check", "--config", str(output)])
    assert "log: rows from 2026-01-01 to 2026-02-09" in checked.output, checked.output
