"""All dashboards; here those of the fleet and of shifts."""

from describing import (
    BAD,
    LIMIT,
    NUMBER,
    ONE,
    PSI_STEPS,
    SECONDS,
    SHARE,
    WHOLE,
    Board,
    Kind,
    Panel,
    Query,
    Row,
    Steps,
    Variable,
    beyond_chance,
    lasting,
    lines,
    newest,
    spanned,
    spoken,
    told,
    unit_of,
)
from history_board import history
from model_boards import model_board
from more_boards import alerts, comparisons
from own_board import itself

from monitor.alerts.default_rules import MAIN
from monitor.exposition import metric_names
from monitor.measures.catalogue import BY_NAME
from monitor.records.reading import ModelTask

OF_ONE = "/models/${__field.labels.model:percentencode}"
FLEET = f'model=~"$model", {WHOLE}, window="$window"'
OF_MODELS = 'model=~"$model"'
PAGE = "/models/${model:percentencode}/features?window=${window:percentencode}"
FEATURE = "/models/${model:percentencode}/feature?name=${__field.labels.subject:percentencode}"
FEATURES = f'model="$model", {WHOLE}, subject=~"$subject"'  # features are exposed on one window
INDEX, CRITICAL = BY_NAME["stability_index"], BY_NAME["stability_index_critical"]
UP = 'up{job="monitor"}'
OF_ROW = "/models/${__data.fields.model:percentencode}"


def boards() -> tuple[Board, ...]:
    """All dashboards."""
    models = tuple(model_board(task) for task in ModelTask)
    return (fleet(), *models, shifts(), comparisons(), alerts(), itself(), history())


def fleet() -> Board:
    """All models at a glance."""
    every = Variable("model", metric_names.AS_OF, everything=".+")
    windows = Variable("window", f'{metric_names.WINDOW_END}{{window!="cumulative"}}', first="7d")
    rows = (Row("Now", _fleet_now()), Row("Over time", _fleet_over_time()))
    text = "Which model needs a look?"
    return Board("monitor-fleet", "Fleet", text, (every, windows), rows, "now-90d", "/", OF_MODELS)


def _fleet_now() -> tuple[Panel, ...]:
    models = f"count(max by (model) ({metric_names.AS_OF}{{{OF_MODELS}}}))"
    failures = f'sum(increase(model_monitor_cycles_total{{{OF_MODELS}, outcome="failure"}}[1d]))'
    text = "One line a model, in the window chosen; most critical incidents first."
    return (
        _stat("Models", "Models that the monitor has measured.", models),
        _stat(
            "Daemons up",
            "Monitors that Prometheus reaches.",
            f"sum({UP})",
            ((None, "red"), (1.0, "green")),
        ),
        _stat("Open incidents", "Critical ones and warnings of the models chosen.", f"sum({_open()})", BAD),
        _stat("Failed cycles, last day", "The monitor tries a failed cycle again.", failures, BAD),
        Panel(
            Kind.TABLE,
            "Each model",
            text,
            _fleet_columns(),
            NUMBER,
            3,
            24,
            9,
            page=OF_ROW,
            sorted_by=("critical", "warnings"),
        ),
        *(_main(name) for name in MAIN.values()),
    )


def _open(severity: str = "") -> str:
    """Open incidents of each model, of all severities or of one."""
    of = f'{OF_MODELS}, severity="{severity}"' if severity else OF_MODELS
    return f"max by (model, severity) ({metric_names.INCIDENTS_OPEN}{{{of}}})"


def _fleet_columns() -> tuple[Query, ...]:
    """Incidents, the main measure beside training's, inputs, labels, records, and whether it runs."""
    late = f"time() - max by (model) (model_monitor_last_success_timestamp_seconds{{{OF_MODELS}}})"
    settled, provisional = f'{FLEET}, truth="settled"', f'{FLEET}, truth="provisional"'
    next_one = f"max by (model) ({metric_names.family_name(BY_NAME['next_settling'])}{{{OF_MODELS}}})"
    waits = f"{next_one} - max by (model) ({metric_names.AS_OF}{{{OF_MODELS}}})"
    of_features = f'{OF_MODELS}, {WHOLE}, subject=~"feature:.+"'
    index, coverage = metric_names.family_name(INDEX), metric_names.WINDOW_COVERAGE
    amber = ((None, "transparent"), (1.0, "orange"))
    alerts, window = f"{OF_ROW}/alerts", f"{OF_ROW}/performance?window=${{window:percentencode}}"

    def most(family: str, of: str) -> str:
        return f"max by (model) ({lasting(family, of)})"

    return (
        Query(
            f"sum by (model) ({_open('critical')})",
            "critical",
            decimals=0,
            steps=LIMIT,
            page=alerts,
        ),
        Query(
            f"sum by (model) ({_open('warning')})",
            "warnings",
            decimals=0,
            steps=amber,
            page=alerts,
        ),
        Query(
            _main_measures(f'{settled}, subject=""'),
            "main measure",
            page=window,
        ),
        Query(_main_measures(f'{FLEET}, subject=""', f"_{metric_names.REFERENCE}"), "in training"),
        Query(most(index, of_features), "PSI, most moved feature"),
        Query(most(index, f'{FLEET}, subject=~"score|prediction"'), "PSI, outputs"),
        Query(most(coverage, settled), "labelled, settled", unit=SHARE, decimals=1),
        Query(most(coverage, provisional), "labelled, newest", unit=SHARE, decimals=1),
        Query(most(metric_names.WINDOW_RECORDS, f'{FLEET}, truth=""'), "records", decimals=0),
        Query(waits, "next settles in", unit=SECONDS, decimals=0),
        Query(late, "last success", unit=SECONDS, decimals=0),
    )


def _main_measures(matchers: str, ending: str = "") -> str:
    """Main measure of each model, and its name as a label: the first that a model has, in this order."""
    order = (ModelTask.BINARY, ModelTask.REGRESSION, ModelTask.MULTICLASS)
    return " or on (model) ".join(
        f"label_replace(max by (model) ({lasting(metric_names.family_name(measure) + ending, matchers)}), "
        f'"measure", "{spoken(measure)}", "", "")'
        for measure in (BY_NAME[MAIN[task]] for task in order)
    )


def _stat(title: str, text: str, expr: str, steps: Steps = ()) -> Panel:
    return Panel(Kind.STAT, title, text, (Query(expr, "number"),), NUMBER, 0, 6, 4, steps)


def _main(name: str) -> Panel:
    measure = BY_NAME[name]
    (unit, decimals), settled = unit_of(measure), f'{FLEET}, truth="settled", subject=""'
    query = Query(newest(metric_names.family_name(measure), settled), "{{model}}")
    title = f"{spoken(measure)}, settled"
    return Panel(Kind.LINES, title, told(measure), (query,), unit, decimals, page=OF_ONE)


def _fleet_over_time() -> tuple[Panel, ...]:
    outputs = f'{FLEET}, subject=~"score|prediction"'
    index, critical = (spanned(metric_names.family_name(one), outputs) for one in (INDEX, CRITICAL))
    shifted = Query(f"max by (model) ({index} / {critical})", "{{model}}")
    volume = newest(metric_names.family_name(BY_NAME["volume_ratio"]), f"{OF_MODELS}, {WHOLE}")
    ratio = Query(volume, "{{model}} {{window}}")
    incidents = newest(metric_names.INCIDENTS_OPEN, OF_MODELS)
    by_severity = Query(f"sum by (severity) ({incidents})", "{{severity}}")
    text = "PSI of scores and predictions against training, divided by its critical value. "
    text += "Below the line chance explains it; above, see how large it is in the dashboard of shifts."
    return (
        Panel(
            Kind.LINES,
            "Outputs: PSI by its critical value",
            text,
            (shifted,),
            NUMBER,
            1,
            steps=LIMIT,
            page=OF_ONE,
            soft_most=1.2,
        ),
        Panel(
            Kind.LINES,
            "Records, as a share of earlier weeks",
            told(BY_NAME["volume_ratio"]),
            (ratio,),
            NUMBER,
            2,
            page=OF_ONE,
        ),
        Panel(
            Kind.LINES,
            "Open incidents by severity",
            "Those that recover count until two days without an alert are over.",
            (by_severity,),
            NUMBER,
            0,
            page="/alerts",
        ),
    )


def shifts() -> Board:
    """Shift of what the model says and of what it is fed."""
    index = metric_names.family_name(INDEX)
    of_model = f'{index}{{model="$model", subject=~"feature:.+"}}'
    variables = (
        Variable("model", index),
        Variable("window", f'{index}{{model="$model"}}', first="7d"),
        Variable("subject", of_model, everything="feature:.+"),
    )
    text = "Is what the model says, or what it is fed, still distributed as it was?"
    rows = (Row("Now", _now()), Row("What moved, what is missing", _besides()))
    return Board("monitor-shifts", "Shifts", text, variables, rows, "now-90d", PAGE, 'model="$model"')


def _now() -> tuple[Panel, ...]:
    """Outputs beside what chance gives, features beside the usual limits."""
    outputs = f'{ONE}, subject!~"feature:.+"'
    index = tuple(
        Query(newest(metric_names.family_name(measure), outputs), legend)
        for measure, legend in ((INDEX, "{{subject}}"), (CRITICAL, "{{subject}} critical"))
    )
    text = f"Above its critical value PSI is more than chance; it may still be small. {told(INDEX)}"
    title = "PSI of outputs, and its critical value"
    cells = _of_features(beyond_chance(FEATURES, newest))
    most = f"sort_desc(topk(10, {_of_features(beyond_chance(FEATURES, lasting))}))"
    grey = "Grey: chance explains it (PSI below its critical value). Blue: more than chance, but small. "
    grey += "Amber: 0.1 or more. Orange: 0.25 or more."
    return (
        Panel(Kind.LINES, title, text, index, NUMBER, 3, 12, 8, page=PAGE),
        _bars("Most shifted now", f"The ten features that differ most from training. {grey}", most, height=8),
        _cells(grey, cells, "PSI of each feature", NUMBER, 3, PSI_STEPS, width=24, height=12),
    )


def _besides() -> tuple[Panel, ...]:
    outputs = f'{ONE}, subject!~"feature:.+"'
    over = f"{metric_names.family_name(INDEX)}{{{FEATURES}}}[$__range]"
    spread = f"max without (instance, job) (max_over_time({over}) - min_over_time({over}))"
    moved = f"sort_desc(topk(10, {_of_features(spread)}))"
    text = "By how much PSI moved in the time shown: drift that is new."
    steps = ((None, "green"), (0.01, "yellow"), (0.1, "red"))
    rates = (
        _cells(
            told(BY_NAME[name]),
            _of_features(newest(metric_names.family_name(BY_NAME[name]), FEATURES)),
            f"{spoken(BY_NAME[name])} of features",
            SHARE,
            1,
            steps,
        )
        for name in ("missing_rate", "unseen_rate")
    )
    of_outputs = ("missing_rate", "invalid_rate", "out_of_range_rate")
    return (
        _bars("Moved most", text, moved, ((None, "blue"),)),
        lines(BY_NAME["ks_distance"], outputs, "{{subject}}", width=12, page=PAGE),
        *rates,
        *(lines(BY_NAME[name], outputs, "{{subject}}", page=PAGE) for name in of_outputs),
    )


def _of_features(expr: str) -> str:
    """Series of features under their plain names."""
    return f'label_replace({expr}, "subject", "$1", "subject", "feature:(.+)")'


def _bars(title: str, text: str, expr: str, steps: Steps = PSI_STEPS, *, height: int = 9) -> Panel:
    return Panel(
        Kind.BARS, title, text, (Query(expr, "{{subject}}"),), NUMBER, 3, 12, height, steps, page=FEATURE
    )


def _cells(
    text: str,
    expr: str,
    title: str,
    unit: str,
    decimals: int,
    steps: Steps,
    *,
    width: int = 12,
    height: int = 9,
) -> Panel:
    query = Query(expr, "{{subject}}")
    return Panel(Kind.CELLS, title, text, (query,), unit, decimals, width, height, steps, page=FEATURE)
