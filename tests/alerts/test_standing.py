"""Who is needed for a model, and why; what cannot be told never looks like health."""

from dataclasses import replace
from typing import Any, cast

import pytest
from kept_texts import compare_cases
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
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import (
    HealthState,
    ModelStanding,
    StateBadge,
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
from monitor.sentences.time_words import utc_moment_words
from monitor.sentences.trouble_sentences import CycleTrouble
from monitor.show.alert_tables import ShownAlert, alerts_as_table
from monitor.show.model_status import state_words

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


QUIET = [*SETTLED, *shift_of("age", 0.001)]
SERIES = AlertedSeries("performance", window="7d")
ACCEPTED = Acceptance(
    series=SERIES, start=0, end=NOW - 9 * DAY, lower=-0.1, upper=0, who="ada", why="a storm"
)
UNKNOWN = [  # why a rule is not judged; the last one is of another version
    *Reason, "selective_labels", "too_early", "a reason of tomorrow",
]  # fmt: skip


def trouble(failed: int, told: str = "no table") -> CycleTrouble:
    return CycleTrouble(as_of=NOW - HOUR // 2, since=NOW - HOUR, failed=failed, told=told)


def absent(reason: str, n: int = 0) -> Measurement:
    return Measurement.without_value(cast("Reason", reason), n=n)


def figure(measure: str, value: float | None, because: str, window: str = "7d") -> MeasurementRow:
    detail = DetailTable(("because",), ((because,),))
    given = (
        Measurement(value=None, n=0, reason=Reason.NOT_SETTLED, detail=detail)
        if value is None
        else Measurement(value, n=0, detail=detail)
    )
    return row_of(measure, given, window=window, window_end=NOW)


def with_fall(detail: Measurement) -> list[MeasurementRow]:
    rows = performance_of(LabelTruth.SETTLED, -0.05)
    worst = row_of("segment_contribution", detail, truth=LabelTruth.SETTLED)
    return [*rows, replace(worst, window_end=rows[0].window_end, against="reference")]


def constant(accuracy: float) -> list[MeasurementRow]:
    rows = performance_of(LabelTruth.SETTLED, 0.0)
    rows[2] = replace(rows[2], measurement=measured(accuracy))
    return rows


def wrong_way(auc: float) -> list[MeasurementRow]:
    rows = performance_of(LabelTruth.SETTLED, 0.0)
    rows[0] = replace(rows[0], measurement=measured(auc))
    return [*rows, *shift_of("age", 0.001)]


def of_segment(name: str, step: float, half: float, window: str, n: int) -> list[MeasurementRow]:
    place: dict[str, Any] = {"segment": name, "truth": LabelTruth.SETTLED, "window": window}
    figures = {"": measured(0.75 + step), "reference": measured(step, half)}
    return [
        row_of("roc_auc", replace(one, n=n), window_end=NOW - 9 * DAY, against=against, **place)
        for against, one in figures.items()
    ]


def of_labels(measurement: Measurement, truth: LabelTruth = LabelTruth.SETTLED) -> MeasurementRow:
    return row_of("roc_auc", measurement, truth=truth, window_end=NOW)


def settled_otherwise(**changed: Any) -> list[MeasurementRow]:
    rows = [replace(row, **changed) for row in SETTLED if not row.against]
    rows += [replace(row, window="30d") for row in SETTLED if not row.against]  # which has a value
    return [*rows, *shift_of("age", 0.001)]


@pytest.mark.texts
def test_what_is_said_of_models() -> None:
    """The whole status of each kind of model: nothing of it is asserted elsewhere but who is needed."""
    stopped = Rule(name="log_stopped", measure="log_age", condition=BreachCondition(above=RuleLimit(1.0)))
    evidence = Rule(
        name="changed", measure="evidence", condition=BreachCondition(above=RuleLimit(1.0)), window=CUMULATIVE
    )
    guess = replace(FALL, name="guess", measure="estimated_roc_auc", truth="", against="")
    fired = [
        (replace(FIRING, series=replace(FIRING.series, subject=f"feature:{one}")), "") for one in "abcdefg"
    ]
    fired += [(replace(FIRING, series=replace(FIRING.series, version="2")), "")]
    coverage: dict[str, Any] = {"truth": LabelTruth.SETTLED, "window_end": NOW}
    of_home = AlertedSeries("changed", "", "", CUMULATIVE, "feature:home")
    new_value = row_of(
        "evidence",
        Measurement(0.1, n=900, change=Change(kind="unseen", usual_since=to_iso(NOW - 30 * DAY)[:10])),
        window=CUMULATIVE, truth=LabelTruth.NONE, subject="feature:home",
    )  # fmt: skip
    learned = Acceptance(
        series=of_home, start=0, end=NOW - 10 * DAY, lower=1, upper=1, who="ada", why="spring"
    )
    next_one = figure("next_settling", 86_400.0 * 402, "95 % of the labels are in by then")
    not_known = figure("next_settling", None, "no delay has been seen in full")
    by_segment = DetailTable(contribution_columns("accuracy"), (("region=North", -0.02, 0.6, 0.7, 0.5, 0.5),))
    behind: dict[str, Any] = {"as_of": NOW - 20 * HOUR, "rows": QUIET, "worked": NOW - 60_000_000}
    odd = 'Columns are missing: "a\x1b[2J"'
    models: dict[str, dict[str, Any]] = {
        "every rule is judged and clear": {"rows": QUIET},
        "what is in breach is for information": {"alerts": [(replace(FIRING, severity=Severity.INFO), "")]},
        "no labels": {"labels": False, "rules": (SHIFT,)},
        "an alert, and one that somebody has": {
            "alerts": [
                (FIRING, "ada: on it"),
                (replace(FIRING, since=NOW, series=replace(FIRING.series, subject="feature:wind")), ""),
            ],
        },
        "a log of the past": {"of_past": True},
        "a moment within a log of the past": {"of_past": True, "past": True},
        "back within its limit": {"alerts": [(replace(FIRING, clear_since=NOW - HOUR), "ada: on it")]},
        "accepted": {"rows": QUIET, "accepted": {SERIES: ACCEPTED}},
        "days that are accepted are learned from": {"rules": (evidence,), "accepted": {of_home: learned}},
        "alerts of which the same is said": {"alerts": fired},
        "not gone back": {"rows": [*HEALTHY.rows, new_value]},
        "the daemon is gone": {"heard": NOW - 5 * 60_000_000},
        "cycles failed twice": {"trouble": trouble(2)},
        "cycles failed thrice, none has succeeded": {"trouble": trouble(3), "as_of": None},
        "cycles succeed, something is in the way": {"trouble": trouble(0, odd), "as_of": NOW},
        "missed ticks are made up for": behind,
        "stale": {"as_of": NOW - 4 * HOUR},
        "no cycle yet": {"as_of": None, "rows": ()},
        "nothing measured": {"rows": ()},
        "no reference": {"reference": False},
        "no rule": {"rules": ()},
        "nothing settled": {"rows": [*shift_of("age", 0.001)]},
        "no shift is measured": {"rows": SETTLED, "alerts": [(FIRING, "")]},
        "a rule that can never be judged": {"never": {"feature_shift": "ask for less"}},
        "a rule of the log": {"rules": (*RULES, stopped)},
        "a rule of the log, of the past": {"rules": (*RULES, stopped), "past": True},
        "rules that are unknown for one reason": {
            "rows": [*performance_of(NOWCAST, 0.0), *shift_of("age", 0.001)],
            "rules": [replace(FALL, name=name) for name in ("one", "two", "three", "four", "five")],
        },
        **{
            f"a rule is not judged: {reason}": {
                "rows": [
                    replace(row, measurement=absent(reason))
                    if row.against and row.truth is LabelTruth.SETTLED
                    else row
                    for row in HEALTHY.rows
                ]
            }
            for reason in UNKNOWN
        },
        "a settled window of one class": {
            "rows": settled_otherwise(measurement=absent(Reason.ONE_CLASS, 9)), "rules": (FALL,),
        },
        "a settled window, no reference of it": {"rows": settled_otherwise(), "rules": (FALL,)},
        "another window has settled": {"rows": settled_otherwise(window="30d"), "rules": (FALL,)},
        **{
            f"performance {step:+}, {truth}": {"rows": performance_of(truth, step)}
            for truth in (LabelTruth.SETTLED, NOWCAST)
            for step in (-0.02, 0.02, -0.001)
        },
        "a segment that a fall comes from": {"rows": with_fall(Measurement(-0.02, n=9, detail=by_segment))},
        "segments that are surely worse": {
            "rows": [
                *QUIET,
                *of_segment("region=South", -0.13, 0.05, "7d", 90),
                *of_segment("region=South", -0.12, 0.02, "30d", 400),
                *of_segment("region=West", -0.13, 0.12, "7d", 90),  # perhaps
                *of_segment("region=East", -0.03, 0.01, "30d", 400),  # less than 5 %
            ]
        },
        "coverage by predicted class": {
            "rows": [
                row_of("coverage", measured(0.4), **coverage),
                row_of("coverage", measured(0.72), subject="class:paid", **coverage),
                row_of("coverage", measured(0.03), subject="class:default", **coverage),
            ]
        },
        "settled and nowcast": {"rows": [*SETTLED, *performance_of(NOWCAST, -0.05, NOW - 2 * DAY)]},
        "a nowcast that is too early": {"rows": [*SETTLED, of_labels(absent("too_early"), NOWCAST)]},
        "scores that rank the wrong way round": {"rows": wrong_way(0.3)},
        "scores that perhaps rank the wrong way round": {"rows": wrong_way(0.495)},
        "settled without a value": {"rows": [of_labels(absent("one_class", 80)), *shift_of("age", 0.001)]},
        "better than the constant answer": {"rows": constant(0.9)},
        "not surely better than the constant answer": {"rows": constant(0.702)},
        "a constant answer by a few labels": {
            "rows": [replace(one, measurement=replace(one.measurement, n=2)) for one in constant(0.9)]
        },
        "features that moved": {
            "rows": [*QUIET, *shift_of("b", 0.42), *shift_of("c", 0.12), *shift_of("d", 0.02)]
        },
        "the next settling": {
            "rows": [*HEALTHY.rows, next_one, figure("next_settling", 86_400.0 * 401, "sooner", "1d")]
        },
        "a young log": {"rows": [*shift_of("age", 0.001), next_one]},
        "a young log, and nothing known of its settling": {"rows": [*shift_of("age", 0.001), not_known]},
        "a rule that waits for a settled window": {
            "rows": [
                *HEALTHY.rows,
                row_of("estimated_roc_auc", absent(Reason.NOT_SETTLED), window_end=NOW),
                next_one,
            ],
            "rules": (*RULES, guess),
        },
    }  # fmt: skip
    usual = status_lines(judge_standing(HEALTHY))

    cases: list[tuple[str, str | list[str]]] = [("a shift that no rule tells yet", usual)]
    for name, changed in models.items():
        lines = status_lines(of(**changed))
        new = [line for line in lines if line not in usual]
        begun = {tuple(line.split()[:3]) for line in lines}
        gone = [line for line in usual[1:] if tuple(line.split()[:3]) not in begun]
        cases.append((name, [*new, *(f"not: {line}" for line in gone)] or "(as the first)"))
    compare_cases("status_sentences", cases)


def status_lines(standing: ModelStanding) -> list[str]:
    lines = [f"{state_words(standing)}, {exit_code([standing])}: {' '.join(standing.because)}"]
    return lines + [f"{part.title}: {one}" for part in standing.sections for one in part.sentences]


@pytest.mark.parametrize(
    ("alert", "seen_by", "state", "code"),
    [
        (FIRING, "", "Warning", 3),
        (replace(FIRING, severity=Severity.CRITICAL), "", "Critical", 3),
        (FIRING, "ada: on it", "Warning · acknowledged", 0),
        (replace(FIRING, severity=Severity.INFO), "", "OK", 0),
        (replace(FIRING, state=AlertState.PENDING), "", "OK", 0),
    ],
)
def test_the_state_is_that_of_the_worst_alert_and_says_who_has_it(
    alert: Any, seen_by: str, state: str, code: int
) -> None:
    found = of(alerts=[(alert, seen_by)])

    assert (state_words(found), exit_code([found])) == (state, code)


def test_an_alert_that_is_back_within_its_limit_says_so() -> None:
    back = replace(FIRING, clear_since=NOW - HOUR)
    since = utc_moment_words(NOW - HOUR)

    (told,) = of(alerts=[(back, "ada: on it")]).because

    assert f"Within its limit again from {since} on, open in case it comes back. " in told
    assert told.endswith("Acknowledged by ada: on it.")
    line = alerts_as_table([ShownAlert("late", back)])
    assert f"within its limit again from {since} on" in line


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


@pytest.mark.parametrize("seen_by", ["", "ada: on it"])
def test_changes_of_one_day_are_told_together_also_when_somebody_has_them(seen_by: str) -> None:
    level = Change(kind="level", observed=1.4, since="2024-03-03")

    def change(subject: str) -> Any:
        series = replace(FIRING.series, rule="changed", subject=subject)
        return replace(FIRING, series=series, breach=replace(FIRING.breach, change=level)), seen_by

    found = of(alerts=[change("feature:a"), change("feature:b"), change("score")])

    assert found.needs_action != bool(seen_by)
    (sentence,) = found.because
    assert sentence.startswith(
        "Two features are different since 3 Mar 2024: a and b. "
        "What that costs is not known yet: too few labels have come. "
        "score is different, too: probably one cause. "
    )


def test_a_change_whose_alert_is_closed_is_named_until_it_is_back_or_accepted() -> None:
    change = Change(kind="unseen", usual_since=to_iso(NOW - 30 * DAY)[:10])
    daily = {"window": CUMULATIVE, "truth": LabelTruth.NONE, "subject": "feature:home"}
    rows = [*HEALTHY.rows, row_of("evidence", Measurement(0.1, n=900, change=change), **daily)]
    series = AlertedSeries("changed", "", "", CUMULATIVE, "feature:home")

    def accepted(end: int) -> ModelStanding:
        of_series = Acceptance(series=series, start=end - DAY, end=end, lower=0.0, upper=0.0)
        return of(rows=rows, accepted={series: of_series})

    found = of(rows=rows)
    named = (
        "Still different from before, its alert is closed: home since 6 Jan. Fix it, or accept it as normal."
    )
    assert (found.state, exit_code([found])) == (HealthState.OK, 0)
    assert named in found.because
    assert named not in accepted(NOW - 20 * DAY).because
    assert named in accepted(NOW - 40 * DAY).because  # that was an earlier change


def test_a_model_whose_daemon_is_gone_is_stale_after_a_minute_but_not_as_of_an_earlier_moment() -> None:
    found = of(heard=NOW - 5 * 60_000_000)

    assert (found.badges, exit_code([found])) == ((StateBadge.STALE,), 3)
    assert found.because[0].startswith(
        "No daemon has been heard of since 4 Feb 1971 23:55: start it, or look at its log. Nothing newer "
    )
    for ago, past in ((5, True), (1, False)):  # minutes: one that is started again is none that is gone
        assert "No daemon" not in " ".join(of(heard=NOW - ago * 60_000_000, past=past).because)


SINCE = "since 4 Feb 1971 23:00"


@pytest.mark.parametrize(
    ("failed", "as_of", "said"),
    [
        (2, NOW - HOUR, f"times {SINCE}, and nothing newer than 4 Feb 1971 23:00 is known: no table."),
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

    assert (StateBadge.STALE in found.badges) == found.needs_action == (said is not None)
    assert said is None or any(said in sentence for sentence in found.because)


def test_a_daemon_that_makes_up_for_missed_ticks_is_none_that_stands_still() -> None:
    behind: dict[str, Any] = {"as_of": NOW - 20 * HOUR, "rows": [*SETTLED, *shift_of("age", 0.001)]}

    found = of(worked=NOW - 60_000_000, **behind)

    assert (found.state, found.badges) == (HealthState.OK, ())
    works = replace(HEALTHY, worked=NOW - 60_000_000, **behind)
    assert "; missed ticks are being made up for." in said(works, "next")
    failing = CycleTrouble(as_of=NOW, since=NOW, failed=2, told="no table")
    for other in (replace(works, worked=None), replace(works, trouble=failing)):
        assert "made up for" not in said(other, "next")
    assert of(worked=NOW - 4 * HOUR, **behind).needs_action
    assert of(worked=NOW, heard=NOW - 2 * 60_000_000, **behind).needs_action


@pytest.mark.parametrize(("late", "stale"), [(3 * HOUR, False), (3 * HOUR + 2 * 60_000_000, True)])
def test_a_model_without_cycles_for_three_ticks_is_stale(late: int, *, stale: bool) -> None:
    found = of(as_of=NOW - late)

    assert (found.badges == (StateBadge.STALE,)) == found.needs_action == stale
    assert ("No cycle has succeeded" in found.because[0]) == stale


def test_a_nowcast_alone_is_performance_that_is_known() -> None:
    found = of(rules=(SHIFT,), rows=[*performance_of(NOWCAST, 0.0), *shift_of("age", 0.001)])

    assert found.state is HealthState.OK


def test_models_are_ranked_by_state_then_by_who_is_needed_then_the_newest() -> None:
    critical = replace(FIRING, severity=Severity.CRITICAL)
    models = [
        of(model="fine", rows=[*SETTLED, *shift_of("age", 0.001)]),
        of(model="blind", as_of=None),
        of(model="held", alerts=[(FIRING, "ada: on it")]),
        of(model="warned", alerts=[(FIRING, "")]),
        of(model="warned later", alerts=[(replace(FIRING, since=NOW), "")]),
        of(model="stale", as_of=NOW - 9 * DAY),
        of(model="falling", alerts=[(critical, "")]),
    ]

    names = [one.model for one in rank_models(models)]

    assert names == ["falling", "warned later", "warned", "held", "blind", "stale", "fine"]
    assert [exit_code(models[:end]) for end in range(5)] == [0, 0, 4, 4, 3]


def test_performance_is_within_its_limit_only_by_the_window_that_the_limit_judges() -> None:
    week = performance_of(LabelTruth.SETTLED, -0.2)
    month = [replace(row, window="30d") for row in performance_of(LabelTruth.SETTLED, -0.02)]
    limit = replace(FALL, window="30d")

    (judged,) = of(rules=(limit,), rows=[*week, *month]).because
    (unlimited,) = of(rules=(SHIFT,), rows=[*week, *month, *shift_of("age", 0.001)]).because

    assert judged.startswith("ROC AUC is worse than in the reference, within its limit: 0.730 in the 30 days")
    assert unlimited.startswith("ROC AUC is worse than in the reference: 0.550 in the week")
