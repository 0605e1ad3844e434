"""How many labels there are, how late, and what was odd about them: formulas in `label_arrival.py`."""

from functools import partial

from monitor.measures.catalogue.measure import (
    BetterDirection,
    Measure,
    MeasureExposure,
    MeasureFamily,
    MeasureUnit,
)

_row = partial(Measure, family=MeasureFamily.LABELS, needs_labels=True)
_count = partial(_row, unit=MeasureUnit.RECORDS, direction=BetterDirection.LOWER)
_fault = partial(_count, exposed=MeasureExposure.WHOLE)
_delay = partial(_row, unit=MeasureUnit.SECONDS, direction=BetterDirection.LOWER, needs_time="reported_at")

LABEL_ROWS = (
    _row(
        "coverage",
        "Share of the records that have a label; of a classifier also of those predicted as each class, "
        "subject `class:NAME`. With `labels.only_for` the records of other predictions are not among them.",
        direction=BetterDirection.HIGHER,
        interval="Wilson",
        source="Wilson (1927), JASA 22:209",
        headline=True,
        rate=True,
        exposed=MeasureExposure.WINDOW,
    ),
    _row("labelled_records", "Records that have a label.", unit=MeasureUnit.RECORDS, headline=True),
    _fault("corrected_labels", "Labels that were replaced by a later one."),
    _fault("retracted_labels", "Records whose winning label is NULL."),
    _fault(
        "invalid_labels",
        "Labels that are no value, of two classes no one of them, of several NaN: they count as no label.",
    ),
    _row(
        "invalid_label_rate",
        "Share of invalid labels among the records that have one, valid or not.",
        direction=BetterDirection.LOWER,
        interval="Wilson",
        source="Wilson (1927), JASA 22:209",
        headline=True,
        rate=True,
    ),
    _fault(
        "stale_labels",
        "Records with a label reported more than the horizon after their event time: "
        "only those seen while their pane still lay within the horizon, so mostly 0.",
    ),
    _fault("early_labels", "Labels reported before their event time."),
    _delay(
        "label_delay_median",
        "Time from the event to the first report within which half of the reported labels came: the upper "
        "edge of its cell, above the exact value by at most the resolution (the cell's width). Labels not "
        "reported yet are not in it; early ones count as at most 1 s.",
        headline=True,
    ),
    _delay(
        "label_delay_p90",
        "Time from the event to the first report within which 90 % of the reported labels came: the upper "
        "edge of its cell, above the exact value by at most the resolution (the cell's width). Labels not "
        "reported yet are not in it; early ones count as at most 1 s.",
    ),
    _delay(
        "label_delay_p99",
        "Time from the event to the first report within which 99 % of the reported labels came: the upper "
        "edge of its cell, above the exact value by at most the resolution (the cell's width). Labels not "
        "reported yet are not in it; early ones count as at most 1 s.",
    ),
)
