"""What changed, in words that hold: how much, since when, what was expected, how rare, where."""

from dataclasses import replace
from typing import Any

import pytest
from kept_texts import compare_cases
from row_examples import row_of

from monitor.core.change import Change, ExpectedBand, OutcomeCounts
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import CUMULATIVE, MeasurementRow
from monitor.pipeline.sequential.day_rows import budget_rows
from monitor.sentences.change_words import (
    alert_budget_sentences,
    change_sentence,
    chart_measure,
    chart_title,
    chart_unit,
    common_start_words,
    evident_input_sentences,
)

END = 19_787 * DAY  # the day was a Monday
USUAL: dict[str, Any] = {
    "what": "level",
    "level": "",
    "way": "rises",
    "value": 1.4,
    "expected_low": -0.2,
    "expected_high": 0.2,
    "size": 1.9,
    "since": "2024-03-03",
    "months": 390.0,
    "apparent": 9.0,
    "days": 41,
    "over": 1,
}


def change_of(cells: dict[str, Any]) -> Change:
    """A change of cells as they were kept as a table: its reader is held too."""
    return Change.from_table(tuple(cells), tuple(cells.values()))


def told(**cells: Any) -> str:
    cells = USUAL | cells
    return change_sentence(change_of(cells), END)


HELD = {"segment": "origin=EWR", "held": 0.71, "of_records": 0.36, "value": 0.3}
CHANGES: dict[str, dict[str, Any]] = {
    "a level of which no numbers are kept": {},
    "a number in its own unit": {"own": 91.342, "own_low": 61.86, "own_high": 69.44},
    "many times as much": {"own": 61_000.0, "own_low": 4_900.0, "own_high": 5_300.0},
    "as in other units": {"own": 3_815.2, "own_low": 37.21, "own_high": 38.84},
    "some of the numbers": {"value": 0.83, "own": 471.0, "own_low": 45.0, "own_high": 55.0},
    "all of the numbers moved as far": {"value": 0.94, "own": 0.479, "own_low": 0.249, "own_high": 0.329},
    "a spread": {"what": "spread", "own": 0.0101, "own_low": 9.8, "own_high": 10.2},
    "numbers of both signs have no factor": {"own": 9.0, "own_low": -1.0, "own_high": 4.0},
    "numbers far beyond the reference's": {
        "what": "beyond", "value": 0.036, "expected_low": 0.0, "expected_high": 0.0,
    },
    "a share": {"what": "share", "level": "blue", "value": 0.314, "expected_low": 0.2, "expected_high": 0.24},
    "an area": {"what": "roc_auc", "value": 0.664, "expected_low": 0.72, "expected_high": 0.75},
    "a count": {"what": "records", "value": 1_200.0, "expected_low": 3_000.0, "expected_high": 3_600.0},
    "several days alone show it": {"value": 0.15, "over": 10},
    "a day that is back": {"value": 0.1},
    "found of several days together, so not back": {"value": 0.1, "since": "2024-03-04"},
    "a segment holds a share": HELD | {"what": "share"},
    "a segment holds a shape": HELD | {"what": "shape"},
    "a segment holds unseen values": HELD | {"what": "unseen"},
    "a segment holds corrected labels": HELD | {"what": "corrected"},
    "no segment stands out": {"segment": "", "held": 0.0, "of_records": 0.0},
    "values that are missing besides": {"missing": 0.3, "missing_before": 0.004},
    "as many missing as before": {"missing": 0.3, "missing_before": 0.296},
    "missing values themselves": {"what": "missing", "missing": 0.3},
    "no value of the day": {"value": None},
    "no value of the day, for a reason": {"value": None, "unvalued": "no_records"},
    "a day without a value, after it was found": {
        "what": "log_loss", "value": 1.27, "expected_low": 0.011, "expected_high": 0.075, "over": 0,
        "unvalued": "too_few",
    },
}  # fmt: skip


SINCE: dict[str, Any] = {"since": "2024-03-03", "chance_months": 4321.0}
AGAINST_SCORES = {
    "more of an outcome": Change(
        kind="residual_level", category="DEFAULT", outcomes=OutcomeCounts(1_000, 84, 60.2), **SINCE
    ),
    "fewer positives": Change(
        kind="residual_level", category="1", rises=False, outcomes=OutcomeCounts(2_000, 30, 60.2), **SINCE
    ),
    "fewer correct predictions": Change(
        kind="residual_level", category="(correct)", rises=False, outcomes=OutcomeCounts(90, 60, 81), **SINCE
    ),
    "scores separate less": Change(
        kind="residual_slope",
        category="DEFAULT",
        rises=False,
        outcomes=OutcomeCounts(1_000, 60, 60),
        **SINCE,
    ),
    "numbers that are higher": Change(
        kind="residual_level", outcomes=OutcomeCounts(1_000, 310.4, -4.25), **SINCE
    ),
    "numbers further apart": Change(
        kind="residual_slope", outcomes=OutcomeCounts(1_000, 310.4, -4.25), **SINCE
    ),
    "more so far": Change(
        kind="labels_so_far",
        category="DEFAULT",
        outcomes=OutcomeCounts(0, 31, 17.2),
        certain_on="2024-04-02",
        **SINCE,
    ),
    "less far apart so far": Change(
        kind="labels_so_far", category="DEFAULT", rises=False, certain_on="2024-04-02", **SINCE
    ),
    "a feed that slows down": Change(
        kind="labels_by_age", rises=False, outcomes=OutcomeCounts(0, 1_200, 1_900.4), **SINCE
    ),
    "not found yet": Change(
        kind="residual_level", category="DEFAULT", observed=0.3, expected=ExpectedBand(-0.1, 0.1), size=0.3
    ),
}


@pytest.mark.texts
def test_sentences_of_changes() -> None:
    told_then = change_of({name: cell for name, cell in USUAL.items() if name != "over"})
    cases = [(name, told(**cells)) for name, cells in CHANGES.items()]
    cases.append(("kept before a column was there", change_sentence(told_then, END)))
    for many, allowed in ((9, 1), (1, 1 / 3), (0, 3)):
        (budget,) = alert_budget_sentences(list(budget_rows(END, allowed, many)))
        cases.append((f"{many} told, {allowed:.2f} allowed", budget))

    cases += [(name, change_sentence(change, END)) for name, change in AGAINST_SCORES.items()]

    compare_cases("sentences_of_changes", cases)


def test_a_model_without_a_budget_has_no_sentence_of_it() -> None:
    assert list(alert_budget_sentences(list(budget_rows(END, 1, 9))[:1])) == []


def test_hostile_names_of_the_data_do_not_act() -> None:
    words = told(what="share", level="\x1b[2J\n", value=0.3, segment="a=\u202eb", held=0.9, of_records=0.2)

    assert words.isprintable()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"what": "level"}, ("level", False, "sd", "")),
        ({"what": "level", "own": 91.0, "own_low": 62.0, "own_high": 69.0}, ("level", True, "", "")),
        ({"what": "shape"}, ("shape", False, "χ²", "")),
        ({"what": "share", "level": "JFK"}, ("share of JFK", False, "", "missing_rate")),
        ({"what": "missing"}, ("missing values", False, "", "missing_rate")),
        ({"what": "log_loss"}, ("log loss", False, "", "log_loss")),
        ({"what": "beyond"}, ("far-off numbers", False, "", "missing_rate")),
    ],
)
def test_days_are_told_in_the_unit_that_they_are_drawn_in(
    cells: dict[str, Any], expected: tuple[object, ...]
) -> None:
    cells = USUAL | cells

    change = change_of(cells)

    found = chart_title(change), change.in_unit is not None, chart_unit(change), chart_measure(change)
    assert found == expected


def test_the_weekday_is_that_of_the_date_where_the_model_is() -> None:
    """In Auckland Monday 4 March ends at 11:00 of UTC: half a day before it is still Sunday."""
    change = change_of(USUAL | {"day": "2024-03-04"})

    assert "on Mondays" in change_sentence(change, from_iso("2024-03-04T11:00"))


def test_a_change_says_with_how_many_it_began_from_three_on() -> None:
    changes = [change_of(USUAL | {"since": f"2024-03-0{day}"}) for day in (3, 3, 3, 1, 1)]

    assert common_start_words(changes[0], changes) == "one of 3 changes that began on 2024-03-03"
    assert [common_start_words(change, changes) for change in (changes[-1], None)] == ["", ""]


@pytest.mark.texts
def test_an_input_that_is_as_evident_and_smaller_is_named_beside_what_is_told() -> None:
    def change(**cells: Any) -> Change:
        return change_of(USUAL | cells)

    def row(
        subject: str, evidence: float = 0.0, segment: str | None = None, **cells: object
    ) -> MeasurementRow:
        result = Measurement(value=evidence, n=1_000, change=change(**cells))
        return row_of(EVIDENCE, result, window=CUMULATIVE, window_end=END, segment=segment, subject=subject)

    rows = [
        row("feature:far", value=0.21, own=192.5, own_low=3.97, own_high=4.63),
        row("feature:farther", apparent=99.0, since="2024-03-09"),
        row("feature:third", apparent=8.0),
        row("feature:stands", evidence=2.0),
        row("feature:little", apparent=0.9),
        row("feature:earlier", since="2024-02-24"),
        row("feature:never", since=None),
        row("prediction"),
        row("feature:of_segment", segment="land=PL"),
        replace(row("feature:learns"), measurement=Measurement(value=None, n=3, reason=Reason.LEARNING)),
    ]

    found = list(evident_input_sentences(rows, ["2024-03-03"]))

    compare_cases("sentences_of_evident_inputs", [("inputs that are as evident and smaller", found)])
    assert list(evident_input_sentences(rows, [])) == []
