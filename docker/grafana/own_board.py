"""The dashboard of the monitor itself."""

from describing import BAD, NUMBER, SECONDS, Board, Kind, Panel, Query, Row, Variable, spoken

from monitor.exposition import metric_names
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import MeasureFamily, MeasureUnit

HERE = 'instance=~"$instance"'
OF_MODELS = f'{HERE}, model=~"$model"'
RATE = "$__rate_interval"
OWN = metric_names.PREFIX
GOOD = ((None, "red"), (1.0, "green"))


def itself() -> Board:
    """The daemon's own health."""
    variables = (
        Variable("instance", f"{OWN}start_time_seconds", everything=".+"),
        Variable("model", f"{OWN}as_of_seconds", everything=".+"),
    )
    rows = (
        Row("Now", (*_now(), *_cycles())),
        Row("The logs and the databases", _logs()),
        Row("What is served", _served()),
    )
    text = "Do cycles run and succeed, do they keep up with the logs, what do they cost the databases?"
    return Board("monitor-itself", "The monitor itself", text, variables, rows, "now-2d", "/")


def _now() -> tuple[Panel, ...]:
    reload = f"{OWN}config_last_reload_success"
    up, started = f'up{{{HERE}, job="monitor"}}', f"{OWN}start_time_seconds{{{HERE}}}"
    aside = f"sum by (instance) ({OWN}daemon_aside{{{HERE}}})"
    columns = (
        Query(f"time() - max by (instance) ({started})", "running for", unit=SECONDS, decimals=0),
        Query(
            f"time() - max by (instance) ({reload}_timestamp_seconds{{{HERE}}})",
            "last reload",
            unit=SECONDS,
            decimals=0,
        ),
        Query(f"max by (instance, version, python) ({OWN}build_info{{{HERE}}})", "build"),
    )
    return (
        _stat("Up", "1: Prometheus reaches it.", up, GOOD),
        _stat(
            "Configuration accepted",
            "0: the monitor refused the newest configuration, and uses the one before.",
            f"{reload}ful{{{HERE}}}",
            GOOD,
        ),
        _stat(
            "Standing aside",
            "1: other daemons measure, and it shows what they do.",
            aside,
            BAD,
        ),
        Panel(Kind.TABLE, "Each daemon", "One line a daemon.", columns, NUMBER, 0, 24, 5),
    )


def _stat(title: str, text: str, expr: str, steps: tuple[tuple[float | None, str], ...]) -> Panel:
    return Panel(Kind.STAT, title, text, (Query(expr, "{{instance}}"),), NUMBER, None, 8, 4, steps)


def _lines(
    title: str, text: str, *queries: tuple[str, str], unit: str = NUMBER, width: int = 8, height: int = 7
) -> Panel:
    """Lines of several expressions, each with its legend."""
    return Panel(
        Kind.LINES, title, text, tuple(Query(*query) for query in queries), unit, None, width, height
    )


def _of_model(family: str) -> str:
    return f"max by (model) ({OWN}{family}{{{OF_MODELS}}})"


def _per_second(family: str, by: str, matchers: str) -> str:
    return f"sum by ({by}) (rate({OWN}{family}{{{matchers}}}[{RATE}]))"


def _hourly(family: str) -> str:
    return f"sum by (model) (increase({OWN}{family}{{{OF_MODELS}}}[1h]))"


def _cycles() -> tuple[Panel, ...]:
    cycles = f"60 * {_per_second('cycles_total', 'model, outcome', OF_MODELS)}"
    return (
        _lines("Cycles a minute", "The monitor tries a failed one again.", (cycles, "{{model}} {{outcome}}")),
        _lines(
            "Duration of the last cycle",
            "It should stay well below the time between cycles.",
            (_of_model("cycle_duration_seconds"), "{{model}}"),
            unit=SECONDS,
        ),
        _lines(
            "Time since the last success",
            "And the age of what it shows, which is large in a replay.",
            (f"time() - {_of_model('last_success_timestamp_seconds')}", "{{model}}"),
            (f"time() - {_of_model('as_of_seconds')}", "{{model}} served"),
            unit=SECONDS,
        ),
    )


def _logs() -> tuple[Panel, ...]:
    wrong = tuple(
        (
            f"max by (model) ({metric_names.family_name(measure)}{{{OF_MODELS}}})",
            f"{{{{model}}}} {spoken(measure)}",
        )
        for measure in CATALOGUE
        if measure.family is MeasureFamily.LOG and measure.unit in (MeasureUnit.RECORDS, MeasureUnit.RATIO)
    )
    waiting = metric_names.family_name(BY_NAME["panes_waiting"]).removeprefix(OWN)
    return (
        _lines(
            "Age of the newest row and label",
            "At the last cycle. A log that stopped shows here first, then labels that stopped.",
            (_of_model("log_age_seconds"), "{{model}} row"),
            (_of_model("label_age_seconds"), "{{model}} label"),
            (_of_model("source_lag_seconds"), "{{model}} row, as the last cycle saw it"),
            (_of_model("silence_limit_seconds"), "{{model}} row, at most"),
            unit=SECONDS,
        ),
        _lines(
            "Longest wait",
            "How long panes wait to be counted, and a source keeps the monitor waiting. 0: it answers.",
            (_of_model("longest_wait_seconds"), "{{model}}"),
            (f"max by (source) ({OWN}source_silent_seconds{{{HERE}}})", "{{source}} silent"),
            unit=SECONDS,
        ),
        _lines(
            "Panes",
            "Panes that wait, and those of an hour. 1: labels are counted whole, after a wrong difference.",
            (_of_model(waiting), "{{model}} waiting"),
            (_hourly("panes_counted_total"), "{{model}} counted"),
            (_of_model("labels_counted_whole"), "{{model}} labels counted whole"),
        ),
        _lines(
            "Rows read a second",
            "Predictions and labels of each model, and all rows that each source delivers.",
            (_per_second("rows_read_total", "model", OF_MODELS), "{{model}} predictions"),
            (_per_second("label_rows_read_total", "model", OF_MODELS), "{{model}} labels"),
            (_per_second("source_rows_total", "source", HERE), "{{source}} delivered"),
        ),
        _lines(
            "Busy queries",
            "Seconds of queries in each second, by source.",
            (_per_second("source_query_seconds_total", "source", HERE), "{{source}}"),
        ),
        _lines(
            "Left out in an hour",
            "Cycles left out since the one before still ran, and rows without a readable event time.",
            (_hourly("skipped_ticks_total"), "{{model}} ticks"),
            (_hourly("invalid_times_total"), "{{model}} rows"),
        ),
        _lines(
            "What is wrong with the rows",
            "Rows of each log with a fault, and columns that are missing. 0 is good.",
            *wrong,
            (_of_model("missing_columns"), "{{model}} missing columns"),
            width=24,
            height=9,
        ),
    )


def _served() -> tuple[Panel, ...]:
    absent = f"max by (model, reason) ({metric_names.ABSENT}{{{OF_MODELS}}})"
    dropped = f"max by (model) ({metric_names.DROPPED}{{{OF_MODELS}}})"
    first_seen = metric_names.family_name(BY_NAME["version_first_seen_timestamp"])
    seen = f"time() - max by (model, version) ({first_seen}{{{OF_MODELS}}})"
    return (
        _lines(
            "Measurements without a value",
            "By reason; docs/troubleshoot.md explains each. Also series left out by max_series.",
            (absent, "{{model}} {{reason}}"),
            (dropped, "{{model}} given up"),
            width=12,
        ),
        _lines(
            "Age of versions",
            "Time since the first record of each version.",
            (seen, "{{model}} {{version}}"),
            unit=SECONDS,
            width=12,
        ),
    )
