"""What rules say of measurements."""

from dataclasses import replace
from typing import Any

import pytest
from row_examples import row_of

from monitor.alerts.alert_phrases import alert_figures
from monitor.alerts.alert_rules import (
    Acceptance,
    AlertedSeries,
    BreachCondition,
    JudgedBound,
    LimitBase,
    Rule,
    RuleLimit,
    parse_acceptance,
    select_standing_acceptances,
)
from monitor.alerts.verdicts import Outcome, Verdict, group_rule_rows, judge_rule, rule_measures
from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measurement_comparison import contribution_columns
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow

CELLS = DetailTable(("cell", "expected", "actual", "contribution"), (("0 to 1", 0.1, 0.4, 0.42),))
ABOVE = Rule(
    name="shift", measure="stability_index", condition=BreachCondition(above=RuleLimit(0.25)), window="7d"
)


def row(
    value: float | None,
    *,
    measure: str = "stability_index",
    interval: tuple[float, float] | None = None,
    n: int = 100,
    end: int = 7,
    detail: DetailTable | None = None,
    **others: Any,
) -> MeasurementRow:
    reason = Reason.TOO_FEW if value is None else None
    bounds = None if interval is None else Interval(*interval)
    measurement = Measurement(value=value, reason=reason, n=n, interval=bounds, detail=detail)
    return row_of(measure, measurement, window_end=end, **others)


def verdicts(
    rule: Rule, *rows: MeasurementRow, accepted: dict[AlertedSeries, Acceptance] | None = None
) -> dict[AlertedSeries, Verdict]:
    return judge_rule(rule, group_rule_rows(rows, rule_measures([rule])), accepted)


def outcome(rule: Rule, *rows: MeasurementRow) -> Outcome:
    [verdict] = verdicts(rule, *rows).values()
    return verdict.outcome


@pytest.mark.parametrize(
    ("condition", "value", "interval", "expected"),
    [
        (BreachCondition(above=RuleLimit(0.25)), 0.26, None, Outcome.BREACH),
        (BreachCondition(above=RuleLimit(0.25)), 0.25, None, Outcome.CLEAR),
        (BreachCondition(below=RuleLimit(0.25)), 0.24, None, Outcome.BREACH),
        (BreachCondition(below=RuleLimit(0.25)), 0.25, None, Outcome.CLEAR),
        (BreachCondition(above=RuleLimit(2), below=RuleLimit(0.5)), 3.0, None, Outcome.BREACH),
        (BreachCondition(above=RuleLimit(2), below=RuleLimit(0.5)), 0.4, None, Outcome.BREACH),
        (BreachCondition(above=RuleLimit(2), below=RuleLimit(0.5)), 1.0, None, Outcome.CLEAR),
        (BreachCondition(above=RuleLimit(0.25), bound=JudgedBound.LOWER), 0.30, (0.2, 0.4), Outcome.CLEAR),
        (BreachCondition(above=RuleLimit(0.25), bound=JudgedBound.LOWER), 0.35, (0.3, 0.4), Outcome.BREACH),
        (BreachCondition(above=RuleLimit(0.25), bound=JudgedBound.UPPER), 0.20, (0.1, 0.3), Outcome.BREACH),
        (BreachCondition(below=RuleLimit(0.25), bound=JudgedBound.UPPER), 0.20, (0.1, 0.3), Outcome.CLEAR),
        (BreachCondition(below=RuleLimit(0.25), bound=JudgedBound.UPPER), 0.20, (0.1, 0.24), Outcome.BREACH),
        (
            BreachCondition(above=RuleLimit(2), below=RuleLimit(1), bound=JudgedBound.LOWER),
            0.9,
            (0.8, 1.1),
            Outcome.CLEAR,
        ),
        (
            BreachCondition(above=RuleLimit(2), below=RuleLimit(1), bound=JudgedBound.LOWER),
            0.9,
            (0.8, 0.95),
            Outcome.BREACH,
        ),
        (
            BreachCondition(above=RuleLimit(2), below=RuleLimit(1), bound=JudgedBound.LOWER),
            2.2,
            (1.9, 2.4),
            Outcome.CLEAR,
        ),
        (
            BreachCondition(above=RuleLimit(2), below=RuleLimit(1), bound=JudgedBound.LOWER),
            2.2,
            (2.1, 2.4),
            Outcome.BREACH,
        ),
        (BreachCondition(above=RuleLimit(0.2), and_above=RuleLimit(0.3)), 0.25, None, Outcome.CLEAR),
        (BreachCondition(above=RuleLimit(0.2), and_above=RuleLimit(0.3)), 0.35, None, Outcome.BREACH),
        (BreachCondition(below=RuleLimit(0.0), and_above=RuleLimit(0.1)), -0.05, None, Outcome.CLEAR),
        (BreachCondition(below=RuleLimit(0.0), and_above=RuleLimit(0.1)), -0.15, None, Outcome.BREACH),
        (BreachCondition(above=RuleLimit(0.25), clear_above=0.2), 0.22, None, Outcome.WITHIN),
        (BreachCondition(above=RuleLimit(0.25), clear_above=0.2), 0.20, None, Outcome.CLEAR),
        (BreachCondition(below=RuleLimit(0.25), clear_below=0.3), 0.28, None, Outcome.WITHIN),
    ],
)
def test_a_condition_is_judged_on_the_point_or_a_bound(
    condition: BreachCondition, value: float, interval: tuple[float, float] | None, expected: Outcome
) -> None:
    rule = replace(ABOVE, condition=condition)

    assert outcome(rule, row(value, interval=interval)) is expected


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (row(None), "too_few"),
        (row(0.9, n=3), "too_few"),
        (row(0.9), "no_interval"),
    ],
)
def test_what_cannot_be_judged_is_unknown_and_says_why(found: MeasurementRow, reason: str) -> None:
    rule = replace(ABOVE, min_n=10, condition=BreachCondition(above=RuleLimit(0.25), bound=JudgedBound.LOWER))

    [verdict] = verdicts(rule, found).values()

    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, reason)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.15, Outcome.BREACH), (0.11, Outcome.CLEAR), (0.09, Outcome.CLEAR)]
)
def test_size_and_significance_are_both_asked_for(value: float, expected: Outcome) -> None:
    rule = replace(
        ABOVE, condition=BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.1))
    )

    assert outcome(rule, row(value), row(0.12, measure="stability_index_critical")) is expected


@pytest.mark.parametrize(("critical", "limit"), [(0.002, 0.1), (0.12, 0.12)])
def test_the_limit_of_a_verdict_is_the_one_that_decided(critical: float, limit: float) -> None:
    rule = replace(
        ABOVE, condition=BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.1))
    )

    [verdict] = verdicts(rule, row(0.42), row(critical, measure="stability_index_critical")).values()

    assert (verdict.limit, verdict.beside) == (limit, critical)


def test_the_limit_of_a_fall_by_size_is_the_lower_one() -> None:
    rule = replace(ABOVE, condition=BreachCondition(below=RuleLimit(-0.02), and_above=RuleLimit(0.1)))

    [verdict] = verdicts(rule, row(-0.3)).values()

    assert verdict.limit == -0.1


def test_a_shift_against_another_moment_is_read_beside_no_earlier_shift() -> None:
    rule = replace(ABOVE, against="28d")

    [verdict] = verdicts(rule, row(0.4), row(0.3, against="28d")).values()

    assert (verdict.value, verdict.beside) == (0.3, None)


def test_without_its_critical_value_a_rule_says_nothing() -> None:
    rule = replace(ABOVE, condition=BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL)))

    [verdict] = verdicts(rule, row(9.0), row(None, measure="stability_index_critical")).values()

    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "no_limit")


@pytest.mark.parametrize(("upper", "expected"), [(-0.039, Outcome.CLEAR), (-0.041, Outcome.BREACH)])
def test_a_share_is_one_of_the_references_own_value(upper: float, expected: Outcome) -> None:
    """0.70 now and 0.80 in the reference: 5 % of it are 0.04."""
    rule = Rule(
        name="performance",
        measure="roc_auc",
        condition=BreachCondition(below=RuleLimit(-0.05, LimitBase.EARLIER), bound=JudgedBound.UPPER),
        window="7d",
        truth="settled",
        against="reference",
    )
    now = row(0.70, measure="roc_auc", truth=LabelTruth.SETTLED)
    fall = row(
        -0.10, measure="roc_auc", truth=LabelTruth.SETTLED, against="reference", interval=(-0.2, upper)
    )

    [verdict] = verdicts(rule, now, fall).values()

    assert verdict.outcome is expected
    assert verdict.limit == pytest.approx(-0.04)
    assert verdict.beside == pytest.approx(0.8)


def test_other_windows_truths_subjects_and_strata_are_not_judged() -> None:
    rule = replace(ABOVE, subject="score")
    others = [
        replace(row(1.0, subject="score"), window="1d"),
        row(1.0, subject="score", truth=LabelTruth.SETTLED),
        row(1.0, subject="label"),
        row(1.0, subject="score", segment="origin=JFK"),
        row(1.0, subject="score", version="2"),
        row(1.0, subject="score", against="28d"),
    ]

    assert verdicts(rule, *others) == {}


def test_a_pattern_judges_each_of_its_strata() -> None:
    rule = replace(ABOVE, segment="origin=*")
    rows = [row(0.3, segment="origin=JFK"), row(0.1, segment="origin=LGA"), row(9.0, segment="carrier=AA")]

    found = {series.segment: verdict.outcome for series, verdict in verdicts(rule, *rows).items()}

    assert found == {"origin=JFK": Outcome.BREACH, "origin=LGA": Outcome.CLEAR}


def test_of_two_windows_the_newer_one_is_judged() -> None:
    assert outcome(ABOVE, row(0.1, end=14), row(0.9, end=7)) is Outcome.CLEAR
    assert outcome(ABOVE, row(0.9, end=7), row(0.1, end=14)) is Outcome.CLEAR


@pytest.mark.parametrize(("share", "expected"), [(0.3, Outcome.BREACH), (0.5, Outcome.CLEAR)])
def test_features_are_judged_by_their_share(share: float, expected: Outcome) -> None:
    rule = replace(ABOVE, subject="feature:*", features="share", share=share)
    rows = [
        row(0.4, subject="feature:a"),
        row(0.9, subject="feature:b", detail=CELLS),
        row(0.1, subject="feature:c"),
        row(0.2, subject="feature:d"),
        row(None, subject="feature:e"),
    ]

    found = verdicts(rule, *rows)

    [(series, verdict)] = found.items()
    assert series.subject == "feature:*"
    assert (verdict.outcome, verdict.value, verdict.n) == (expected, 0.5, 4)
    assert verdict.cause == DetailTable(
        ("feature", "value", "limit", "beside", "cell", "expected", "actual"),
        (
            ("feature:b", 0.9, 0.25, None, "0 to 1", 0.1, 0.4),
            ("feature:a", 0.4, 0.25, None, None, None, None),
        ),
    )


def test_a_share_of_features_of_which_none_is_known_is_unknown() -> None:
    rule = replace(ABOVE, subject="feature:*", features="share")

    assert outcome(rule, row(None, subject="feature:a"), row(None, subject="feature:b")) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("measure", "names"),
    [("roc_auc", ["town=b", "town=c", "town=a"]), ("log_loss", ["town=a", "town=c", "town=b"])],
)
def test_without_a_contribution_the_segments_that_are_surely_worst_are_named(
    measure: str, names: list[str]
) -> None:
    fall = replace(ABOVE, measure=measure, truth="settled", against="reference")
    settled: dict[str, Any] = {"measure": measure, "truth": LabelTruth.SETTLED}
    rows = [
        row(0.7, **settled),
        row(-0.1, against="reference", **settled),
        row(0.8, segment="town=a", interval=(0.75, 0.85), **settled),
        row(0.6, segment="town=b", interval=(0.55, 0.65), **settled),
        row(0.5, segment="town=c", interval=(0.3, 0.7) if measure == "roc_auc" else (0.6, 0.7), **settled),
        row(0.1, segment="town=a", version="2", **settled),
        row(0.1, segment="town=a", end=0, **settled),
        row(None, segment="town=d", **settled),
    ]

    [verdict] = verdicts(fall, *rows).values()

    assert verdict.cause is not None
    assert verdict.cause.columns == ("segment", "value", "lower", "upper", "n")
    assert [name for name, *_ in verdict.cause.rows] == names


def test_a_verdict_names_the_cells_that_moved_or_the_segments_that_contribute() -> None:
    cells = DetailTable(("from", "to"), ((0.0, 1.0),))
    segments = DetailTable(("segment",), (("origin=JFK",),))
    fall = replace(ABOVE, measure="accuracy", truth="settled", against="reference")

    [of_shift] = verdicts(ABOVE, row(0.9, detail=cells)).values()
    [of_fall] = verdicts(
        fall,
        row(0.9, measure="accuracy", truth=LabelTruth.SETTLED, against="reference"),
        row(
            0.1,
            measure="segment_contribution",
            truth=LabelTruth.SETTLED,
            against="reference",
            detail=segments,
        ),
    ).values()

    assert (of_shift.cause, of_fall.cause) == (cells, segments)


def test_of_a_fall_of_another_measure_its_own_segments_stand_before_what_accuracy_lost() -> None:
    added = DetailTable(contribution_columns("accuracy"), (("town=a", -0.1, 0.6, 0.7, 0.5, 0.5),))
    place: dict[str, Any] = {"truth": LabelTruth.SETTLED, "against": "reference"}
    told = row(-0.1, measure="segment_contribution", detail=added, **place)

    def named(measure: str) -> str:
        """What stands first: errors are large where labels are."""
        settled: dict[str, Any] = {"measure": measure, "truth": LabelTruth.SETTLED}
        worst = row(0.6, segment="town=b", interval=(0.55, 0.65), **settled)
        fall = row(-0.1, measure=measure, **place)
        rule = replace(ABOVE, measure=measure, truth="settled", against="reference")
        [verdict] = verdicts(rule, row(0.7, **settled), worst, fall, told).values()
        assert verdict.cause is not None
        return str(verdict.cause.rows[0][0])

    assert (named("accuracy"), named("roc_auc")) == ("town=a", "town=b")
    assert named("root_mean_squared_error") == "town=a"


def test_a_window_that_settled_by_few_delays_is_not_judged() -> None:
    place: dict[str, Any] = {"measure": "roc_auc", "truth": LabelTruth.SETTLED}
    rule = replace(ABOVE, measure="roc_auc", truth="settled")

    [plain] = verdicts(rule, row(0.9, **place)).values()
    [doubted] = verdicts(rule, row(0.9, warning="partial, few_delays", **place)).values()

    assert (plain.outcome, plain.reason) == (Outcome.BREACH, "")
    assert (doubted.outcome, doubted.reason, doubted.value) == (Outcome.UNKNOWN, "few_delays", 0.9)


@pytest.mark.parametrize(("value", "expected"), [(0.5, Outcome.CLEAR), (0.7, Outcome.BREACH)])
def test_what_lies_within_an_accepted_change_is_no_breach(value: float, expected: Outcome) -> None:
    series = AlertedSeries("shift", window="7d")
    accepted = {series: Acceptance(series=series, start=0, end=7, lower=0.4, upper=0.6)}

    [verdict] = verdicts(ABOVE, row(value), accepted=accepted).values()

    assert verdict.outcome is expected


def test_a_window_is_judged_against_the_accepted_one_where_rows_say_how_far_it_is() -> None:
    series = AlertedSeries("shift", window="7d")
    accepted = {series: Acceptance(series=series, start=0, end=7, lower=0.4, upper=0.6)}

    [near] = verdicts(ABOVE, row(0.9), row(0.1, against="accepted:shift"), accepted=accepted).values()
    [far] = verdicts(ABOVE, row(0.5), row(0.3, against="accepted:shift"), accepted=accepted).values()

    assert (near.outcome, near.value) == (Outcome.CLEAR, 0.1)
    assert (far.outcome, far.value) == (Outcome.BREACH, 0.3)


def test_what_is_accepted_is_read_back_until_it_is_over() -> None:
    first = Acceptance(
        series=AlertedSeries("shift", window="7d"), start=0, end=7, lower=0.4, upper=0.6, until=9
    )
    second = replace(first, series=AlertedSeries("other"), until=None)

    both = [
        parse_acceptance(first.detail_json()),
        parse_acceptance(second.detail_json(), who="ada", why="a campaign"),
    ]
    second = replace(second, who="ada", why="a campaign")

    assert select_standing_acceptances(both, 8) == {first.series: first, second.series: second}
    assert select_standing_acceptances(both, 9) == {second.series: second}
    assert select_standing_acceptances([*both, replace(second, until=8)], 9) == {}


def test_what_is_accepted_for_no_time_is_withdrawn() -> None:
    accepted = Acceptance(series=AlertedSeries("shift"), start=0, end=7, lower=0.4, upper=0.6, since=8)

    ends = {until: replace(accepted, until=until).is_withdrawal for until in (None, 0, 8, 9)}

    assert ends == {None: False, 0: True, 8: True, 9: False}


def test_what_is_accepted_holds_only_after_the_cycle_that_was_seen() -> None:
    accepted = Acceptance(
        series=AlertedSeries("shift", window="7d"), start=0, end=7, lower=0.4, upper=0.6, since=8
    )

    assert select_standing_acceptances([accepted], 8) == {}
    assert select_standing_acceptances([accepted], 9) == {accepted.series: accepted}


ROC_FELL = replace(
    ABOVE,
    measure="roc_auc",
    against="reference",
    truth="settled",
    condition=BreachCondition(below=RuleLimit(-0.05, LimitBase.EARLIER), bound=JudgedBound.UPPER),
)


@pytest.mark.parametrize(
    ("value", "half", "expected"),
    [
        (0.55, 0.045, Outcome.BREACH),  # 0.065 less than accepted, surely less, and more than 5 % less
        (0.55, 0.07, Outcome.CLEAR),  # perhaps by chance
        (0.60, 0.001, Outcome.CLEAR),  # surely less, by 2 %: no rule asks for that
        (0.70, 0.02, Outcome.CLEAR),
    ],
)
def test_an_accepted_fall_hides_none_that_is_surely_worse_by_more_than_the_limit(
    value: float, half: float, expected: Outcome
) -> None:
    series = AlertedSeries("shift", window="7d")
    accepted = {series: Acceptance(series=series, start=0, end=7, lower=-0.112, upper=-0.054)}
    place: dict[str, Any] = {"measure": "roc_auc", "truth": LabelTruth.SETTLED, "end": 14}
    now = row(value, **place)
    of_reference, of_accepted = (
        row(value - then, interval=(value - then - half, value - then + half), against=name, **place)
        for name, then in (("reference", 0.7), ("accepted:shift", 0.615))
    )

    [verdict] = verdicts(ROC_FELL, now, of_reference, of_accepted, accepted=accepted).values()

    assert verdict.outcome is expected
    assert verdict.against == "accepted"
    assert verdict.beside == pytest.approx(0.615)
    assert verdict.limit == pytest.approx(-0.05 * 0.615)
    told = alert_figures(ROC_FELL, verdict)
    assert f"roc_auc {value:.3f}, accepted 0.615, difference" in told
    assert "limit −0.03075 (−5 % of accepted)" in told


@pytest.mark.parametrize(
    ("value", "expected"), [(0.61, Outcome.CLEAR), (0.58, Outcome.BREACH), (0.65, Outcome.CLEAR)]
)
def test_a_fall_of_a_segment_is_judged_by_the_bound_of_what_was_accepted(
    value: float, expected: Outcome
) -> None:
    series = AlertedSeries("shift", window="7d")
    accepted = {series: Acceptance(series=series, start=0, end=7, lower=0.59, upper=0.64)}
    rule = replace(
        ABOVE, measure="roc_auc", condition=BreachCondition(below=RuleLimit(0.68), bound=JudgedBound.UPPER)
    )
    found = row(value, measure="roc_auc", interval=(value - 0.025, value + 0.025))

    [verdict] = verdicts(rule, found, accepted=accepted).values()

    assert verdict.outcome is expected


def test_where_the_accepted_window_is_no_longer_counted_its_bounds_still_hold() -> None:
    series = AlertedSeries("shift", window="7d")
    accepted = {series: Acceptance(series=series, start=0, end=7, lower=0.4, upper=0.6)}
    gone = row(None, against="accepted:shift")

    [within] = verdicts(ABOVE, row(0.5), gone, accepted=accepted).values()
    [beyond] = verdicts(ABOVE, row(0.7), gone, accepted=accepted).values()

    assert (within.outcome, beyond.outcome) == (Outcome.CLEAR, Outcome.BREACH)


def test_an_accepted_comparison_that_goes_on_is_no_breach_however_sure_it_becomes() -> None:
    rule = Rule(
        name="arms",
        measure="control_p_value_always_valid",
        condition=BreachCondition(below=RuleLimit(0.05)),
        window=CUMULATIVE,
        truth="settled",
    )
    series = AlertedSeries("arms", window=CUMULATIVE)
    accepted = {series: Acceptance(series=series, start=7, end=7, lower=0.04, upper=0.04)}
    surer = replace(row(1e-9, measure=rule.measure, truth=LabelTruth.SETTLED, end=14), window=CUMULATIVE)

    [alone] = verdicts(rule, surer).values()
    [expected] = verdicts(rule, surer, accepted=accepted).values()

    assert (alone.outcome, expected.outcome) == (Outcome.BREACH, Outcome.CLEAR)


@pytest.mark.parametrize(
    ("share", "breaches", "expected"),
    [
        (0.0, 0, Outcome.UNKNOWN),  # the one that was not counted may be in breach
        (0.0, 1, Outcome.BREACH),
        (0.5, 0, Outcome.CLEAR),  # one of four at most
        (0.5, 2, Outcome.BREACH),
    ],
)
def test_a_share_is_clear_only_if_features_that_were_not_counted_cannot_change_that(
    share: float, breaches: int, expected: Outcome
) -> None:
    rule = replace(ABOVE, subject="feature:*", features="share", share=share)
    values = [0.9] * breaches + [0.1] * (3 - breaches)
    rows = [row(value, subject=f"feature:{at}") for at, value in enumerate(values)]
    lost = replace(
        row(None, subject="feature:lost"), measurement=Measurement.without_value(Reason.NOT_COUNTED, n=100)
    )

    [verdict] = verdicts(rule, *rows, lost).values()

    assert verdict.outcome is expected
    assert verdict.reason == ("not_counted" if expected is Outcome.UNKNOWN else "")
