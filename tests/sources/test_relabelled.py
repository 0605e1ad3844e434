"""Records with newly reported labels come with all of their rows and labels, on every engine."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, LABELS, PREDICTIONS, READING, START, iso, model_of, rows_of
from keyed_models import with_changes
from made_databases import Made
from source_databases import Database, recorded
from warehouse_emulators import WAREHOUSES

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.records.winning_rows import parse_role_times
from monitor.sources import SqlSource, retries
from monitor.specs.model_spec import ModelSpec, Relation

N = 200
BOUNDS = (START, START + 4 * DAY)
AS_OF = START + 3 * DAY
SINCE = START + DAY
PLAIN = "%Y-%m-%d %H:%M:%S"
Key = tuple[str, int, str | None, int | None, float | None]  # id, event time, label, report, revision
INDEXES = (
    "CREATE INDEX by_id ON predictions (id)",
    "CREATE INDEX by_flight ON labels (flight)",
    "CREATE INDEX by_report ON labels (reported_at)",
)


@dataclass(frozen=True)
class Case:
    """How a log is written.

    Parameters
    ----------
    time
        type of all times.
    ids
        types of the id in both tables.
    second
        the id has a second column.
    relation
        table, query, or where.
    """

    time: str = "timestamp"
    ids: tuple[str, str] = ("text", "text")
    second: bool = False
    relation: str = "table"
    units: tuple[tuple[str, str], ...] = field(default=())

    def moment(self, us: int) -> Any:
        if self.time == "bigint":
            return us // SECOND
        return iso(us) if self.time == "text" else iso(us, PLAIN)

    def model(self) -> ModelSpec:
        columns = {"p": PREDICTIONS.columns, "l": LABELS.columns}
        if self.second:
            columns = {name: (some[0], ("id:1", "leg"), *some[1:]) for name, some in columns.items()}
        relations = {"p": PREDICTIONS, "l": LABELS}
        made = {name: replace(one, columns=columns[name]) for name, one in relations.items()}
        if self.relation == "query":
            made = {
                name: replace(one, table=None, query=f"SELECT * FROM {one.table} WHERE leg <> 9")
                for name, one in made.items()
            }
        if self.relation == "where":
            made = {name: replace(one, where="leg <> 9") for name, one in made.items()}
        units = tuple((role, "s") for role in ("event_time", "logged_at", "reported_at"))
        reading = replace(READING, time_units=units if self.time == "bigint" else ())
        return model_of(reading=reading, predictions=made["p"], labels=made["l"])


CASES = {
    "timestamps": Case(),
    "texts": Case(time="text"),
    "epochs": Case(time="bigint"),
    "two columns": Case(second=True),
    "numbers and texts": Case(ids=("bigint", "text")),
    "texts and numbers": Case(ids=("text", "bigint")),
    "a query": Case(relation="query", time="text"),
    "a condition": Case(relation="where", second=True),
}


def predictions() -> list[tuple[int, int, int]]:
    """Number, second column of the id, event time; every tenth id is there twice, ten panes apart."""
    once = [(at, at % 3, START + at * MINUTE) for at in range(N)]
    return once + [(at, leg, us + 10 * HOUR) for at, leg, us in once[::10]]


def labels() -> list[tuple[int, int, int, int | None, int]]:
    """Number, second column, label, report, revision: corrections, early ones, late ones, undated ones."""
    some: list[tuple[int, int, int, int | None, int]] = []
    for at in range(N):
        leg = at % 3
        some.append((at, leg, at % 2, START + (at % 50) * HOUR, 0))
        if at % 4 == 0:
            some.append((at, leg, 1, START + (at % 60) * HOUR + 5 * HOUR, 1))
        if at % 25 == 3:
            some.append((at, leg, 0, None, 2))
        if at % 7 == 0:
            some.append((at, leg + 10, 1, START + 30 * HOUR, 0))  # another id, where it has two columns
    return [*some, (N + 5, 0, 1, START + 30 * HOUR, 0)]


def fill(made: Made, case: Case) -> ModelSpec:
    """Both tables."""
    ours, theirs = case.ids

    def name(number: int, kind: str) -> Any:
        return number if kind == "bigint" else str(number)

    kinds = {"id": ours, "leg": "bigint", "event_time": case.time, "logged_at": case.time}
    kinds |= {"score": "double precision", "late": "text"}
    rows = [
        (name(at, ours), leg, case.moment(us), case.moment(us + SECOND), at / N, str(at % 2))
        for at, leg, us in predictions()
    ]
    made.create("predictions", kinds, rows)
    kinds = {"flight": theirs, "leg": "bigint", "was_late": "text", "reported_at": case.time}
    reports = [
        (name(at, theirs), leg, str(label), None if us is None else case.moment(us), revision)
        for at, leg, label, us, revision in labels()
    ]
    made.create("labels", kinds | {"revision": "bigint"}, reports)
    return case.model()


def joined(case: Case, since: int, until: int) -> tuple[Counter[Key], Counter[Key]]:
    """Rows that must be there, with labels reported then, and all that may be."""
    must: Counter[Key] = Counter()
    may: Counter[Key] = Counter()
    fresh = {
        (at, leg if case.second else 0)
        for at, leg, _, us, _ in labels()
        if us is not None and since <= us < until
    }
    for at, leg, event in predictions():
        for other, second, label, us, revision in labels():
            if other != at or (case.second and second != leg):
                continue
            key = f"{at},{leg}" if case.second else str(at)
            row = (key, event, str(label), us, float(revision))
            may[row] += 1
            must[row] += (at, leg if case.second else 0) in fresh
    return +must, may


def keys(table: pa.Table, model: ModelSpec) -> Counter[Key]:
    """Rows that came."""
    event, reported = (parse_role_times(table, name, model.reading) for name in ("event_time", "reported_at"))
    known = [us if there else None for us, there in zip(reported.us.tolist(), reported.known, strict=True)]
    columns = (table[name].to_pylist() for name in ("id", "label", "revision"))
    ids, values, revisions = columns
    return Counter(zip(map(str, ids), event.us.tolist(), values, known, revisions, strict=True))


def pieces_of(
    source: SqlSource, model: ModelSpec, *, since: int = SINCE, cursor: int = SINCE + HOUR
) -> list[tuple[tuple[int, int], pa.Table]]:
    """What a search reads."""
    return list(source.read_relabelled(model, since=since, cursor=cursor, as_of=AS_OF, bounds=BOUNDS))


def dated(rows: Counter[Key]) -> Counter[Key]:
    """Rows whose labels have a time: the others come by two ways."""
    return Counter({row: n for row, n in rows.items() if row[3] is not None})


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("kind", CASES)
def test_all_rows_and_labels_of_relabelled_records_come(made: Made, kind: str, *, indexed: bool) -> None:
    case = CASES[kind]
    if made.url.startswith("chdb") and len(set(case.ids)) > 1:
        pytest.skip("it joins no texts with numbers")
    model = fill(made, case)
    if indexed:
        if made.columnar:
            pytest.skip("it has no indexes")
        Database(made.url.replace("kept:", "sqlite:"), "").run(*INDEXES)

    ((piece, table),) = pieces_of(made.source(), model, since=AS_OF - 2 * DAY)

    must, may = joined(case, SINCE, AS_OF + 1)
    rows = keys(table, model)
    assert piece == (SINCE, AS_OF + 1)
    assert 100 < must.total() < may.total()
    assert must <= rows
    assert dated(rows) <= dated(may)
    assert set(rows) <= set(may)


@pytest.mark.parametrize("kind", ["timestamps", "texts", "epochs", "two columns"])
def test_after_a_long_pause_each_label_is_of_one_piece(
    made: Made, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(retries, "ROWS", 60)
    case = CASES[kind]
    model = fill(made, case)

    found = pieces_of(made.source(), model, since=START, cursor=START + HOUR)

    edges = [piece[1] for piece, _ in found]
    assert len(found) > 3
    assert [piece[0] for piece, _ in found] == [START, *edges[:-1]]
    assert edges[-1] == AS_OF + 1
    reported: Counter[Key] = Counter()
    for (since, until), table in found:
        must, may = joined(case, since, until)
        rows = keys(table, model)
        assert must <= rows
        assert set(rows) <= set(may)
        reported += Counter({row: n for row, n in dated(rows).items() if since <= (row[3] or 0) < until})
    assert reported == Counter(
        {row: n for row, n in joined(case, START, AS_OF + 1)[0].items() if row[3] is not None}
    )


def test_labels_without_a_time_come_with_the_first_piece(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "ROWS", 60)
    model = fill(made, Case())

    first, *others = pieces_of(made.source(), model, since=START + HOUR, cursor=START + 2 * HOUR)

    late = {row for row in joined(Case(), 0, AS_OF)[1] if row[3] is None and row[1] >= START + HOUR}
    assert late
    assert late <= set(keys(first[1], model))
    assert len(others) > 2


def test_a_number_that_texts_write_in_two_ways_is_one_record(made: Made) -> None:
    by_text = ("postgresql", "mysql", "mariadb", "chdb", "adbc", *WAREHOUSES)
    if made.url.startswith(by_text):
        pytest.skip("other spellings are other ids, or there are none")
    case = Case(ids=("bigint", "text"))
    kinds = {"id": "bigint", "event_time": "timestamp", "logged_at": "timestamp"}
    kinds |= {"score": "double precision", "late": "text"}
    made.create("predictions", kinds, [(7, iso(START, PLAIN), iso(START, PLAIN), 0.5, "1")])
    reports = [("7", "0", START + HOUR), ("07", "1", AS_OF - HOUR)]
    kinds = {"flight": "text", "was_late": "text", "reported_at": "timestamp", "revision": "bigint"}
    made.create("labels", kinds, [(name, label, iso(us, PLAIN), 0) for name, label, us in reports])

    ((_, table),) = pieces_of(made.source(), case.model(), since=AS_OF - DAY, cursor=AS_OF - DAY)

    assert sorted(table["label"].to_pylist()) == ["0", "1"]


@pytest.fixture(
    scope="module",
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres), "sqlite, analyzed"],
)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A log of 100,000 predictions, whose labels came an hour later, one in a thousand once more."""
    with ExitStack() as servers:
        url = f"sqlite:///{tmp_path_factory.mktemp('log') / 'log'}"
        if request.param == "postgresql":
            url = servers.enter_context(request.getfixturevalue("postgres_server").database())
        yield filled(Database(url, "fetchmany"), analyzed=request.param != "sqlite")


def filled(database: Database, *, analyzed: bool, n: int = 100_000) -> Database:
    """Its tables, and their indexes."""
    moments = [START + at * 10 * SECOND for at in range(n)]
    rows = rows_of(n, event_time=[iso(us) for us in moments], logged_at=[iso(us) for us in moments])
    database.create("predictions", COLUMNS, rows)
    reports = [(at, at % 2, iso(us + HOUR), 0) for at, us in enumerate(moments)]
    again = [(at, 1, iso(moments[-1] + HOUR), 1) for at in range(0, n, 1_000)]
    database.create("labels", LABEL_COLUMNS, reports + again)
    by_time = "CREATE INDEX by_time ON predictions (event_time)"
    database.run(*INDEXES, by_time, *(["ANALYZE"] if analyzed else []))
    return database


def test_a_search_never_scans_predictions(large: Database) -> None:
    last = START + 1_000_000 * SECOND + 50 * MINUTE
    source, seen = recorded(large)

    found = list(
        source.read_relabelled(
            model_of(), since=last, cursor=last, as_of=last + HOUR, bounds=(START, last + HOUR)
        )
    )

    searches = [sql for sql in seen if " AS l JOIN " in sql]
    engine = source.reader.engine
    with source.open_session() as session:
        plans = [
            [engine.plan_line(row) for row in session.read_rows(f"{engine.explain} {sql}")]
            for sql in searches
        ]
    source.close()
    assert found[0][1].num_rows > 200
    for index in ("by_id", "by_flight", "by_report"):
        assert any(index in line for line in plans[0]), plans[0]
    scans = [line for plan in plans for line in plan if re.search(r"SCAN p\b|Seq Scan on predictions", line)]
    assert scans == []


LOG = {"id": "text", "event_time": "timestamp", "logged_at": "timestamp", "score": "double precision"}
REPORTS = {"flight": "text", "was_late": "text", "reported_at": "timestamp", "revision": "bigint"}
KEPT = replace(LABELS, columns=tuple(column for column in LABELS.columns if column[0] != "revision"))


def test_labels_are_counted_by_difference_where_rows_are_only_added(made: Made) -> None:
    made.create("predictions", LOG | {"late": "text"}, [])
    made.create("labels", REPORTS, [])
    if not made.columnar:
        Database(made.url.replace("kept:", "sqlite:"), "").run(*INDEXES)
    source, plain = made.source(), model_of(labels=KEPT)

    def why(model: ModelSpec) -> str:
        return source.why_labels_counted_whole(model)

    assert why(model_of()) == ""
    assert why(with_changes(plain, append_only=True)) == ""
    assert "might be changed later" in why(plain)
    assert why(with_changes(model_of(), append_only=False)) == "append_only = false"
    undated = tuple(column for column in KEPT.columns if column[0] != "reported_at")
    assert "no column says when" in why(model_of(labels=replace(KEPT, columns=undated)))
    own = Relation(columns=(("label", "late"), ("reported_at", "logged_at")))
    assert "stand in the prediction table" in why(model_of(labels=own))
    assert "stand in the prediction table" in why(model_of(labels=None))


@pytest.mark.parametrize(
    ("key", "added"), [("flight, reported_at", True), ("flight, revision", False), ("flight", False)]
)
def test_a_key_that_holds_the_time_of_the_report_says_that_rows_are_added(
    database: Database, key: str, *, added: bool
) -> None:
    database.create("predictions", LOG | {"late": "text"})
    database.create("labels", REPORTS | {"revision": f"bigint, PRIMARY KEY ({key})"})
    database.run(INDEXES[0])
    source, model = database.source(), model_of(labels=KEPT)

    assert (source.why_labels_counted_whole(model) == "") == added
    queried = replace(KEPT, table=None, query="SELECT * FROM labels")
    assert "might be changed later" in source.why_labels_counted_whole(replace(model, labels=queried))


@pytest.mark.parametrize("missing", ["predictions", "labels"])
def test_ids_that_no_index_finds_are_named(made: Made, missing: str) -> None:
    made.create("predictions", LOG | {"late": "text"}, [("1", None, None, 0.5, "1")])
    made.create("labels", REPORTS, [("1", "1", None, 0)])
    if made.columnar:
        assert made.source().why_labels_counted_whole(model_of()) == ""
        return
    there = [sql for sql in INDEXES if f"ON {missing} (" not in sql]
    Database(made.url.replace("kept:", "sqlite:"), "").run(*there)

    assert (
        made.source().why_labels_counted_whole(model_of()) == f'no index finds the ids of table "{missing}"'
    )


def test_an_index_that_the_join_of_two_types_cannot_use_finds_nothing(made: Made) -> None:
    if made.columnar:
        pytest.skip("it has no indexes")
    made.create("predictions", LOG | {"id": "bigint", "late": "text"}, [(1, None, None, 0.5, "1")])
    made.create("labels", REPORTS, [("1", "1", None, 0)])
    Database(made.url.replace("kept:", "sqlite:"), "").run(*INDEXES)

    assert "no index finds the ids" in made.source().why_labels_counted_whole(model_of())
