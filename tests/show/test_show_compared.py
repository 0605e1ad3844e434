"""What `monitor show` says of values against another moment, and what stands behind them."""

from dataclasses import replace

import pytest
from row_examples import row_of

from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.measurement_comparison import FIGURES, contribution_columns
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import is_compared_by_difference
from monitor.show.detail_tables import format_tables_behind, table_with_details
from monitor.show.measurement_tables import measurements_as_table

CELLS = ("cell", "expected", "actual", "contribution")
THEN = DetailTable(FIGURES, ((0.731, 0.72, 0.74, 5000),))
FALL = DetailTable(
    contribution_columns("accuracy"),
    (("town=b", -0.019, 0.5, 0.73, 0.3, 0.28), ("town=a", -0.002, 0.7, None, 0.2, 0.0)),
)


def row(
    measure: str,
    value: float | Reason,
    subject: str = "",
    *,
    against: str = "",
    interval: Interval | None = None,
    detail: DetailTable | None = None,
    truth: LabelTruth = LabelTruth.SETTLED,
) -> MeasurementRow:
    measured = (
        Measurement.without_value(value, n=900)
        if isinstance(value, Reason)
        else Measurement(value=value, n=900, interval=interval, detail=detail)
    )
    return row_of(measure, measured, subject=subject, truth=truth, against=against)


def shown(*rows: MeasurementRow) -> list[StoredMeasurement]:
    return [StoredMeasurement("late", 0, one) for one in rows]


PERFORMANCE = shown(
    row("accuracy", -0.021, against="reference", interval=Interval(-0.03, -0.012), detail=THEN),
    row("accuracy", Reason.NOT_COUNTED, against="28d"),
    row("segment_contribution", -0.019, against="reference", detail=FALL),
    row("roc_auc", 0.8, detail=DetailTable(("x", "y"), tuple((at / 40, at / 40) for at in range(41)))),
    row("accuracy", 0.71, interval=Interval(0.7, 0.72)),
)
SHIFT = shown(
    *(
        row(measure, value, f"feature:f{at}", truth=LabelTruth.NONE, against=against, detail=detail)
        for at in range(5)
        for against, factor in (("", 1.0), ("previous", 2.0))
        for measure, value, detail in (
            ("stability_index", factor * at / 10, DetailTable(CELLS, ((f"{at} and more", 0.1, 0.2, 0.07),))),
            ("stability_index_critical", 0.01, None),
        )
    )
)


def line_of(text: str, start: str) -> str:
    (found,) = (line.strip() for line in text.splitlines() if line.strip().startswith(start))
    return found


def test_what_a_value_is_compared_with_stands_in_its_note() -> None:
    text = measurements_as_table(PERFORMANCE)

    accuracy = line_of(text, "accuracy")
    assert accuracy.split()[1:6] == ["71.0", "%", "[70.0,", "72.0]", "900"]
    note = "reference 73.1 %, difference −2.1 points [−3.0, −1.2]; 28d (not_counted)"
    assert accuracy.endswith(note)
    assert line_of(text, "segment_contribution").endswith(
        "against reference: town=b, −1.9 points of accuracy"
    )


def test_the_overview_says_the_reference_and_whether_a_value_is_clearly_worse() -> None:
    better = replace(PERFORMANCE[0].row.measurement, value=0.02, interval=Interval(0.01, 0.03))
    same = replace(better, interval=Interval(-0.01, 0.05))
    words = []
    for difference in (PERFORMANCE[0].row.measurement, better, same):
        beside = shown(replace(PERFORMANCE[0].row, measurement=difference))
        text = measurements_as_table([*beside, PERFORMANCE[-1]], everything=False)
        assert text.splitlines()[3].split() == ["performance", "value", "interval", "reference"] + (
            ["note"] if difference is not same else []
        )
        words.append(line_of(text, "accuracy").split()[-3:])

    assert words == [["73.1", "%", "worse"], ["73.1", "%", "better"], ["72.0]", "73.1", "%"]]


def test_the_overview_has_a_critical_value_beside_what_it_is_of() -> None:
    text = measurements_as_table(SHIFT, everything=False)

    assert "stability_index_critical" not in text
    assert line_of(text, "stability_index  feature:f4").split()[2:] == ["0.400", "critical", "0.010"]


def test_shift_against_an_earlier_window_stands_beside_that_against_the_reference() -> None:
    text = measurements_as_table([stored for stored in SHIFT if stored.row.subject == "feature:f4"])

    assert line_of(text, "stability_index  ").endswith("band significant, previous 0.800")


def test_one_measure_has_its_comparisons_in_a_note_too() -> None:
    later = [replace(stored, as_of=stored.as_of + 1) for stored in PERFORMANCE]
    accuracy = [stored for stored in [*PERFORMANCE, *later] if stored.row.measure == "accuracy"]

    text = measurements_as_table(accuracy)

    told = [line for line in text.splitlines() if "71.0 %" in line]
    assert len(told) == 2
    assert all("reference 73.1 %" in line for line in told)


def test_a_difference_alone_stands_in_the_note_and_never_as_a_value() -> None:
    figure = replace(THEN, rows=((0.731, None, None, 5000),))
    bare = replace(PERFORMANCE[0].row, measurement=Measurement(value=0.02, n=9, detail=figure))

    words = line_of(measurements_as_table(shown(bare)), "accuracy").split(maxsplit=2)
    assert words == ["accuracy", "9", "reference 73.1 %, difference +2.0 points"]


@pytest.mark.parametrize("measure", [measure.name for measure in CATALOGUE])
def test_no_difference_of_any_measure_is_shown_as_a_value(measure: str) -> None:
    text = measurements_as_table(shown(row(measure, -0.05, "feature:age", against="reference")))
    values = line_of(text, f"{measure} ").split("reference")[0]

    assert ("difference" in text) == is_compared_by_difference(measure, "reference")
    assert not is_compared_by_difference(measure, "reference") or "0.05" not in values.replace("−", "-")


def test_a_missing_rate_is_never_negative() -> None:
    now = row("missing_rate", 0.01, "feature:age", interval=Interval(0.0, 0.02))
    less = row("missing_rate", -0.05, "feature:age", against="reference", interval=Interval(-0.06, -0.04))

    told = line_of(measurements_as_table(shown(now, less)), "missing_rate")

    assert told.endswith("1.0 %  [0.0, 2.0]  900  reference 6.0 %, difference −5.0 points [−6.0, −4.0]")


def test_families_have_headings_where_there_are_several() -> None:
    headings = [line.strip() for line in measurements_as_table([*PERFORMANCE, *SHIFT]).splitlines()]

    assert [line for line in headings if line in ("performance", "shift")] == ["performance", "shift"]
    assert "shift" not in [line.strip() for line in measurements_as_table(SHIFT).splitlines()]


def test_the_fall_is_explained_first_then_the_most_shifted_subjects_and_the_curves() -> None:
    text = format_tables_behind([*PERFORMANCE, *SHIFT])

    titles = [line.strip() for line in text.splitlines() if line.startswith("  ") and line[2] != " "]
    assert titles == [
        "segment_contribution: −0.019, against reference",
        "roc_auc: 0.800",
        "stability_index feature:f4: 0.400, critical value 0.010",
        "stability_index feature:f3: 0.300, critical value 0.010",
        "stability_index feature:f2: 0.200, critical value 0.010",
        "stability_index feature:f4: 0.800, critical value 0.010, against previous",
        "stability_index feature:f3: 0.600, critical value 0.010, against previous",
        "stability_index feature:f2: 0.400, critical value 0.010, against previous",
    ]
    assert " ".join(line_of(text, "town=a").split()) == "town=a −0.2 points 70.0 % unknown 20.0 % 0 %"
    assert line_of(text, "…") == "… 29 more: --explain --format json"
    assert "0.731" not in text


def test_without_any_detail_it_says_so() -> None:
    plain = shown(row("accuracy", 0.71))

    assert format_tables_behind(plain) == "there is no detail behind these values"
    assert table_with_details(plain) == f"{measurements_as_table(plain)}\n\n{format_tables_behind(plain)}"
