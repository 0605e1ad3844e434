"""What `monitor show` says where nothing is asked for: the headlines, and how much more there is."""

import csv
import json
from dataclasses import replace

from row_examples import row_of

from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import LabelTruth, StoredMeasurement
from monitor.sentences.label_sentences import add_settling_moments
from monitor.show.measurement_tables import measurements_as_table
from monitor.show.plain_rows import rows_as_csv, rows_as_json, select_newest_rows


def shown(
    measure: str,
    value: float,
    subject: str = "",
    *,
    segment: str | None = None,
    truth: LabelTruth = LabelTruth.NONE,
) -> StoredMeasurement:
    measured = Measurement(value, n=10)
    return StoredMeasurement(
        "late", 0, row_of(measure, measured, subject=subject, segment=segment, truth=truth)
    )


ROWS = [
    shown("records", 10),
    shown("stability_index", 0.1, "score"),
    *(shown("stability_index", at / 10, f"feature:f{at}") for at in range(9)),
    *(shown("missing_rate", 0.0, f"feature:f{at}") for at in range(9)),
    shown("duplicate_rows", 0),
    shown("accuracy", 0.9, truth=LabelTruth.SETTLED),
    shown("relative_accuracy", 1.2, truth=LabelTruth.SETTLED),
    *(shown("base_rate", at / 10, f"class:c{at}", truth=LabelTruth.SETTLED) for at in range(5)),
    *(shown("accuracy", 0.8, segment=f"group={name}", truth=LabelTruth.SETTLED) for name in "ab"),
]


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]


def test_headlines_of_the_whole_and_the_most_shifted_features_are_shown_first() -> None:
    lines = words(measurements_as_table(ROWS, everything=False))

    assert [line[:2] for line in lines if line[0] == "stability_index"] == [
        ["stability_index", "score"],
        *(["stability_index", f"feature:f{at}"] for at in (6, 7, 8)),
    ]
    assert [line[1] for line in lines if line[0] == "base_rate"] == ["class:c2", "class:c3", "class:c4"]
    assert [line[0] for line in lines if "accuracy" in line[0]] == ["accuracy"]
    assert [" ".join(line) for line in lines if line[0] == "…"] == [
        "… 3 more: --all",
        "… 13 more: --all",
        "… 2 more: --all",
    ]


def test_a_provisional_value_that_has_a_nowcast_is_left_to_all() -> None:
    rows = [
        shown("accuracy", 0.91, truth=LabelTruth.PROVISIONAL),
        shown("accuracy", 0.87, truth=LabelTruth.NOWCAST),
        shown("coverage", 0.5, truth=LabelTruth.PROVISIONAL),
        ended(shown("accuracy", 0.89, truth=LabelTruth.SETTLED), 1),
        ended(shown("coverage", 0.6, truth=LabelTruth.PROVISIONAL), 1),
    ]

    few, every = (words(measurements_as_table(rows, everything=everything)) for everything in (False, True))

    assert sorted(line[1] for line in few if line[0] == "accuracy") == ["87.0", "89.0"]
    assert [line[1] for line in few if line[0] == "coverage"] == ["50.0"]  # the other window has settled
    assert sorted(line[1] for line in every if line[0] == "accuracy") == ["87.0", "89.0", "91.0"]


def ended(stored: StoredMeasurement, end: int) -> StoredMeasurement:
    return replace(stored, row=replace(stored.row, window_end=end))


def test_a_value_that_waits_for_a_settled_window_says_when_the_next_one_settles() -> None:
    why = DetailTable(("because",), (("95 % come within 9 days",),))
    rows = add_settling_moments(
        [
            absent("estimated_roc_auc", Measurement.without_value(Reason.NOT_SETTLED, n=0)),
            absent("next_settling", Measurement(86_400.0 * 402, n=0, detail=why)),
        ]
    )
    told = "The next window of 7d is final about 7 Feb 1971: 95 % come within 9 days"

    for shown_rows in (rows, rows[:1]):  # asked for alone too
        (line,) = [line for line in measurements_as_table(shown_rows).splitlines() if "(not_settled)" in line]
        (of_json,) = [row for row in json.loads(rows_as_json(shown_rows)) if row["reason"] == "not_settled"]

        assert line.endswith(told)
        assert of_json["detail"] == [{"when": f"{told}."}]


def absent(measure: str, measurement: Measurement) -> StoredMeasurement:
    """What is shown of a measurement of the whole."""
    stored = shown(measure, 0.0)
    return replace(stored, row=replace(stored.row, measurement=measurement))


def test_everything_is_shown_where_it_is_asked_for() -> None:
    lines = words(measurements_as_table(ROWS))

    measured = [line for line in lines if line[0] != "late," and len(line) > 1]
    assert len(measured) == len(ROWS) + 1
    assert not any("--all" in line for line in lines)


def test_performance_is_first_then_inputs_then_what_goes_on_then_the_log() -> None:
    valid, log = shown("control_p_value_always_valid", 0.5, truth=LabelTruth.SETTLED), shown("log_age", 9.0)
    rows = [
        *ROWS,
        replace(log, row=replace(log.row, window="")),
        replace(valid, row=replace(valid.row, window="cumulative")),
        *(replace(stored, row=replace(stored.row, window="1d")) for stored in ROWS),
        replace(ROWS[0], row=replace(ROWS[0].row, window="month")),
    ]

    for everything, of in ((True, ", as of 1970-01-01"), (False, "")):
        text = measurements_as_table(rows, everything=everything)
        headings = [line.split(", 10 records")[0] for line in text.splitlines() if line.startswith("late, ")]
        assert list(dict.fromkeys(one.removesuffix(of) for one in headings if "group=" not in one)) == [
            "late, 7d to 1970-01-01, settled",
            "late, 1d to 1970-01-01, settled",  # of a day it is mostly chance
            "late, 7d to 1970-01-01",
            "late, month to 1970-01-01",
            "late, 1d to 1970-01-01",
            "late, cumulative to 1970-01-01, settled",
            "late, the log itself",
        ]
    assert text.count("as of 1970-01-01") == 1


def test_json_and_csv_leave_out_the_tables_behind_values_unless_they_are_asked_for() -> None:
    curve = DetailTable(("x", "y"), tuple((at / 40, at / 40) for at in range(41)))
    figures = DetailTable(FIGURES, ((0.731, 0.72, 0.74, 5000),))
    why = DetailTable(("because",), (("95 % come within 9 days",),))
    rows = [
        absent("roc_auc", Measurement(0.8, n=9, detail=curve)),
        replace(against := absent("roc_auc", Measurement(0.1, n=9, detail=figures)), row=replace(
            against.row, against="reference"
        )),
        absent("estimated_roc_auc", replace(Measurement.without_value(Reason.NOT_SETTLED, n=0), detail=why)),
    ]  # fmt: skip

    plain, full = (json.loads(rows_as_json(rows, details=details)) for details in (False, True))
    flat, whole = (
        list(csv.DictReader(rows_as_csv(rows, details=details).splitlines())) for details in (False, True)
    )

    assert json.loads(rows_as_json(rows)) == plain
    assert [row | {"detail": None} for row in plain] == [row | {"detail": None} for row in full]
    details = {(row["measure"], row["against"]): row["detail"] for row in plain}
    assert details.pop(("roc_auc", None)) is None
    assert details == {
        ("roc_auc", "reference"): [dict(zip(FIGURES, figures.rows[0], strict=True))],
        ("estimated_roc_auc", None): [{"because": "95 % come within 9 days"}],
    }
    (of_curve,) = (row["detail"] for row in full if (row["measure"], row["against"]) == ("roc_auc", None))
    assert of_curve == [{"x": at / 40, "y": at / 40} for at in range(41)]
    assert [row["detail"] == "" for row in flat] == [row["detail"] is None for row in plain]
    assert [json.loads(row["detail"]) for row in whole] == [row["detail"] for row in full]


def test_the_newest_rows_of_a_history_are_of_the_last_windows_each_with_its_comparisons() -> None:
    row = shown("accuracy", 0.5).row
    kept = [
        StoredMeasurement("late", as_of, replace(row, window_end=end))
        for as_of, end in ((3, 1), (1, 1), (3, 2), (2, 1))
    ]
    beside = StoredMeasurement("late", 3, replace(row, window_end=2, against="reference"))

    newest, there = select_newest_rows([*kept, beside], 2)

    assert [(stored.as_of, stored.row.window_end, stored.row.against) for stored in newest] == [
        (3, 2, ""),
        (3, 2, "reference"),
        (3, 1, ""),
    ]
    assert there == 4
    assert len(select_newest_rows(kept, None)[0]) == 4
