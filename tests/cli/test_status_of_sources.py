"""A table that lost its rows, and labels that became other words, are named by the next cycle."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from serving import Bench, Database, Row, create_tables, labels, model, predictions

from monitor.core.clock import DAY, from_iso, to_iso
from monitor.store.store_database import migrate_store

START = from_iso("2024-03-01")
DAYS = [START + at * DAY for at in range(10)]
OPTIONS = (
    'every = "1d"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nreading = { ready_after = "0s" }'
)
ROWS = predictions(450, START, DAYS[9])


SLOW_POSTGRES = pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow])
each_database = pytest.mark.parametrize("bench", ["sqlite", SLOW_POSTGRES], indirect=True)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Nine days of predictions, labels as texts, those of four days so far; all on either database."""
    urls = [f"sqlite:///{tmp_path / name}.db" for name in ("log", "monitor")]
    if request.param == "postgresql":
        urls = [request.getfixturevalue("postgres_url")] * 2
    bench = Bench(tmp_path, Database(urls[0]), urls[1])
    migrate_store(bench.store_url)
    create_tables(bench.database)
    if request.param == "postgresql":
        bench.database.run("ALTER TABLE labels ALTER COLUMN late TYPE text")
    bench.database.insert("predictions", ROWS)
    bench.configure(model(options=OPTIONS))
    report(bench, -1, 4)
    said(bench, 4)
    return bench


def report(bench: Bench, since: int, day: int, word: Callable[[int], object] = str) -> list[Row]:
    """The labels that were reported between two days, the truth in words."""
    known = {row["id"] for row in labels(ROWS, end=START + since * DAY)}
    new = [row | {"late": word(row["late"])} for row in labels(ROWS, end=DAYS[day]) if row["id"] not in known]
    bench.database.insert("labels", new)
    return new


def said(bench: Bench, day: int) -> str:
    """What `monitor status` says first after `monitor cycle` of a day."""
    done = bench.monitor("cycle", "--as-of", to_iso(DAYS[day]))
    assert done.exit_code == 0, done.stderr
    (plain,) = json.loads(bench.monitor("status", "--format", "json").stdout)
    return str(" ".join(plain["because"]))


@pytest.mark.parametrize(
    ("bench", "words"),
    [
        ("sqlite", ("N", "Y")),
        pytest.param("postgresql", ("N", "Y"), marks=pytest.mark.postgres),
        ("sqlite", ("false", "true")),
        *(
            pytest.param(engine, words, marks=[pytest.mark.postgres, pytest.mark.slow])
            for engine, words in (
                *(("sqlite", ("no", "yes")), ("postgresql", ("no", "yes"))),
                ("postgresql", ("false", "true")),
            )
        ),
    ],
    indirect=["bench"],
)
def test_labels_in_other_words_are_named_until_labels_are_known_again(
    bench: Bench, words: tuple[str, str]
) -> None:
    new = report(bench, 4, 5, lambda late: words[late])
    first = said(bench, 5)
    if words[0] == "false":  # which is a way to write them that everything understands
        assert "Labels" not in first
        return

    assert f"Labels are no classes of the model: {len(new)} of {len(new)} new ones" in first
    assert f'but "{words[1]}" and "{words[0]}"' in first or f'but "{words[0]}" and "{words[1]}"' in first
    assert ", since 6 Mar 2024: " in first
    assert "Labels are no classes" in said(bench, 6), "no label has come since"
    report(bench, 6, 8)
    assert "Labels are no classes" not in said(bench, 8)


@each_database
def test_a_few_odd_labels_among_others_are_no_other_words(bench: Bench) -> None:
    few = iter(range(1_000))
    report(bench, 4, 5, lambda late: "?" if next(few) % 4 == 0 else late)

    assert "Labels are no" not in said(bench, 5)


@pytest.mark.parametrize(
    ("bench", "table"),
    [
        ("sqlite", "predictions"),
        ("sqlite", "labels"),
        pytest.param("postgresql", "predictions", marks=[pytest.mark.postgres, pytest.mark.slow]),
        pytest.param("postgresql", "labels", marks=pytest.mark.postgres),
    ],
    indirect=["bench"],
)
def test_a_table_that_lost_its_rows_is_named_until_it_has_some(bench: Bench, table: str) -> None:
    bench.database.run(f"CREATE TABLE aside AS SELECT * FROM {table}", f"DELETE FROM {table}")

    first = said(bench, 5)

    assert f'No rows are left in table "{table}", since 6 Mar 2024: ' in first
    assert f'No rows are left in table "{table}", since 6 Mar 2024: ' in said(bench, 6)
    bench.database.run(f"INSERT INTO {table} SELECT * FROM aside")
    assert "No rows are left" not in said(bench, 7)


@each_database
def test_tables_that_both_lost_their_rows_are_both_named(bench: Bench) -> None:
    bench.database.run("DELETE FROM predictions", "DELETE FROM labels")

    assert 'No rows are left in table "predictions" and table "labels"' in said(bench, 5)


@each_database
def test_a_table_that_never_had_labels_has_lost_none(bench: Bench) -> None:
    fresh = bench.from_scratch(model(options=OPTIONS))
    fresh.database.run("DELETE FROM labels")

    assert "No rows are left" not in said(fresh, 4)
    assert "No rows are left" not in said(fresh, 5)


@each_database
def test_the_command_and_the_log_of_the_daemon_say_it_too(bench: Bench) -> None:
    report(bench, 4, 5, lambda late: "NY"[late])

    done = bench.monitor("cycle", "--as-of", to_iso(DAYS[5]))

    assert "Labels are no classes of the model" in done.stdout
