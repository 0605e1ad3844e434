"""Tables of Iceberg: columns that change, what its reader cannot read, catalogues by SQL and REST."""

import json
import logging
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import lake_servers
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lake_files import (
    DAYS,
    PER_DAY,
    append_iceberg,
    counted_bytes,
    day_of_rows,
    iceberg_table,
    read,
    size_of,
)

from monitor.core.clock import SECOND
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.sources import SqlSource, open_source
from monitor.sources.engines.readers.lake_iceberg import IcebergTable
from monitor.sources.engines.readers.lake_tables import LakeReader
from monitor.specs.model_spec import Relation, SourceSpec

pytestmark = pytest.mark.lakes
pytest.importorskip("pyiceberg")
TOKEN = "a-token-of-the-service"  # noqa: S105 -- of none


def source_of(place: Path) -> SqlSource:
    """The tables of a folder."""
    return open_source(SourceSpec(name="lake", url=place.as_uri()))


def test_columns_may_be_added_renamed_widened_and_dropped(tmp_path: Path) -> None:
    from pyiceberg.types import DoubleType, LongType, StringType

    folder = tmp_path / "scores"
    amount = pa.array(range(PER_DAY), pa.int32())
    append_iceberg(folder, day_of_rows(0, amount=amount, odds=pa.array([0.5] * PER_DAY, pa.float32())))
    with iceberg_table(folder).update_schema() as update:
        update.update_column("amount", LongType())
        update.update_column("odds", DoubleType())
        update.add_column("extra", StringType())
    later = {
        "amount": pa.array([2**40] * PER_DAY, pa.int64()),
        "odds": pa.array([0.25] * PER_DAY),
        "extra": pa.array(["x"] * PER_DAY),
    }
    append_iceberg(folder, day_of_rows(1, **later))
    source = source_of(tmp_path)
    sums = "count(*), count(extra), sum(amount)::BIGINT, sum(odds)"
    expected = (2 * PER_DAY, PER_DAY, PER_DAY * (PER_DAY - 1) // 2 + PER_DAY * 2**40, 0.75 * PER_DAY)
    assert read(source, f"SELECT {sums} FROM scores") == [expected]
    assert read(source, "SELECT count(*) FROM scores WHERE amount < 7") == [(7,)]

    with iceberg_table(folder).update_schema() as update:
        update.rename_column("amount", "price")
        update.rename_column("score", "amount")
    assert read(source, "SELECT sum(price)::BIGINT, max(amount) FROM scores") == [
        (expected[2], (PER_DAY - 1) / PER_DAY)
    ]
    with iceberg_table(folder).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("extra")
    with iceberg_table(folder).update_schema() as update:
        update.add_column("extra", LongType())
    assert read(source, "SELECT count(*), count(extra) FROM scores") == [(2 * PER_DAY, 0)]


def test_after_a_column_was_renamed_a_day_is_still_read_of_its_own_file_alone(tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    for day in range(DAYS):
        append_iceberg(folder, day_of_rows(day))
    with iceberg_table(folder).update_schema() as update:
        update.rename_column("score", "points")
    source, whole = source_of(tmp_path), size_of(tmp_path)
    read(source, "SELECT count(*) FROM scores WHERE 1 = 0")
    within = "event_time >= TIMESTAMP '2026-01-05' AND event_time < TIMESTAMP '2026-01-06'"
    with counted_bytes() as counted:
        assert read(source, f"SELECT count(points) FROM scores WHERE {within}") == [(PER_DAY,)]
    assert counted.n < whole / 4


def test_a_day_of_partitions_is_read_alone(tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    regions = pa.array(["eu", "us"] * (PER_DAY // 2))
    parts = [day_of_rows(day, number=pa.array([day] * PER_DAY), region=regions) for day in range(5)]
    with iceberg_table(folder, parts[0].schema).update_spec() as update:
        update.add_identity("number")
        update.add_identity("region")
    append_iceberg(folder, pa.concat_tables(parts))
    source, whole = source_of(tmp_path), size_of(tmp_path)
    where = "event_time >= TIMESTAMP '2026-01-03' AND event_time < TIMESTAMP '2026-01-04'"
    where += " AND region = 'us'"
    read(source, "SELECT count(*) FROM scores WHERE 1 = 0")
    with counted_bytes() as counted:
        assert read(source, f"SELECT count(score), count(id) FROM scores WHERE {where}") == [
            (PER_DAY // 2, PER_DAY // 2)
        ]
    assert counted.n < whole / 5


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)), min_size=1, max_size=12),
    kind=st.sampled_from(
        [pa.int32(), pa.int64(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.date32()]
    ),
    at=st.integers(-(2**31), 2**31 - 1),
)
def test_no_row_is_left_out_by_what_a_manifest_says(
    tmp_path_factory: pytest.TempPathFactory, values: list[int | None], kind: pa.DataType, at: int
) -> None:
    folder = tmp_path_factory.mktemp("law") / "moments"
    if kind == pa.date32():
        values, at = [None if value is None else value % 40_000 for value in values], at % 40_000
    narrow = pa.int64() if pa.types.is_timestamp(kind) else pa.int32()
    halves = [
        pa.table({"moment": pa.array(half, narrow).cast(kind)})
        for half in (values[::2], values[1::2])
        if half
    ]
    for half in halves:
        append_iceberg(folder, half)
    dataset = _opened(folder).open_files().dataset()
    limit, whole = pa.scalar(at, narrow).cast(kind), pa.concat_tables(halves)
    for condition in (
        pc.field("moment") >= limit,
        pc.field("moment") < limit,
        pc.field("moment").is_null(),
        (pc.field("moment") > limit) | pc.field("moment").is_null(),
    ):
        found = dataset.to_table(filter=condition)["moment"].to_pylist()
        assert sorted(found, key=str) == sorted(whole.filter(condition)["moment"].to_pylist(), key=str)


def _opened(folder: Path) -> IcebergTable:
    return IcebergTable("a table", lambda: iceberg_table(folder))


def test_files_whose_deleted_rows_fill_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scores"
    append_iceberg(folder, day_of_rows(0))
    with iceberg_table(folder).update_schema() as update:
        update.rename_column("score", "points")
    monkeypatch.setattr("monitor.sources.engines.readers.lake_iceberg.MOST_HELD", 1_000)
    source = source_of(tmp_path)
    for _ in range(2):
        with pytest.raises(SourceError, match="earlier names, which are held in memory: compact it"):
            read(source, "SELECT count(*) FROM scores")


def test_a_type_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    append_iceberg(folder, day_of_rows(0))
    newest = max((folder / "metadata").glob("*.metadata.json"))
    metadata = json.loads(newest.read_text(encoding="utf-8"))
    metadata["schemas"][0]["fields"][0]["type"] = "variant"
    newest.write_text(json.dumps(metadata), encoding="utf-8")
    with pytest.raises(SourceError, match="variant"):
        read(source_of(tmp_path), "SELECT count(*) FROM scores")


def test_the_reader_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_iceberg(tmp_path / "scores", day_of_rows(0))
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    with pytest.raises(SourceError, match=r"model-monitor-daemon\[iceberg\]"):
        read(source_of(tmp_path), "SELECT count(*) FROM scores")


def test_a_catalogue_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    urls = (
        "postgresql+psycopg://ann:s3cret-word@127.0.0.1:1/catalogue",
        f"sqlite:///{tmp_path}/none.db",
        f"http://127.0.0.1:1/?token={TOKEN}",
    )
    for url in urls:
        source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri(), catalog=url))
        with pytest.raises(SourceError) as raised:
            read(source, 'SELECT count(*) FROM "ml.scores"')
        assert "s3cret-word" not in str(raised.value)
        assert TOKEN not in str(raised.value)
    assert not (tmp_path / "none.db").exists() or (tmp_path / "none.db").stat().st_size == 0, (
        "nothing is made"
    )


def test_a_catalogue_without_such_tables_says_what_to_look_at(tmp_path: Path) -> None:
    """Its file, its name, or that its tables are named by points."""
    at, place = f"sqlite:///{tmp_path}/catalog.db", (tmp_path / "place").as_uri()
    lake_servers.write_iceberg(at, place, {}, ("scores", day_of_rows(0), "event_time"))

    def told(catalog: str, name: str) -> str:
        source = open_source(SourceSpec(name="lake", url=place, catalog=catalog))
        with pytest.raises(SourceError) as error, source.reader.open_session() as session:
            source.reader.engine.types_of(session, Relation(table=name))
        return str(error.value)

    assert f"no file {tmp_path}/other.db" in told(f"sqlite:///{tmp_path}/other.db", "ml.scores")
    assert "does not answer" not in told(f"sqlite:///{tmp_path}/other.db", "ml.scores")
    assert 'the catalogue "prod" has no tables: catalog=NAME' in told(f"{at}?catalog=prod", "ml.scores")
    assert told(at, "ml/scores").endswith('did you mean "ml.scores"?')


def test_a_service_that_says_nothing_is_waited_for_no_longer_than_a_statement(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}?token={TOKEN}"
        spec = SourceSpec(name="lake", url=tmp_path.as_uri(), catalog=url, statement_timeout=SECOND)
        with pytest.raises(SourceUnavailable, match=r"ended a query|does not answer"):
            LakeReader(spec).position_of("ml.scores")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    """A REST catalogue of one table, for who has the token."""
    folder = tmp_path / "scores"
    append_iceberg(folder, day_of_rows(0))

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            table, path = iceberg_table(folder), self.path.partition("?")[0]
            answers: dict[str, Any] = {
                "/v1/config": {"defaults": {}, "overrides": {}},
                "/v1/namespaces": {"namespaces": [["ml"]]},
                "/v1/namespaces/ml/tables": {"identifiers": [{"namespace": ["ml"], "name": "scores"}]},
                "/v1/namespaces/ml/tables/scores": {
                    "metadata-location": table.metadata_location,
                    "metadata": json.loads(table.metadata.model_dump_json()),
                    "config": {},
                },
            }
            found = self.headers["Authorization"] == f"Bearer {TOKEN}" and path in answers
            error = {"error": {"message": f"none at {path}", "type": "NoSuchTableException", "code": 404}}
            body = json.dumps(answers[path] if found else error).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_service_names_its_tables(service: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "token").write_text(TOKEN + "\n", encoding="utf-8")
    for url, name in (
        (f"{service}?token={TOKEN}", '"ml.scores"'),
        (f"{service}?token=${{file:{tmp_path}/token}}&namespace=ml", "scores"),
    ):
        source = open_source(SourceSpec(name="lake", url=tmp_path.as_uri(), catalog=url))
        assert read(source, f"SELECT count(*) FROM {name}") == [(PER_DAY,)]
        listed = source.read_with_retries(source.reader.engine.list_tables)
        assert listed == [name.strip('"')]
        with pytest.raises(SourceError) as raised:
            read(source, 'SELECT count(*) FROM "ml.others"')
        assert TOKEN not in str(raised.value)
    assert TOKEN not in caplog.text


def test_a_catalogue_belongs_to_a_place_of_files() -> None:
    for engine in ("local", "spark"):
        spec = SourceSpec(name="s", url="sqlite:///a.db", catalog="sqlite:///c.db", engine=engine)
        with pytest.raises(SourceError, match="url is then their place"):
            open_source(spec)


@pytest.mark.postgres
def test_a_catalogue_in_postgresql_names_its_tables(postgres_url: str, tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    url = postgres_url.replace("postgresql://", "postgresql+psycopg://")
    catalog = SqlCatalog("prod", uri=url, warehouse=tmp_path.as_uri())
    catalog.create_namespace("ml")
    catalog.create_table("ml.scores", day_of_rows(0).schema).append(day_of_rows(0))
    mark = "&" if "?" in url else "?"
    spec = SourceSpec(name="lake", url=tmp_path.as_uri(), catalog=f"{url}{mark}catalog=prod")
    source = open_source(spec)
    assert read(source, 'SELECT count(*) FROM "ml.scores"') == [(PER_DAY,)]
    source.close()
    catalog.close()
