"""Records, and what was odd about them: formulas in `volume.py`; the log itself: counted in `pipeline`."""

from functools import partial

from monitor.core.clock import HOUR
from monitor.measures.catalogue.measure import (
    BetterDirection,
    Measure,
    MeasureExposure,
    MeasureFamily,
    MeasureUnit,
)

_row = partial(Measure, family=MeasureFamily.VOLUME)
_count = partial(_row, unit=MeasureUnit.RECORDS, direction=BetterDirection.LOWER)
_delay = partial(
    _row, unit=MeasureUnit.SECONDS, direction=BetterDirection.LOWER, needs_time="logged_at", whole_only=True
)
_TO_THE_LOG = (
    "Time from the event to the log (`logged_at`) within which {share} of the records were logged: the "
    "upper edge of its cell, above the exact value by at most the resolution (the cell's width, 1 %). "
    "Records logged before their event count as 1 s. Without a column `logged_at`: `not_counted`."
)

VOLUME_ROWS = (
    _row(
        "records",
        "Records of the window, each id once.",
        unit=MeasureUnit.RECORDS,
        headline=True,
        exposed=MeasureExposure.WINDOW,
    ),
    _row(
        "volume_ratio",
        "Records of the window / mean records of the same local hours of the four weeks before (a longer "
        "window goes back by as many whole weeks as it needs not to overlap): of those that were counted "
        "whole, within the horizon, and had records. None counted: `not_counted`; none with records: "
        "`no_records`.",
        unit=MeasureUnit.PLAIN,
        interval=(
            "score interval of the window's share of all these records, its variance φ times the "
            "binomial's: φ as estimated from the earlier weeks, at least 1; Student's t. From two weeks on"
        ),
        source="McCullagh & Nelder (1989), Generalized Linear Models, 4.5 and 6.2",
        headline=True,
        whole_only=True,
    ),
    _count("duplicate_records", "Rows that repeat an id.", headline=True),
    _count("stale_records", "Records logged more than the horizon after their event time.", headline=True),
    _count("adjusted_times", "Records whose local time was ambiguous or does not exist."),
    _count("unlogged_records", "Records without the moment of logging: the event time stands in."),
    _count(
        "unusual_names",
        "Records with a version, arm, segment, class or category whose text could not be its name: it has "
        "characters that nobody sees, or more than 200 bytes. The name is escaped and cut, and ends in `~` "
        "and a hash. Records of versions beyond the 1,000 with most records in a pane too: they are `other`.",
        headline=True,
    ),
    _delay("log_delay_median", _TO_THE_LOG.format(share="half"), headline=True),
    _delay("log_delay_p90", _TO_THE_LOG.format(share="90 %")),
)


SILENCE_LIMIT, MOST_SILENCE = "silence_limit", 36 * HOUR
_of_log = partial(Measure, family=MeasureFamily.LOG, direction=BetterDirection.LOWER, headline=True)
_log_count = partial(_of_log, unit=MeasureUnit.RECORDS)

LOG_ROWS = (
    _log_count(
        "future_records", "Rows whose event time lies in the future: they are counted when their time comes."
    ),
    _log_count(
        "stale_log_records",
        "Rows logged more than the horizon after their event time: no cycle may ever have counted them.",
    ),
    _log_count("invalid_times", "Rows whose event time is no time: no window has them."),
    _log_count(
        "misdated_records",
        "Rows whose event time lies so far off that no cycle and no audit reads them: no window has them. Of "
        "the rows logged since the audit before those dated two horizons before it, or a horizon ahead. In a "
        "first audit, and where nothing finds the rows logged since (no `logged_at`, no index on it, or a "
        "warehouse, which would read all partitions): of all rows those dated before 1990, or ten years "
        "ahead.",
    ),
    _of_log(
        "misdated_rate",
        "Misdated rows / rows logged since the audit before. Where nothing finds these: misdated rows that "
        "the audit before did not find / these and the rows of the panes since; in a first audit all "
        "misdated rows / these and the rows that it reads. None: `no_records`.",
        interval="Wilson",
    ),
    _log_count("rows_without_id", "Rows whose id is NULL: no window has them."),
    _log_count("rows_without_time", "Rows whose event time is NULL: no window has them."),
    _log_count(
        "repeated_ids",
        "Ids, with their version, that stand in more than one pane: windows count them once for each pane. "
        "Left out is an id whose first or last time, as the database orders texts, is no time. "
        "`not_counted` where the database gives up the query.",
    ),
    _log_count(
        "orphan_labels",
        "Labels reported since the audit before (the first looks two horizons back), without a prediction.",
    ),
    _log_count(
        "late_visible_records",
        "Rows that the last search for changes found behind what the search before it had seen: they became "
        "visible only after rows with a later `logged_at`. Within `overlap` they are counted in this cycle; "
        "what comes later still is found by the audit. The first cycle can not tell: it says 0.",
        needs_time="logged_at",
    ),
    _log_count(
        "late_visible_labels",
        "Labels that the last search for changes found behind what the search before it had seen, as with "
        "`late_visible_records`, by `reported_at`.",
        needs_time="reported_at",
    ),
    _of_log(
        "panes_waiting",
        "Panes that changed and wait to be counted again after the cycle.",
        unit=MeasureUnit.PLAIN,
    ),
    _of_log(
        "longest_wait",
        "Time since the first change of the pane that waits longest was seen; 0 where none waits.",
        unit=MeasureUnit.SECONDS,
    ),
    _of_log(
        "labels_counted_whole",
        "1 where an audit has found that labels added by difference were wrong: the model's labels are "
        "counted whole, once a day, until `monitor recount`; else 0.",
        unit=MeasureUnit.PLAIN,
    ),
    _of_log(
        "log_age",
        "Time of the cycle less the newest `logged_at` that was seen; without such a column, less the "
        "newest event time that was counted.",
        unit=MeasureUnit.SECONDS,
    ),
    _of_log(
        SILENCE_LIMIT,
        "How old the log may be in this hour of the week: twice the longest gap that it had in the 8 weeks "
        "before, at least two hours, and as long as it takes until chance alone would hardly leave the log "
        "without a record. `learning`: fewer than 3 weeks are known, rows are logged more than an hour "
        "after their events, that would be more than 36 hours, or the day is one of `unusual_days`.",
        unit=MeasureUnit.SECONDS,
        direction=BetterDirection.NONE,
        needs_time="logged_at",
    ),
    _of_log(
        "label_age",
        "Time of the cycle less the newest `reported_at` that was seen; without such a column, less the end "
        "of the newest pane that holds a labelled record: at best as old as labels are late; where none is "
        "labelled, less the oldest event.",
        unit=MeasureUnit.SECONDS,
    ),
    _of_log(
        "settling_age",
        "Age at which windows settle: by the delays of labels so far each class then has `settled_share` of "
        "the labels that will come; or `settle_after`. `too_few`: the feed was not heard for long enough, "
        "1.5 times that age or the horizon.",
        unit=MeasureUnit.SECONDS,
        direction=BetterDirection.NONE,
    ),
    _of_log(
        "next_settling",
        "Moment at which the next window of its kind is expected to settle: Unix time. Delays that are still "
        "to be seen can move it on; the detail says why then. `not_settled`: it cannot be known, and the "
        "detail says why.",
        unit=MeasureUnit.SECONDS,
        direction=BetterDirection.NONE,
        moment=True,
    ),
    _of_log(
        "version_first_seen_timestamp",
        "Moment of the first cycle that counted a record of the version: Unix time. The 20 newest have one.",
        unit=MeasureUnit.SECONDS,
        direction=BetterDirection.NONE,
        moment=True,
        exposed=MeasureExposure.STRATA,
    ),
)
