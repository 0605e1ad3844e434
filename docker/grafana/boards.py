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
    lines,
    newest,
    spoken,
    told,
    unit_of,
)
from model_boards import model_board
from more_boards import alerts, comparisons
from own_board import itself

from monitor.alerts.defaults import MAIN
from monitor.exposition import names
from monitor.measures.catalogue import BY_NAME
from monitor.records.reading import Task

FLEET = f'model=~"$model", {WHOLE}, window="$window"'
OF_MODELS = 'model=~"$model"'
BAD = ((None, "green"), (1.0, "red"))
SHIFTED = ((None, "green"), (0.1, "yellow"), (0.25, "red"))  # the usual rules of thumb
INDEX, CRITICAL = BY_NAME["stability_index"], BY_NAME["stability_index_critical"]
UP = 'up{job="monitor"}'


def boards() -> tuple[Board, ...]:
    """All dashboards."""
    return (fleet(), *(model_board(task) for task in Task), shifts(), comparisons(), alerts(), itself())


def fleet() -> Board:
    """All models at a glance."""
    every = Variable("model", names.AS_OF, everything=".+")
    windows = Variable("window", f'{names.WINDOW_END}{{window!="cumulative"}}', first="7d")
    text = "Which model needs a look?"
    rows = (Row("Now", _fleet_now()), Row("Over time", _fleet_over_time()))
    return Board("monitor-fleet", "Fleet", text, (every, windows), rows)


def _fleet_now() -> tuple[Panel, ...]:
    firing = newest("model_monitor_alert_firing", OF_MODELS)
    models = f"count(max by (model) ({names.AS_OF}{{{OF_MODELS}}}))"
    failures = f'sum(increase(model_monitor_cycles_total{{{OF_MODELS}, outcome="failure"}}[1d]))'
    late = f"time() - max by (model) (model_monitor_last_success_timestamp_seconds{{{OF_MODELS}}})"
    settled, provisional = f'{FLEET}, truth="settled"', f'{FLEET}, truth="provisional"'
    mains = "|".join(names.family_name(BY_NAME[name]) for name in MAIN.values())
    columns = (
        Query(f'max by (model) ({names.WINDOW_RECORDS}{{{FLEET}, truth=""}})', "records"),
        Query(f"max by (model) ({names.WINDOW_COVERAGE}{{{provisional}}})", "coverage, newest window"),
        Query(f"max by (model) ({names.WINDOW_COVERAGE}{{{settled}}})", "coverage, settled"),
        Query(
            f'max by (model) ({names.family_name(INDEX)}{{{FLEET}, subject=~"score|prediction"}})',
            "shift of outputs",
        ),
        Query(
            f'max by (model) ({names.family_name(INDEX)}{{{OF_MODELS}, {WHOLE}, subject=~"feature:.+"}})',
            "most shifted feature",
        ),
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
        Panel(Kind.TABLE, "Each model", "One line a model, of the window chosen.", columns, NUMBER, 3, 24, 9),
        *(_main(name) for name in mains.split("|")),
    )


def _stat(title: str, text: str, expr: str, steps: tuple[tuple[float | None, str], ...] = ()) -> Panel:
    return Panel(Kind.STAT, title, text, (Query(expr, "number"),), NUMBER, 0, 6, 4, steps)


def _main(family: str) -> Panel:
    measure = next(one for one in map(BY_NAME.__getitem__, MAIN.values()) if names.family_name(one) == family)
    (unit, decimals), settled = unit_of(measure), f'{FLEET}, truth="settled", subject=""'
    query = Query(newest(family, settled), "{{model}}")
    return Panel(Kind.LINES, f"{spoken(measure)}, settled", told(measure), (query,), unit, decimals)


def _fleet_over_time() -> tuple[Panel, ...]:
    shifted = Query(
        f'max by (model) ({names.family_name(INDEX)}{{{FLEET}, subject=~"score|prediction"}})', "{{model}}"
    )
    records = Query(f'max by (model) ({names.WINDOW_RECORDS}{{{FLEET}, truth=""}})', "{{model}}")
    firing = Query(f"count by (severity) ({newest('model_monitor_alert_firing', OF_MODELS)})", "{{severity}}")
    return (
        Panel(
            Kind.LINES, "Shift of scores and predictions", told(INDEX), (shifted,), NUMBER, 3, steps=SHIFTED
        ),
        Panel(Kind.LINES, "Records of the window", "Each id once.", (records,), NUMBER, 0),
        Panel(
            Kind.LINES,
            "Alerts firing by severity",
            "Nothing is drawn while none fires.",
            (firing,),
            NUMBER,
            0,
        ),
    )


def shifts() -> Board:
    """Shift of what the model says and of what it is fed."""
    index = names.family_name(INDEX)
    of_model = f'{index}{{model="$model", subject=~"feature:.+"}}'
    variables = (
        Variable("model", index),
        Variable("window", f'{index}{{model="$model"}}', first="7d"),
        Variable("subject", of_model, everything="feature:.+"),
    )
    text = "Is what the model says, or what it is fed, still distributed as it was?"
    rows = (Row("Scores and predictions", _outputs()), Row("Features: index by time", _features()))
    return Board("monitor-shifts", "Shifts", text, variables, rows)


def _outputs() -> tuple[Panel, ...]:
    outputs = f'{ONE}, subject!~"feature:.+"'
    index = tuple(
        Query(newest(names.family_name(measure), outputs), legend)
        for measure, legend in ((INDEX, "{{subject}}"), (CRITICAL, "{{subject}} critical"))
    )
    text = f"{told(INDEX)} Above its critical value it is more than chance; whether it is large, is not said."
    return (
        Panel(Kind.LINES, "Stability index and its critical value", text, index, NUMBER, 3, 12),
        lines(BY_NAME["ks_distance"], outputs, "{{subject}}", width=12),
        lines(BY_NAME["missing_rate"], outputs, "{{subject}}", width=6),
        lines(BY_NAME["invalid_rate"], outputs, "{{subject}}", width=6),
        lines(BY_NAME["unseen_rate"], ONE, "{{subject}}", width=6),
        lines(BY_NAME["out_of_range_rate"], outputs, "{{subject}}", width=6),
    )


def _features() -> tuple[Panel, ...]:
    chosen = f'model="$model", {WHOLE}, subject=~"$subject"'  # features are exposed on one window
    index, short = names.family_name(INDEX), 'label_replace({}, "subject", "$1", "subject", "feature:(.+)")'
    over = f"{index}{{{chosen}}}[$__range]"
    spread = f"max without (instance, job) (max_over_time({over}) - min_over_time({over}))"
    asked = {"now": short.format(newest(index, chosen)), "range": short.format(spread)}
    legend = "{{subject}}"
    cells = (Query(asked["now"], legend),)
    most, moved = (Query(f"sort_desc(topk(10, {asked[key]}))", legend) for key in ("now", "range"))
    rates = [
        Panel(
            Kind.CELLS,
            f"{spoken(BY_NAME[name])} of features",
            told(BY_NAME[name]),
            (Query(short.format(newest(names.family_name(BY_NAME[name]), chosen)), legend),),
            SHARE,
            1,
            12,
            9,
            ((None, "green"), (0.01, "yellow"), (0.1, "red")),
        )
        for name in ("missing_rate", "unseen_rate")
    ]
    return (
        Panel(Kind.CELLS, "Stability index of each feature", told(INDEX), cells, NUMBER, 3, 24, 12, SHIFTED),
        Panel(Kind.BARS, "Most shifted now", "The ten largest indices.", (most,), NUMBER, 3, 12, 9, SHIFTED),
        Panel(
            Kind.BARS,
            "Moved most",
            "By how much the index moved in the time shown.",
            (moved,),
            NUMBER,
            3,
            12,
            9,
            SHIFTED,
        ),
        *rates,
    )
