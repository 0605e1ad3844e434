"""`monitor check --prove`: a pane counted by GROUP BY and here, by databases right, wrong, and without it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import servers
from hypothesis import given
from hypothesis import strategies as st
from serving import Bench, Database, create_tables, labels, model, predictions

from monitor.advice.counting_proof import ProofOutcome, first_difference
from monitor.advice.model_checks import check_tables
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, MINUTE, from_iso
from monitor.records.counting import Counting
from monitor.records.pane import PanePart
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources.engines.duckdb import DuckdbEngine
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.strata import WHOLE, make_segment_stratum

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "20d"\nresamples = 20\nsegments = ["group"]'
SQL = 'engine = "sql"\n'
PROVEN = "proven = true\n"
COLUMNAR = pytest.mark.columnar


def filled(database: Database, directory: Path, **types: str) -> Bench:
    """Three days of a log, ten rows an hour, in the types that a database counts by."""
    bench = Bench(directory, database, f"sqlite:///{directory / 'monitor.db'}")
    rows = predictions(720, START, END)
    times = dict.fromkeys(("event_time", "logged_at"), "timestamptz")
    numbers = dict.fromkeys(("score", "amount"), "double precision")
    create_tables(database, **(times | numbers | types))
    database.insert("predictions", rows)
    database.insert("labels", labels(rows, end=END + DAY))
    bench.configure(model(options=OPTIONS))
    return bench


@pytest.fixture
def duck(tmp_path: Path) -> Bench:
    """In DuckDB."""
    servers.require_extra("duckdb")
    return filled(Database(f"duckdb:///{tmp_path / 'log'}"), tmp_path)


def with_source(bench: Bench, url: str = "", *keys: str) -> None:
    """Another URL of the source, and more keys."""
    text = bench.config.read_text(encoding="utf-8").replace(bench.database.url, url or bench.database.url)
    bench.config.write_text(
        text.replace("[sources.log]\n", f"[sources.log]\n{''.join(keys)}"), encoding="utf-8"
    )


def warehouse_url(bench: Bench) -> str:
    """DuckDB behind ADBC: of a driver nothing is known but its SQL."""
    library = pytest.importorskip("_duckdb").__file__
    return (
        f"adbc://{library}?entrypoint=duckdb_adbc_init&path={bench.database.url.removeprefix('duckdb:///')}"
    )


def proof_lines(text: str) -> list[str]:
    """What is said of GROUP BY once it has counted."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if "GROUP BY" in line and "is counted twice" not in line]


def test_a_database_that_does_not_count_says_so_and_is_no_fault(tmp_path: Path) -> None:
    bench = filled(Database(f"sqlite:///{tmp_path / 'log.db'}"), tmp_path)

    done = bench.monitor("check", "--prove")

    assert done.exit_code == 0, done.stderr
    assert proof_lines(done.stdout) == [
        'model "late": GROUP BY does not count in SQLite files: there is nothing to prove'
    ]
    assert proof_lines(bench.monitor("check").stdout) == []
    assert bench.monitor("check", "--prove", "--offline").exit_code == 2


@pytest.mark.parametrize(
    "kind", [pytest.param("duckdb", marks=COLUMNAR), pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def test_equal_counts_are_said_with_what_to_write_and_what_they_cost(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    postgres = kind == "postgresql"
    bench = (
        filled(Database(request.getfixturevalue("postgres_url")), tmp_path)
        if postgres
        else request.getfixturevalue("duck")
    )

    done = bench.monitor("check", "--prove", "--format", "json")

    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(done.stdout)["models"]
    proof = found["proof"]
    assert (proof["outcome"], proof["pane"], proof["rows"]) == ("equal", "2024-03-03T23:00:00Z", 10)
    assert proof["text"] == (
        "GROUP BY counts the pane from 3 Mar 2024 23:00 UTC as it is counted here, all 57 counts of 10 rows "
        'are equal: write engine = "sql" in [sources.log] to have it count'
    )
    assert proof["here"]["rows"] == 10
    assert proof["grouped"]["seconds"] > 0


@pytest.mark.columnar
def test_a_warehouse_counts_once_its_user_has_proven_it(duck: Bench) -> None:
    with_source(duck, warehouse_url(duck), SQL)
    refused = duck.monitor("check")
    proven = duck.monitor("check", "--prove")
    with_source(duck, "", PROVEN)
    used = duck.monitor("check", "--prove")

    assert refused.exit_code == 2
    assert 'engine = "sql" is not proven for ADBC: run `monitor check --prove`' in refused.stderr
    assert (proven.exit_code, used.exit_code) == (0, 0), proven.stderr
    assert "is counted twice, here and by GROUP BY: each way reads 10 rows" in " ".join(proven.stderr.split())
    equal, cost = proof_lines(proven.stdout)
    assert equal.endswith("are equal: write proven = true in [sources.log] to have it count")
    assert cost.startswith('model "late": counting 10 rows took ')
    assert proof_lines(used.stdout)[0].endswith("so it counts already")
    assert 'engine = "sql": labels are read, not grouped' in used.stderr


@pytest.mark.columnar
@pytest.mark.parametrize(
    ("twin", "wrong", "said"),
    [
        ("cell_sql", lambda _self, _sql, _edges, first: str(first), "score, below "),
        ("bigint_sql", lambda _self, sql: f"CAST({sql} + 1 AS BIGINT)", "volume, records, all records: 10 "),
        ("micros_sql", lambda _self, column: f"epoch_us({column}) + 1", "newest: "),
    ],
)  # fmt: skip
def test_a_difference_is_a_fault_that_names_the_first_cell(
    duck: Bench, monkeypatch: pytest.MonkeyPatch, twin: str, wrong: Callable[..., str], said: str
) -> None:
    monkeypatch.setattr(DuckdbEngine, twin, wrong)

    done = duck.monitor("check", "--prove")

    assert done.exit_code == 2
    (fault,) = proof_lines(done.stderr)
    assert f'otherwise, so leave engine = "sql" out: {said}' in fault, fault
    assert fault.endswith(" by GROUP BY")
    (cost,) = proof_lines(done.stdout)
    assert cost.startswith('model "late": counting 10 rows took ')


@pytest.mark.columnar
def test_a_refused_statement_is_named_with_the_reason(duck: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckdbEngine, "cell_sql", lambda _self, sql, _edges, _first: f"no_such({sql})")

    done = duck.monitor("check", "--prove")

    assert done.exit_code == 2
    (fault,) = proof_lines(done.stderr)
    assert "cannot be counted by GROUP BY: duckdb:///" in fault
    assert "refuses the statement of cells: " in fault
    assert "no_such" in fault


@pytest.mark.columnar
def test_records_that_are_read_in_any_case_are_not_compared(tmp_path: Path) -> None:
    servers.require_extra("duckdb")
    bench = filled(Database(f"duckdb:///{tmp_path / 'log'}"), tmp_path, amount="text")

    done = bench.monitor("check", "--prove", "--format", "json")

    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(done.stdout)["models"]
    assert found["proof"]["outcome"] == "not_compared"
    assert found["proof"]["text"] == (
        'records are read and counted here in any case: column "amount" holds numbers as texts'
    )


@pytest.mark.columnar
def test_the_newest_pane_that_is_over_is_counted(duck: Bench) -> None:
    with_source(duck)
    settings = settings_of(duck.config, {})

    def proven_pane(now: int) -> int | None:
        (checked,) = check_tables(settings, duck.directory, now, prove=True).models
        assert checked.proof is not None
        if checked.proof.pane is not None:
            assert checked.proof.outcome is ProofOutcome.EQUAL
        return checked.proof.pane

    assert proven_pane(END - 2 * MINUTE) == END - 2 * HOUR
    assert proven_pane(END) == END - HOUR
    assert proven_pane(END + 9 * DAY + MINUTE) == END - HOUR
    assert proven_pane(START + 2 * MINUTE) is None


READING = ReadingOptions(task=ModelTask.BINARY, classes=("0", "1"), numeric=("amount",), segments=("group",))
COUNTING = Counting(
    READING,
    features=(("amount", NumericGrid((1.0, 2.5), centre=1.0, scale=1.0)),),
    score=NumericGrid((0.5,), lower=0.0, upper=1.0),
    prediction=CategoryGrid(("0", "1")),
    label=None,
)
CELLS = st.dictionaries(st.integers(0, COUNTING.records_layout.size - 1), st.integers(1, 3), max_size=4)
STRATA = st.dictionaries(st.sampled_from([WHOLE, make_segment_stratum("group", "a")]), CELLS)
PARTS = st.builds(
    lambda strata, facts: PanePart(
        START,
        {
            stratum: Counters(
                COUNTING.records_layout, np.asarray(sorted(cells), np.int64),
                np.asarray([cells[at] for at in sorted(cells)], np.int64),
            )
            for stratum, cells in strata.items()
        },
        **facts,
    ),
    STRATA,
    st.fixed_dictionaries({name: st.integers(0, 2) for name in ("rows", "newest", "records", "checksum")}),
)  # fmt: skip


@given(PARTS, PARTS)
def test_parts_differ_somewhere_if_and_only_if_they_are_unequal(here: PanePart, there: PanePart) -> None:
    assert (first_difference(COUNTING, here, there) == "") == (here == there)
    assert first_difference(COUNTING, here, here) == ""


@given(PARTS, st.integers(0, COUNTING.records_layout.size - 1))
def test_the_cell_that_differs_is_named_by_its_block(part: PanePart, at: int) -> None:
    layout = COUNTING.records_layout
    one = Counters(layout, np.asarray([at]), np.asarray([1]))
    whole = part.strata.get(WHOLE, Counters.make_empty(layout))
    other = replace(part, strata={**part.strata, WHOLE: Counters.merge_all(layout, [whole, one])})
    block = max(
        (name for name in layout.offsets if layout.offsets[name] <= at), key=layout.offsets.__getitem__
    )

    said = first_difference(COUNTING, part, other)

    assert said.startswith(f"{block}, ") or block == "moments"
    assert ", all records: " in said
