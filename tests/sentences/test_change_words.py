"""What changed, in words that hold: how much, since when, what was expected, how rare, where."""

from dataclasses import replace
from typing import Any

import pytest
from row_examples import row_of

from monitor.core.change import Change
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import CUMULATIVE, MeasurementRow
from monitor.pipeline.sequential.day_rows import budget_rows
from monitor.sentences.change_words import (
    FiredChange,
    alert_budget_sentences,
    change_sentence,
    changed_subjects_sentence,
    chart_measure,
    chart_title,
    chart_unit,
    common_cause_sentences,
    common_start_words,
    follow_up_commands,
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


def test_a_number_is_told_in_its_own_unit_and_in_standard_deviations_from_what_was_expected() -> None:
    in_unit = told(own=91.342, own_low=61.86, own_high=69.44)

    assert in_unit.split(";")[0] == "mean 91.3 (+1.40 sd) on 2024-03-04, expected 61.9 to 69.4 on Mondays"
    assert told(own=61_000.0, own_low=4_900.0, own_high=5_300.0).startswith(
        "mean 61,000 (×12) on 2024-03-04, expected 4,900 to 5,300 on"
    )
    assert told(own=3_815.2, own_low=37.21, own_high=38.84).startswith(
        "mean 3,815 (×100, as in other units) on 2024-03-04, expected 37.2 to 38.8 on"
    )
    assert told(value=0.83, own=471.0, own_low=45.0, own_high=55.0).startswith(
        "mean 471 (×9.4 by some of the numbers) on 2024-03-04, expected 45 to 55 on"
    )
    assert told(value=0.94, own=0.479, own_low=0.249, own_high=0.329).startswith(
        "mean 0.479 (×1.7) on 2024-03-04, expected 0.249 to 0.329 on"  # all of the numbers moved as far
    )
    assert told(what="spread", own=0.0101, own_low=9.8, own_high=10.2).startswith(
        "spread about 0.0101 (×0.001, as"
    )
    assert "×" not in told(own=9.0, own_low=-1.0, own_high=4.0), "of numbers of both signs no factor is told"
    assert (
        told().split(";")[0]
        == "level 1.40 sd above usual on 2024-03-04, expected −0.20 to +0.20 sd on Mondays"
    )


def test_numbers_far_beyond_the_references_are_told_by_their_share() -> None:
    cells = {"what": "beyond", "value": 0.036, "expected_low": 0.0, "expected_high": 0.0}
    change = change_of(USUAL | cells)

    assert told(**cells).startswith(
        "numbers far beyond all of the reference's in 3.6 % of the records, none on the days before; began "
    )
    assert (chart_title(change), chart_measure(change), chart_unit(change)) == (
        "far-off numbers",
        "missing_rate",
        "",
    )


def test_shares_are_told_with_points_areas_with_their_difference_and_counts_with_their_ratio() -> None:
    share = told(what="share", level="blue", value=0.314, expected_low=0.2, expected_high=0.24)
    area = told(what="roc_auc", value=0.664, expected_low=0.72, expected_high=0.75)
    records = told(what="records", value=1_200.0, expected_low=3_000.0, expected_high=3_600.0)

    assert share.startswith(
        "blue in 31.4 % of the records (+9.4 points) on 2024-03-04, expected 20.0 % to 24.0 % on"
    )
    assert area.startswith("ROC AUC 0.664 (−0.071) on 2024-03-04, expected 0.720 to 0.750 on Mondays")
    assert records.startswith("1,200 records (−64 %) on 2024-03-04, expected 3,000 to 3,600 on Mondays")


@pytest.mark.parametrize(
    ("many", "allowed", "words"),
    [
        (9, 1, "9 changes told in 30 days; chance alone would tell about 1 at most"),
        (1, 1 / 3, "1 change told in 30 days; chance alone would tell about 0.3333 at most"),
        (0, 3, "0 changes told in 30 days; chance alone would tell about 3 at most"),
    ],
)
def test_changes_told_stand_beside_those_that_chance_would_tell(
    many: int, allowed: float, words: str
) -> None:
    rows = list(budget_rows(END, allowed, many))

    assert list(alert_budget_sentences(rows)) == [words]
    assert list(alert_budget_sentences(rows[:1])) == [], (
        "a model without a budget, or of a moment that is past"
    )


def test_a_change_that_only_several_days_show_is_told_as_their_mean() -> None:
    assert told(value=0.15, over=10).split(";")[0] == (
        "level 0.15 sd above usual on average over 10 days to 2024-03-04, "
        "though a single Monday may be from −0.20 to +0.20 sd"
    )


def test_a_day_that_is_back_while_the_alert_stands_is_told_as_expected() -> None:
    assert "as is expected again: −0.20 to +0.20" in told(value=0.1)
    assert "on 2024-03-04, though a single Monday may be from −0.20 to +0.20 sd" in told(
        value=0.1, since="2024-03-04"
    )  # it is found of several together, so it is not back


def test_the_segment_that_holds_it_is_named_or_that_none_stands_out_or_nothing_where_none_is_known() -> None:
    held = {"segment": "origin=EWR", "held": 0.71, "of_records": 0.36}
    for what, of in {
        "share": "records",
        "shape": "values",
        "unseen": "values",
        "corrected": "labels",
    }.items():
        assert told(**held, what=what).endswith(f"; 71 % of it in origin=EWR, which has 36 % of the {of}")
    assert told(segment="", held=0.0, of_records=0.0).endswith("; no segment stands out")
    assert told().endswith("; by chance once in 390 months")


def test_hostile_names_of_the_data_neither_act_nor_break_out_of_a_command() -> None:
    words = told(what="share", level="\x1b[2J\n", value=0.3, segment="a=\u202eb", held=0.9, of_records=0.2)

    assert words.isprintable()
    assert list(follow_up_commands("m; rm -rf /", "feature:$(x)\n")) == [
        "monitor changes --model 'm; rm -rf /'",
        "monitor show --model 'm; rm -rf /' --subject 'feature:$(x)\\n'",
    ]


def test_what_was_kept_before_a_column_was_there_is_still_told() -> None:
    change = change_of({name: cell for name, cell in USUAL.items() if name != "over"})

    assert change_sentence(change, END).startswith("level 1.40 sd above usual")
    assert changed_subjects_sentence(change, 2) == ""


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"what": "level"}, ("level", False, "sd", "")),
        ({"what": "level", "own": 91.0, "own_low": 62.0, "own_high": 69.0}, ("level", True, "", "")),
        ({"what": "shape"}, ("shape", False, "χ²", "")),
        ({"what": "share", "level": "JFK"}, ("share of JFK", False, "", "missing_rate")),
        ({"what": "missing"}, ("missing values", False, "", "missing_rate")),
        ({"what": "log_loss"}, ("log loss", False, "", "log_loss")),
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


def test_values_that_are_missing_besides_are_told_beside_what_changed_of_the_others() -> None:
    assert told(missing=0.3, missing_before=0.004).split("; ")[1] == (
        "besides, 30.0 % of the values are missing, at most 0.4 % expected"
    )
    for cells in ({"missing": 0.3, "missing_before": 0.296}, {"what": "missing", "missing": 0.3}, {}):
        assert "besides" not in told(**cells)


def test_a_change_without_a_value_of_the_day_says_why_there_is_none() -> None:
    assert told(value=None, unvalued="no_records").split("; ")[0] == (
        "level changed, now not known: no values, look whether they are written"
    )
    assert told(value=None).split("; ")[0] == "level changed, now not known"


def test_a_change_whose_day_has_no_value_is_told_as_it_was_found() -> None:
    found = told(
        what="log_loss", value=1.27, expected_low=0.011, expected_high=0.075, over=0, unvalued="too_few"
    )

    assert found.split("; ")[:3] == [
        "log loss 1.270 (+1.227) when it was found, expected 0.011 to 0.075",
        "now not known: fewer than 20 records",
        "began 2024-03-03",
    ]


def test_changes_of_one_first_day_are_told_together_inputs_first() -> None:
    def change(subject: str, segment: str = "", since: str = "2024-03-03") -> FiredChange:
        cells = USUAL | {"since": since}
        return FiredChange(change_of(cells), subject, segment)

    others = change("prediction", since="2024-03-01"), change("feature:b", since="2024-03-01")
    alerts = [
        change(""),
        change("score", "land=PL"),
        change("feature:amount"),
        *others,
        FiredChange(None, "label", ""),
    ]

    assert list(common_cause_sentences([], alerts)) == [
        "3 changes began on 2024-03-03, so look for one cause: amount, performance and score in land=PL"
    ]
    assert list(common_cause_sentences([], alerts[1:])) == []
    changes = [one.change for one in alerts]
    assert common_start_words(changes[0], changes) == "one of 3 changes that began on 2024-03-03"
    assert [common_start_words(change, changes) for change in (changes[-2], None)] == ["", ""]


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

    found = list(common_cause_sentences(rows, [FiredChange(change(since="2024-03-03"), "", "")]))

    first, second = found
    assert first == (
        "As evident, though smaller than what is told, is farther: level 1.40 sd above usual on 2024-03-04, "
        "expected −0.20 to +0.20 sd on Mondays; began 2024-03-09"
    )
    assert second == (
        "As evident, though smaller than what is told, is far: mean 192 (×45 by some of the numbers) on "
        "2024-03-04, expected 3.97 to 4.63 on Mondays; began 2024-03-03"
    )
    assert list(common_cause_sentences(rows, [FiredChange(None, "label", "")])) == []
