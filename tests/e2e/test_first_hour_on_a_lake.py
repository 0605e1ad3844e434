"""The first hour on a lake by the commands alone: a configuration, the check, a replay, and an alert."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import lake_servers
import process
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import servers
from click.testing import CliRunner, Result
from lake_servers import LakeStore
from pyarrow import fs as pafs
from spark_flights import write_flights

from monitor.cli import main
from monitor.core.clock import from_iso, to_datetime

LAST, BROKEN = "2013-04-02", "2013-04-01"
FIRST = "2013-03-31"  # of the replay: its first cycle counts the days before
WEATHER = ["temp_f", "humid_pct", "wind_mph"]
IDS = ["prediction_id", "event_time", "logged_at", "model_version"]
READ = [*IDS, "score", "pred_late", "carrier", *WEATHER]
TABLES = {"scores": ("predictions", "event_time"), "outcomes": ("labels", "reported_at")}


@dataclass(slots=True)
class Newcomer:
    """Somebody with a lake and the commands."""

    directory: Path

    def run(self, *arguments: str) -> Result:
        """Run a command."""
        return CliRunner().invoke(main, list(arguments), env={"NO_COLOR": "1", "COLUMNS": "100"})

    def of_config(self, command: str, *arguments: str) -> Result:
        """Run a command on what `init` wrote."""
        return self.run(command, *arguments, "--config", str(self.directory / "config.toml"))

    def begins(self, url: str, *arguments: str) -> Result:
        """Write a configuration."""
        named = ("--predictions", "scores", "--labels", "outcomes")
        output = ("--output", str(self.directory / "config.toml"))
        return self.run("init", "--url", url, *named, *arguments, *output)


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[pa.Table, str]]:
    """Flights of a month by the names of their tables; the weather is missing on the last day."""
    directory = tmp_path_factory.mktemp("flights")
    write_flights(directory, from_iso(LAST))
    found = {name: (pq.read_table(directory / f"{file}.parquet"), by) for name, (file, by) in TABLES.items()}
    scores, by = found["scores"][0].select(READ), "event_time"
    whole = pc.less(scores[by], pa.scalar(to_datetime(from_iso(BROKEN))).cast(scores[by].type))
    for name in WEATHER:
        at = scores.column_names.index(name)
        scores = scores.set_column(at, name, pc.if_else(whole, scores[name], None))
    return {**found, "scores": (scores, by)}


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    """An empty directory."""
    return Newcomer(tmp_path)


@pytest.fixture(scope="module")
def bucket() -> Iterator[LakeStore]:
    """A bucket of an S3 server."""
    with lake_servers.s3_server() as server:
        yield lake_servers.s3_bucket(server, "lake")


def live_an_hour(newcomer: Newcomer, url: str, *catalog: str, says: str) -> None:
    """From `init` to a fired alert; every command does as on a database."""
    begun = newcomer.begins(url, *catalog)
    assert (begun.exit_code, begun.stderr.count("warning")) == (0, 0), begun.output
    text = (newcomer.directory / "config.toml").read_text(encoding="utf-8")
    assert says in text.splitlines()[0]
    assert "indexed" not in text
    assert "a day of it is in 1 of " in text
    assert "FILL IN" not in text

    checked = newcomer.of_config("check")
    assert (checked.exit_code, "0 warnings" in checked.output) == (0, True), checked.output
    explained = newcomer.of_config("check", "--explain").output
    assert "files, " in explained

    replayed = newcomer.of_config(
        "replay", "--model", "scores", "--from", FIRST, "--to", LAST, "--every", "1d"
    )
    assert replayed.exit_code == 0, replayed.output

    told = newcomer.of_config("alerts", "--format", "json", "--as-of", LAST)
    fired = {alert["subject"] for alert in json.loads(told.output)}
    assert {f"feature:{name}" for name in WEATHER} <= fired, told.output
    status = newcomer.of_config("status", "--as-of", LAST)
    assert "features are missing" in status.output, status.output
    report = newcomer.directory / "report.html"
    written = newcomer.of_config("report", "--model", "scores", "--output", str(report), "--as-of", LAST)
    assert (written.exit_code, report.stat().st_size > 10_000) == (0, True), written.output
    look_at_pages(newcomer)


def look_at_pages(newcomer: Newcomer) -> None:
    """`monitor view` shows what the cycles over the lake have kept."""
    port = servers.free_port()
    command = process.monitor(
        "view", "--config", str(newcomer.directory / "config.toml"), "--port", str(port)
    )
    viewing = process.Process(command, port, newcomer.directory / "view.log")
    viewing.start()
    try:
        viewing.wait(lambda: viewing.status("/healthz") == 200, "the pages")
        places = ("/", "/models/scores", "/models/scores/features", "/models/scores/report")
        answers = {place: viewing.status(place) for place in places}
    finally:
        viewing.stop()
    assert answers == dict.fromkeys(places, 200)


def write_all(flights: dict[str, tuple[pa.Table, str]], write: Callable[[str, pa.Table, str], None]) -> None:
    """Write each table."""
    for name, (table, by) in flights.items():
        write(name, table, by)


@pytest.mark.slow
def test_folders_here(newcomer: Newcomer, flights: dict[str, tuple[pa.Table, str]], tmp_path: Path) -> None:
    def write(name: str, table: pa.Table, by: str) -> None:
        lake_servers.write_parquet(pafs.LocalFileSystem(), f"{tmp_path}/ml/{name}", table, by)

    write_all(flights, write)
    live_an_hour(newcomer, (tmp_path / "ml").as_uri(), says="Parquet, 32 files")


def test_the_day_of_a_folder_is_no_time_where_a_column_has_it(newcomer: Newcomer, tmp_path: Path) -> None:
    """Neither where its name is the clearest, nor where no name tells."""
    rows, start = 400, from_iso("2026-03-01")
    moments = pa.array([start + at * 1_200_000_000 for at in range(rows)], pa.timestamp("us"))
    ids = [f"r{at}" for at in range(rows)]
    scores = {"id": ids, "Zeit der Vorhersage": moments, "score": [at / rows for at in range(rows)]}
    outcomes = {"id": ids, "Zeit": moments, "label": [at % 2 for at in range(rows)]}
    for name, columns in (("scores", scores), ("outcomes", outcomes)):
        for day, part in lake_servers.parts_by_day(pa.table(columns), list(columns)[1]):
            folder = tmp_path / "ml" / name / f"date={day}"
            folder.mkdir(parents=True)
            pq.write_table(part, folder / "a.parquet")

    begun = newcomer.begins((tmp_path / "ml").as_uri())

    assert begun.exit_code == 0, begun.output
    text = (newcomer.directory / "config.toml").read_text(encoding="utf-8")
    assert 'event_time = "Zeit der Vorhersage"' in text
    assert 'reported_at = "Zeit"' in text


@pytest.mark.lakes
@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg", "catalogue"])
def test_a_bucket(
    newcomer: Newcomer,
    flights: dict[str, tuple[pa.Table, str]],
    bucket: LakeStore,
    tmp_path: Path,
    kind: str,
) -> None:
    catalog = f"sqlite:///{tmp_path}/catalog.db"

    def write(name: str, table: pa.Table, by: str) -> None:
        if kind == "parquet":
            lake_servers.write_parquet(bucket.files, f"{bucket.bucket}/{kind}/{name}", table, by)
        elif kind == "delta":
            lake_servers.write_delta(bucket, f"{kind}/{name}", table, by)
        else:
            lake_servers.write_iceberg(catalog, bucket.address(kind), bucket.iceberg, (name, table, by))

    write_all(flights, write)
    if kind == "catalogue":
        named = ("--catalog", f"{catalog}?namespace=ml")
        live_an_hour(newcomer, bucket.url(""), *named, says="Iceberg, 32 files")
    else:
        folder = f"{kind}/ml" if kind == "iceberg" else kind
        live_an_hour(newcomer, bucket.url(folder), says=f"{kind.capitalize()}, 32 files")
