"""Places of files that are not there, refuse, or say nothing: each is named, once, in time."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import lake_servers
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.core.clock import MINUTE
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.sources import open_source
from monitor.sources.engines.readers.lake_answers import PlaceProbe, place_error
from monitor.specs.model_spec import Relation, SourceSpec

ROWS = pa.table({"id": ["a", "b"], "half": pa.array(np.array([0.5, 0.25], np.float16))})
_GOOGLE = "google::cloud::Status({}: Permanent error, with a last message of {}"
OF_ARROW = {
    "AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: The specified bucket does not exist": (
        "there is no such bucket"
    ),
    "AWS Error INVALID_ACCESS_KEY_ID during HeadObject operation: The AWS Access Key Id is not known": (
        "the access key is not known there"
    ),
    "AWS Error SIGNATURE_DOES_NOT_MATCH during ListObjectsV2 operation: The signature does not match": (
        "the secret key is not that of the access key"
    ),
    "AWS Error ACCESS_DENIED during ListObjectsV2 operation: Denied (Request ID: X1)": "access is denied",
    "AWS Error UNKNOWN (HTTP status 400) during HeadObject operation: Unable to parse: InvalidToken": (
        "the session token is not valid"
    ),
    "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect to server": (
        "does not answer at http://minio:9000"
    ),
    "Kernel error -> Generic S3 error \x1b[31m↳\x1b[0m Error performing PUT "
    "http://169.254.169.254/latest/api/token - 403 Forbidden": "no valid credentials were found",
    _GOOGLE.format("PERMISSION_DENIED", "x does not have storage.objects.list access"): "access is denied",
    _GOOGLE.format("UNAVAILABLE", "PerformWork() - CURL error [7]=Could not connect to server"): (
        "does not answer at http://minio:9000"
    ),
}  # what Arrow says of places, and what is made of it


def told_of(url: str, table: str = "scores") -> str:
    """What is said of a table, first line and all."""
    source = open_source(SourceSpec(name="lake", url=url, statement_timeout=10 * MINUTE))
    try:
        with source.reader.open_session() as session:
            source.reader.engine.types_of(session, Relation(table=table))
    except SourceError as error:
        return str(error)
    finally:
        source.close()
    return ""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A place with a table."""
    (tmp_path / "ml" / "scores").mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "ml" / "scores" / "a.parquet")
    return tmp_path / "ml"


def test_a_folder_or_a_table_that_is_not_there_is_named_with_its_neighbours(lake: Path) -> None:
    (lake / "nested" / "outcomes").mkdir(parents=True)

    assert "no such folder" in told_of(f"{lake.as_uri()}x/y")
    assert told_of(f"{lake.as_uri()}l").endswith('did you mean "ml"?')
    assert told_of(lake.as_uri(), "score").endswith('did you mean "scores"?')
    assert told_of(lake.as_uri(), "zzz").endswith('there are "nested", "scores"')
    assert told_of(lake.as_uri(), "nested/outcome").endswith('did you mean "nested/outcomes"?')
    assert "there is no Parquet file in" in told_of(lake.as_uri(), "nested/outcomes")


def test_a_place_that_is_a_table_and_a_table_named_by_a_url_are_told_what_to_write(lake: Path) -> None:
    (lake / "scores" / "_delta_log").mkdir()
    place = lake.as_uri()

    assert f'is a table itself: write url = "{place}" and table = "scores"' in told_of(
        f"{place}/scores", "scores"
    )
    assert told_of(place, f"{place}/scores").endswith('write "scores"')
    assert 'got the URL "s3://other/scores"' in told_of(place, "s3://other/scores")
    assert told_of(place, "scorex").endswith('did you mean "scores"?')
    assert "_delta_log" not in told_of(place, "scores/zzz")


@pytest.mark.parametrize("name", ["/scores", "scores/", "./scores", "//scores//"])
def test_slashes_around_a_table_mean_nothing(tmp_path: Path, name: str) -> None:
    import deltalake

    deltalake.write_deltalake(tmp_path / "scores", ROWS.select(["id"]))
    source = open_source(SourceSpec(name="lake", url=f"{tmp_path.as_uri()}/"))
    with source.reader.open_session() as session:
        assert session.read_rows(f'SELECT count(*) FROM "{name}"') == [(2,)]
        assert source.reader.engine.look_at_files(session, Relation(table=name)) is not None


def test_a_column_whose_types_do_not_go_together_is_named_with_its_files(lake: Path) -> None:
    pq.write_table(ROWS.set_column(1, "half", pa.array(["x", "y"])), lake / "scores" / "b.parquet")

    told = told_of(lake.as_uri())

    assert 'column "half" is halffloat in ' in told or 'column "half" is float in ' in told
    assert "scores/a.parquet, and string in " in told
    assert "scores/b.parquet: " in told


def test_a_table_in_a_folder_of_the_place_is_read(lake: Path) -> None:
    source = open_source(SourceSpec(name="lake", url=lake.parent.as_uri()))
    with source.reader.open_session() as session:
        assert session.read_rows('SELECT count(*) FROM "ml/scores"') == [(2,)]
        assert session.read_rows('SELECT sum(half) FROM "ml/scores"') == [(0.75,)]


@pytest.mark.parametrize("left", [0, 20, 200])
def test_a_file_that_was_cut_off_is_named(lake: Path, left: int) -> None:
    whole = (lake / "scores" / "a.parquet").read_bytes()
    (lake / "scores" / "b.parquet").write_bytes(whole[:left])

    told = told_of(lake.as_uri())

    assert "scores/b.parquet is no Parquet file" in told
    assert ("empty" if left == 0 else "cut off") in told


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("s3://b/ml?endpoint=minio:9000", "an endpoint is a URL"),
        ("s3://b/ml?access_key=AKIAXXXX", "access_key and secret_key go together"),
        ("s3://b/ml?anonymous=yes", "anonymous is true or false"),
        ("s3://b/ml?region=", "region is empty"),
        ("s3://b/ml?session_token=xyzxyz", "session_token is given without access_key"),
        ("az://c/ml?account_key=xyzxyz", "account_key is given without account"),
        ("s3://b/ml?endpont=http://x", "options of s3:// are region, endpoint"),
        ("gcs://b/ml", 'a place of files is written "gs://bucket/folder"'),
        ("abfss://c@a.dfs.core.windows.net/ml", 'a place of files is written "az://container/folder'),
        ("file://data/ml", '"data" would be a machine: write the whole path after three slashes'),
        ("file://./ml", '"." would be a machine: write the whole path after three slashes'),
        ("file:///~/ml", "~ is no folder here: write the whole path after three slashes"),
        ("s3:///bucket/ml", 'there is no bucket or container: a place is written "s3://bucket/folder"'),
        ("/srv/ml", 'that of a folder of files as in "file:///srv/ml"'),
    ],
)
def test_a_url_with_a_fault_is_refused_with_the_remedy(url: str, fault: str) -> None:
    with pytest.raises(SourceError) as told:
        open_source(SourceSpec(name="lake", url=url)).reader.open_session().__enter__()

    assert fault in str(told.value)
    assert "xyzxyz" not in str(told.value)


@pytest.mark.parametrize("said", OF_ARROW)
def test_what_services_say_is_told_in_words(said: str) -> None:
    told = str(place_error("s3://lake/ml", f"When listing 'Jane Doe' in 'lake': {said}", "http://minio:9000"))

    assert OF_ARROW[said] in told
    assert "Jane" not in told
    assert "Request ID" not in told


@pytest.fixture
def silent() -> Iterator[str]:
    """Address of a server that takes connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_place_that_says_nothing_is_given_up_in_time(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again without another thread, as long as the first one waits."""
    monkeypatch.setattr("monitor.sources.engines.readers.lake_place.CONNECT", 0.5)
    for url in (f"gs://b/ml?endpoint={silent}&anonymous=true", f"s3://b/ml?endpoint={silent}&anonymous=true"):
        source = open_source(SourceSpec(name="lake", url=url))
        for _ in range(2):
            started = time.monotonic()
            with pytest.raises(SourceUnavailable) as told:
                source.reader.open_session().__enter__()
            assert f"does not answer at {silent}: nothing came for 0.5 seconds" in str(told.value)
            assert time.monotonic() - started < 8


def test_a_place_is_asked_once_a_minute() -> None:
    asked: list[int] = []
    probe = PlaceProbe("s3://b", lambda: asked.append(1))

    for _ in range(3):
        probe.require_answer()

    assert asked == [1]


def test_what_a_place_refuses_is_left_to_who_reads_it() -> None:
    def refuse() -> None:
        raise OSError("AWS Error ACCESS_DENIED during HeadObject operation: No response body")

    PlaceProbe("s3://b", refuse).require_answer()


@pytest.mark.lakes
def test_a_bucket_that_is_not_there_and_a_server_that_is_down(tmp_path: Path) -> None:
    with lake_servers.s3_server() as server:
        lake_servers.s3_bucket(server, "lake")
        assert "there is no such bucket" in told_of(f"s3://other/ml?endpoint={server}&region=us-east-1")
        assert "there is no such folder" in told_of(f"s3://lake/ml?endpoint={server}&region=us-east-1")
    assert f"does not answer at {server}" in told_of(f"s3://lake/ml?endpoint={server}&region=us-east-1")
