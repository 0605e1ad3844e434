"""How many bytes a model-year takes in the store: 40 days of the demo's flights, replayed, times 365.

16 features, 560 records a day, a version, two arms, a challenger; windows of 1, 7 and 30 days, all kept
daily; without segments, and with two segment columns. Measured by the database itself, table by table; and
how much a daily cycle writes: SQLite's pages, PostgreSQL's log of changes.
python benchmarks/kept.py DIRECTORY [sqlite|postgresql [SEGMENT …]]
"""

import contextlib
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers

from monitor.demo.load_flights import flights_directory, load_logs

DAYS = 40
UNTIL = "2013-04-10"
SEGMENTS = ("origin", "carrier")
WINDOWS = ", ".join(f'{{ length = "{length}", step = "1d" }}' for length in ("1d", "7d", "30d"))
_OF_SQLITE = """
SELECT sum(d.pgsize) FROM dbstat AS d JOIN sqlite_master AS m ON m.name = d.name WHERE m.tbl_name = :name
"""
_OF_POSTGRESQL = "SELECT pg_total_relation_size(CAST(:name AS regclass))"


def main(directory: Path, kind: str = "sqlite", *segments: str) -> None:
    """Replay, and print the sizes."""
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "flights.db"
    load_logs(f"sqlite:///{source}", flights_directory())
    with _store(directory, kind) as url:
        environment = {"MONITOR_DEMO_STORE": url, "MONITOR_DEMO_SOURCE": f"sqlite:///{source}"}
        config = directory / "config.toml"
        config.write_text(_configuration(segments), encoding="utf-8")
        _run("migrate", config, environment)
        before = _written(url)
        _run("replay", config, environment, "--from", "2013-03-01", "--to", UNTIL)
        written = (_written(url) - before) / DAYS
        sizes = _sizes(url)
    named = f"{kind}, segments {', '.join(segments) or 'none'}"
    print(f"{named}: {written / 1e6:.2f} MB written a cycle")
    for name, (rows, size) in sorted(sizes.items()):
        a_year = f"{rows * 365 / DAYS:12,.0f} rows {size * 365 / DAYS / 1e6:8.1f} MB a year"
        print(f"  {name:16} {rows:9,} rows {size:13,} bytes {a_year}")


def _configuration(segments: tuple[str, ...]) -> str:
    text = (flights_directory().parent / "demo.toml").read_text(encoding="utf-8")
    text = re.sub(r"windows = \[.*\]\n", f"windows = [{WINDOWS}]\n", text)
    text = text.replace("reference.parquet", str(flights_directory() / "reference.parquet"))
    text = re.sub(r"revise_every = .*\n", "", text)
    if segments:
        listed = ", ".join(f'"{name}"' for name in segments)
        text = text.replace("[models.predictions]", f"segments = [{listed}]\n[models.predictions]", 1)
    return text


@contextlib.contextmanager
def _store(directory: Path, kind: str) -> Iterator[str]:
    if kind == "sqlite":
        for file in directory.glob("monitor.db*"):
            file.unlink()
        yield f"sqlite:///{directory / 'monitor.db'}"
        return
    with servers.postgres() as server, server.database() as url:
        yield url


def _written(url: str) -> int:
    """Bytes written so far: of SQLite by our child processes, of PostgreSQL to its log of changes."""
    if url.startswith("sqlite"):
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock * 512
    with contextlib.closing(sa.create_engine(url).connect()) as connection:
        return int(connection.execute(sa.text("SELECT pg_current_wal_lsn() - '0/0'")).scalar_one())


def _sizes(url: str) -> dict[str, tuple[int, int]]:
    """(rows, bytes with indexes) of each table that holds rows."""
    engine = sa.create_engine(url)
    sizes: dict[str, tuple[int, int]] = {}
    with engine.connect() as connection:
        for name in sa.inspect(connection).get_table_names():
            asked = _OF_SQLITE if engine.dialect.name == "sqlite" else _OF_POSTGRESQL
            size = connection.execute(sa.text(asked), {"name": name}).scalar_one()
            rows = connection.execute(sa.select(sa.func.count()).select_from(sa.table(name))).scalar_one()
            if rows:
                sizes[name] = rows, int(size)
    engine.dispose()
    return sizes


def _run(command: str, config: Path, environment: dict[str, str], *options: str) -> None:
    arguments = [sys.executable, "-m", "monitor.cli", command, "--config", str(config), *options]
    subprocess.run(arguments, check=True, env=os.environ | environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
