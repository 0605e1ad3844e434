"""Panes counted where the rows are equal panes counted here, counter by counter."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from unittest.mock import Mock

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import servers
import sqlalchemy as sa
import warehouse_emulators
from keyed_models import model_keys

from monitor.core.clock import DAY, HOUR, MINUTE, from_iso
from monitor.core.errors import SourceError
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.records.reading import ComparedArms, ModelTask, ReadingOptions, ServingRule
from monitor.records.reference import reference_of
from monitor.sources import PushedSource, SqlSource, open_source, pushed_source
from monitor.sources.engines.schemes import engine_of
from monitor.specs.model_spec import ModelSpec, Relation, SourceSpec

START = from_iso("2013-03-01")
AS_OF = START + 3 * DAY
PANES = np.arange(START, START + 4 * DAY, HOUR)
RANGES = [(START, START + 4 * DAY)]
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.4,
    numeric=("temp", "wind"),
    categorical=("carrier", "flag"),
    labelled=True,
    names=(("logged_at", "logged_at"),),
    horizon=2 * HOUR,
)
SLICED = replace(
    READING,
    versioned=True,
    arms=ComparedArms(column="arm", control="a", treatment="b"),
    serving=ServingRule(column="serving", values=("1",)),
    segments=("carrier",),
)
WORDED = replace(
    SLICED,
    threshold=None,
    words=(("", "0"), ("no", "0"), ("yes", "1")),
    names=(("logged_at", "logged_at"),),
)
_TYPES = {
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.timestamp("us"): "timestamp",
}


def log(n: int = 3_000, seed: int = 0, *, repeats: int = 60) -> pa.Table:
    """Rows with whatever a log can hold: gaps, NaN, infinities, unknown values, repeats, rows to come."""
    rng = np.random.default_rng(seed)
    event = START - DAY + rng.integers(0, 5 * DAY, n)
    lag = np.where(rng.random(n) < 0.1, rng.integers(0, 6 * HOUR, n), rng.integers(0, MINUTE, n))
    odd = np.asarray(
        [np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 5e-324, -0.0, 0.0, 0.4, 1.0, 1.0000001, -1e-9]
    )
    ids = np.arange(n)
    twice = rng.choice(n, repeats, replace=False)
    ids[twice] = ids[(twice + 1) % n]
    event[twice] = event[(twice + 1) % n]
    lag[twice[::2]] = lag[(twice[::2] + 1) % n]

    def numbers(values: np.ndarray[Any, Any]) -> pa.Array:
        at = rng.random(n) < 0.15
        values = np.where(at, rng.choice(odd, n), values)
        return pa.array(values, mask=rng.random(n) < 0.05)

    def texts(*values: str) -> pa.Array:
        return pa.array(
            rng.choice(np.asarray(values, dtype=object), n), pa.string(), mask=rng.random(n) < 0.05
        )

    return pa.table(
        {
            "id": pa.array([f"id {at}" for at in ids], mask=rng.random(n) < 0.01),
            "event_time": pa.array(event, pa.timestamp("us", "UTC")),
            "logged_at": pa.array(event + lag, pa.timestamp("us", "UTC"), mask=rng.random(n) < 0.02),
            "score": numbers(np.round(rng.random(n), 2)),
            "temp": numbers(rng.normal(10.0, 7.0, n)),
            "wind": numbers(np.exp(rng.normal(0.0, 3.0, n))),
            "decision": texts("yes", "no", "1", "1.0", "never", ""),
            "carrier": texts("UA", "AA", "1.0", "1", "true", "rare", "never seen", "it's", ""),
            "flag": pa.array(rng.random(n) < 0.3, mask=rng.random(n) < 0.05),
            "version": texts("v-1", "v-2", "1", "1.0"),
            "arm": texts("a", "b", "c"),
            "serving": texts("1", "0", "true"),
        }
    )


def roles(reading: ReadingOptions) -> dict[str, str]:
    """Columns by role."""
    named = {name: name for name in ("id", "event_time", "logged_at", "score")}
    named |= {"prediction": "decision"} if reading.threshold is None else {}
    return named | ({"version": "version"} if reading.versioned else {})


def model_of(reading: ReadingOptions) -> ModelSpec:
    relation = Relation(table="predictions", columns=tuple(roles(reading).items()))
    return ModelSpec(keys=model_keys("late"), reading=reading, predictions=relation)


def counting_of(reading: ReadingOptions) -> Counting:
    """Grids of a reference that knows some of the levels."""
    rng = np.random.default_rng(1)
    n = 2_000
    reference = pa.table(
        {
            "score": rng.random(n),
            "label": pa.array(rng.choice(np.asarray(reading.classes, object), n), pa.string()),
            "feature:temp": rng.normal(10.0, 7.0, n),
            "feature:wind": np.exp(rng.normal(0.0, 3.0, n)),
            "feature:carrier": pa.array([*rng.choice(["UA", "AA", "1", "it's"], n - 2), "rare", "rare"]),
            "feature:flag": pa.array(rng.choice(["true", "false"], n)),
            "segment:carrier": pa.array([*rng.choice(["UA", "AA", "1", "it's"], n - 2), "rare", "rare"]),
        }
    )
    plain = replace(reading, arms=None, serving=None, versioned=False)
    return replace(reference_of(reference, plain).counting, reading=reading)


def role_named(table: pa.Table, reading: ReadingOptions) -> pa.Table:
    """What a source hands over."""
    columns = {role: table[name] for role, name in roles(reading).items()}
    if reading.arms is not None:
        columns["arm"] = table["arm"]
    if reading.serving is not None:
        columns["serving"] = table["serving"]
    columns |= {f"segment:{name}": table[name] for name in reading.segments}
    wanted = (*reading.numeric, *reading.categorical)
    return pa.table(
        columns | {f"feature:{name}": table[name] for name in wanted if name in table.column_names}
    )


@dataclass
class Engine:
    """An engine with the log in it."""

    url: str
    fill: Callable[..., None]  # with rows, of a table that may be named
    opened: list[SqlSource]

    def source(self, engine: Literal["local", "sql"]) -> SqlSource:
        spec = SourceSpec(name="source", url=self.url, engine=engine, proven=True)
        self.opened.append(open_source(spec))
        return self.opened[-1]

    def counted(self, engine: Literal["local", "sql"], reading: ReadingOptions) -> CountedPanes:
        source = self.source(engine)
        found = source.count_panes(
            model_of(reading), PaneHalf.RECORDS, RANGES, counting_of(reading), panes=PANES, as_of=AS_OF
        )
        source.close()
        return found


def _duckdb(path: Path, table: pa.Table, name: str = "predictions") -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.register("log", table)
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM log")


def _chdb(path: Path, table: pa.Table, name: str = "predictions") -> None:
    file = path.with_suffix(".parquet")
    pq.write_table(table, file)
    engine = sa.create_engine(f"chdb:///{path}")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")
        connection.exec_driver_sql(
            f"CREATE TABLE {name} ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file('{file}')"
        )
    engine.dispose()


def _postgres(url: str, table: pa.Table, name: str = "predictions") -> None:
    typed = ", ".join(f'"{field.name}" {_TYPES[field.type]}' for field in table.schema)
    with psycopg.connect(url.replace("+psycopg", "")) as server, server.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}".encode())
        cursor.execute(f"CREATE TABLE {name} ({typed})".encode())
        with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))


@pytest.fixture(
    params=[
        pytest.param("duckdb", marks=pytest.mark.columnar),
        pytest.param("chdb", marks=pytest.mark.columnar),
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("adbc", marks=pytest.mark.columnar),
    ]
)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Each engine that counts its own rows."""
    opened: list[SqlSource] = []
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        yield Engine(url, partial(_postgres, url), opened)
    elif request.param == "adbc":  # a warehouse, whose arithmetic is that of DuckDB
        path, library = tmp_path / "log", pytest.importorskip("_duckdb").__file__
        url = f"adbc://{library}?entrypoint=duckdb_adbc_init&path={path}"
        yield Engine(url, partial(_duckdb, path), opened)
    else:
        servers.require_extra(request.param)
        path = tmp_path / "log"
        fill = {"duckdb": _duckdb, "chdb": _chdb}[request.param]
        yield Engine(f"{request.param}:///{path}", partial(fill, path), opened)
    for source in opened:
        source.close()


@pytest.fixture
def duck(tmp_path: Path) -> Engine:
    """DuckDB."""
    servers.require_extra("duckdb")
    return Engine(f"duckdb:///{tmp_path / 'log'}", partial(_duckdb, tmp_path / "log"), [])


@pytest.mark.postgres
def test_panes_without_any_row_are_counted_as_empty(postgres_url: str) -> None:
    engine = Engine(postgres_url, partial(_postgres, postgres_url), [])
    engine.fill(log(100).slice(0, 0))

    assert engine.counted("sql", READING) == engine.counted("local", READING)


@pytest.mark.columnar
def test_numbers_held_as_texts_are_counted_here_and_the_reason_is_told(duck: Engine) -> None:
    table = log(300)
    written = pa.array([None if one is None else f" {one}" for one in table["temp"].to_pylist()])
    table = table.set_column(table.column_names.index("temp"), "temp", written)
    duck.fill(table)
    source = duck.source("sql")
    assert isinstance(source, PushedSource)

    reason = source.why_no_pushdown(model_of(READING), counting_of(READING))
    found = duck.counted("sql", READING)

    assert reason == 'column "temp" holds numbers as texts'
    assert found == duck.counted("local", READING)


@pytest.mark.columnar
def test_labels_that_are_read_are_named(duck: Engine) -> None:
    duck.fill(log(100))
    source, model = duck.source("sql"), model_of(READING)
    assert isinstance(source, PushedSource)

    assert source.label_reading_note(model) is None
    labels = Relation(table="labels", columns=(("id", "id"), ("label", "late")))
    assert (source.label_reading_note(replace(model, labels=labels)) or "").startswith(
        "labels are read, not grouped: "
    )


@pytest.mark.columnar
def test_epochs_are_tiled_and_a_missing_column_is_named(duck: Engine) -> None:
    table = log(500).drop_columns(["wind"])
    for name in ("event_time", "logged_at"):
        seconds = pc.divide(table[name].cast(pa.int64()), 1_000_000)
        table = table.set_column(table.column_names.index(name), name, seconds)
    duck.fill(table)
    reading = replace(READING, time_units=(("event_time", "s"), ("logged_at", "s")))

    found = duck.counted("sql", reading)

    assert found.missing == ("wind",)
    expected = count_records(role_named(table, reading), counting_of(reading), panes=PANES, as_of=AS_OF)
    assert found.parts == expected


def test_another_database_does_not_count(tmp_path: Path) -> None:
    spec = SourceSpec(name="source", url=f"sqlite:///{tmp_path / 'log.db'}", engine="sql")

    with pytest.raises(SourceError, match=r'engine = "sql" is for postgresql, duckdb.*: got sqlite'):
        open_source(spec)


@pytest.mark.parametrize("reading", [READING, SLICED, WORDED], ids=["whole", "sliced", "worded"])
@pytest.mark.parametrize("repeats", [0, 60])
def test_what_is_counted_there_is_what_is_counted_here(
    engine: Engine, reading: ReadingOptions, repeats: int
) -> None:
    table = log(repeats=repeats)
    engine.fill(table)

    there = engine.counted("sql", reading)

    expected = count_records(role_named(table, reading), counting_of(reading), panes=PANES, as_of=AS_OF)
    assert there.parts == expected
    assert there.parts == engine.counted("local", reading).parts
    assert sum(part.records for part in there.parts) > 1_000


@pytest.mark.warehouses
@pytest.mark.parametrize("name", warehouse_emulators.TRANSPILED)
def test_the_sql_of_services_without_an_emulator_counts_alike(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In DuckDB, which is spoken to in their dialects: their arithmetic their users prove."""
    pytest.importorskip("sqlglot")
    path = tmp_path / "log"
    kind = type(engine_of(sa.make_url(f"{name}://host")))
    monkeypatch.setattr(kind, "connect", warehouse_emulators.transpiled(path, name))
    service = Engine(f"{name}://host/ml", partial(_duckdb, path), [])
    service.fill(log(1_000))

    found = service.counted("sql", SLICED)

    assert found.parts == service.counted("local", SLICED).parts
    assert sum(part.records for part in found.parts) > 300


def test_cells_may_be_counted_by_several_statements(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.fill(log(600))
    whole = engine.counted("sql", SLICED)
    monkeypatch.setattr(type(engine.source("sql").reader.engine), "most_grouped", 2)
    monkeypatch.setattr(pushed_source, "_read_statement", read := Mock(wraps=pushed_source._read_statement))

    found = engine.counted("sql", SLICED)

    assert found.parts == whole.parts == engine.counted("local", SLICED).parts
    asked = [call.args[2] for call in read.call_args_list]
    assert (asked.count("cells"), asked.count("cells by arm")) == (3, 1)


def test_integers_among_what_is_text_are_counted_alike(engine: Engine) -> None:
    table = log(400, repeats=40)
    rng = np.random.default_rng(5)
    for name in ("id", "version", "carrier"):
        whole = pa.array(
            rng.integers(0, 300 if name == "id" else 3, table.num_rows),
            mask=rng.random(table.num_rows) < 0.02,
        )
        table = table.set_column(table.column_names.index(name), name, whole)
    engine.fill(table)

    found = engine.counted("sql", SLICED)

    assert found.parts == engine.counted("local", SLICED).parts
    expected = count_records(role_named(table, SLICED), counting_of(SLICED), panes=PANES, as_of=AS_OF)
    assert found.parts == expected


ODD_IDS = (
    *("a", "A", "a ", " a", "a\t", "", " ", "7", "07", "7.0", "\u00e9", "e\u0301", "%", "'", "\\", "x" * 500),
    None,
)


def with_odd_ids(n: int = 900) -> pa.Table:
    """Rows a minute apart, of ids that differ by little."""
    ids = pa.array(np.random.default_rng(3).choice(np.asarray(ODD_IDS, object), n), pa.string())
    at = pa.array(START + np.arange(n) * MINUTE, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            **dict(zip(log(n).column_names, log(n).columns, strict=True)),
            "id": ids,
            "event_time": at,
            "logged_at": at,
        }
    )


def test_ids_that_differ_by_little_are_counted_alike(engine: Engine) -> None:
    table = with_odd_ids()
    engine.fill(table)

    found = engine.counted("sql", READING)

    assert found.parts == engine.counted("local", READING).parts
    assert sum(part.records for part in found.parts) == distinct(table)


ODD_NAMES = (
    *("\\", "bad\\", "\\'", "it's", "\\n", "\\\\", '"'),
    *("%", "%s", "%(x)s", ":x", "\\:x", "{x}", "'; --"),
)


def test_names_that_could_end_a_literal_are_counted_alike(engine: Engine) -> None:
    table = log(300, repeats=20)
    carriers = pa.array(np.resize(np.asarray(ODD_NAMES, object), table.num_rows), pa.string())
    table = table.set_column(table.column_names.index("carrier"), "carrier", carriers)
    engine.fill(table)
    source = engine.source("sql")
    assert isinstance(source, PushedSource)
    for classes in zip(ODD_NAMES[::2], ODD_NAMES[1::2], strict=True):
        reading = replace(READING, classes=classes, numeric=(), categorical=("carrier",))
        counting = counting_of(reading)

        found = source.count_grouped_records(model_of(reading), RANGES, counting, panes=PANES, as_of=AS_OF)

        expected = count_records(role_named(table, reading), counting, panes=PANES, as_of=AS_OF)
        assert not isinstance(found, str), found
        assert found.parts == expected


@pytest.mark.columnar
@pytest.mark.parametrize("name", ["a\\b", "a\\", "`", '"', "\\`", "it's", "a\nb"])
def test_a_column_of_clickhouse_has_any_name(name: str, tmp_path: Path) -> None:
    servers.require_extra("chdb")
    source = open_source(SourceSpec(name="log", url=f"chdb:///{tmp_path / 'log'}"))
    quoted = source.reader.engine.quote_name(name)

    with source.reader.open_session() as session:
        assert list(session.describe_query(f"SELECT q.{quoted} FROM (SELECT 1 AS {quoted}) AS q")) == [name]
    source.close()


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()], ids=str)
@pytest.mark.parametrize("texts_are_labels", [True, False])
def test_a_text_is_the_id_of_a_number_only_if_it_says_it(
    engine: Engine, kind: pa.DataType, *, texts_are_labels: bool
) -> None:
    numbers = pa.array([7, 8, 16, 100_000]).cast(kind)
    texts = pa.array(["7.5", "07", "8", " 8.5", "1e5", "0x10", "16.2", "unknown", "", "nan", None])
    ids, others = (numbers, texts) if texts_are_labels else (texts, numbers)
    engine.fill(log(len(ids), repeats=0).set_column(0, "id", ids).set_column(1, "event_time", _first(ids)))
    engine.fill(pa.table({"id": others, "late": pa.array(range(len(others)), pa.int64())}), "labels")
    labels = Relation(table="labels", columns=(("id", "id"), ("label", "late")))
    model = replace(model_of(READING), labels=labels)

    rows = engine.source("local").read_records_with_labels(model, RANGES).select(["id", "label"]).to_pylist()

    labelled = [row for row in rows if row["label"] is not None]
    found = {str(row["id"]).removesuffix(".0"): str(row["label"]) for row in labelled}
    right = {"8": "2", "7": "1"} if texts_are_labels else {"8": "1", "07": "0"}
    assert found.items() <= right.items()
    assert found or kind == pa.float64()


def _first(ids: pa.Array) -> pa.Array:
    return pa.array([START + HOUR] * len(ids), pa.timestamp("us", "UTC"))


@pytest.mark.columnar
def test_ids_of_a_column_without_regard_to_case_are_counted_by_bytes(duck: Engine) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = with_odd_ids()
    duck.fill(table)
    with duckdb.connect(duck.url.removeprefix("duckdb:///")) as connection:
        connection.execute("ALTER TABLE predictions RENAME TO plain")
        described = connection.execute("DESCRIBE plain").fetchall()
        columns = {str(name): str(kind) for name, kind, *_ in described} | {"id": "VARCHAR COLLATE NOCASE"}
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        connection.execute(f"CREATE TABLE predictions ({listed})")
        connection.execute("INSERT INTO predictions SELECT * FROM plain")

        connection.execute("CREATE TABLE labels (id VARCHAR COLLATE NOCASE, late BIGINT)")
        connection.execute("INSERT INTO labels VALUES ('a', 1), ('A', 0)")
    labels = Relation(table="labels", columns=(("id", "id"), ("label", "late")))
    model = replace(model_of(READING), labels=labels)

    found = duck.counted("sql", READING)
    source = duck.source("local")
    labelled = source.read_records_with_labels(model, RANGES).select(["id", "label"]).to_pylist()
    repeated = source.count_repeated_ids(model, as_of=AS_OF, bounds=RANGES[0])

    assert found.parts == duck.counted("local", READING).parts
    assert sum(part.records for part in found.parts) == distinct(table)
    assert {(row["id"], row["label"]) for row in labelled if row["label"] is not None} == {("a", 1), ("A", 0)}
    assert repeated == len(ODD_IDS) - 1


def distinct(table: pa.Table) -> int:
    """Ids in each hour, as Python compares them."""
    rows = enumerate(table["id"].to_pylist())
    return len({(at // 60, name) for at, name in rows if name is not None})


@pytest.mark.parametrize("column", ["version", "carrier", "arm"])
@pytest.mark.parametrize("crowd", [False, True], ids=["unusual", "crowd"])
def test_unusual_names_and_crowds_of_versions_are_counted_alike(
    engine: Engine, column: str, *, crowd: bool
) -> None:
    table = log(2_600, repeats=40)
    rng = np.random.default_rng(9)
    odd = ["a\x1b[0m", "b\u202e", "z" * 300, "other", "(none)", "plain"]
    values = [f"v{at}" for at in range(2_600)] if crowd else rng.choice(odd, 2_600).tolist()
    table = table.set_column(table.column_names.index(column), column, pa.array(values, pa.string()))
    day = pa.array(np.full(2_600, START + DAY), pa.timestamp("us", "UTC"))
    engine.fill(table.set_column(1, "event_time", day).set_column(2, "logged_at", day) if crowd else table)

    found = engine.counted("sql", SLICED)

    assert found.parts == engine.counted("local", SLICED).parts
    versions = [one.version for part in found.parts for one in part.strata if one.version]
    assert len(versions) == 1_001 if crowd and column == "version" else len(set(versions)) < 8
