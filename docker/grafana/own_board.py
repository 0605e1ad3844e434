"""The dashboard of the monitor itself."""

from describing import MOMENT, NUMBER, SECONDS, Board, Kind, Panel, Query, Row, Variable, spoken

from monitor.exposition import names
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import Family, Unit

HERE = 'instance=~"$instance"'
OF_MODELS = f'{HERE}, model=~"$model"'
RATE = "$__rate_interval"
OWN = names.PREFIX
GOOD = ((None, "red"), (1.0, "green"))
BAD = ((None, "green"), (1.0, "red"))


def itself() -> Board:
    """The daemon's own health."""
    variables = (
        Variable("instance", f"{OWN}start_time_seconds", everything=".+"),
        Variable("model", f"{OWN}as_of_seconds", everything=".+"),
    )
    rows = (
        Row("Now", _now()),
        Row("Cycles", _cycles()),
        Row("What is read", _read()),
        Row("The logs", _logs()),
        Row("What is served", _served()),
    )
    text = "Do cycles run and succeed, do they keep up with the logs, what do they cost the databases?"
    return Board("monitor-itself", "The monitor itself", text, variables, rows)


def _stat(
    title: str,
    text: str,
    expr: str,
    legend: str,
    unit: str = NUMBER,
    steps: tuple[tuple[float | None, str], ...] = (),
) -> Panel:
    return Panel(Kind.STAT, title, text, (Query(expr, legend),), unit, None, 4, 4, steps)


def _now() -> tuple[Panel, ...]:
    reload = f"{OWN}config_last_reload_success"
    return (
        _stat(
            "Up", "1: Prometheus can scrape it.", f'up{{{HERE}, job="monitor"}}', "{{instance}}", steps=GOOD
        ),
        _stat(
            "Running for",
            "Since the program started.",
            f"time() - {OWN}start_time_seconds{{{HERE}}}",
            "{{instance}}",
            SECONDS,
        ),
        _stat("Version", "Of the program.", f"{OWN}build_info{{{HERE}}}", "{{version}}, Python {{python}}"),
        _stat(
            "Configuration accepted",
            "0: the one read last was refused, the one before is in use.",
            f"{reload}ful{{{HERE}}}",
            "{{instance}}",
            steps=GOOD,
        ),
        _stat(
            "Configuration read",
            "When the one in use was read.",
            f"{reload}_timestamp_seconds{{{HERE}}} * 1000",
            "{{instance}}",
            MOMENT,
        ),
        _stat(
            "Standing aside",
            "1: it claims no cycles and serves what others measure, for this reason.",
            f"{OWN}daemon_aside{{{HERE}}}",
            "{{reason}}",
            steps=BAD,
        ),
    )


def _line(
    title: str, text: str, expr: str, legend: str = "{{model}}", unit: str = NUMBER, width: int = 8
) -> Panel:
    return Panel(Kind.LINES, title, text, (Query(expr, legend),), unit, None, width)


def _cycles() -> tuple[Panel, ...]:
    def each(family: str) -> str:
        return f"{OWN}{family}{{{OF_MODELS}}}"

    return (
        _line(
            "Cycles a minute",
            "By outcome; a failed one is tried again.",
            f"60 * sum by (model, outcome) (rate({each('cycles_total')}[{RATE}]))",
            "{{model}} {{outcome}}",
        ),
        _line(
            "Duration of the last cycle",
            "Well below the time between cycles is well.",
            f"max by (model) ({each('cycle_duration_seconds')})",
            unit=SECONDS,
        ),
        _line(
            "Time since the last success",
            "Of the daemon that knows of the newest one.",
            f"time() - max by (model) ({each('last_success_timestamp_seconds')})",
            unit=SECONDS,
        ),
        _line(
            "Age of what is served",
            "Wall time less the moment of which values speak; large in a replay of the past.",
            f"time() - max by (model) ({each('as_of_seconds')})",
            unit=SECONDS,
        ),
        _line(
            "Skipped ticks",
            "Left out, in an hour, because the cycle before still ran.",
            f"sum by (model) (increase({each('skipped_ticks_total')}[1h]))",
        ),
        _line(
            "Missing columns",
            "Configured, and not in the table.",
            f"max by (model) ({each('missing_columns')})",
        ),
    )


def _read() -> tuple[Panel, ...]:
    def rate(family: str, by: str, matchers: str) -> str:
        return f"sum by ({by}) (rate({OWN}{family}{{{matchers}}}[{RATE}]))"

    return (
        _line(
            "Prediction rows read a second",
            "New ones, and those of panes that are counted again.",
            rate("rows_read_total", "model", OF_MODELS),
        ),
        _line("Label rows read a second", "Likewise.", rate("label_rows_read_total", "model", OF_MODELS)),
        _line(
            "Panes counted a second",
            "New, changed, audited.",
            rate("panes_counted_total", "model", OF_MODELS),
        ),
        _line(
            "Busy queries",
            "Seconds of queries in a second, by source.",
            rate("source_query_seconds_total", "source", HERE),
            "{{source}}",
        ),
        _line(
            "Silent sources",
            "Seconds for which a source has not answered; 0: it answers.",
            f"max by (source) ({OWN}source_silent_seconds{{{HERE}}})",
            "{{source}}",
        ),
        _line(
            "Rows delivered a second",
            "By source, of all queries.",
            rate("source_rows_total", "source", HERE),
            "{{source}}",
        ),
        _line(
            "Invalid times",
            "Rows in an hour whose event time could not be read.",
            f"sum by (model) (increase({OWN}invalid_times_total{{{OF_MODELS}}}[1h]))",
        ),
    )


def _logs() -> tuple[Panel, ...]:
    queries = tuple(
        Query(
            f"max by (model) ({names.family_name(measure)}{{{OF_MODELS}}})",
            f"{{{{model}}}} {spoken(measure).lower()}",
        )
        for measure in CATALOGUE
        if measure.family is Family.LOG and measure.unit is Unit.RECORDS
    )
    lag = f"max by (model) ({OWN}source_lag_seconds{{{OF_MODELS}}})"
    return (
        _line(
            "Age of the newest row",
            "At the last cycle: a log that stopped shows here first.",
            f"max by (model) ({OWN}log_age_seconds{{{OF_MODELS}}})",
            unit=SECONDS,
        ),
        _line(
            "Age of the newest label",
            "At the last cycle: until labels come again, performance is not known.",
            f"max by (model) ({OWN}label_age_seconds{{{OF_MODELS}}})",
            unit=SECONDS,
        ),
        _line(
            "Lag of the source",
            "The age of the newest row as the daemon that ran the last cycle saw it.",
            lag,
            unit=SECONDS,
        ),
        _line(
            "Panes waiting",
            "Changed, and waiting to be counted: at once, or once a day where labels are counted whole.",
            f"max by (model) ({OWN}panes_waiting{{{OF_MODELS}}})",
            width=6,
        ),
        _line(
            "Longest wait",
            "Of the first of them.",
            f"max by (model) ({OWN}longest_wait_seconds{{{OF_MODELS}}})",
            unit=SECONDS,
            width=6,
        ),
        _line(
            "Labels counted whole",
            "1: labels that were added by difference were found wrong, and nobody has decided; "
            "docs/runbook.md says what to do.",
            f"max by (model) ({OWN}labels_counted_whole{{{OF_MODELS}}})",
            width=6,
        ),
        _line(
            "Versions first seen",
            "When a version of a model first logged a row.",
            f"max by (model, version) ({OWN}version_first_seen_timestamp_seconds{{{OF_MODELS}}}) * 1000",
            "{{model}} {{version}}",
            MOMENT,
            width=6,
        ),
        _line(
            "Settling age",
            "How long after its end a window settles: enough labels of each class are in by then.",
            f"max by (model) ({OWN}settling_age_seconds{{{OF_MODELS}}})",
            unit=SECONDS,
            width=12,
        ),
        _line(
            "Next settling",
            "When the next window is expected to settle; monitor status says why then.",
            f"max by (model, window) ({OWN}next_settling_seconds{{{OF_MODELS}}}) * 1000",
            "{{model}} {{window}}",
            MOMENT,
            width=12,
        ),
        Panel(
            Kind.LINES,
            "What is wrong with the rows",
            "Of each log as a whole; 0 is as it should be.",
            queries,
            NUMBER,
            0,
            24,
            9,
        ),
    )


def _served() -> tuple[Panel, ...]:
    monitor = f'{{{HERE}, job="monitor"}}'
    return (
        _line(
            "Measurements without a value",
            "By reason; docs/runbook.md says what to do.",
            f"max by (model, reason) ({names.ABSENT}{{{OF_MODELS}}})",
            "{{model}} {{reason}}",
        ),
        _line(
            "Series given up",
            "max_series leaves no room for them.",
            f"max by (model) ({names.DROPPED}{{{OF_MODELS}}})",
        ),
        _line(
            "Series of a scrape",
            "As Prometheus counted them.",
            f"scrape_samples_scraped{monitor}",
            "{{instance}}",
            width=4,
        ),
        _line(
            "Duration of a scrape",
            "A page is rendered once a cycle, never by a scrape.",
            f"scrape_duration_seconds{monitor}",
            "{{instance}}",
            SECONDS,
            4,
        ),
    )
