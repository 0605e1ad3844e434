"""One model: is it still as good as it was, what stands in for that before labels come, any other measure."""

from collections.abc import Iterator

from describing import (
    BAD,
    LIMIT,
    NUMBER,
    ONE,
    SECONDS,
    SHARE,
    Board,
    Kind,
    Panel,
    Query,
    Row,
    Variable,
    band,
    lasting,
    newest,
    spoken,
    told,
    unit_of,
)

from monitor.alerts.default_rules import MAIN
from monitor.exposition import metric_names
from monitor.exposition.series_selection import exposed_family_name
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.daily_measures import CHANGE, DETECTABLE, EVIDENCE
from monitor.measures.catalogue.measure import Measure, MeasureExposure, MeasureFamily
from monitor.records.reading import ModelTask

TITLES = {
    ModelTask.BINARY: "two classes",
    ModelTask.MULTICLASS: "several classes",
    ModelTask.REGRESSION: "numbers",
}
MARKS = {  # series that only models of the task have
    ModelTask.BINARY: '__name__=~"model_monitor_specificity_ratio|model_monitor_ks_separation_ratio"',
    ModelTask.MULTICLASS: '__name__="model_monitor_recall_ratio", subject=~"class:.+"',
    ModelTask.REGRESSION: '__name__="model_monitor_root_mean_squared_error"',
}
ESTIMATES = {
    ModelTask.BINARY: "estimated_roc_auc",
    ModelTask.MULTICLASS: "estimated_accuracy",
    ModelTask.REGRESSION: "estimated_mean_absolute_error",
}
PAGE = "/models/${model:percentencode}"
WINDOWS = f"{PAGE}/performance?window=${{window:percentencode}}"
ALERTS = f"{PAGE}/alerts"


def model_board(task: ModelTask) -> Board:
    """Everything about one model of a task."""
    main = BY_NAME[MAIN[task]]
    return Board(
        uid=f"monitor-model-{task}",
        title=f"Model: {TITLES[task]}",
        text="Is it still as good as it was, how sure are we, and are enough labels in?",
        variables=_variables(task, main),
        rows=(
            Row("Now", (*_now(main), *_as_it_was(main))),
            Row("Before labels come", tuple(_before_labels(BY_NAME[ESTIMATES[task]]))),
            Row("Any measure, and parts of the model", (_chosen(), *_parts(main))),
        ),
        since="now-90d",
        page=PAGE,
        marked='model="$model"',
    )


def choices(task: ModelTask) -> list[str]:
    """Families of a task's measures that may be chosen."""
    families = (
        MeasureFamily.PERFORMANCE,
        MeasureFamily.ESTIMATE,
        MeasureFamily.LABELS,
        MeasureFamily.VOLUME,
        MeasureFamily.QUALITY,
    )
    return [
        exposed_family_name(measure)
        for measure in CATALOGUE
        if measure.family in families
        and task in measure.tasks
        and exposed_family_name(measure)
        and MeasureExposure.WINDOW not in measure.exposed
    ]


def _variables(task: ModelTask, main: Measure) -> tuple[Variable, ...]:
    family = metric_names.family_name(main)
    windows = f'{metric_names.WINDOW_END}{{model="$model", window!="cumulative"}}'
    some = f'__name__=~"{"|".join(choices(task))}"'
    return (
        Variable("model", f"{{{MARKS[task]}}}"),
        Variable("window", windows, first="7d"),
        Variable("__name__", f'{{{some}, model="$model"}}', name="measure"),
        Variable("version", f'{family}{{model="$model", version!=""}}', everything=".+"),
        Variable("segment", f'{family}{{model="$model", segment!=""}}', everything=".+"),
    )


def _now(main: Measure) -> Iterator[Panel]:
    settled, family = f'{ONE}, truth="settled"', metric_names.family_name(main)
    unit, decimals = unit_of(main)
    value = Query(lasting(family, settled), "settled")
    yield Panel(
        Kind.STAT, f"{spoken(main)}, settled", told(main), (value,), unit, decimals, 4, 4, page=WINDOWS
    )
    text = "Share of the window's records that have a label."
    coverage = Query(lasting(metric_names.WINDOW_COVERAGE, f'{ONE}, truth!=""'), "{{truth}}")
    yield Panel(Kind.STAT, "Labelled", text, (coverage,), SHARE, 1, 4, 4, page=WINDOWS)
    text = "How long ago the newest settled window ended. Labels take that long."
    as_of = lasting(metric_names.AS_OF, 'model="$model"')
    ages = Query(f"{as_of} - on (model) group_right () {lasting(metric_names.WINDOW_END, settled)}", "age")
    yield Panel(Kind.STAT, "Age of the settled window", text, (ages,), SECONDS, None, 4, 4, page=WINDOWS)
    text = "How long after its end a window settles, since enough labels of each class are in."
    family_of_age = metric_names.family_name(BY_NAME["settling_age"])
    age = Query(f'max by (model) ({family_of_age}{{model="$model"}})', "settling age")
    yield Panel(Kind.STAT, "Settling age", text, (age,), SECONDS, None, 4, 4, page=PAGE)
    records = Query(lasting(metric_names.WINDOW_RECORDS, f'{ONE}, truth=""'), "records")
    yield Panel(
        Kind.STAT,
        "Records",
        "Records of the newest window.",
        (records,),
        NUMBER,
        0,
        4,
        4,
        page=WINDOWS,
    )
    incidents = f'sum(max by (severity) ({metric_names.INCIDENTS_OPEN}{{model="$model"}}))'
    text = "Incidents of this model that are open. Several alerts of one cause are one incident."
    yield Panel(
        Kind.STAT, "Open incidents", text, (Query(incidents, "open"),), NUMBER, 0, 4, 4, BAD, page=ALERTS
    )


def _as_it_was(main: Measure) -> Iterator[Panel]:
    better = ', truth!="provisional"' if main.nowcast else ""
    yield band(main, f'{ONE}, subject=""{better}', "{{truth}}", width=12, height=9, page=WINDOWS)
    judged = 'model="$model", window="cumulative"'
    evidence = metric_names.family_name(BY_NAME[EVIDENCE])
    named = f'label_replace({newest(evidence, judged)}, "subject", "performance", "subject", "")'
    moving = Query(f"{named} > 0.1", "{{subject}}")
    text = "Evidence that an input, an output or performance has changed. An alert fires at the line, at 1."
    yield Panel(Kind.LINES, "Evidence of change", text, (moving,), NUMBER, 2, 12, 9, LIMIT, ALERTS, 1.2)


def _before_labels(estimate: Measure) -> Iterator[Panel]:
    yield band(estimate, f'{ONE}, subject=""', "estimate", page=WINDOWS)
    coverage = Query(newest(metric_names.WINDOW_COVERAGE, f'{ONE}, truth!=""'), "{{truth}}")
    text = "Share of records that have a label. A settled window has nearly all that will come."
    yield Panel(Kind.LINES, "Labelled, by state of the window", text, (coverage,), SHARE, 1, page=WINDOWS)
    queries = tuple(
        Query(
            newest(metric_names.family_name(BY_NAME[name]), f'{ONE}, truth="provisional"'),
            name.replace("_", " "),
        )
        for name in sorted(
            measure.name
            for measure in CATALOGUE
            if MeasureExposure.WHOLE in measure.exposed and measure.family is MeasureFamily.LABELS
        )
    )
    text = "Labels of the newest window: replaced, withdrawn, without a value, too early, too late."
    yield Panel(Kind.LINES, "What is wrong with labels", text, queries, NUMBER, 0, page=PAGE)
    judged = 'model="$model", window="cumulative"'
    size = newest(metric_names.family_name(BY_NAME[CHANGE]), judged)
    smallest = newest(metric_names.family_name(BY_NAME[DETECTABLE]), judged)
    named = f'label_replace({size} / {smallest}, "subject", "performance", "subject", "")'
    ratio = Query(f"{named} > 0.5", "{{subject}}")
    text = "Size of each change. From the line on, at 1, the monitor finds one within 7 days."
    yield Panel(Kind.LINES, "Size of changes", text, (ratio,), NUMBER, 2, 12, 7, LIMIT, ALERTS, 1.2)
    records = Query(newest(metric_names.WINDOW_RECORDS, f'{ONE}, truth=""'), "records")
    yield Panel(
        Kind.LINES,
        "Records of the window",
        "Each id counts once.",
        (records,),
        NUMBER,
        0,
        12,
        page=WINDOWS,
    )


def _chosen() -> Panel:
    """The measure that is chosen at the top, with its interval and the reference's value."""

    def series(ending: str) -> str:
        found = newest("", f'__name__="${{measure}}{ending}", {ONE}')
        subject = f'label_replace({found}, "subject", " $1", "subject", "(.+)")'
        return f'label_replace({subject}, "truth", "value", "truth", "")'

    queries = tuple(
        Query(series(ending), "{{truth}}{{subject}}" + ending.replace("_", " "))
        for ending in ("", "_lower", "_upper")
    )
    reference = series(f"_{metric_names.REFERENCE}")
    queries = (
        *queries,
        Query(f"max without (truth) ({reference})", f"{metric_names.REFERENCE}{{{{subject}}}}"),
    )
    text = "The measure chosen at the top, with its interval. docs/measures.md explains each."
    return Panel(Kind.LINES, "$measure", text, queries, NUMBER, None, 24, 9, page=WINDOWS)


def _parts(main: Measure) -> Iterator[Panel]:
    family, (unit, decimals) = metric_names.family_name(main), unit_of(main)
    for label, matchers in (
        ("version", 'model="$model", version=~"$version", segment="", window="$window"'),
        ("segment", 'model="$model", version="", segment=~"$segment", window="$window"'),
    ):
        value = Query(newest(family, f'{matchers}, truth="settled"'), f"{{{{{label}}}}}")
        page = f"{WINDOWS}&{label}=${{__field.labels.{label}:percentencode}}"
        title = f"{spoken(main)} by {label}, settled"
        yield Panel(Kind.LINES, title, told(main), (value,), unit, decimals, 12, page=page)
