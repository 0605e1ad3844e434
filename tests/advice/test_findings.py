"""What a look at some rows tells: each oddity is said once, with its figures; sound tables are silent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flight_models import (
    AS_OF,
    COLUMNS,
    LABEL_COLUMNS,
    LABELS,
    READING,
    START,
    grouped,
    iso,
    model_of,
    rows_of,
)
from kept_texts import compare_cases
from keyed_models import with_changes
from source_databases import Database

from monitor.advice.log_habits import far_off
from monitor.advice.table_inspection import TableInspection, inspect_model
from monitor.core.array_types import Floats
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.windows.window_ends import Window

WEEK = Window("7d", 7 * DAY, DAY)


def labels_of(n: int, delay: int, **columns: list[Any]) -> list[tuple[Any, ...]]:
    usual: dict[str, list[Any]] = {
        "flight": list(range(n)),
        "was_late": [at % 2 for at in range(n)],
        "reported_at": [iso(START + at * MINUTE + delay) for at in range(n)],
        "revision": [0] * n,
    }
    return list(zip(*(usual | columns).values(), strict=True))


def look(
    database: Database,
    directory: Path,
    *,
    model: ModelSpec | None = None,
    labels: list[tuple[Any, ...]] | None = None,
    columns: dict[str, str] | None = None,
    now: int = AS_OF,
    **changed: list[Any],
) -> TableInspection:
    n = len(next(iter(changed.values()))) if changed else 100
    database.create("predictions", COLUMNS | (columns or {}), rows_of(n, **changed))
    database.create("labels", LABEL_COLUMNS, labels_of(n, DAY) if labels is None else labels)
    return inspect_model(model or model_of(), database.source(), directory, now)


REPORTED = [iso(START + at * MINUTE + (70 * DAY if at % 10 == 0 else DAY)) for at in range(100)]
DATES = [iso(START + (1 + at // 40) * DAY) for at in range(100)]
MINUTES = [iso(START + at * MINUTE) for at in range(100)]
HOURS = [START + at * HOUR for at in range(24 * 4)]
NIGHTS = [at // DAY * DAY + DAY + 4 * HOUR for at in HOURS]
OF_OUTPUTS = replace(READING, numeric=("temp", "score"), categorical=("late",))
UNLABELLED = model_of(labels=None)
SECONDS = [1_000 * (START // 1_000_000 + 60 * at) * 1_000 for at in range(100)]
IN_MS = replace(READING, time_units=(("event_time", "ms"),))
LOGS: dict[str, dict[str, Any]] = {
    "sound tables": {},
    "a class that is not configured, and one that never occurs": {
        "labels": labels_of(100, DAY, was_late=[2, *[0] * 99])
    },
    "labels without a prediction": {"labels": labels_of(100, DAY, flight=list(range(50, 150)))},
    "labels of which none has a prediction": {"labels": labels_of(100, DAY, flight=list(range(500, 600)))},
    "labels after the horizon": {
        "labels": labels_of(100, DAY, reported_at=REPORTED), "now": AS_OF + 90 * DAY,
    },
    "labels before their predictions": {"labels": labels_of(100, -DAY)},
    "labels that bear dates alone": {"labels": labels_of(100, DAY, reported_at=DATES)},
    "some reports without a time": {"labels": [*labels_of(60, DAY), (60, 1, "n/a 12", 0)]},
    "reports of another format": {
        "labels": labels_of(100, DAY, reported_at=["03/11/2024 10:00:00"] * 21 + [iso(START + DAY)] * 79)
    },
    "some scores out of range": {"score": [0.5] * 90 + [50.0] * 10},
    "all scores out of range": {"score": [float(at + 300) for at in range(100)]},
    "one score": {"score": [0.3] * 100},
    "ids that are repeated or missing": {
        "id": [None] * 10 + [*range(45)] * 2, "labels": [(0, 1, iso(START + DAY), 0)],
    },
    "times in the future, of another unit": {
        "model": replace(UNLABELLED, reading=IN_MS), "columns": {"event_time": "bigint"},
        "event_time": SECONDS,
    },
    "a few times in the future": {
        "labels": [], "event_time": [iso(AS_OF - at * HOUR + (2 * HOUR - MINUTE)) for at in range(1_000)],
    },
    "a time that is none": {"labels": [], "event_time": [*MINUTES[:99], "n/a 12"]},
    "times of another format": {"labels": [], "event_time": [*MINUTES[:80], *["03/11/2024 10:00:00"] * 20]},
    "a condition that no row meets": {
        "model": replace(UNLABELLED, predictions=replace(UNLABELLED.predictions, where="score > 7"))
    },
    "features without numbers, and without values": {
        "model": UNLABELLED, "columns": {"temp": "text"},
        "temp": [str(at) if at % 3 else "warm" for at in range(99)], "carrier": [None] * 99,
    },
    "features that are outputs": {"model": replace(UNLABELLED, reading=OF_OUTPUTS)},
    "a nightly load": {
        "model": with_changes(UNLABELLED, ready_after=HOUR // 4),
        "event_time": [iso(at) for at in HOURS], "logged_at": [iso(at) for at in NIGHTS],
    },
    "a nightly load that is waited for": {
        "model": with_changes(UNLABELLED, ready_after=6 * HOUR),
        "event_time": [iso(at) for at in HOURS], "logged_at": [iso(at) for at in NIGHTS],
    },
    "numbers that are texts": {
        "columns": {"score": "text", "temp": "text"}, "score": ["high"] * 5, "temp": ["warm"] * 5,
        "labels": [(1, 1, iso(START), 0)],
    },
    "no times at all": {"model": UNLABELLED, "event_time": ["soon 7"] * 3, "logged_at": [None] * 3},
    "integers without a unit": {
        "model": UNLABELLED, "columns": {"event_time": "bigint"}, "event_time": [1, 2, 3],
    },
}  # fmt: skip


@pytest.mark.texts
@pytest.mark.parametrize("engine", ["sqlite-adbc", pytest.param("postgres-adbc", marks=pytest.mark.postgres)])
def test_what_is_found_in_tables(make_database: Any, tmp_path: Path, engine: str) -> None:
    """Both engines: the same sentences."""
    cases = []
    database = make_database(engine)
    for name, log in LOGS.items():
        found = look(database, tmp_path, **log)
        cases.append((name, [*(f"fault: {one}" for one in found.faults), *found.warnings]))
        database.run("DROP TABLE predictions", "DROP TABLE labels")
        for source in database.opened:
            source.close()
        database.opened.clear()

    compare_cases("check_findings", cases)


def test_the_age_at_which_windows_settle_is_told_by_the_delays_that_are_counted(
    database: Database, tmp_path: Path
) -> None:
    model = replace(model_of(reading=replace(READING, horizon=12 * DAY)), windows=(WEEK,))
    assert model.keys.settled_share == 0.95

    found = look(database, tmp_path, model=model, labels=labels_of(200, 8 * DAY), id=list(range(200)))

    assert found.findings.settling == 8 * DAY
    assert found.warnings == ()


@pytest.mark.parametrize("odd", ["n/a 12", "never", "", "03/11/2024"])
def test_some_times_that_are_none_are_a_warning(database: Database, tmp_path: Path, odd: str) -> None:
    times = [iso(START + at * MINUTE) for at in range(99)]

    found = look(database, tmp_path, event_time=[*times, odd], labels=[])

    shape = "".join("0" if letter.isdigit() else letter for letter in odd)
    assert found.faults == ()
    assert found.warnings == (
        'table "labels" is empty',
        (
            'table "predictions": 1 row holds no time that is understood in "event_time" (event_time), '
            f'as in "{shape}" (digits as 0): left out'
        ),
    )


def test_arms_that_never_occur_are_told(database: Database, tmp_path: Path) -> None:
    columns = COLUMNS | {"group": "text"}
    rows = [(*row, "test") for row in rows_of(100)]
    database.create("predictions", columns, rows)
    model = model_of(reading=grouped(), labels=None)
    model = replace(
        model, predictions=replace(model.predictions, columns=(*model.predictions.columns, ("arm", "group")))
    )

    found = inspect_model(model, database.source(), tmp_path, AS_OF)

    assert found.warnings == tuple(
        f'table "predictions": of the 100 newest rows none has {key} in "group"; it holds "test" 100.0%'
        for key in ('control_value "control"', 'treatment_value "treatment"')
    )
    assert found.findings.strata["arm"] == ("test",)


@pytest.mark.parametrize("engine", ["postgres-adbc", "sqlite-adbc"])
def test_ids_of_another_type_need_an_index_on_what_they_are_compared_as(
    make_database: Any, tmp_path: Path, engine: str
) -> None:
    database = make_database(engine)
    database.create("predictions", COLUMNS, rows_of(10_000))
    database.create(
        "labels",
        LABEL_COLUMNS | {"flight": "text"},
        labels_of(10_000, DAY, flight=[str(at) for at in range(10_000)]),
    )
    source = database.source()

    before = inspect_model(model_of(), source, tmp_path, AS_OF)
    told = [warning.partition("run: ")[2] for warning in before.warnings if "run: " in warning]
    database.run(*(line.replace(" CONCURRENTLY", "") for line in told))
    after = inspect_model(model_of(), source, tmp_path, AS_OF)

    assert len(told) == 5
    assert not [warning for warning in after.warnings if "no index" in warning]


def test_a_view_is_told_apart_from_the_table_behind_it(sqlite_database: Database, tmp_path: Path) -> None:
    sqlite_database.create("log", COLUMNS, rows_of(10_000))
    sqlite_database.run("CREATE VIEW predictions AS SELECT * FROM log")

    found = inspect_model(model_of(labels=None), sqlite_database.source(), tmp_path, AS_OF)

    assert len(found.warnings) == 2
    assert all(warning.endswith("make one in the table behind the view") for warning in found.warnings)


def test_a_partitioned_table_gets_no_concurrent_index(postgres_database: Database, tmp_path: Path) -> None:
    typed = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    postgres_database.run(
        f'CREATE TABLE predictions ({typed}) PARTITION BY RANGE ("id")',
        "CREATE TABLE part PARTITION OF predictions FOR VALUES FROM (0) TO (1000000)",
        "INSERT INTO predictions SELECT n, '2013-03-01 00:00', '2013-03-01 00:01', 0.5, n % 2, 1, 'AA' "
        "FROM generate_series(1, 10000) AS n",
    )

    found = inspect_model(model_of(labels=None), postgres_database.source(), tmp_path, AS_OF)

    (event, _) = (warning for warning in found.warnings if "no index" in warning)
    assert 'run: CREATE INDEX "predictions_event_time_idx" ON "predictions" (' in event


def test_labels_in_the_prediction_table_tell_of_delays_too(database: Database, tmp_path: Path) -> None:
    columns = COLUMNS | {"truth": "bigint", "known_at": "text"}
    rows = [(*row, 1, iso(START + at * MINUTE + 3 * DAY)) for at, row in enumerate(rows_of(100))]
    database.create("predictions", columns, rows)
    labels = replace(LABELS, table=None, columns=(("label", "truth"), ("reported_at", "known_at")))

    found = inspect_model(model_of(labels=labels), database.source(), tmp_path, AS_OF)

    assert found.findings.settling == 3 * DAY
    assert [warning.partition(" labels ")[2][:24] for warning in found.warnings] == [
        'none is of the class "0"'
    ]


def test_an_index_that_begins_with_the_id_finds_no_times(database: Database, tmp_path: Path) -> None:
    epochs = [START // 1_000_000 + at for at in range(10_000)]
    typed = ", ".join(f'"{name}" bigint' for name in ("leg", "time"))
    database.run(f'CREATE TABLE predictions ({typed}, score double precision, PRIMARY KEY (leg, "time"))')
    database.create("filled", {"leg": "bigint", "time": "bigint"}, [(at, at) for at in epochs])
    database.run('INSERT INTO predictions SELECT leg, "time", ("time" % 100) / 100.0 FROM filled')
    columns = (("id", "leg"), ("id:1", "time"), ("event_time", "time"), ("score", "score"))
    reading = replace(READING, time_units=(("event_time", "s"),), numeric=(), categorical=(), labelled=False)
    model = model_of(labels=None, predictions=Relation(table="predictions", columns=columns), reading=reading)

    before = inspect_model(model, database.source(), tmp_path, AS_OF)
    (told,) = (warning.partition("run: ")[2] for warning in before.warnings if "no index" in warning)
    database.run(told.replace(" CONCURRENTLY", ""))
    after = inspect_model(model, database.source(), tmp_path, AS_OF)

    how = "CREATE INDEX CONCURRENTLY" if database.postgres else "CREATE INDEX"
    assert told.replace("`", '"') == f'{how} "predictions_time_idx" ON "predictions" ("time");'
    assert (before.faults, after.warnings) == ((), ())


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("timestamp", '"time"'),
        ("timestamptz", "event_time_2"),
        ("timestamp", "date_trunc('day', event_time)"),
        ("timestamptz", "(event_time IS NULL)"),
    ],
)
def test_names_and_expressions_like_the_event_time_do_not_begin_with_it(
    postgres_database: Database, tmp_path: Path, kind: str, key: str
) -> None:
    columns = COLUMNS | {"event_time": kind}
    postgres_database.create("predictions", columns, rows_of(10_000))
    for name in ("time", "event_time_2"):
        postgres_database.run(f'ALTER TABLE predictions ADD COLUMN "{name}" bigint')
    shown = key if key.startswith(("(", '"')) else f"({key})" if "(" in key else key
    postgres_database.run(f"CREATE INDEX ON predictions ({shown}, event_time)")
    model = model_of(labels=None)

    before = inspect_model(model, postgres_database.source(), tmp_path, AS_OF)
    postgres_database.run(f"CREATE INDEX ON predictions (event_time, {shown})")
    after = inspect_model(model, postgres_database.source(), tmp_path, AS_OF)

    assert [1 for one in before.warnings if 'no index on "event_time"' in one] == [1]
    assert not [one for one in after.warnings if 'no index on "event_time"' in one]


def test_an_index_counts_through_a_view_that_renames_its_column(
    postgres_database: Database, tmp_path: Path
) -> None:
    postgres_database.create("log", COLUMNS | {"event_time": "timestamptz"}, rows_of(10_000))
    postgres_database.run(
        'ALTER TABLE log RENAME COLUMN event_time TO "made At"',
        'CREATE INDEX ON log ("made At")',
        'CREATE VIEW predictions AS SELECT *, "made At" AS event_time FROM log',
    )

    found = inspect_model(model_of(labels=None), postgres_database.source(), tmp_path, AS_OF)

    assert not [one for one in found.warnings if 'no index on "event_time"' in one]


@pytest.mark.parametrize(
    ("time_of_day", "overlap", "told"), [(0, 15 * MINUTE, 1), (0, DAY, 0), (HOUR, 15 * MINUTE, 0)]
)
def test_reports_that_bear_dates_alone_need_an_overlap_of_a_day(
    time_of_day: int, overlap: int, told: int, database: Database, tmp_path: Path
) -> None:
    reported = [iso(START + (1 + at // 40) * DAY + time_of_day) for at in range(100)]
    words = (
        "reported_at holds dates, no times of day: what is added later on the same day is found by the audit "
        "alone, not by the next cycle; set overlap in [models.reading] to 1d or more: it is 15m"
    )

    found = look(
        database,
        tmp_path,
        model=with_changes(model_of(), overlap=overlap),
        labels=labels_of(100, DAY, reported_at=reported),
    )

    assert sum(words in warning for warning in found.warnings) == told


def test_features_that_are_far_from_all_of_the_reference_are_told_together_with_their_medians() -> None:
    rng = np.random.default_rng(5)
    fee, then = rng.normal(38, 4, 400), rng.normal(38, 4, 400)
    model = replace(model_of(), reading=replace(READING, numeric=("fee", "gone", "same", "small")))

    def table(fee: Floats, gone: Floats, small: Floats) -> pa.Table:
        columns = {"fee": fee, "gone": gone, "same": then, "small": small}
        return pa.table({f"feature:{name}": values for name, values in columns.items()})

    small = rng.lognormal(1, 2, 400)
    reference = table(then, then, small)
    (warning,) = far_off(table(100 * fee, fee + 500, small / 1000), reference, model)

    assert warning.startswith(
        'Of 400 rows of the log looked at, these features lie far from the reference: "fee" (median 3,'
    )
    assert ", in the reference 38.4: ×98, as in other units; 100% beyond all of the reference), " in warning
    assert '"gone" (median 5' in warning
    assert '"same"' not in warning
    assert '"small" (median' in warning, "by a power of ten, though not beyond all of the reference"
    assert list(far_off(reference, reference, model)) == []
    assert list(far_off(table(100 * fee, fee, then).slice(0, 40), reference, model)) == []
