"""Days of odd logs, judged by real cycles: a value or the reason why there is none, named by `status`."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from serving import Bench, Row, model, predictions, sqlite_bench

from monitor.core.clock import DAY, HOUR, from_iso, to_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.daily_measures import EVIDENCE

START, DAYS = from_iso("2024-03-01"), 34
END = START + DAYS * DAY
LAST = to_iso(END - DAY)
OPTIONS = 'windows = ["1d"]\nhorizon = "60d"\nsettle_after = "2d"\nresamples = 1\n'


def log(per_day: int = 30) -> list[Row]:
    """Rows of 34 days, the last of which is the newest one judged."""
    return predictions(DAYS * per_day, START, END)


def judged(directory: Path, rows: Sequence[Row], options: str = "") -> tuple[dict[str, Measurement], str]:
    """Evidence by subject after a cycle three hours into the next day, and what `status` says of the days."""
    bench = sqlite_bench(directory, rows, model(options=options + OPTIONS), labelled=END)
    cycled = bench.cycle(END + 3 * HOUR)
    assert cycled.error is None
    said = re.sub(r"\s+", " ", bench.monitor("status", "--all").output)
    evidence = {key[3]: found for key, found in cycled.measured.items() if key[2] == EVIDENCE}
    return evidence, said.partition("On the newest day ")[2].partition(". ")[0]


def alerts(evidence: dict[str, Measurement]) -> list[str]:
    return [subject for subject, found in evidence.items() if (found.value or 0.0) > 1]


def test_a_column_that_is_constant_is_judged_and_another_value_of_it_is_found(tmp_path: Path) -> None:
    rows = [row | {"amount": 7.0 if row["event_time"] < LAST else 8.0} for row in log()]

    evidence, said = judged(tmp_path, rows)

    assert alerts(evidence) == ["feature:amount"]
    assert said == "all 9 series were checked"


def test_a_feature_that_is_all_missing_is_named_and_stops_no_other(tmp_path: Path) -> None:
    evidence, said = judged(tmp_path, [row | {"amount": None} for row in log()])

    assert alerts(evidence) == []
    assert said == "8 of 9 series were checked; not amount: no values, look whether they are written"


def test_a_feature_that_is_all_missing_on_the_newest_day_is_an_alert(tmp_path: Path) -> None:
    rows = [row if row["event_time"] < LAST else row | {"amount": None} for row in log()]

    evidence, said = judged(tmp_path, rows)

    assert alerts(evidence) == ["feature:amount"]
    assert said == "8 of 9 series were checked; not amount: no values, look whether they are written"


def test_a_day_without_rows_is_an_alert_on_records_and_what_it_leaves_unjudged_is_named(
    tmp_path: Path,
) -> None:
    evidence, said = judged(tmp_path, [row for row in log() if row["event_time"] < LAST])

    assert alerts(evidence) == ["records"]
    unjudged = {subject for subject, found in evidence.items() if found.reason is Reason.NO_RECORDS}
    assert unjudged == {"feature:amount", "feature:group", "prediction", "score"}
    assert said == (
        "5 of 9 series were checked; not amount, group, prediction and 1 more: no values, look whether they "
        "are written"
    )


@pytest.mark.parametrize(
    ("per_day", "told"),
    [
        (20, "all 9 series were checked"),
        (19, "2 of 9 series were checked; not performance, label, labels and 4 more: fewer than 20 records"),
    ],
)
def test_20_records_a_day_are_judged_and_fewer_are_too_few(tmp_path: Path, per_day: int, told: str) -> None:
    evidence, said = judged(tmp_path, log(per_day))

    assert alerts(evidence) == []
    assert said == told
    few = [Reason.TOO_FEW] if per_day < 20 else []
    assert {found.reason for found in evidence.values()} == {None, *few}


def test_the_budget_says_why_small_changes_are_not_found(tmp_path: Path) -> None:
    moves = np.random.default_rng(4).normal(0, 15, DAYS)
    rows = [
        row | {"amount": row["amount"] + moves[(from_iso(row["event_time"]) - START) // DAY]} for row in log()
    ]
    bench = sqlite_bench(tmp_path, rows, model(options=OPTIONS), labelled=END)
    bench.cycle(END + 3 * HOUR)

    said = {line.split()[0]: line for line in bench.monitor("budget").output.splitlines()[2:]}

    assert said["amount"].endswith("  it varies by itself")
    assert said["performance"].endswith("  it has few records a day")
    assert said["records"].split()[2:] == ["%", "0.6931", "33"]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])  # on 31 and on 10 March
def test_days_of_23_hours_are_judged_as_others_are(tmp_path: Path, zone: str) -> None:
    evidence, said = judged(tmp_path, log(), f'timezone = "{zone}"\n')

    assert alerts(evidence) == []
    assert said == "all 9 series were checked"
    assert {found.reason for found in evidence.values()} == {None}


def test_a_reference_that_lacks_a_column_is_refused_by_name_and_is_not_healthy(tmp_path: Path) -> None:
    bench: Bench = sqlite_bench(tmp_path, log(20), model(options=OPTIONS), labelled=END)
    bench.database.run("ALTER TABLE reference DROP COLUMN amount")

    error = bench.cycle(END).error

    assert error == 'table "reference" has no column "amount" (feature)'
    assert bench.monitor("status", "--exit-code").exit_code == 4  # no data
    assert error in bench.monitor("check").output
