"""What a store on PostgreSQL keeps, asked of its views: kept measurements and what became of them.

Grafana reads a macro's argument up to the first closing bracket: where one needs a function of a column,
the bounds of the time shown stand as ``$__timeFrom()`` and ``$__timeTo()``.
"""

from describing import NUMBER, PSI_STEPS, Board, Kind, Panel, Query, Row, Variable

PAGE = "/models/${model:percentencode}"
WINDOWS = f"{PAGE}/performance?window=${{window:percentencode}}"
FEATURES = f"{PAGE}/features?window=${{window:percentencode}}"
MINE = "s.run = ${run:sqlstring} AND s.model = ${model:sqlstring}"
WHOLE = (
    f"{MINE} AND s.window = ${{window:sqlstring}} AND s.version = '' AND s.segment = '' AND s.against = ''"
)
CHOSEN = f"{WHOLE} AND s.measure = ${{measure:sqlstring}} AND s.subject NOT LIKE 'feature:%'"
SHOWN = "$__timeFilter(s.window_end_time)"
AT = "to_char(to_timestamp({} / 1e6) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')"
SUBJECT = "CASE s.subject WHEN '' THEN '' ELSE ' ' || s.subject END"
MOST_FEATURES = 30

NEWEST = f"""
SELECT s.window_end_time AS time, v.metric || {SUBJECT} || v.bound AS metric, v.value
FROM snapshots_latest AS s
CROSS JOIN LATERAL (VALUES
  (coalesce(nullif(s.truth, ''), 'value'), '', s.value),
  (coalesce(nullif(s.truth, ''), 'value'), ' lower', s.lower),
  (coalesce(nullif(s.truth, ''), 'value'), ' upper', s.upper)
) AS v (metric, bound, value)
WHERE {CHOSEN} AND {SHOWN} AND v.value IS NOT NULL
ORDER BY 1
"""
_SAID = f"""
WITH said AS (
  SELECT s.window_end_time AS time, {SUBJECT} AS subject, s.value,
    row_number() OVER (ends ORDER BY s.as_of, s.truth = 'nowcast' DESC) AS oldest,
    row_number() OVER (
      ends ORDER BY s.as_of DESC, s.truth = 'settled' DESC, s.truth = 'nowcast' DESC
    ) AS newest
  FROM snapshots AS s
  WHERE {CHOSEN} AND {SHOWN} AND s.value IS NOT NULL
  WINDOW ends AS (PARTITION BY s.window_end, s.subject)
)"""  # a window may have been said provisional and as a nowcast at once: the better one counts
FIRST_AND_NOW = f"""{_SAID}
SELECT time, v.metric || subject AS metric, value
FROM said CROSS JOIN LATERAL (VALUES ('first said', oldest), ('known now', newest)) AS v (metric, rank)
WHERE v.rank = 1
ORDER BY 1
"""
MOVED = f"""{_SAID}
SELECT time, 'moved' || subject AS metric,
  max(value) FILTER (WHERE newest = 1) - max(value) FILTER (WHERE oldest = 1) AS value
FROM said GROUP BY time, subject
ORDER BY 1
"""
REVISIONS = f"""
SELECT s.window_end_time AS time, count(DISTINCT s.as_of) AS revisions
FROM snapshots AS s
WHERE {CHOSEN} AND {SHOWN}
GROUP BY 1
ORDER BY 1
"""
ONE_WINDOW = f"""
SELECT dense_rank() OVER (ORDER BY s.as_of) AS revision, {AT.format("s.as_of")} AS "as of", s.truth,
  s.subject, s.value, s.lower, s.upper, s.reason, s.n, s.coverage, s.warning
FROM snapshots AS s
WHERE {CHOSEN} AND s.window_end = CAST(${{end:sqlstring}} AS bigint)
ORDER BY s.as_of, s.truth, s.subject
"""
HEAT = f"""
WITH kept AS (
  SELECT s.window_end_time AS time, substr(s.subject, 9) AS metric,
    max(s.value) FILTER (WHERE s.measure = 'stability_index') AS value,
    max(s.value) FILTER (WHERE s.measure = 'stability_index_critical') AS critical
  FROM snapshots_latest AS s
  WHERE {WHOLE} AND s.measure IN ('stability_index', 'stability_index_critical')
    AND s.subject LIKE 'feature:%' AND {SHOWN}
  GROUP BY s.window_end_time, s.subject
), moved AS (
  SELECT time, metric, CASE WHEN value <= critical THEN 0 ELSE value END AS value,
    max(value) OVER (PARTITION BY metric) AS most
  FROM kept WHERE value IS NOT NULL
), ranked AS (SELECT m.*, dense_rank() OVER (ORDER BY m.most DESC, m.metric) AS place FROM moved AS m)
SELECT time, metric, value FROM ranked WHERE place <= {MOST_FEATURES}
ORDER BY 1, place
"""
ALERTS = f"""
SELECT {AT.format("s.since")} AS since, {AT.format("s.resolved_at")} AS until, s.state, s.severity, s.rule,
  s.subject, s.segment, s.version, s.window, s.value, s.limit_ AS "limit", s.n, s.ended
FROM alerts AS s
WHERE {MINE} AND to_timestamp(s.since / 1e6) <= $__timeTo()
  AND (s.resolved_at IS NULL OR to_timestamp(s.resolved_at / 1e6) >= $__timeFrom())
ORDER BY s.since DESC
LIMIT 500
"""
EVENTS = f"""
SELECT {AT.format("s.at")} AS at, s.kind AS what, s.subject, s.who, s.why
FROM events AS s
WHERE {MINE} AND to_timestamp(s.at / 1e6) BETWEEN $__timeFrom() AND $__timeTo()
ORDER BY s.at DESC
LIMIT 500
"""
ENDS = f"""
SELECT DISTINCT {AT.format("s.window_end")} AS __text, CAST(s.window_end AS text) AS __value
FROM snapshots_latest AS s
WHERE {CHOSEN} AND {SHOWN}
ORDER BY 1 DESC
"""
MEASURES = (
    f"SELECT DISTINCT s.measure FROM current AS s WHERE {WHOLE} AND s.subject NOT LIKE 'feature:%' ORDER BY 1"
)


def history() -> Board:
    """What was kept, and how it was revised."""
    variables = (
        Variable("run", "SELECT DISTINCT s.run FROM models AS s ORDER BY 1", first="live"),
        Variable("model", "SELECT s.model FROM models AS s WHERE s.run = ${run:sqlstring} ORDER BY 1"),
        Variable(
            "window",
            f"SELECT DISTINCT s.window FROM current AS s WHERE {MINE} AND s.window NOT IN ('', 'cumulative')"
            " ORDER BY 1",
        ),
        Variable("measure", MEASURES),
        Variable("end", ENDS),
    )
    rows = (
        Row("What was said, and what is known", _said()),
        Row("What moved, what fired, what was decided", _around()),
    )
    text = "What did the monitor say of each window, and what became of it?"
    return Board("monitor-history", "History", text, variables, rows, "now-1y", PAGE, of_store=True)


def _said() -> tuple[Panel, ...]:
    return (
        _panel(
            Kind.LINES,
            "$measure, as known now",
            "What the monitor says of each window now, at the window's end, with its interval.",
            Query(NEWEST, "{{truth}}", bounds=True),
            width=12,
            page=WINDOWS,
        ),
        _panel(
            Kind.LINES,
            "First said, and known now",
            "The first value of each window, beside the newest one.",
            Query(FIRST_AND_NOW),
            width=12,
            page=WINDOWS,
        ),
        _panel(
            Kind.LINES,
            "How far it moved",
            "The newest value, less the first one.",
            Query(MOVED),
            page=WINDOWS,
        ),
        _panel(
            Kind.LINES,
            "Revisions",
            "How often the value of a window changed, since labels came in or were corrected.",
            Query(REVISIONS),
            page=WINDOWS,
        ),
        _panel(
            Kind.TABLE,
            "Revisions of one window",
            "Each value of the window whose end you choose at the top. Times are UTC.",
            Query(ONE_WINDOW),
            page=WINDOWS,
        ),
    )


def _around() -> tuple[Panel, ...]:
    return (
        Panel(
            Kind.CELLS,
            "PSI of features",
            f"The {MOST_FEATURES} features that moved most from training. Grey: chance explains it. "
            "Blue: more than chance, but small. Amber: 0.1 or more. Orange: 0.25 or more.",
            (Query(HEAT),),
            NUMBER,
            2,
            24,
            10,
            PSI_STEPS,
            FEATURES,
        ),
        _panel(
            Kind.TABLE,
            "Alerts",
            "Alerts that fired in the time shown, the newest 500. Times are UTC.",
            Query(ALERTS),
            width=14,
            page=f"{PAGE}/alerts",
        ),
        _panel(
            Kind.TABLE,
            "Events and decisions",
            "What people decided, renamed, had counted again: the newest 500. Times are UTC.",
            Query(EVENTS),
            width=10,
            page=PAGE,
        ),
    )


def _panel(kind: Kind, title: str, text: str, query: Query, *, width: int = 8, page: str = "") -> Panel:
    return Panel(kind, title, text, (query,), NUMBER, None, width, 9, page=page)
