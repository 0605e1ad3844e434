"""Rows whose event time is years off: no window has them, and the log's owner hears of it within a day."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from serving import Bench, Database, Row, create_tables, labels, model, predictions

from monitor.alerts.lifecycle import AlertState
from monitor.core.clock import DAY, HOUR, from_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
AS_OF = END + DAY
OPTIONS = 'windows = ["1d"]\nhorizon = "30d"\nsettle_after = "2d"\nresamples = 20'
RULE = "misdated_records"
FAR = {
    "9999": "9999-12-31T23:59:59Z",
    "2126": "2126-03-04T10:00:00Z",
    "1970": "1970-01-16T10:00:00Z",
    "0001": "0001-01-01T00:00:00Z",
}
WAYS = {  # of finding the rows that came
    "logged_at": ["CREATE INDEX by_log ON predictions (logged_at)"],
    "event_time": ["CREATE INDEX by_time ON predictions (event_time)"],
    "both": [
        "CREATE INDEX by_log ON predictions (logged_at)",
        "CREATE INDEX by_time ON predictions (event_time)",
    ],
    "neither": [],
}
DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Tables with three days without a fault."""
    postgres = request.param == "postgresql"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:///{tmp_path / 'log.db'}"
    return Bench(tmp_path, Database(url), f"sqlite:///{tmp_path / 'monitor.db'}")


def configured(bench: Bench, *, dated: bool = True, **types: str) -> None:
    """A model of the tables, without the time of logging unless it is wanted."""
    text = model(options=OPTIONS)
    bench.configure(text if dated else text.replace('logged_at = "logged_at"', ""))
    create_tables(bench.database, **types)
    first = predictions(900, START, END)
    bench.database.insert("predictions", first)
    bench.database.insert("labels", labels(first, end=AS_OF))


def misdated(rows: Sequence[Row], moment: str, each: int = 5, of: int = 2) -> list[Row]:
    """Rows of which the first `of` of `each` have another event time."""
    return [row | {"event_time": moment} if at % each < of else row for at, row in enumerate(rows)]


def fires(bench: Bench) -> AlertState | None:
    """State of the rule's alert."""
    with bench.app() as app:
        states = {alert.series.rule: alert.state for _, alert in app.store.alerts.read_alerts()}
    return states.get(RULE)


def said(bench: Bench) -> str:
    """What status says."""
    return " ".join(bench.monitor("status", "--all").stdout.split())


LOGGED = {True: "logged_at", False: "no logged_at"}


@pytest.mark.parametrize(
    ("year", "way", "dated"),
    [
        pytest.param(
            *(year, way, dated),
            id=f"{year}-{way}-{LOGGED[dated]}",
            marks=() if year == "9999" or (way == "both" and dated) else pytest.mark.slow,
        )
        for year in FAR
        for way in WAYS
        for dated in (True, False)
    ],
)
def test_two_rows_in_five_that_are_years_off_fire_within_a_day(
    bench: Bench, year: str, way: str, *, dated: bool
) -> None:
    configured(bench, dated=dated)
    bench.database.run(*WAYS[way])
    before = bench.cycle(END)
    rows = misdated(predictions(300, END, AS_OF, prefix="far"), FAR[year])
    bench.database.insert("predictions", rows)

    cycled = bench.cycle(AS_OF + HOUR)

    assert before.error is cycled.error is None
    assert before.count("misdated_records") == before.count("misdated_rate") == 0
    assert cycled.count("misdated_records") == 120
    rate = cycled.of("misdated_rate", window="")
    assert rate.value == pytest.approx(0.4, abs=0.03)
    assert fires(bench) is AlertState.FIRING
    assert "120 rows have event times far outside the horizon" in said(bench)
    assert "misdated_rate" in bench.monitor("status").stdout
    assert cycled.count("future_records") == cycled.count("stale_log_records") == 0


@pytest.mark.parametrize("dated", [True, False], ids=["logged_at", "no logged_at"])
def test_it_is_over_a_day_after_rows_are_dated_rightly_again(bench: Bench, *, dated: bool) -> None:
    configured(bench, dated=dated)
    bench.cycle(END)
    bench.database.insert("predictions", misdated(predictions(300, END, AS_OF, prefix="far"), FAR["1970"]))
    bench.cycle(AS_OF + HOUR)
    bench.database.insert("predictions", predictions(300, AS_OF, AS_OF + DAY, prefix="well"))

    within = bench.cycle(AS_OF + 5 * HOUR)
    still = fires(bench)
    later = bench.cycle(AS_OF + DAY + HOUR)

    assert within.count("misdated_records") == 120
    assert (still, fires(bench)) == (AlertState.FIRING, None)
    assert later.count("misdated_rate") == 0
    assert later.count("misdated_records") == (0 if dated else 120)


@pytest.mark.parametrize("dated", [True, False], ids=["logged_at", "no logged_at"])
def test_the_first_look_at_a_log_finds_them_too(bench: Bench, *, dated: bool) -> None:
    configured(bench, dated=dated)
    bench.database.insert("predictions", misdated(predictions(300, END, AS_OF, prefix="far"), FAR["9999"]))

    cycled = bench.cycle(AS_OF + HOUR)

    assert cycled.count("misdated_records") == 120
    assert fires(bench) is AlertState.FIRING


@pytest.mark.parametrize("dated", [True, False], ids=["logged_at", "no logged_at"])
def test_a_sound_log_says_nothing_of_it(bench: Bench, *, dated: bool) -> None:
    configured(bench, dated=dated)
    bench.cycle(END)
    bench.database.insert("predictions", predictions(300, END, AS_OF, prefix="well"))

    cycled = bench.cycle(AS_OF + HOUR)

    assert cycled.count("misdated_records") == cycled.count("misdated_rate") == 0
    assert fires(bench) is None
    assert "far outside the horizon" not in said(bench)


def test_one_row_in_a_thousand_is_told_and_wakes_nobody(bench: Bench) -> None:
    configured(bench)
    bench.cycle(END)
    rows = misdated(predictions(1_000, END, AS_OF, prefix="far"), FAR["9999"], each=1_000, of=1)
    bench.database.insert("predictions", rows)

    cycled = bench.cycle(AS_OF + HOUR)

    assert cycled.count("misdated_records") == 1
    assert fires(bench) is None
    assert "1 row has an event time far outside the horizon" in said(bench)


def test_a_cycle_that_runs_again_and_another_process_find_the_same(bench: Bench) -> None:
    configured(bench, dated=False)
    bench.cycle(END)
    bench.database.insert("predictions", misdated(predictions(300, END, AS_OF, prefix="far"), FAR["1970"]))

    once = bench.cycle(AS_OF + HOUR)
    again = bench.cycle(AS_OF + HOUR)
    replayed = Bench(bench.directory / "again", bench.database, f"sqlite:///{bench.directory}/again.db")
    replayed.directory.mkdir()
    replayed.config.write_text(bench.config.read_text().replace("monitor.db", "again.db"))

    assert replayed.cycle(AS_OF + HOUR).count("misdated_records") == 120
    for name in ("misdated_records", "misdated_rate"):
        assert once.of(name, window="") == again.of(name, window="")


@pytest.mark.postgres
@pytest.mark.parametrize("moment", ["infinity", "-infinity"])
def test_infinite_times_are_misdated(postgres_url: str, tmp_path: Path, moment: str) -> None:
    bench = Bench(tmp_path, Database(postgres_url), f"sqlite:///{tmp_path / 'monitor.db'}")
    configured(bench)
    bench.cycle(END)
    bench.database.insert("predictions", misdated(predictions(300, END, AS_OF, prefix="far"), moment))

    assert bench.cycle(AS_OF + HOUR).count("misdated_records") == 120


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_numbers_of_another_unit_are_misdated(bench: Bench, unit: str) -> None:
    configured(bench, taken="bigint")
    text = model(options=OPTIONS, predictions=f'event_time_unit = "{unit}"')
    bench.configure(text.replace('event_time = "event_time"', 'event_time = "taken"'))
    right, wrong = (1_000_000, 1_000) if unit == "s" else (1_000, 1_000_000)
    bench.database.run("DELETE FROM predictions")
    rows = [
        row | {"taken": from_iso(row["event_time"]) // (wrong if late and at % 5 < 2 else right)}
        for late, some in (
            (False, predictions(900, START, END)),
            (True, predictions(300, END, AS_OF, prefix="q")),
        )
        for at, row in enumerate(some)
    ]
    bench.database.insert("predictions", rows[:900])
    bench.cycle(END)
    bench.database.insert("predictions", rows[900:])

    assert bench.cycle(AS_OF + HOUR).count("misdated_records") == 120
    assert fires(bench) is AlertState.FIRING
