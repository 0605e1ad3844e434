"""Who is needed for a model, and why; what cannot be told never looks like health."""

from dataclasses import replace
from typing import Any, cast

import pytest
from row_examples import firing, row_of

from monitor.alerts.alert_rules import (
    Acceptance,
    AlertedSeries,
    BreachCondition,
    JudgedBound,
    LimitBase,
    Rule,
    RuleLimit,
    Severity,
)
from monitor.alerts.lifecycle import AlertState
from monitor.alerts.model_standing import (
    ModelFacts,
    ModelStanding,
    Need,
    exit_code,
    judge_standing,
    rank_models,
)
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change
from monitor.core.clock import DAY, HOUR, to_iso
from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measurement_comparison import FIGURES, contribution_columns
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.sentences.trouble_sentences import CycleTrouble
from monitor.show.alert_tables import ShownAlert, alerts_as_table

NOW = 400 * DAY
NOWCAST = cast("LabelTruth", "nowcast")
FALL = Rule(
    name="performance",
    measure="roc_auc",
    condition=BreachCondition(below=RuleLimit(-0.05, LimitBase.EARLIER), bound=JudgedBound.UPPER),
    severity=Severity.CRITICAL,
    window="7d",
    truth="settled",
    against="reference",
)
SHIFT = Rule(
    name="feature_shift",
    measure="stability_index",
    condition=BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.1)),
    subject="feature:*",
    window="7d",
)
RULES = (FALL, SHIFT)


def measured(value: float, half: float = 0.01, **others: Any) -> Measurement:
    return Measurement(value=value, n=900, interval=Interval(value - half, value + half), **others)


def performance_of(truth: LabelTruth, step: float, end: int = NOW - 9 * DAY) -> list[MeasurementRow]:
    """An AUC of 0.75 less than the reference by a step, and its difference."""
    then = DetailTable(FIGURES, ((0.75, 0.74, 0.76, 9_000),))
    return [
        row_of("roc_auc", measured(0.75 + step), truth=truth, window_end=end),
        row_of("roc_auc", measured(step, detail=then), truth=truth, window_end=end, against="reference"),
        row_of("accuracy", measured(0.9), truth=truth, window_end=end),
        row_of("majority_accuracy", measured(0.7), truth=truth, window_end=end),
    ]


def shift_of(feature: str, index: float) -> list[MeasurementRow]:
    place = {"subject": f"feature:{feature}", "window_end": NOW - DAY}
    return [
        row_of("stability_index", Measurement(index, n=900), **place),
        row_of("stability_index_critical", Measurement(0.002, n=900), **place),
    ]


ONE_CLASS = "only one class has been seen: wait for labels of the others, or take a longer window"
SETTLED = performance_of(LabelTruth.SETTLED, -0.001)
HEALTHY = ModelFacts(
    model="late",
    now=NOW,
    as_of=NOW - HOUR,
    every=HOUR,
    window="7d",
    main="roc_auc",
    labels=True,
    reference=True,
    rows=[*SETTLED, *shift_of("age", 0.001), *shift_of("temp", 0.42)],
    alerts=(),
    rules=RULES,
    never={},
    accepted={},
)
BREACH = Verdict(outcome=Outcome.BREACH, window_end=NOW - DAY, value=0.42, n=900, limit=0.002)
FIRING = firing(AlertedSeries("feature_shift", "", "", "7d", "feature:temp"), BREACH, NOW - DAY)


def said(seen: ModelFacts, title: str) -> str:
    return " ".join(
        one
        for section in judge_standing(seen).sections
        if section.title == title
        for one in section.sentences
    )


def of(**changed: Any) -> ModelStanding:
    return judge_standing(replace(HEALTHY, **changed))


def test_a_model_whose_rules_are_all_judged_and_clear_needs_nobody() -> None:
    found = of(rows=[*SETTLED, *shift_of("age", 0.001)])

    assert (found.need, exit_code([found])) == (Need.NOTHING, 0)
    assert found.because == ("Every rule is judged, and none is in breach.",)


def test_a_quiet_model_says_what_is_not_watched_and_what_is_no_alarm() -> None:
    info = replace(FIRING, severity=Severity.INFO)
    unlabelled = of(labels=False, rules=(SHIFT,))

    assert of(alerts=[(info, "")]).because == (
        "Every rule is judged; what is in breach is pending, or for information alone.",
    )
    assert unlabelled.need is Need.NOTHING
    assert unlabelled.because[1] == "Performance is not watched: no labels are configured."


@pytest.mark.parametrize(
    ("alert", "seen_by", "need"),
    [
        (FIRING, "", Need.NEEDED),
        (FIRING, "ada: on it", Need.IN_HAND),
        (replace(FIRING, severity=Severity.INFO), "", Need.NOTHING),
        (replace(FIRING, state=AlertState.PENDING), "", Need.NOTHING),
    ],
)
def test_who_is_needed_follows_from_what_fires_and_who_has_it(alert: Any, seen_by: str, need: Need) -> None:
    assert of(alerts=[(alert, seen_by)]).need is need


def test_one_alert_that_nobody_has_needs_somebody_although_others_are_in_hand() -> None:
    found = of(alerts=[(FIRING, "ada: on it"), (replace(FIRING, since=NOW), "")])

    assert (found.need, len(found.because), exit_code([found])) == (Need.NEEDED, 2, 3)
    assert "acknowledged by ada: on it" in found.because[1]
    assert found.because[0].startswith("feature_shift (temp): stability_index 0.420 (significant), limit ")


def test_a_log_of_the_past_ends_and_no_cycle_is_due() -> None:
    (said,) = (part for part in of(of_past=True).sections if part.title == "next")

    assert said.sentences == ("As of 1971-02-04 23:00 UTC, where a log of the past ends.",)
    (then,) = (part for part in of(of_past=True, past=True).sections if part.title == "next")
    assert "the next cycle is due" in then.sentences[0], "a moment within it is not its end"


def test_an_alert_that_is_back_within_its_limit_says_so() -> None:
    back = replace(FIRING, clear_since=NOW - HOUR)
    since = to_iso(NOW - HOUR)[:16].replace("T", " ")

    (told,) = of(alerts=[(back, "ada: on it")]).because

    assert told.endswith(
        f"; within its limit again from {since} on, kept in case it comes back; acknowledged by ada: on it."
    )
    line = alerts_as_table([ShownAlert("late", back)])
    assert f"within its limit again from {since} on" in line


def test_what_is_accepted_is_told_and_health_is_beyond_it() -> None:
    series = AlertedSeries("performance", window="7d")
    one = Acceptance(series=series, start=0, end=NOW - 9 * DAY, lower=-0.1, upper=0, who="ada", why="a storm")
    quiet = [*SETTLED, *shift_of("age", 0.001)]

    found = of(rows=quiet, accepted={series: one})

    assert found.because == (
        "Every rule is judged, and none is in breach beyond what is accepted: performance.",
    )
    end = to_iso(one.end)[:10]
    told = f"ada has accepted performance as it was, 7d to {end}, until somebody withdraws it: a storm."
    assert said(replace(HEALTHY, rows=quiet, accepted={series: one}), "accepted") == told


def test_accepted_days_are_told_as_long_as_they_are_learned_from() -> None:
    rule = Rule(
        name="changed", measure="evidence", condition=BreachCondition(above=RuleLimit(1.0)), window=CUMULATIVE
    )
    series = AlertedSeries("changed", window=CUMULATIVE, subject="feature:age")

    def told(days: int) -> str:
        one = Acceptance(
            series=series, start=0, end=NOW - days * DAY, lower=1, upper=1, who="ada", why="spring"
        )
        return said(replace(HEALTHY, rules=(rule,), accepted={series: one}), "accepted")

    assert told(10).startswith("ada has accepted changed (feature:age), so its days up to ")
    assert told(60) == ""


def test_alerts_of_which_the_same_is_said_stand_in_one_sentence() -> None:
    fired = [
        (replace(FIRING, series=replace(FIRING.series, subject=f"feature:{name}")), "") for name in "abcdefg"
    ]
    fired += [(replace(FIRING, series=replace(FIRING.series, version="2")), "")]

    together, apart = of(alerts=fired).because

    assert together.startswith("feature_shift (a, b, c, d, e and 2 more): stability_index 0.420")
    assert apart.startswith("feature_shift (2, temp): stability_index 0.420")


@pytest.mark.parametrize("seen_by", ["", "ada: on it"])
def test_changes_of_one_day_are_told_together_also_when_somebody_has_them(seen_by: str) -> None:
    level = Change(kind="level", observed=1.4, since="2024-03-03")

    def change(subject: str) -> Any:
        series = replace(FIRING.series, rule="changed", subject=subject)
        return replace(FIRING, series=series, breach=replace(FIRING.breach, change=level)), seen_by

    found = of(alerts=[change("feature:a"), change("feature:b"), change("score")])

    assert found.need is (Need.IN_HAND if seen_by else Need.NEEDED)
    assert found.because[0] == "3 changes began on 2024-03-03, so look for one cause: a, b and score."


def test_a_change_that_is_not_told_any_longer_needs_somebody_until_it_is_back_or_accepted() -> None:
    change = Change(kind="unseen", usual_since=to_iso(NOW - 30 * DAY)[:10])
    daily = {"window": CUMULATIVE, "truth": LabelTruth.NONE, "subject": "feature:home"}
    rows = [*HEALTHY.rows, row_of("evidence", Measurement(0.1, n=900, change=change), **daily)]
    series = AlertedSeries("changed", "", "", CUMULATIVE, "feature:home")

    def accepted(end: int) -> ModelStanding:
        of_series = Acceptance(series=series, start=end - DAY, end=end, lower=0.0, upper=0.0)
        return of(rows=rows, accepted={series: of_series})

    found = of(rows=rows)
    assert (found.need, exit_code([found])) == (Need.NEEDED, 3)
    (because,) = found.because
    assert because.startswith("Not gone back, though no alert tells it any longer: home since 1971-01-06.")
    assert accepted(NOW - 20 * DAY).need is Need.NOTHING
    assert accepted(NOW - 40 * DAY).need is Need.NEEDED  # that was an earlier change


def test_a_model_whose_daemon_is_gone_is_stale_after_a_minute_but_not_as_of_an_earlier_moment() -> None:
    found = of(heard=NOW - 5 * 60_000_000)

    assert (found.need, exit_code([found])) == (Need.NEEDED, 3)
    assert found.because[0].startswith(
        "No daemon has been heard of since 1971-02-04 23:55: start it, or look at its log. All that is "
    )
    for ago, past in ((5, True), (1, False)):  # minutes: one that is started again is none that is gone
        assert "No daemon" not in " ".join(of(heard=NOW - ago * 60_000_000, past=past).because)


def test_what_stands_in_the_way_stays_text() -> None:
    trouble = CycleTrouble(as_of=NOW, since=NOW, failed=0, told='Columns are missing: "a\x1b[2J"')

    assert 'Columns are missing: "a\\x1b[2J", since ' in of(trouble=trouble).because[0]


SINCE = "since 1971-02-04 23:00"


@pytest.mark.parametrize(
    ("failed", "as_of", "said"),
    [
        (2, NOW - HOUR, f"times {SINCE}, and all that is said here is of 1971-02-04 23:00: no table."),
        (3, None, f"Cycles have failed 3 times {SINCE}, and none has succeeded yet: no table."),
        (1, NOW - HOUR, None),  # it is tried again at once
        (2, NOW, None),  # which has succeeded since
        (0, NOW, f"no table, {SINCE}: bring them back, or take them out of the configuration."),
    ],
)
def test_what_stands_in_the_way_of_cycles_is_told_first(
    failed: int, as_of: int | None, said: str | None
) -> None:
    trouble = CycleTrouble(as_of=NOW - HOUR // 2, since=NOW - HOUR, failed=failed, told="no table")
    found = of(trouble=trouble, as_of=as_of, alerts=[(FIRING, "ada")])

    assert (found.need is Need.NEEDED) == (said is not None)
    assert said is None or said in found.because[0]


def test_a_daemon_that_makes_up_for_missed_ticks_is_none_that_stands_still() -> None:
    behind: dict[str, Any] = {"as_of": NOW - 20 * HOUR, "rows": [*SETTLED, *shift_of("age", 0.001)]}

    found = of(worked=NOW - 60_000_000, **behind)

    assert found.need is Need.NOTHING
    works = replace(HEALTHY, worked=NOW - 60_000_000, **behind)
    assert "; missed ticks are being made up for." in said(works, "next")
    failing = CycleTrouble(as_of=NOW, since=NOW, failed=2, told="no table")
    for other in (replace(works, worked=None), replace(works, trouble=failing)):
        assert "made up for" not in said(other, "next")
    assert of(worked=NOW - 4 * HOUR, **behind).need is Need.NEEDED
    assert of(worked=NOW, heard=NOW - 2 * 60_000_000, **behind).need is Need.NEEDED


@pytest.mark.parametrize(("late", "stale"), [(3 * HOUR, False), (3 * HOUR + 2 * 60_000_000, True)])
def test_a_model_without_cycles_for_three_ticks_is_stale(late: int, *, stale: bool) -> None:
    found = of(as_of=NOW - late)

    assert (found.need is Need.NEEDED) == stale
    assert ("No cycle has succeeded" in found.because[0]) == stale


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"as_of": None, "rows": ()}, "No cycle has run yet: start the daemon"),
        ({"rows": ()}, "Nothing has been measured yet"),
        ({"reference": False}, "give a [models.reference] that has it"),
        ({"rules": ()}, "No rule is configured"),
        ({"rows": [*shift_of("age", 0.001)]}, "Performance is not known: nothing has settled"),
        ({"rows": SETTLED}, "feature_shift is not judged: what it judges of the window 7d is not there yet"),
        ({"never": {"feature_shift": "ask for less"}}, "feature_shift can never be judged: ask for less"),
    ],
)
def test_what_cannot_be_told_is_said_with_what_would_help(changed: dict[str, Any], told: str) -> None:
    found = of(**changed)

    assert (found.need, exit_code([found])) == (Need.CANNOT_TELL, 4)
    assert any(told in reason for reason in found.because)


@pytest.mark.parametrize("reason", [*Reason, "selective_labels", "too_early", "a reason of tomorrow"])
def test_each_reason_for_which_a_rule_is_unknown_is_told_in_words(reason: str) -> None:
    absent = Measurement.without_value(cast("Reason", reason), n=0)
    rows = [
        replace(row, measurement=absent) if row.against and row.truth is LabelTruth.SETTLED else row
        for row in HEALTHY.rows
    ]
    found = of(rows=rows)

    assert found.need is Need.CANNOT_TELL
    (told,) = found.because
    assert told.startswith("performance is not judged: ")
    assert reason not in told or reason == "a reason of tomorrow"


def test_of_the_past_only_what_is_kept_is_judged_and_the_rest_is_named() -> None:
    stopped = Rule(name="log_stopped", measure="log_age", condition=BreachCondition(above=RuleLimit(1.0)))
    seen = replace(HEALTHY, rules=(*RULES, stopped))
    past = replace(seen, past=True)

    (told,) = judge_standing(seen).because
    assert told.startswith("log_stopped is not judged: its figure of the log is not there yet: wait for")
    assert judge_standing(past).need is Need.NOTHING
    assert (
        said(past, "rules") == "2 of 3 rules are judged. log_stopped cannot be told of a moment in the past."
    )


def test_rules_that_are_unknown_for_one_reason_are_told_in_one_sentence() -> None:
    rules = [replace(FALL, name=name) for name in ("one", "two", "three", "four", "five")]
    found = of(rows=[*performance_of(NOWCAST, 0.0), *shift_of("age", 0.001)], rules=rules)

    assert found.because == (
        "one, two, three, four and 1 more are not judged: no window of 7d has settled yet.",
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"measurement": Measurement.without_value(Reason.ONE_CLASS, n=9)}, ONE_CLASS),
        ({}, "there is no roc_auc of the reference to compare that of 7d with"),
        ({"window": "30d"}, "no window of 7d has settled yet"),
    ],
)
def test_a_window_that_has_settled_is_not_said_to_be_still_to_settle(
    changed: dict[str, Any], why: str
) -> None:
    rows = [replace(row, **changed) for row in SETTLED if not row.against]
    rows += [replace(row, window="30d") for row in SETTLED if not row.against]  # which has a value
    found = of(rows=[*rows, *shift_of("age", 0.001)], rules=(FALL,))

    assert f"performance is not judged: {why}." in found.because


def test_what_cannot_be_told_is_told_where_somebody_is_needed_too() -> None:
    seen = replace(HEALTHY, rows=SETTLED, alerts=[(FIRING, "")])

    assert judge_standing(seen).need is Need.NEEDED
    assert "1 of 2 rules are judged. feature_shift is not judged" in said(seen, "rules")


@pytest.mark.parametrize(
    ("step", "words"),
    [(-0.02, "surely worse"), (0.02, "surely better"), (-0.001, "no difference beyond chance")],
)
@pytest.mark.parametrize(("truth", "word"), [(LabelTruth.SETTLED, "Settled"), (NOWCAST, "Nowcast")])
def test_performance_is_compared_by_the_interval_of_the_difference(
    truth: LabelTruth, word: str, step: float, words: str
) -> None:
    text = said(replace(HEALTHY, rows=performance_of(truth, step)), "performance")

    assert f"{word}, 7d to 1971-01-27: roc_auc {0.75 + step:.3f}, reference 0.750, difference " in text
    assert f"]: {words}." in text


def test_the_segment_that_a_fall_comes_from_is_named() -> None:
    segments = DetailTable(contribution_columns("accuracy"), (("region=North", -0.02, 0.6, 0.7, 0.5, 0.5),))
    rows = performance_of(LabelTruth.SETTLED, -0.05)
    worst = row_of("segment_contribution", Measurement(-0.02, n=9, detail=segments), truth=LabelTruth.SETTLED)
    rows.append(replace(worst, window_end=rows[0].window_end, against="reference"))

    text = said(replace(HEALTHY, rows=rows), "performance")
    assert "]: surely worse; region=North contributes most, −2.0 points of accuracy." in text


def test_segments_that_are_surely_worse_than_in_the_reference_are_told_though_nothing_alerts() -> None:
    def segment(name: str, step: float, half: float, window: str, n: int) -> list[MeasurementRow]:
        place: dict[str, Any] = {"segment": name, "truth": LabelTruth.SETTLED, "window": window}
        figures = {"": measured(0.75 + step), "reference": measured(step, half)}
        return [
            row_of("roc_auc", replace(one, n=n), window_end=NOW - 9 * DAY, against=against, **place)
            for against, one in figures.items()
        ]

    quiet = [*SETTLED, *shift_of("age", 0.001)]
    rows = [
        *quiet,
        *segment("region=South", -0.13, 0.05, "7d", 90),
        *segment("region=South", -0.12, 0.02, "30d", 400),
        *segment("region=West", -0.13, 0.12, "7d", 90),  # perhaps
        *segment("region=East", -0.03, 0.01, "30d", 400),  # less than 5 %
    ]

    found = of(rows=rows)

    told = (
        "Surely worse in roc_auc by more than 5 % than the same segment of the reference: "
        "region=South 0.630, reference 0.750, 30d to 1971-01-27."
    )
    assert (found.need, found.because[-1]) == (Need.NOTHING, told)
    assert told in said(replace(HEALTHY, rows=rows), "performance")
    assert "the same segment" not in said(replace(HEALTHY, rows=quiet), "performance")


def test_coverage_is_told_by_predicted_class() -> None:
    place: dict[str, Any] = {"truth": LabelTruth.SETTLED, "window_end": NOW}
    rows = [
        row_of("coverage", measured(0.4), **place),
        row_of("coverage", measured(0.72), subject="class:paid", **place),
        row_of("coverage", measured(0.03), subject="class:default", **place),
    ]
    text = said(replace(HEALTHY, rows=rows), "labels")

    assert "Labelled: 7d to 1971-02-05 40.0 % (settled). " in text
    assert "By predicted class: paid 72.0 % and default 3.0 %." in text


def test_settled_and_nowcast_stand_side_by_side() -> None:
    rows = [*SETTLED, *performance_of(NOWCAST, -0.05, NOW - 2 * DAY)]
    text = said(replace(HEALTHY, rows=rows), "performance")

    assert text.index("Settled, 7d to 1971-01-27") < text.index("Nowcast, 7d to 1971-02-03")
    assert "]: surely worse. " in text


def test_a_nowcast_alone_is_performance_that_is_known() -> None:
    found = of(rules=(SHIFT,), rows=[*performance_of(NOWCAST, 0.0), *shift_of("age", 0.001)])

    assert found.need is Need.NOTHING


def test_a_nowcast_that_is_too_early_says_so() -> None:
    early = row_of(
        "roc_auc", Measurement.without_value(cast("Reason", "too_early"), n=0), truth=NOWCAST, window_end=NOW
    )
    text = said(replace(HEALTHY, rows=[*SETTLED, early]), "performance")

    assert "Nowcast, 7d to 1971-02-05: roc_auc is not known: too few labels are in" in text


def test_scores_that_surely_rank_the_classes_the_wrong_way_round_never_look_like_health() -> None:
    """A reference with the same swapped classes finds nothing wrong: the difference is chance alone."""
    rows = performance_of(LabelTruth.SETTLED, 0.0)
    told = "roc_auc is surely below 0.5: scores are higher for the negative class."
    for auc, need in ((0.3, Need.CANNOT_TELL), (0.495, Need.NOTHING)):
        rows[0] = replace(rows[0], measurement=measured(auc))
        seen = replace(HEALTHY, rows=[*rows, *shift_of("age", 0.001)])

        assert judge_standing(seen).need is need
        assert (told in said(seen, "performance")) is (need is Need.CANNOT_TELL)
        assert any(reason.startswith(told) for reason in judge_standing(seen).because) is (auc < 0.4)


@pytest.mark.parametrize("truth", [LabelTruth.SETTLED, NOWCAST])
def test_a_window_that_has_settled_without_a_value_is_not_called_unsettled(truth: LabelTruth) -> None:
    row = row_of("roc_auc", Measurement.without_value(Reason.ONE_CLASS, n=80), truth=truth, window_end=NOW)
    rule = replace(FALL, truth=truth)

    because = of(rows=[row, *shift_of("age", 0.001)], rules=(rule, SHIFT)).because

    assert f"performance is not judged: {ONE_CLASS}." in because
    if truth is LabelTruth.SETTLED:
        assert because[0] == f"Performance is not known, settled, 7d to 1971-02-05: {ONE_CLASS}."
        assert not any("settles" in reason or "has settled" in reason for reason in because)


def test_the_constant_answer_is_what_the_model_must_beat() -> None:
    better, no_better = (performance_of(LabelTruth.SETTLED, 0.0) for _ in range(2))
    no_better[2] = replace(no_better[2], measurement=measured(0.702))

    told = "Settled: accuracy {}, {} always giving the most frequent answer, 70.0 %."
    for rows, words in (
        (better, told.format("90.0 %", "surely better than")),
        (no_better, told.format("70.2 %", "not surely better than")),
    ):
        assert said(replace(HEALTHY, rows=rows), "performance").endswith(words)


def test_a_constant_answer_by_a_few_labels_is_no_yardstick() -> None:
    rows = [
        replace(one, measurement=replace(one.measurement, n=2))
        for one in performance_of(LabelTruth.SETTLED, 0.0)
    ]

    assert "always giving" not in said(replace(HEALTHY, rows=rows), "performance")


def test_the_features_that_moved_most_are_named_with_their_index_and_band() -> None:
    rows = [*SETTLED, *shift_of("a", 0.001), *shift_of("b", 0.42), *shift_of("c", 0.12), *shift_of("d", 0.02)]
    text = said(replace(HEALTHY, rows=rows), "inputs")

    assert "3 of 4 features moved beyond chance, 2 by a stability_index of 0.1 or more: b 0.42" in text
    assert ": b 0.420 (significant), c 0.120 (minor) and d 0.020." in text


def figure(measure: str, value: float | None, because: str, window: str = "7d") -> MeasurementRow:
    detail = DetailTable(("because",), ((because,),))
    given = (
        Measurement(value=None, n=0, reason=Reason.NOT_SETTLED, detail=detail)
        if value is None
        else Measurement(value, n=0, detail=detail)
    )
    return row_of(measure, given, window=window, window_end=NOW)


def test_the_next_settling_is_told_with_its_reason() -> None:
    rows = [
        *HEALTHY.rows,
        figure("next_settling", 86_400.0 * 402, "95 % of the labels are in by then"),
        figure("next_settling", 86_400.0 * 401, "sooner", "1d"),
    ]
    text = said(replace(HEALTHY, rows=rows), "labels")

    assert "The next window of 7d settles at 1971-02-07: 95 % of the labels are in" in text


def test_of_a_young_log_it_is_said_when_the_first_window_settles() -> None:
    rows = [*shift_of("age", 0.001), figure("next_settling", 86_400.0 * 402, "they come slowly")]
    unknown = [*shift_of("age", 0.001), figure("next_settling", None, "no delay has been seen in full")]
    told = "No window has settled yet"

    assert f"{told}; the first of 7d is expected to settle at 1971-02-07." in said(
        replace(HEALTHY, rows=rows), "performance"
    )
    assert f"{told}, and when one will is not known." in said(replace(HEALTHY, rows=unknown), "performance")


def test_why_the_next_settling_is_not_known_is_told() -> None:
    rows = [*shift_of("age", 0.001), figure("next_settling", None, "no delay has been seen in full")]

    assert (
        "When the next window settles is not known: no delay has been seen in full."
        in of(rows=rows, labels=True).because
    )


def test_a_rule_that_waits_for_a_settled_window_is_told_when_that_is_expected() -> None:
    guess = replace(FALL, name="guess", measure="estimated_roc_auc", truth="", against="")
    rows = [
        *HEALTHY.rows,
        row_of("estimated_roc_auc", Measurement.without_value(Reason.NOT_SETTLED, n=0), window_end=NOW),
        figure("next_settling", 86_400.0 * 402, "they come slowly"),
    ]

    assert of(rows=rows, rules=(*RULES, guess)).because == (
        "guess is not judged: The next window of 7d settles at 1971-02-07: they come slowly.",
    )


def test_models_are_ranked_by_who_is_needed_then_by_severity_then_the_newest() -> None:
    critical = replace(FIRING, severity=Severity.CRITICAL)
    models = [
        of(model="fine", rows=[*SETTLED, *shift_of("age", 0.001)]),
        of(model="blind", reference=False),
        of(model="held", alerts=[(FIRING, "ada: on it")]),
        of(model="warned", alerts=[(FIRING, "")]),
        of(model="warned later", alerts=[(replace(FIRING, since=NOW), "")]),
        of(model="stale", as_of=NOW - 9 * DAY),
        of(model="falling", alerts=[(critical, "")]),
    ]

    names = [one.model for one in rank_models(models)]

    assert names == ["falling", "stale", "warned later", "warned", "held", "blind", "fine"]
    assert [exit_code(models[:end]) for end in range(5)] == [0, 0, 4, 4, 3]
