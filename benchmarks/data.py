"""A generated log: the same rows for the same arguments, in Parquet, SQLite and PostgreSQL.

28 columns and an id: 20 numbers of mixed shapes, 5 categories of 5 to 50 levels, a score, the label that it
tells the probability of, and the event time, evenly spread over some days. Some columns move slowly. What is
made is kept under its name, and made once.
python benchmarks/data.py DIRECTORY [ROWS] [DAYS]
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from timing import sizes

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers

from monitor.core.clock import DAY, from_iso

Floats = npt.NDArray[np.float64]

START = from_iso("2024-01-01")
ROWS = 1_000_000
DAYS = 30
REFERENCE_ROWS = 50_000
SEED = 20_240_101
LEVELS = 5, 8, 12, 20, 50
NUMERIC = tuple(f"n{at:02}" for at in range(20))
CATEGORICAL = tuple(f"c{at}" for at in range(len(LEVELS)))
_CHUNK = 250_000  # rows generated at a time


Shape = Callable[[np.random.Generator, int, Floats], Floats]
"""Values of so many rows; the last argument goes from 0 to 1 over the log."""
SHAPES: tuple[Shape, ...] = (
    lambda rng, rows, moved: rng.normal(100.0, 20.0, rows) + 2.0 * moved,
    lambda rng, rows, _: rng.lognormal(3.0, 1.2, rows),
    lambda rng, rows, _: rng.uniform(-1.0, 1.0, rows),
    lambda rng, rows, _: np.round(rng.exponential(50.0, rows), 2),
    lambda rng, _, moved: rng.poisson(3.0 + 0.3 * moved).astype(np.float64),
    lambda rng, rows, _: rng.standard_t(2.0, rows),
    lambda rng, rows, _: np.where(rng.random(rows) < 0.6, 0.0, rng.gamma(2.0, 10.0, rows)),
    lambda rng, rows, _: np.where(
        rng.random(rows) < 0.5, rng.normal(-3.0, 1.0, rows), rng.normal(4.0, 0.5, rows)
    ),
    lambda rng, rows, _: rng.integers(0, 10, rows).astype(np.float64),
    lambda rng, rows, _: rng.beta(2.0, 5.0, rows) * 1e6,
)


def generated(rows: int, *, first: int, of: int, a_day: int, seed: int = SEED) -> pa.Table:
    """Rows `first` to `first + rows` of a log of so many rows a day, which moves over `of` rows."""
    rng = np.random.default_rng([seed, first])
    number = np.arange(first, first + rows, dtype=np.int64)
    moved = number / of
    score = np.clip(rng.beta(2.0, 3.0, rows) + 0.02 * moved, 0.0, 1.0)
    columns: dict[str, object] = {"id": number, "event_time": START + (2 * number + 1) * DAY // (2 * a_day)}
    for at, name in enumerate(NUMERIC):
        missing = rng.random(rows) < 0.02 if at % 4 == 3 else None
        columns[name] = pa.array(SHAPES[at % len(SHAPES)](rng, rows, moved), mask=missing)
    for name, levels in zip(CATEGORICAL, LEVELS, strict=True):
        shares = 1.0 / np.arange(1, levels + 1)
        drawn = rng.choice(levels, rows, p=shares / shares.sum()).astype(np.int32)
        names = pa.array([f"{name}_{level:02}" for level in range(levels)])
        columns[name] = pa.DictionaryArray.from_arrays(drawn, names).cast(pa.string())
    columns["score"] = np.round(score, 6)
    columns["label"] = (rng.random(rows) < score).astype(np.int64)
    return pa.table(columns)


def parquet(directory: Path, rows: int = ROWS, days: int = DAYS, *, reference: bool = False) -> Path:
    """File of the log, or of a reference like its beginning."""
    file = directory / ("reference.parquet" if reference else f"log_{rows}_{days}.parquet")
    if file.exists():
        return file
    directory.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f"{file.name}.new")
    writer: pq.ParquetWriter | None = None
    for first in range(0, rows, _CHUNK):
        some = min(_CHUNK, rows - first)
        # a reference has other rows, and does not move
        of, seed = (1_000 * rows, SEED + 1) if reference else (rows, SEED)
        chunk = generated(some, first=first, of=of, a_day=-(-rows // days), seed=seed)
        writer = writer or pq.ParquetWriter(half, chunk.schema)
        writer.write_table(chunk)
    assert writer is not None
    writer.close()
    half.rename(file)
    return file


def reference(directory: Path, rows: int = REFERENCE_ROWS) -> Path:
    """File of a labelled reference."""
    return parquet(directory, rows, reference=True)


def sqlite(directory: Path, rows: int = ROWS, days: int = DAYS) -> Path:
    """Database with the table `predictions`, and an index on its event time."""
    file = directory / f"log_{rows}_{days}.db"
    if file.exists():
        return file
    half = file.with_name(f"{file.name}.new")
    half.unlink(missing_ok=True)
    with contextlib.closing(adbc_driver_sqlite.dbapi.connect(str(half))) as connection:
        _fill(connection, parquet(directory, rows, days))
    half.rename(file)
    return file


@contextlib.contextmanager
def postgres(directory: Path, rows: int = ROWS, days: int = DAYS) -> Iterator[str]:
    """URL of a database of a server of its own with the same table; thrown away afterwards."""
    with servers.postgres() as server, server.database() as url:
        plain = url.replace("+psycopg", "")
        with contextlib.closing(adbc_driver_postgresql.dbapi.connect(plain)) as connection:
            _fill(connection, parquet(directory, rows, days))
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
            connection.commit()
        yield url


def _fill(connection: adbc_driver_sqlite.dbapi.Connection, file: Path) -> None:
    with connection.cursor() as cursor:
        mode: Literal["create", "append"] = "create"
        for batch in pq.ParquetFile(file).iter_batches(_CHUNK):
            cursor.adbc_ingest("predictions", pa.Table.from_batches([batch]), mode=mode)
            mode = "append"
        for name, column in (("by_time", "event_time"), ("by_id", "id")):
            cursor.execute(f"CREATE INDEX {name} ON predictions ({column})")
    connection.commit()


def main() -> None:
    """Make the files."""
    directory = Path(sys.argv[1])
    rows, days = sizes(sys.argv[2:], ROWS, DAYS)
    for file in (parquet(directory, rows, days), reference(directory), sqlite(directory, rows, days)):
        print(f"{file}: {file.stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
