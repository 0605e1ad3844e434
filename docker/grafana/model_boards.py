"""One model: its performance, what stands in for it before labels come, its labels, its rows, its slices."""

from collections.abc import Iterator

from describing import (
    NUMBER,
    ONE,
    SECONDS,
    SHARE,
    WHOLE,
    Board,
    Kind,
    Panel,
    Query,
    Row,
    Variable,
    band,
    lines,
    newest,
    spoken,
    told,
    unit_of,
)

from monitor.alerts.defaults import MAIN
from monitor.exposition import names
from monitor.exposition.selection import exposed_as
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.daily import ALERTS, BUDGET, CHANGE, DETECTABLE, EVIDENCE
from monitor.measures.catalogue.measure import Exposure, Family, Measure
from monitor.records.reading import Task

TITLES = {Task.BINARY: "two classes", Task.MULTICLASS: "several classes", Task.REGRESSION: "numbers"}
MARKS = {  # series that only models of the task have
    Task.BINARY: '__name__=~"model_monitor_specificity_ratio|model_monitor_ks_separation_ratio"',
    Task.MULTICLASS: '__name__="model_monitor_recall_ratio", subject=~"class:.+"',
    Task.REGRESSION: '__name__="model_monitor_root_mean_squared_error"',
}
BY_CLASS = {"precision", "recall", "f1", "roc_auc", "base_rate"}
BY_CLASS |= {f"estimated_{name}" for name in ("precision", "recall", "roc_auc")}
LOG_TEXT = "Of the whole log, found by the daily audit; 0 is as it should be."


def model_board(task: Task) -> Board:
    """Everything about one model of a task."""
    main = BY_NAME[MAIN[task]]
    return Board(
        uid=f"monitor-model-{task}",
        title=f"Model: {TITLES[task]}",
        text="Is it still as good as it was, how sure are we, and are enough labels in?",
        variables=_variables(task, main),
        rows=(
            Row("Now", tuple(_now(main))),
            Row("What changed, within the budget of false alerts", tuple(_changes())),
            Row("Performance: settled, and nowcasts while labels come", tuple(_performance(task))),
            Row("Before labels come: estimates", tuple(_of_family(Family.ESTIMATE, task))),
            Row("Labels", tuple(_labels())),
            Row("Records", tuple(_records())),
            Row("Versions, segments and arms", tuple(_slices(main))),
        ),
    )


def _variables(task: Task, main: Measure) -> tuple[Variable, ...]:
    family = names.family_name(main)
    windows = f'{names.WINDOW_END}{{model="$model", window!="cumulative"}}'
    return (
        Variable("model", f"{{{MARKS[task]}}}"),
        Variable("window", windows, first="7d"),
        Variable("version", f'{family}{{model="$model", version!=""}}', everything=".+"),
        Variable("segment", f'{family}{{model="$model", segment!=""}}', everything=".+"),
    )


def _now(main: Measure) -> Iterator[Panel]:
    settled, family = f'{ONE}, truth="settled"', names.family_name(main)
    unit, decimals = unit_of(main)
    value = Query(newest(family, settled), "settled")
    yield Panel(Kind.STAT, f"{spoken(main)}, settled", told(main), (value,), unit, decimals, 4, 4)
    text = "Labelled share of the window's records."
    coverage = Query(newest(names.WINDOW_COVERAGE, f'{ONE}, truth!=""'), "{{truth}}")
    yield Panel(Kind.STAT, "Coverage", text, (coverage,), SHARE, 1, 4, 4)
    text = "How long before the last cycle the newest settled window ended: labels take that long."
    end = f"max by (model) ({names.WINDOW_END}{{{settled}}})"
    ages = f'max by (model) ({names.AS_OF}{{model="$model"}}) - on (model) {end}'
    yield Panel(Kind.STAT, "Age of the settled window", text, (Query(ages, "age"),), SECONDS, None, 4, 4)
    records = Query(newest(names.WINDOW_RECORDS, f'{ONE}, truth=""'), "records")
    yield Panel(Kind.STAT, "Records", "Records of the newest window.", (records,), NUMBER, 0, 4, 4)
    delay = BY_NAME["label_delay_median"]
    asked = Query(newest(names.family_name(delay), settled), "median")
    yield Panel(Kind.STAT, spoken(delay), told(delay), (asked,), SECONDS, None, 4, 4)
    firing = 'count(max without (instance, job) (model_monitor_alert_firing{model="$model"})) or vector(0)'
    steps = ((None, "green"), (1.0, "red"))
    text = "Alerts of this model that fire now."
    yield Panel(Kind.STAT, "Alerts firing", text, (Query(firing, "firing"),), NUMBER, 0, 4, 4, steps)


def _changes() -> Iterator[Panel]:
    judged = 'model="$model", window="cumulative"'
    evidence = names.family_name(BY_NAME[EVIDENCE])
    moving = Query(f"{newest(evidence, judged)} > 0.1", "{{subject}}")
    text = "Evidence that a subject has changed, as a share of what an alert needs; performance has no name."
    yield Panel(Kind.LINES, spoken(BY_NAME[EVIDENCE]), text, (moving,), NUMBER, 2, 8)
    size = newest(names.family_name(BY_NAME[CHANGE]), judged)
    found = newest(names.family_name(BY_NAME[DETECTABLE]), judged)
    ratio = Query(f"{size} / {found} > 0.5", "{{subject}}")
    text = "Size of each change, as a share of the smallest one that would be found within 7 days."
    yield Panel(Kind.LINES, "Size of changes", text, (ratio,), NUMBER, 2, 8)
    queries = tuple(
        Query(newest(names.family_name(BY_NAME[name]), judged), spoken(BY_NAME[name]).lower())
        for name in (ALERTS, BUDGET)
    )
    yield Panel(Kind.LINES, "Changes in 30 days, and the budget", "Stated and found.", queries, NUMBER, 0, 8)


def _performance(task: Task) -> Iterator[Panel]:
    return _of_family(Family.PERFORMANCE, task)


def _of_family(family: Family, task: Task) -> Iterator[Panel]:
    truth = "{{truth}}" if family is not Family.ESTIMATE else "estimate"
    for measure in CATALOGUE:
        if measure.family is not family or task not in measure.tasks or not exposed_as(measure):
            continue
        if task is Task.MULTICLASS and measure.name in BY_CLASS:
            settled = ', truth="settled"' if names.has_truth(measure) else ""
            yield lines(measure, ONE + settled, "{{subject}}")
        else:
            told_better = ', truth!="provisional"' if measure.nowcast else ""
            yield band(measure, f'{ONE}, subject=""{told_better}', truth)


def _labels() -> Iterator[Panel]:
    coverage = Query(newest(names.WINDOW_COVERAGE, f'{ONE}, truth!=""'), "{{truth}}")
    text = "Labelled share of the window's records. Settled windows have what will come."
    yield Panel(Kind.LINES, "Coverage by truth", text, (coverage,), SHARE, 1, 6)
    for name in ("labelled_records", "label_delay_median", "invalid_label_rate"):
        yield lines(BY_NAME[name], ONE, "{{truth}}", width=6)
    queries = tuple(
        Query(newest(names.family_name(BY_NAME[name]), f'{ONE}, truth="provisional"'), name.replace("_", " "))
        for name in sorted(
            measure.name
            for measure in CATALOGUE
            if Exposure.WHOLE in measure.exposed and measure.family is Family.LABELS
        )
    )
    text = "Labels of the newest window that were replaced, taken back, no values, early or stale."
    yield Panel(Kind.LINES, "What is wrong with labels", text, queries, NUMBER, 0, 12)
    queries = tuple(
        Query(newest(names.family_name(measure), 'model="$model"'), spoken(measure).lower())
        for measure in CATALOGUE
        if measure.family is Family.LOG and measure.name in {"orphan_labels", "late_visible_labels"}
    )
    yield Panel(Kind.LINES, "Labels of the log", LOG_TEXT, queries, NUMBER, 0, 12)


def _records() -> Iterator[Panel]:
    records = Query(newest(names.WINDOW_RECORDS, f'{ONE}, truth=""'), "records")
    yield Panel(Kind.LINES, "Records of the window", "Each id once.", (records,), NUMBER, 0)
    yield band(BY_NAME["volume_ratio"], f'model="$model", {WHOLE}', "{{window}}")
    queries = tuple(
        Query(newest(names.family_name(BY_NAME[name]), ONE), name.replace("_", " "))
        for name in ("duplicate_records", "stale_records", "unusual_names")
    )
    text = "Rows that repeat an id; records logged later than the horizon; names escaped, cut or too many."
    yield Panel(Kind.LINES, "Repeated, stale, unusual", text, queries, NUMBER, 0)
    for name in ("missing_rate", "invalid_rate"):
        yield lines(BY_NAME[name], f'{ONE}, subject!~"feature:.+"', "{{subject}}", width=12)
    yield lines(BY_NAME["log_delay_median"], ONE, "{{window}}", width=12)


def _slices(main: Measure) -> Iterator[Panel]:
    sides = {
        "version": 'model="$model", version=~"$version", segment="", window="$window"',
        "segment": 'model="$model", version="", segment=~"$segment", window="$window"',
    }
    family, (unit, decimals) = names.family_name(main), unit_of(main)
    rate = BY_NAME["base_rate"]
    for label, matchers in sides.items():
        legend = f"{{{{{label}}}}}"
        value = Query(newest(family, f'{matchers}, truth="settled"'), legend)
        yield Panel(
            Kind.LINES, f"{spoken(main)} by {label}, settled", told(main), (value,), unit, decimals, 12
        )
        records = Query(newest(names.WINDOW_RECORDS, f'{matchers}, truth="provisional"'), legend)
        yield Panel(Kind.LINES, f"Records by {label}", "Of the newest window.", (records,), NUMBER, 0, 6)
        coverage = Query(newest(names.WINDOW_COVERAGE, f'{matchers}, truth="provisional"'), legend)
        text = "Labelled share: where it differs, provisional values speak of another mix."
        yield Panel(Kind.LINES, f"Coverage by {label}", text, (coverage,), SHARE, 1, 6)
        if main.tasks & rate.tasks and main.name != "root_mean_squared_error":
            base = Query(
                newest(names.family_name(rate), f'{matchers}, truth="settled"'), f"{legend} {{{{subject}}}}"
            )
            yield Panel(Kind.LINES, f"{spoken(rate)} by {label}", told(rate), (base,), SHARE, 1, 12)
