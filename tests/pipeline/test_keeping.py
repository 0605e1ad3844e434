"""Of windows that overlap others of their kind only what is asked for is kept; of the others everything."""

from dataclasses import replace

from row_examples import row_of
from synthetic import SPEC

from monitor.alerts.alert_rules import BreachCondition, Rule, RuleLimit
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.kept_rows import place_of, select_kept_rows
from monitor.windows.window_ends import parse_window

WEEK = parse_window("7d", HOUR)
SPEC_OF_WEEKS = replace(SPEC, windows=(WEEK, parse_window("month", HOUR)), rules=())
APART, OVERLAPPING = 20_300 * DAY, 20_303 * DAY  # multiples of a week from 1970 on, or not
NAMES = (
    "roc_auc",
    "records",
    "stability_index",
    "stability_index_critical",
    "gini",
    "jensen_shannon_distance",
)


def rows(end: int, window: str = "7d") -> list[MeasurementRow]:
    return [
        row_of(name, Measurement(value=0.5, n=9), window=window, window_end=end, truth=LabelTruth.NONE)
        for name in NAMES
    ]


def names(kept: list[MeasurementRow]) -> tuple[str, ...]:
    return tuple(row.measure for row in kept)


def test_of_windows_apart_from_one_another_everything_is_kept() -> None:
    assert APART % (7 * DAY) == 0
    for due in (rows(APART), rows(OVERLAPPING, "month"), rows(OVERLAPPING, "cumulative")):
        assert select_kept_rows(SPEC_OF_WEEKS, due, [], (), thin=True) == due


def test_of_overlapping_windows_what_nobody_asks_for_is_left_out() -> None:
    kept = select_kept_rows(SPEC_OF_WEEKS, rows(OVERLAPPING), [], (), thin=True)

    assert names(kept) == NAMES[:4]
    assert select_kept_rows(SPEC_OF_WEEKS, rows(OVERLAPPING), [], (), thin=False) == rows(OVERLAPPING)


def test_what_a_rule_judges_is_kept_of_its_window() -> None:
    rule = Rule(
        name="far",
        measure="jensen_shannon_distance",
        condition=BreachCondition(above=RuleLimit(0.1)),
        window="7d",
    )
    elsewhere = replace(rule, window="1d")

    for rules, expected in (((rule,), "jensen_shannon_distance"), ((elsewhere,), "stability_index_critical")):
        kept = select_kept_rows(replace(SPEC_OF_WEEKS, rules=rules), rows(OVERLAPPING), [], (), thin=True)

        assert names(kept)[-1] == expected


def test_where_an_alert_changes_the_rows_that_it_was_judged_by_are_kept_whole() -> None:
    due, newest = rows(OVERLAPPING), rows(OVERLAPPING + HOUR)
    changed = {place_of(due[0]), place_of(newest[0])}

    kept = select_kept_rows(SPEC_OF_WEEKS, due, [*due, *newest], changed, thin=True)

    assert kept == [*due, *newest]
