"""All dashboards; here those of the fleet and of shifts."""

from describing import (
    NUMBER,
    ONE,
    SHARE,
    WHOLE,
    Board,
    Kind,
    Panel,
    Query,
    Row,
    Variable,
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
from monitor.measures.catalogue.measure import Measure
from monitor.records.reading import ModelTask

OF_ONE = "/models/${__field.labels.model:percentencode}"
FLEET = f'model=~"$model", {WHOLE}, window="$window"'
OF_MODELS = 'model=~"$model"'
BAD = ((None, "green"), (1.0, "red"))
SHIFTED = ((None, "green"), (0.1, "yellow"), (0.25, "red"))  # the usual rules of thumb
PAGE = "/models/${model:percentencode}/features?window=${window:percentencode}"
FEATURE = "/models/${model:percentencode}/feature?name=${__field.labels.subject:percentencode}"
FEATURES = f'model="$model", {WHOLE}, subject=~"$subject"'  # features are exposed on one window
INDEX, CRITICAL = BY_NAME["stability_index"], BY_NAME["stability_index_critical"]
UP = 'up{job="monitor"}'


def boards() -> tuple[Board, ...]:
    """All dashboards."""
    models = tuple(model_board(task) for task in ModelTask)
    return (fleet(), *models, shifts(), comparisons(), alerts(), itself(), history())


def fleet() -> Board:
    """All models at a glance."""
    every = Variable("model", metric_names.AS_OF, everything=".+")
    windows = Variable("window", f'{metric_names.WINDOW_END}{{window!="cumulative"}}', first="7d")
    text = "Which model needs a look?"
    rows = (Row("Now", _fleet_now()), Row("Over time", _fleet_over_time()))
    return Board("monitor-fleet", "Fleet", text, (every, windows), rows)


def _fleet_now() -> tuple[Panel, ...]:
    firing = f"max without (instance, job) (model_monitor_alert_firing{{{OF_MODELS}}})"
    models = f"count(max by (model) ({metric_names.AS_OF}{{{OF_MODELS}}}))"
    failures = f'sum(increase(model_monitor_cycles_total{{{OF_MODELS}, outcome="failure"}}[1d]))'
    late = f"time() - max by (model) (model_monitor_last_success_timestamp_seconds{{{OF_MODELS}}})"
    settled, provisional = f'{FLEET}, truth="settled"', f'{FLEET}, truth="provisional"'
    next_one = f"max by (model) ({metric_names.family_name(BY_NAME['next_settling'])}{{{OF_MODELS}}})"
    waits = f"{next_one} - max by (model) ({metric_names.AS_OF}{{{OF_MODELS}}})"
    mains = "|".join(metric_names.family_name(BY_NAME[name]) for name in MAIN.values())
    of_features = f'{OF_MODELS}, {WHOLE}, subject=~"feature:.+"'
    measured = (
        (metric_names.WINDOW_RECORDS, f'{FLEET}, truth=""', "records"),
        (metric_names.WINDOW_COVERAGE, provisional, "coverage, newest window"),
        (metric_names.WINDOW_COVERAGE, settled, "coverage, settled"),
        (metric_names.family_name(INDEX), f'{FLEET}, subject=~"score|prediction"', "shift of outputs"),
        (metric_names.family_name(INDEX), of_features, "most shifted feature"),
    )
    columns = (
        *(Query(f"max by (model) ({lasting(family, of)})", name) for family, of, name in measured),
        Query(waits, "seconds until a window settles"),
        Query(late, "seconds since success"),
    )
    return (
        _stat("Models", "Models that have been measured.", models),
        _stat(
            "Daemons up",
            "Processes that Prometheus can scrape.",
            f"sum({UP})",
            ((None, "red"), (1.0, "green")),
        ),
        _stat("Alerts firing", "Of the models chosen.", f"count({firing}) or vector(0)", BAD),
        _stat("Failed cycles, last day", "A failed cycle is tried again.", failures, BAD),
        Panel(
            Kind.TABLE,
            "Each model",
            "One line a model, of the window chosen.",
            columns,
            NUMBER,
            3,
            24,
            9,
            page="/models/${__data.fields.model:percentencode}",
        ),
        *(_main(name) for name in mains.split("|")),
    )


def _stat(title: str, text: str, expr: str, steps: tuple[tuple[float | None, str], ...] = ()) -> Panel:
    return Panel(Kind.STAT, title, text, (Query(expr, "number"),), NUMBER, 0, 6, 4, steps)


def _main(family: str) -> Panel:
    measure = next(
        one for one in map(BY_NAME.__getitem__, MAIN.values()) if metric_names.family_name(one) == family
    )
    (unit, decimals), settled = unit_of(measure), f'{FLEET}, truth="settled", subject=""'
    query = Query(newest(family, settled), "{{model}}")
    title = f"{spoken(measure)}, settled"
    return Panel(Kind.LINES, title, told(measure), (query,), unit, decimals, page=OF_ONE)


def _fleet_over_time() -> tuple[Panel, ...]:
    index = spanned(metric_names.family_name(INDEX), f'{FLEET}, subject=~"score|prediction"')
    shifted = Query(f"max by (model) ({index})", "{{model}}")
    volume = newest(metric_names.family_name(BY_NAME["volume_ratio"]), f"{OF_MODELS}, {WHOLE}")
    ratio = Query(volume, "{{model}} {{window}}")
    firing = Query(f"count by (severity) ({newest('model_monitor_alert_firing', OF_MODELS)})", "{{severity}}")
    none = "Nothing is drawn while none fires."
    return (
        Panel(
            Kind.LINES,
            "Shift of scores and predictions",
            told(INDEX),
            (shifted,),
            NUMBER,
            3,
            steps=SHIFTED,
            page=OF_ONE,
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
        Panel(Kind.LINES, "Alerts firing by severity", none, (firing,), NUMBER, 0, page="/alerts"),
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
    return Board("monitor-shifts", "Shifts", text, variables, rows)


def _now() -> tuple[Panel, ...]:
    """Outputs beside what chance gives, features beside the usual limits."""
    outputs = f'{ONE}, subject!~"feature:.+"'
    index = tuple(
        Query(newest(metric_names.family_name(measure), outputs), legend)
        for measure, legend in ((INDEX, "{{subject}}"), (CRITICAL, "{{subject}} critical"))
    )
    text = f"{told(INDEX)} Above its critical value it is more than chance; whether it is large, is not said."
    title = "Stability index and its critical value"
    cells = _of_features(newest(metric_names.family_name(INDEX), FEATURES))
    most = f"sort_desc(topk(10, {_of_features(lasting(metric_names.family_name(INDEX), FEATURES))}))"
    return (
        Panel(Kind.LINES, title, text, index, NUMBER, 3, 12, 8, page=PAGE),
        _bars("Most shifted now", "The ten largest indices.", most, height=8),
        _cells(INDEX, cells, "Stability index of each feature", NUMBER, 3, SHIFTED, width=24, height=12),
    )


def _besides() -> tuple[Panel, ...]:
    outputs = f'{ONE}, subject!~"feature:.+"'
    over = f"{metric_names.family_name(INDEX)}{{{FEATURES}}}[$__range]"
    spread = f"max without (instance, job) (max_over_time({over}) - min_over_time({over}))"
    moved = f"sort_desc(topk(10, {_of_features(spread)}))"
    text = "By how much the index moved in the time shown."
    steps = ((None, "green"), (0.01, "yellow"), (0.1, "red"))
    rates = (
        _cells(
            BY_NAME[name],
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
        _bars("Moved most", text, moved),
        lines(BY_NAME["ks_distance"], outputs, "{{subject}}", width=12, page=PAGE),
        *rates,
        *(lines(BY_NAME[name], outputs, "{{subject}}", page=PAGE) for name in of_outputs),
    )


def _of_features(expr: str) -> str:
    """Series of features under their plain names."""
    return f'label_replace({expr}, "subject", "$1", "subject", "feature:(.+)")'


def _bars(title: str, text: str, expr: str, *, height: int = 9) -> Panel:
    return Panel(
        Kind.BARS, title, text, (Query(expr, "{{subject}}"),), NUMBER, 3, 12, height, SHIFTED, page=FEATURE
    )


def _cells(
    measure: Measure,
    expr: str,
    title: str,
    unit: str,
    decimals: int,
    steps: tuple[tuple[float | None, str], ...],
    *,
    width: int = 12,
    height: int = 9,
) -> Panel:
    query = Query(expr, "{{subject}}")
    return Panel(
        Kind.CELLS, title, told(measure), (query,), unit, decimals, width, height, steps, page=FEATURE
    )
