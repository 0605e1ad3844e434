"""The log itself: counted by the audit and by the search for changes, in `pipeline`."""

from functools import partial

from monitor.measures.catalogue.measure import Direction, Exposure, Family, Measure, Unit

_row = partial(Measure, family=Family.LOG, direction=Direction.LOWER, headline=True)
_count = partial(_row, unit=Unit.RECORDS)

LOG_ROWS = (
    _count(
        "future_records", "Rows whose event time lies in the future: they are counted when their time comes."
    ),
    _count(
        "stale_log_records",
        "Rows logged more than the horizon after their event time: no cycle may ever have counted them.",
    ),
    _count("invalid_times", "Rows whose event time is no time: no window has them."),
    _count("rows_without_id", "Rows whose id is NULL: no window has them."),
    _count("rows_without_time", "Rows whose event time is NULL: no window has them."),
    _count(
        "repeated_ids",
        "Ids, with their version, that stand in more than one pane: windows count them once for each pane. "
        "`not_counted` where the database gives up the query.",
    ),
    _count("orphan_labels", "Reported labels without a prediction."),
    _count(
        "late_visible_records",
        "Rows that the last search for changes found behind what the search before it had seen: they became "
        "visible only after rows with a later `logged_at`. Within `overlap` they are counted in this cycle; "
        "what comes later still is found by the audit. The first cycle can not tell: it says 0.",
        needs_time="logged_at",
    ),
    _count(
        "late_visible_labels",
        "Labels that the last search for changes found behind what the search before it had seen, as with "
        "`late_visible_records`, by `reported_at`.",
        needs_time="reported_at",
    ),
    _row(
        "panes_waiting",
        "Panes that changed and wait to be counted again, or for more labels, after the cycle.",
        unit=Unit.PLAIN,
    ),
    _row(
        "longest_wait",
        "Time since the first change of the pane that waits longest was seen; 0 where none waits.",
        unit=Unit.SECONDS,
    ),
    _row(
        "log_age",
        "Time of the cycle less the newest `logged_at` that was seen; without such a column, less the "
        "newest event time that was counted.",
        unit=Unit.SECONDS,
    ),
    _row(
        "label_age",
        "Time of the cycle less the newest `reported_at` that was seen; without such a column, less the end "
        "of the newest pane that holds a labelled record: at best as old as labels are late; where none is "
        "labelled, less the oldest event.",
        unit=Unit.SECONDS,
    ),
    _row(
        "version_first_seen_timestamp",
        "Moment of the first cycle that counted a record of the version: Unix time. The 20 newest are told.",
        unit=Unit.SECONDS,
        direction=Direction.NONE,
        moment=True,
        exposed=Exposure.STRATA,
    ),
)
