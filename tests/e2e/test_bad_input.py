"""What people's tables really hold: each case is counted or refused by name, and stops nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from serving import Bench, Cycled, Database, Row, create_tables, labels, model, predictions

from monitor.core.clock import DAY, HOUR, SECOND, from_iso, to_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measurement_row import LabelTruth

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
AS_OF = END + HOUR  # the newest window of a day ends at END: it holds a third of the rows
OPTIONS = 'windows = ["1d"]\nhorizon = "60d"\nsettle_after = "2d"\nresamples = 20'
PROVISIONAL = LabelTruth.PROVISIONAL
DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Empty SQLite database, configured."""
    return _bench(tmp_path, f"sqlite:///{tmp_path / 'log.db'}")


@pytest.fixture(params=DATABASES)
def any_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Empty database, configured; once on each engine."""
    postgres = request.param == "postgresql"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:///{tmp_path / 'log.db'}"
    return _bench(tmp_path, url)


def _bench(directory: Path, url: str) -> Bench:
    bench = Bench(directory, Database(url), f"sqlite:///{directory / 'monitor.db'}")
    bench.configure(model(options=OPTIONS))
    return bench


def fill(bench: Bench, rows: Sequence[Row], known: Sequence[Row] | None = None, **types: str) -> None:
    """Tables with these predictions, and with their labels unless others are given."""
    create_tables(bench.database, **types)
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=AS_OF) if known is None else known)


def clean(count: int = 900) -> list[Row]:
    """Rows without a fault; the last third lies in the newest window."""
    return predictions(count, START, END)


def replaced(rows: Sequence[Row], column: str, values: Mapping[int, object]) -> list[Row]:
    """Rows with other values of a column at some positions."""
    return [row | {column: values[at]} if at in values else row for at, row in enumerate(rows)]


def but(cycled: Cycled, *subjects: str) -> dict[tuple[str, ...], Measurement]:
    """Measurements of all but some subjects, and of what all features together make of the score."""
    every = cycled.measured.items()
    return {key: found for key, found in every if key[3] not in subjects and key[2] != "score_move"}


def test_scores_outside_their_range_are_invalid_and_still_count_in_the_confusion(bench: Bench) -> None:
    fill(bench, replaced(clean(), "score", {700: 1.7, 800: -0.1}))

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("invalid_rate", "score").value == 2 / 300
    assert cycled.of("stability_index", "score").n == 300
    assert cycled.of("roc_auc", truth=PROVISIONAL).n == 298
    assert cycled.of("accuracy", truth=PROVISIONAL).n == 300


def test_categories_that_the_reference_does_not_know_are_unseen(bench: Bench) -> None:
    fill(bench, replaced(clean(), "group", {610: "d", 620: "", 630: "ä ö"}))

    cycled = bench.cycle(AS_OF)

    assert cycled.of("unseen_rate", "feature:group").value == 3 / 300
    assert cycled.of("missing_rate", "feature:group").value == 0


def test_predicted_classes_that_are_not_configured_are_unseen_and_such_labels_invalid(bench: Bench) -> None:
    rows = replaced(clean(), "pred", {700: "maybe"})
    known = replaced(labels(rows, end=AS_OF), "late", {800: 7})
    fill(bench, rows, known)

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("unseen_rate", "prediction").value == 1 / 300
    assert (
        sum(
            found.value or 0
            for (_, _, measure, subject, _), found in cycled.measured.items()
            if measure == "confusion_records" and "unseen" in subject
        )
        == 1
    )
    assert cycled.of("labelled_records", truth=PROVISIONAL).value == 299
    assert cycled.of("invalid_labels", truth=PROVISIONAL).value == 1
    assert cycled.of("invalid_label_rate", truth=PROVISIONAL).value == 1 / 300


@pytest.mark.parametrize("odd", ["abc", "2", "NaN", "n/a"])
def test_labels_that_are_no_class_leave_performance_as_it_is_and_are_counted(bench: Bench, odd: str) -> None:
    rows = clean()
    known = labels(rows, end=AS_OF)
    some = {at: odd for at in range(len(known)) if at % 100 < 72}
    fill(bench, rows, replaced(known, "late", some))

    cycled = bench.cycle(AS_OF)

    right = [int(row["pred"]) == label["late"] for row, label in zip(rows, known, strict=False)]
    kept = [right[at] for at in range(600, min(900, len(known))) if at not in some]
    assert cycled.of("accuracy", truth=PROVISIONAL).value == sum(kept) / len(kept)
    assert cycled.of("invalid_labels", truth=PROVISIONAL).value == sum(at >= 600 for at in some)


def test_an_empty_table_is_measured_once_rows_come(any_bench: Bench) -> None:
    create_tables(any_bench.database)

    before = any_bench.cycle(AS_OF)
    any_bench.database.insert("predictions", clean())
    after = any_bench.cycle(AS_OF + HOUR)

    assert before.error is None
    assert before.count("future_records") == 0
    assert ("late", "1d", "records", "", LabelTruth.NONE) not in before.measured
    assert after.of("records").value == 287  # the day that ends an hour later


def test_check_says_that_a_table_is_empty(bench: Bench) -> None:
    create_tables(bench.database)

    done = bench.monitor("check")

    assert done.exit_code == 0
    assert 'warning: model "late": table "predictions" is empty' in done.stderr


@pytest.mark.parametrize("column", ["amount", "group", "score"])
def test_a_column_that_is_null_throughout_is_missing_and_the_others_are_measured(
    any_bench: Bench, column: str
) -> None:
    fill(any_bench, [row | {column: None} for row in clean()])
    subject = column if column == "score" else f"feature:{column}"

    cycled = any_bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("missing_rate", subject).value == 1
    assert cycled.of("stability_index", "prediction").value is not None
    assert cycled.of("accuracy", truth=PROVISIONAL).n == 300


def test_labels_that_are_null_throughout_leave_the_model_without_labels(bench: Bench) -> None:
    rows = clean()
    fill(bench, rows, [row | {"late": None} for row in labels(rows, end=AS_OF)])

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("coverage", truth=PROVISIONAL).value == 0
    assert cycled.of("retracted_labels", truth=PROVISIONAL).value == 300
    assert cycled.of("roc_auc", truth=PROVISIONAL).reason is Reason.NO_LABELS


def test_of_an_id_with_conflicting_scores_the_row_logged_first_counts(bench: Bench) -> None:
    rows = clean()
    late = to_iso(from_iso(rows[700]["logged_at"]) + 5 * SECOND)
    repeats = [rows[700] | {"score": 1.7, "logged_at": late}, rows[700] | {"score": 0.999, "logged_at": late}]
    fill(bench, [*rows[:100], repeats[0], *rows[100:], repeats[1]], labels(rows, end=AS_OF))

    cycled = bench.cycle(AS_OF)

    assert cycled.of("records").value == 300
    assert cycled.of("duplicate_records").value == 2
    assert cycled.of("invalid_rate", "score").value == 0


def test_labels_without_a_prediction_are_counted_as_orphans(bench: Bench) -> None:
    rows = clean()
    lost = [{"id": f"lost{at}", "late": 1, "reported_at": to_iso(END - HOUR)} for at in range(4)]
    fill(bench, rows, [*labels(rows, end=AS_OF), *lost])

    cycled = bench.cycle(AS_OF)

    assert cycled.count("orphan_labels") == 4
    assert cycled.of("labelled_records", truth=PROVISIONAL).value == 300


def test_events_30_days_ahead_move_no_window_and_are_counted_when_their_time_comes(bench: Bench) -> None:
    ahead = [
        row | {"event_time": to_iso(from_iso(row["event_time"]) + 30 * DAY)}
        for row in predictions(6, END - DAY, END, prefix="ahead")
    ]
    fill(bench, [*clean(), *ahead])

    now = bench.cycle(AS_OF)
    later = bench.cycle(AS_OF + 30 * DAY)

    assert now.count("future_records") == 6
    assert now.of("records").value == 300
    assert later.count("future_records") == 0
    assert later.of("records").value == 6


def test_some_times_of_another_format_are_none_and_stop_nothing(any_bench: Bench) -> None:
    slashes = {at: f"03/03/2024 10:00:{at % 60:02}" for at in range(700, 712)}
    rows = [row | {"logged_at": row["logged_at"].replace("Z", "")} for row in clean()]
    mixed = [row | {"taken": row["event_time"].replace("Z", "")} for row in rows]
    fill(any_bench, replaced(mixed, "taken", slashes), labels(rows, end=AS_OF), taken="text")
    by_text = model("by_text", options=OPTIONS).replace('event_time = "event_time"', 'event_time = "taken"')
    any_bench.configure(model(options=OPTIONS), by_text)

    cycled = any_bench.cycle(AS_OF)

    assert cycled.reports["by_text"].error is None
    assert cycled.count("invalid_times", "by_text") == 12
    assert cycled.of("records", model="by_text").value == 288
    assert cycled.of("records").value == 300


def test_times_of_a_format_that_comes_later_are_none_until_it_is_the_main_one(bench: Bench) -> None:
    fill(bench, [row | {"event_time": row["event_time"].replace("Z", "")} for row in clean()])
    assert bench.cycle(AS_OF).error is None
    bench.database.insert("predictions", predictions(12, END, END + 12 * HOUR, prefix="q"))

    few = bench.cycle(AS_OF + DAY)
    bench.database.insert("predictions", predictions(400, END, END + 12 * HOUR, prefix="m"))
    many = bench.cycle(AS_OF + 2 * DAY)

    assert few.error is None
    assert few.count("invalid_times") == 12
    assert many.error is not None
    assert many.error.startswith('column "event_time" mixes formats of time: "0000-00-00T00:00:00')
    assert '"0000-00-00T00:00:00Z" 412 times' in many.error


@pytest.mark.parametrize("odd", [pytest.param("{}Z", marks=pytest.mark.long), "{}+02:00"])
def test_a_time_of_another_format_alone_in_its_pane_is_none_however_it_is_read(
    any_bench: Bench, tmp_path: Path, odd: str
) -> None:
    """One row an hour: the cycle that counts the odd row's pane sees no other row in it."""
    rows = [row | {"logged_at": row["logged_at"].replace("Z", "")} for row in predictions(72, START, END)]
    rows = [row | {"taken": row["event_time"].replace("Z", "")} for row in rows]
    fill(any_bench, replaced(rows, "taken", {70: odd.format(rows[70]["taken"])}), taken="text")
    any_bench.configure(model(options=OPTIONS).replace('event_time = "event_time"', 'event_time = "taken"'))
    once = Bench(tmp_path / "once", any_bench.database, f"sqlite:///{tmp_path / 'once.db'}")
    once.directory.mkdir()
    once.configure(model(options=OPTIONS).replace('event_time = "event_time"', 'event_time = "taken"'))

    hourly = [any_bench.cycle(END + step * HOUR) for step in range(-4, 2)]
    at_once = once.cycle(AS_OF)

    assert [cycled.error for cycled in (*hourly, at_once)] == [None] * 7
    assert at_once.count("invalid_times") == 1
    assert hourly[-1].of("records").value == at_once.of("records").value == 23


def test_a_single_time_that_is_none_is_counted_and_stops_nothing(any_bench: Bench) -> None:
    rows = replaced([row | {"taken": row["event_time"]} for row in clean()], "taken", {700: "yesterday"})
    fill(any_bench, rows, taken="text")
    any_bench.configure(model(options=OPTIONS).replace('event_time = "event_time"', 'event_time = "taken"'))

    cycled = any_bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.count("invalid_times") == 1
    assert cycled.of("records").value == 299


@pytest.mark.parametrize(
    ("batch_rows", "place"),
    [
        pytest.param(1_000, 2_995, id="last of several batches"),
        pytest.param(1_000, 5, id="first of several batches", marks=pytest.mark.slow),
        pytest.param(50_000, 5, id="one batch"),
    ],
)
def test_odd_numbers_in_a_feature_are_counted_wherever_they_stand(
    any_bench: Bench, place: int, batch_rows: int
) -> None:
    odd: dict[int, object] = {place: float("inf"), place - 1: float("-inf"), place - 2: float("nan")}
    if not any_bench.database.postgres:
        odd |= {place - 2: "abc", place - 3: "1e400"}
    fill(any_bench, replaced(_in_a_day(3_000), "amount", odd))
    any_bench.configure(model(options=OPTIONS), batch_rows=batch_rows)

    cycled = any_bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("invalid_rate", "feature:amount").value == len(odd) / 3_000
    assert cycled.of("missing_rate", "feature:amount").value == 0
    assert cycled.of("missing_rate", "feature:group").n == 3_000


@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "texts"])
def test_the_size_of_batches_changes_nothing(any_bench: Bench, *, as_text: bool) -> None:
    rows = replaced(_in_a_day(3_000), "amount", dict.fromkeys(range(1_100)))
    types = {"amount": "text"} if as_text else {}
    if as_text:
        rows = [row | {"amount": row["amount"] and str(row["amount"])} for row in rows]
        rows = replaced(rows, "amount", {5: "abc", 1_500: "NaN", 2_990: "inf", 2_991: ""})
    fill(any_bench, rows, None, **types)

    measured = []
    for batch_rows in (1_000, 50_000):
        fresh = Bench(
            any_bench.directory, any_bench.database, f"sqlite:///{any_bench.directory}/{batch_rows}.db"
        )
        fresh.configure(model(options=OPTIONS), batch_rows=batch_rows)
        measured.append(fresh.cycle(AS_OF))

    assert measured[0].measured == measured[1].measured
    assert measured[0].of("missing_rate", "feature:amount").value == pytest.approx((1_100 - as_text) / 3_000)


def test_odd_values_of_one_column_leave_the_measurements_of_all_others_as_they_are(
    bench: Bench, tmp_path: Path
) -> None:
    fill(bench, clean())
    plain = bench.cycle(AS_OF)
    (tmp_path / "other").mkdir()
    other = _bench(tmp_path / "other", f"sqlite:///{tmp_path / 'other' / 'log.db'}")
    fill(other, replaced(clean(), "amount", {610: "text", 620: float("inf"), 630: None, 640: b"\xff\xfe"}))

    odd = other.cycle(AS_OF)

    assert but(odd, "feature:amount") == but(plain, "feature:amount")


def _in_a_day(count: int) -> list[Row]:
    return predictions(count, END - DAY, END)
