"""The dashboard of the monitor itself."""

from describing import NUMBER, SECONDS, Board, Kind, Panel, Query, Row, Variable, spoken

from monitor.exposition import metric_names
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import MeasureFamily, MeasureUnit

HERE = 'instance=~"$instance"'
OF_MODELS = f'{HERE}, model=~"$model"'
RATE = "$__rate_interval"
OWN = metric_names.PREFIX
GOOD = ((None, "red"), (1.0, "green"))
BAD = ((None, "green"), (1.0, "red"))


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
    return Board("monitor-itself", "The monitor itself", text, variables, rows)


def _now() -> tuple[Panel, ...]:
    reload = f"{OWN}config_last_reload_success"
    up, started = f'up{{{HERE}, job="monitor"}}', f"{OWN}start_time_seconds{{{HERE}}}"
    aside = f"sum by (instance) ({OWN}daemon_aside{{{HERE}}})"
    columns = (
        Query(f"time() - max by (instance) ({started})", "seconds running"),
        Query(f"time() - max by (instance) ({reload}_timestamp_seconds{{{HERE}}})", "seconds since reload"),
        Query(f"max by (instance, version, python) ({OWN}build_info{{{HERE}}})", "build"),
    )
    return (
        _stat("Up", "1: Prometheus can scrape it.", up, GOOD),
        _stat(
            "Configuration accepted",
            "0: the one read last was refused, the one before is in use.",
            f"{reload}ful{{{HERE}}}",
            GOOD,
        ),
        _stat("Standing aside", "1: it claims no cycles and serves what others measure.", aside, BAD),
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
        _lines("Cycles a minute", "A failed one is tried again.", (cycles, "{{model}} {{outcome}}")),
        _lines(
            "Duration of the last cycle",
            "Well below the time between cycles is well.",
            (_of_model("cycle_duration_seconds"), "{{model}}"),
            unit=SECONDS,
        ),
        _lines(
            "Time since the last success",
            "And the age of what is served, which is large in a replay of the past.",
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
            "At the last cycle: a log that stopped shows here first, then labels that stopped.",
            (_of_model("log_age_seconds"), "{{model}} row"),
            (_of_model("label_age_seconds"), "{{model}} label"),
            (_of_model("source_lag_seconds"), "{{model}} row, as the last cycle saw it"),
            (_of_model("silence_limit_seconds"), "{{model}} row, at most"),
            unit=SECONDS,
        ),
        _lines(
            "Longest wait",
            "Of panes to be counted; of a source for an answer, 0: it answers.",
            (_of_model("longest_wait_seconds"), "{{model}}"),
            (f"max by (source) ({OWN}source_silent_seconds{{{HERE}}})", "{{source}} silent"),
            unit=SECONDS,
        ),
        _lines(
            "Panes",
            "Changed, and waiting to be counted; counted in an hour; counted whole for wrong labels (1).",
            (_of_model(waiting), "{{model}} waiting"),
            (_hourly("panes_counted_total"), "{{model}} counted"),
            (_of_model("labels_counted_whole"), "{{model}} labels counted whole"),
        ),
        _lines(
            "Rows read a second",
            "Of predictions and labels by model; delivered by source, of all queries.",
            (_per_second("rows_read_total", "model", OF_MODELS), "{{model}} predictions"),
            (_per_second("label_rows_read_total", "model", OF_MODELS), "{{model}} labels"),
            (_per_second("source_rows_total", "source", HERE), "{{source}} delivered"),
        ),
        _lines(
            "Busy queries",
            "Seconds of queries in a second, by source.",
            (_per_second("source_query_seconds_total", "source", HERE), "{{source}}"),
        ),
        _lines(
            "Left out in an hour",
            "Ticks, because the cycle before still ran; rows whose event time could not be read.",
            (_hourly("skipped_ticks_total"), "{{model}} ticks"),
            (_hourly("invalid_times_total"), "{{model}} rows"),
        ),
        _lines(
            "What is wrong with the rows",
            "Of each log as a whole, and columns that it lacks; 0 is as it should be.",
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
            "By reason, which docs/runbook.md explains; series that max_series leaves no room for.",
            (absent, "{{model}} {{reason}}"),
            (dropped, "{{model}} given up"),
            width=12,
        ),
        _lines(
            "Age of versions",
            "Since a version first logged a row.",
            (seen, "{{model}} {{version}}"),
            unit=SECONDS,
            width=12,
        ),
    )
