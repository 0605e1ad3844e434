"""Rules of alerts: from the file to plain rules, and what is wrong with them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from monitor.alerts.alert_rules import BreachCondition, JudgedBound, LimitBase, Rule, RuleLimit, Severity
from monitor.alerts.default_rules import (
    RuleGrounds,
    default_rules,
    default_unknown_after,
    main_measure,
    main_window,
)
from monitor.config.file_places import Faults, Loc
from monitor.config.resolve_keys import classes_of, families_of, probabilities_of, windows_of
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import ALWAYS, OF_SHIFT, WITH_REFERENCE, Measure, MeasureFamily
from monitor.measures.measure_options import LABEL
from monitor.measures.measurement_comparison import OF_MEANS, REFERENCE, SEASON, is_comparable
from monitor.measures.measurement_row import CUMULATIVE
from monitor.records.reading import ModelTask
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.specs.model_table import DEFAULT_RULE, AlertTable, BudgetTable, ModelTable
from monitor.windows.window_ends import hour_length

Texts: TypeAlias = tuple[tuple[str, str], ...]

_OF_SUBJECTS = WITH_REFERENCE | {MeasureFamily.QUALITY}
_LABELS = frozenset(
    {"model", "rule", "version", "segment", "window", "subject", "severity", "incident", "truth"}
    | {"alertname", "job", "instance", "pod"}  # Prometheus' own
)


def rules_of(model: ModelTable) -> tuple[Rule, ...]:
    """Configured rules, and the default ones where none is configured or they are asked for too."""
    own = [_build_rule(model, alert) for alert in model.alerts or ()]
    names = {rule.name for rule in own}
    families = families_of(model) | ALWAYS
    usual = default_rules(_rule_grounds(model)) if _wants_default_rules(model) else ()
    if not usual and model.budget is not None:
        usual = tuple(rule for rule in default_rules(_rule_grounds(model)) if rule.measure == EVIDENCE)
    standard = [rule for rule in usual if BY_NAME[rule.measure].family in families]
    routed = tuple(sorted(model.alert_labels.items()))
    notes = tuple(
        (name, value)
        for name, value in (("owner", model.owner), ("runbook_url", model.runbook_url))
        if value is not None
    )
    rules = [*own, *(rule for rule in standard if rule.name not in names)]
    return tuple(_add_model_texts(rule, routed, notes) for rule in rules)


def budget_of(model: ModelTable) -> BudgetTable | None:
    """Budget of false alerts: stated, or the default one beside the default rules."""
    return BudgetTable() if model.budget is None and _wants_default_rules(model) else model.budget


def _wants_default_rules(model: ModelTable) -> bool:
    return model.alerts is None if model.default_alerts is None else model.default_alerts


def rule_faults(model: ModelTable) -> Faults:
    """What is wrong with the rules of a model, each with its place."""
    for name, fault in _refused_labels(model.alert_labels):
        yield ("alert_labels", name), fault
    seen: set[str] = set()
    for at, alert in enumerate(model.alerts or ()):
        place: Loc = ("alerts", at)
        if alert.name in seen:
            yield (*place, "name"), f"every rule has a name of its own: got {quote_value(alert.name)} twice"
        seen.add(alert.name)
        if alert.measure not in BY_NAME:
            hint = did_you_mean(alert.measure, BY_NAME)
            yield (*place, "measure"), f"there is no such measure: got {quote_value(alert.measure)}{hint}"
            continue
        for faults in (
            _check_measure(model, alert),
            _check_measured_rows(model, alert),
            _check_limits(alert),
            _check_slices(model, alert),
        ):
            yield from (((*place, *loc), text) for loc, text in faults)


def _check_measure(model: ModelTable, alert: AlertTable) -> Faults:
    """Whether the model has the measure at all."""
    measure = BY_NAME[alert.measure]
    if ModelTask(model.task) not in measure.tasks:
        yield ("measure",), f"a {model.task} model has no such measure: got {quote_value(alert.measure)}"
    if measure.family not in families_of(model) | ALWAYS:
        text = (
            f"{quote_value(alert.measure)} is of the family {quote_value(measure.family.value)}: add it "
            "to measures"
        )
        yield ("measure",), text
    if model.labels is None and stands_on_labels(measure, alert.subject):
        yield ("measure",), f"needs [models.labels]: got {quote_value(alert.measure)}"
    if measure.family in _OF_SUBJECTS and not alert.subject:
        yield ("subject",), f'{quote_value(alert.measure)} needs one: "score", "feature:NAME", "feature:*", …'


def _check_measured_rows(model: ModelTable, alert: AlertTable) -> Faults:
    """Whether there are rows of the measure where the rule looks for them."""
    measure, windows = BY_NAME[alert.measure], [table.length for table in model.windows]
    choices = [*windows, CUMULATIVE]
    if alert.window is not None and alert.window not in choices:
        text = f"must be one of {quote_names(choices)}: got {quote_value(alert.window)}"
        yield ("window",), text + did_you_mean(alert.window, choices)
    elif alert.window is not None and (alert.window == CUMULATIVE) != measure.cumulative:
        rule = f"is {quote_value(CUMULATIVE)} for comparisons that go on, and for these alone"
        yield ("window",), f"{rule}: got {quote_value(alert.window)} for {quote_value(alert.measure)}"
    if alert.truth is not None and not stands_on_labels(measure, alert.subject):
        yield ("truth",), f"{quote_value(alert.measure)} stands on no labels: leave truth out"
    seasonal = model.reference is not None and model.reference.season is not None
    names = [*model.against, REFERENCE, *([SEASON] if seasonal else [])]
    if alert.against is not None and alert.against not in names:
        rule = f"must be {quote_value(REFERENCE)} or one of the model's own against ({quote_names(names)})"
        yield ("against",), f"{rule}: got {quote_value(alert.against)}"
    elif alert.against == SEASON and alert.subject == LABEL:
        yield ("against",), f"labels are not compared with a season: got {quote_value(alert.against)}"
    elif alert.against is not None and not _is_compared(measure, alert.against):
        yield (
            ("against",),
            f"{quote_value(alert.measure)} is not compared with that: got {quote_value(alert.against)}",
        )


def stands_on_labels(measure: Measure, subject: str) -> bool:
    """Whether rows of a measure say on which labels they stand: of estimates only the errors do."""
    return measure.family is MeasureFamily.SHIFT if subject == LABEL else measure.needs_labels


def _check_limits(alert: AlertTable) -> Faults:
    given = [name for name in ("above", "below", "outside") if getattr(alert, name) is not None]
    if len(given) != 1:
        got = quote_names(given) if given else "none of them"
        yield (), f"needs exactly one of above, below and outside: got {got}"
    for name in ("above", "below", "and_above"):
        limit = getattr(alert, name)
        if limit == "critical" and BY_NAME[alert.measure].critical is None:
            yield (name,), f"{quote_value(alert.measure)} has no critical value: give a number"
        share = isinstance(limit, str) and limit.endswith("%")
        if share and BY_NAME[alert.measure].family in OF_SHIFT:
            yield (name,), f"{quote_value(alert.measure)} is a comparison itself: give a number"
        elif share and alert.against is None:
            yield (name,), 'a share is one of what the value is compared with: add against = "reference", …'
    if alert.clear_at is not None and isinstance(alert.clear_at, list) != (alert.outside is not None):
        yield ("clear_at",), "is a number beside above or below, [lowest, highest] beside outside"


def _check_slices(model: ModelTable, alert: AlertTable) -> Faults:
    scored = model.predictions.score is not None or bool(probabilities_of(model))
    main = main_measure(ModelTask(model.task), scored=scored)
    if alert.version and alert.against is not None:
        yield ("against",), "versions are not compared with other windows: leave it out"
    elif alert.segment and alert.against is not None and (alert.against, alert.measure) != (REFERENCE, main):
        yield ("against",), f'of segments {quote_value(main)} is compared, with "reference": leave it out'
    if alert.version and model.predictions.version is None:
        yield ("version",), "needs predictions.version"
    column = alert.segment.partition("=")[0]
    if alert.segment not in ("", "*") and column not in _slice_columns(model):
        rule = (
            f'must be "*", "COLUMN=*" or "COLUMN=VALUE" of {quote_names(_slice_columns(model)) or "segments"}'
        )
        yield ("segment",), f"{rule}: got {quote_value(alert.segment)}"
    if alert.version or alert.segment:
        yield from _check_strata_rule(alert)
    if alert.features is not None and not alert.subject.endswith("*"):
        yield ("features",), f'goes with subject = "feature:*": got {quote_value(alert.subject)}'
    for name, fault in _refused_labels(alert.labels):
        yield ("labels", name), fault


def _refused_labels(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Labels that no alert may be given, and why."""
    for name in sorted(names):
        if name in _LABELS:
            yield name, "is a label that every alert has already"
        elif name.startswith("__"):
            yield name, "a label that begins with __ is Prometheus' own"


def _check_strata_rule(alert: AlertTable) -> Faults:
    """Versions and segments have the headline figures of their outputs and of what is known of them."""
    measure, place = BY_NAME[alert.measure], "version" if alert.version else "segment"
    if not measure.has_strata or (alert.version and measure.family is MeasureFamily.ESTIMATE):
        yield (
            (place,),
            f"{quote_value(alert.measure)} is not measured by {place}: got {quote_value(alert.measure)}",
        )
    if alert.subject.startswith("feature"):
        yield ("subject",), f"features are not measured by {place}: got {quote_value(alert.subject)}"


def _is_compared(measure: Measure, against: str) -> bool:
    """Whether there are rows of a measure against another moment."""
    if against == SEASON:
        from monitor.measures.shift.seasonal_shift import (  # SciPy: what is only read does without it
            MEAN,
            SEASONAL,
        )

        return measure.name in (*SEASONAL, MEAN)
    if measure.family in OF_SHIFT or measure.name == OF_MEANS:
        return True
    if measure.family is MeasureFamily.QUALITY:
        return against == REFERENCE
    return is_comparable(measure, every=against != REFERENCE)


def _slice_columns(model: ModelTable) -> list[str]:
    return [*model.segments, *([] if model.control is None else [model.control.arm_column])]


def _build_rule(model: ModelTable, alert: AlertTable) -> Rule:
    measure, windows = BY_NAME[alert.measure], _model_windows(model)
    window = _rule_window(measure, alert, [name for name, _, _ in windows])
    truth = (alert.truth or "settled") if stands_on_labels(measure, alert.subject) else ""
    against = alert.against or ""
    shift = measure.family in OF_SHIFT
    return Rule(
        name=alert.name,
        measure=alert.measure,
        condition=_rule_condition(alert),
        severity=Severity(alert.severity),
        subject=alert.subject,
        window=window,
        truth=truth,
        against="" if shift and against == REFERENCE else against,
        version=alert.version,
        segment=alert.segment,
        features=alert.features or DEFAULT_RULE.features,
        share=alert.share,
        min_n=alert.min_n,
        hold=alert.hold,
        keep_firing_for=alert.keep_firing_for,
        unknown_after=default_unknown_after(windows, window)
        if alert.unknown_after is None
        else alert.unknown_after,
        labels=tuple(sorted(alert.labels.items())),
        annotations=tuple(sorted(alert.annotations.items())),
    )


def _rule_window(measure: Measure, alert: AlertTable, names: Sequence[str]) -> str:
    if measure.family is MeasureFamily.LOG:
        return ""
    return alert.window or (CUMULATIVE if measure.cumulative else main_window(names))


def _rule_condition(alert: AlertTable) -> BreachCondition:
    below, above = alert.below, alert.above
    if alert.outside is not None:
        below, above = alert.outside
    clear_below, clear_above = alert.clear_at if isinstance(alert.clear_at, list) else [alert.clear_at] * 2
    return BreachCondition(
        above=_rule_limit(above),
        below=_rule_limit(below),
        clear_above=None if above is None else clear_above,
        clear_below=None if below is None else clear_below,
        bound=JudgedBound(alert.bound),
        and_above=_rule_limit(alert.and_above),
    )


def _rule_limit(given: float | str | None) -> RuleLimit | None:
    match given:
        case None:
            return None
        case "critical":
            return RuleLimit(1.0, LimitBase.CRITICAL)
        case str():
            return RuleLimit(float(given.removesuffix("%")) / 100, LimitBase.EARLIER)
        case _:
            return RuleLimit(float(given))


def _model_windows(model: ModelTable) -> tuple[tuple[str, int, int], ...]:
    return tuple((window.name, window.length, window.step) for window in windows_of(model))


def _rule_grounds(model: ModelTable) -> RuleGrounds:
    columns, control = model.predictions, model.control
    return RuleGrounds(
        task=ModelTask(model.task),
        windows=_model_windows(model),
        score=columns.score is not None or bool(columns.probabilities or columns.probabilities_prefix),
        labels=model.labels is not None,
        reference=model.reference is not None,
        arms=control is not None and (control.detect is not None or model.task != "regression"),
        share=control is not None and control.control_share is not None,
        reported=model.labels is not None and model.labels.reported_at is not None,
        settle_after=model.settle_after or 0,
        classes=len(classes_of(model) or probabilities_of(model)) if model.task == "multiclass" else 2,
        horizon=model.horizon,
        every=model.every,
        ready_after=model.reading.ready_after or 0,
        hours=hour_length(model.pane) is not None and columns.logged_at is not None,
        level=model.level,
    )


def _add_model_texts(rule: Rule, routed: Texts, added: Texts) -> Rule:
    """Rule with what its model adds: its own labels and annotations win."""
    labels = dict(routed) | dict(rule.labels)
    notes = dict(added) | dict(rule.annotations)
    return replace(rule, labels=tuple(sorted(labels.items())), annotations=tuple(sorted(notes.items())))
