"""Dashboards of comparisons, of alerts, and of the monitor itself."""

from describing import (
    BAD,
    NUMBER,
    ONE,
    WHOLE,
    Board,
    Kind,
    Panel,
    Query,
    Row,
    Variable,
    band,
    newest,
    spoken,
    told,
)

from monitor.exposition import metric_names
from monitor.exposition.series_selection import exposed_family_name
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.daily_measures import ALERTS as ALERTS_30D
from monitor.measures.catalogue.daily_measures import BUDGET
from monitor.measures.catalogue.measure import MeasureFamily

ANY, SOME = ".*", ".+"
ALERTS = ", ".join(f'{label}=~"${label}"' for label in ("model", "version", "segment", "window", "severity"))
FIRING, PENDING = "model_monitor_alert_firing", "model_monitor_alert_pending"
RULE_SERIES = "model_monitor_rule_series"
GOING_ON = f'model="$model", {WHOLE}, window="cumulative"'
CHALLENGED = ("challenger_accuracy_difference", "challenger_auc_difference", "sign_test_p_value")
ARMS = ("control_outcome_{}", "treatment_outcome_{}")
OF_MODELS = 'model=~"$model"'
OF_MODEL = "/models/${__field.labels.model:percentencode}"
OF_INCIDENT = f"{OF_MODEL}/incidents/${{__field.labels.incident:percentencode}}"
PAGE = "/models/${model:percentencode}"
DOUBTFUL = ((None, "green"), (1.0, "yellow"))


def comparisons() -> Board:
    """Control against treatment, challenger against champion."""
    compared = (
        measure
        for measure in CATALOGUE
        if measure.family is MeasureFamily.COMPARISON and exposed_family_name(measure)
    )
    found = f'__name__=~"{"|".join(metric_names.family_name(measure) for measure in compared)}"'
    variables = (
        Variable("model", f"{{{found}}}"),
        Variable("window", f'{{{found}, model="$model", window!="cumulative"}}', first="7d"),
    )
    challenged = tuple(band(BY_NAME[name], ONE, "{{truth}}", page=PAGE) for name in CHALLENGED)
    goes_on = band(BY_NAME["challenger_p_value_always_valid"], GOING_ON, "p-value", page=PAGE)
    rows = (
        Row("Control against treatment, since the start: you may look at any time", _going_on()),
        Row("Control against treatment, window by window", _windows()),
        Row("Challenger against champion, on the same records", (*challenged, goes_on)),
    )
    text = "Is the model better than no model, and is another one better than it?"
    return Board(
        "monitor-comparisons",
        "Comparisons",
        text,
        variables,
        rows,
        "now-90d",
        f"{PAGE}/compare",
        'model="$model"',
    )


def _windows() -> tuple[Panel, ...]:
    settled = f'{ONE}, truth="settled"'
    arms = tuple(
        query for arm in ARMS for query in _either(arm, settled, f"{arm.split('_')[0]}{{{{subject}}}}")
    )
    text = "Outcome of each arm: the rate of each class, or the mean of numbers."
    return (
        Panel(Kind.LINES, "Outcome by arm, settled", text, arms, NUMBER, 3, page=PAGE),
        _pair("outcome_{}_difference", ONE, "{{truth}}{{subject}}"),
        _pair("outcome_{}_ratio", ONE, "{{truth}}{{subject}}"),
    )


def _going_on() -> tuple[Panel, ...]:
    return (
        _pair("outcome_{}_difference_always_valid", GOING_ON, "difference{{subject}}", width=6),
        *(
            band(BY_NAME[name], GOING_ON, legend, width=6, page=PAGE)
            for name, legend in (
                ("control_p_value_always_valid", "p-value"),
                ("control_record_share", "control"),
                ("sample_ratio_p_value_always_valid", "p-value"),
            )
        ),
    )


def _pair(name: str, matchers: str, legend: str, *, width: int = 8) -> Panel:
    """A measure of rates, which is that of means in models of numbers."""
    measure = BY_NAME[name.format("rate")]
    return Panel(
        Kind.LINES,
        spoken(measure).replace("rate ", ""),
        told(measure),
        tuple(_either(name, matchers, legend)),
        NUMBER,
        3,
        width,
        page=PAGE,
    )


def _either(name: str, matchers: str, legend: str) -> tuple[Query, ...]:
    """Value and bounds of a measure of rates or of means, whichever the model has."""
    families = [metric_names.family_name(BY_NAME[name.format(kind)]) for kind in ("rate", "mean")]
    classes = 'label_replace({}, "subject", " $1", "subject", "class:(.+)")'
    return tuple(
        Query(
            classes.format(
                newest("", f'__name__=~"{"|".join(family + ending for family in families)}", {matchers}')
            ),
            legend + ending.replace("_", " "),
        )
        for ending in ("", "_lower", "_upper")
    )


def alerts() -> Board:
    """What fires, what is pending, how rules judge."""
    cycles = "model_monitor_as_of_seconds"
    ends = f"{metric_names.WINDOW_END}{{{OF_MODELS}}}"
    variables = (
        Variable("model", cycles, everything=SOME),
        Variable("version", ends, everything=ANY),
        Variable("segment", ends, everything=ANY),
        Variable("window", ends, everything=ANY),
        Variable("severity", FIRING, everything=ANY),
    )
    firing, pending = (f"max without (instance, job) ({family}{{{ALERTS}}})" for family in (FIRING, PENDING))
    now = (
        _number("Firing", "Alerts that fire now, critical ones and warnings.", f"count({firing})", BAD),
        _number("Pending", "Limits passed, not yet for long enough.", f"count({pending})"),
        _number("Limits passed", "Series that are past the limit of a rule now.", _judged("breach")),
        _number(
            "Not checked",
            "Series with too few data for a rule.",
            _judged("unknown"),
            DOUBTFUL,
        ),
        _table("What fires", firing, 7, OF_INCIDENT),
    )
    legend = "{{model}} {{rule}} {{subject}} {{version}} {{segment}} {{window}}"
    shown, red = (Query(newest(FIRING, ALERTS), legend),), ((None, "red"),)
    by_severity = Query(f"count by (severity) ({newest(FIRING, ALERTS)})", "{{severity}}")
    series = newest(RULE_SERIES, OF_MODELS)
    spent = tuple(
        Query(
            newest(metric_names.family_name(BY_NAME[name]), f'{OF_MODELS}, window="cumulative"'),
            f"{{{{model}}}} {spoken(BY_NAME[name]).lower()}",
        )
        for name in (ALERTS_30D, BUDGET)
    )
    verdicts = Query(f"sum by (model, rule, verdict) ({series})", "{{model}} {{rule}} {{verdict}}")
    none, many = (
        "Nothing stands here while no alert fires.",
        "Series of each rule: limit passed, fine, not checked.",
    )
    text = "Changes that fired in the 30 days before, and how many of them chance alone may cause."
    when = Panel(
        Kind.STATES,
        "When it fired",
        "One line an alert.",
        shown,
        NUMBER,
        0,
        24,
        9,
        red,
        OF_INCIDENT,
    )
    over = (
        Panel(Kind.LINES, "Firing by severity", none, (by_severity,), NUMBER, 0, page="/alerts"),
        Panel(Kind.LINES, "What rules say", many, (verdicts,), NUMBER, 0, page=OF_MODEL),
        Panel(Kind.LINES, "Changes in 30 days, and the budget", text, spent, NUMBER, 0, page=OF_MODEL),
        _table("What is pending", pending, 6, f"{OF_MODEL}/alerts"),
    )
    text = "What fires, since when, and which rules have too few data?"
    return Board(
        "monitor-alerts",
        "Alerts",
        text,
        variables,
        (Row("Now", (*now, when)), Row("Over time", over)),
        "now-30d",
        "/alerts",
        OF_MODELS,
    )


def _judged(verdict: str) -> str:
    return f'sum(max without (instance, job) ({RULE_SERIES}{{{OF_MODELS}, verdict="{verdict}"}}))'


def _number(title: str, text: str, expr: str, steps: tuple[tuple[float | None, str], ...] = ()) -> Panel:
    """A number; 0 where there are no series."""
    query = Query(f"{expr} or vector(0)", "number")
    return Panel(Kind.STAT, title, text, (query,), NUMBER, 0, 6, 4, steps, "/alerts")


def _table(title: str, expr: str, height: int, page: str) -> Panel:
    query, page = Query(expr, "number"), page.replace("__field.labels", "__data.fields")
    return Panel(
        Kind.TABLE,
        title,
        "One line an alert, with its incident.",
        (query,),
        NUMBER,
        0,
        24,
        height,
        page=page,
    )
