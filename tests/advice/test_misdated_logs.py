"""What `check` advises of a log with rows that are years off is what it advises without them."""

import json
from pathlib import Path
from typing import Any

import pytest
from serving import Bench, Database, Row, create_tables, labels, model, predictions

from monitor.core.clock import DAY, from_iso, to_iso

START, END = from_iso("2024-03-01"), from_iso("2024-05-10")
OPTIONS = 'windows = ["1d"]\nhorizon = "30d"\nresamples = 20'
FAR = {
    "9999": "9999-12-31T23:59:59Z",
    "2126": "2126-03-04T10:00:00Z",
    "1970": "1970-01-16T10:00:00Z",
    "0001": "0001-01-01T00:00:00Z",
    "2019": "2019-03-04T10:00:00Z",
}
INDEXES = {
    "indexes": [
        "CREATE INDEX by_log ON predictions (logged_at)",
        "CREATE INDEX by_time ON predictions (event_time)",
    ],
    "none": [],
}
DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    postgres = request.param == "postgresql"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:///{tmp_path / 'log.db'}"
    return Bench(tmp_path, Database(url), f"sqlite:///{tmp_path / 'monitor.db'}")


def filled(bench: Bench, far: str, *, dated: bool) -> None:
    """Tables of a sound log with labels, and two rows of others to each three that are years off."""
    text = model(options=OPTIONS)
    bench.configure(text if dated else text.replace('logged_at = "logged_at"', ""))
    create_tables(bench.database)
    sound = predictions(3_000, START, END)
    off = predictions(2_000, START, END, prefix="far") if far else []
    misdated: list[Row] = [row | {"event_time": far} for row in off]
    bench.database.insert("predictions", [*sound, *misdated])
    bench.database.insert("labels", [*some_labels(sound), *(some_labels(off) if far else [])])


def some_labels(rows: list[Row]) -> list[Row]:
    """A label of each third row; one in fifty comes after the horizon."""
    every = labels(rows, end=END + DAY)[::3]
    late = 40 * DAY
    return [
        row | {"reported_at": to_iso(from_iso(row["reported_at"]) + (0 if at % 50 else late))}
        for at, row in enumerate(every)
    ]


def advice(bench: Bench) -> tuple[dict[str, Any], list[str]]:
    """What is estimated of the model, and the warnings."""
    done = bench.monitor("check", "--format", "json")
    assert done.exit_code == 0, done.stdout
    found = json.loads(done.stdout)
    (told,) = found["models"]
    return told, [warning["text"] for warning in found["warnings"]]


@pytest.mark.parametrize(
    ("year", "made", "dated"),
    [
        pytest.param(
            *(year, made, dated),
            marks=() if year == "9999" and (made == "none") != dated else pytest.mark.slow,
        )
        for year in FAR
        for made in INDEXES
        for dated in (True, False)
    ],
)
def test_two_rows_in_five_that_are_years_off_move_no_advice(
    bench: Bench, year: str, made: str, *, dated: bool
) -> None:
    filled(bench, "", dated=dated)
    bench.database.run(*INDEXES[made])
    sound, quiet = advice(bench)
    line = next(text for text in bench.monitor("check").stdout.split("\n") if "log: rows from" in text)
    for table in ("predictions", "labels", "reference"):
        bench.database.run(f"DROP TABLE {table}")
    filled(bench, FAR[year], dated=dated)
    bench.database.run(*INDEXES[made])

    found, warnings = advice(bench)
    told = bench.monitor("check").stdout

    assert found.pop("rows_per_label") == pytest.approx(sound.pop("rows_per_label"), rel=0.02)
    changed = {name for name in sound if found[name] != sound[name]}
    assert any('horizon = "41d"' in warning for warning in quiet)
    assert changed <= {"rows", "labels", "misdated"}
    assert sound["misdated"] == 0
    if year == "2019":  # may be of the log's past: said beside the first day
        assert warnings == quiet
        assert "from 2024-03-01 to 2024-05-09, and older ones before a pause of half a year" in told
    else:
        (warning,) = set(warnings) - set(quiet)
        assert found["misdated"] == 2_000
        assert "2,000 of 5,000 rows have event times before 1990-01-01 or after" in warning
        assert "2,000 dated years off" in told
    assert line.partition("; ")[2] in told  # the same days to replay


@pytest.mark.parametrize("far", [1, 20])
def test_a_few_are_a_footnote(bench: Bench, far: int) -> None:
    filled(bench, "", dated=True)
    rows = predictions(far, START, END, prefix="far")
    bench.database.insert("predictions", [row | {"event_time": FAR["1970"]} for row in rows])

    found, warnings = advice(bench)

    assert found["misdated"] == far
    assert not any("event times before" in warning for warning in warnings)
    assert f"{far} dated years off, which no window counts" in bench.monitor("check").stdout
