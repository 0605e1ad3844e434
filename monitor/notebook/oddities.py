"""What looks wrong in frames, although it could be counted."""

from collections.abc import Iterator, Sequence

from monitor.config.messages import listed
from monitor.measures.rows import MeasurementRow
from monitor.measures.worded import with_interval
from monitor.records.reading import Reading, Task

_NO_SKILL = 0.5  # area under the ROC curve of scores that know nothing


def oddities(reading: Reading, rows: Sequence[MeasurementRow]) -> Iterator[str]:
    """Sentences on answers that are no value, and on scores that rank the wrong way round.

    Parameters
    ----------
    rows
        all measurements of the frames.
    """
    whole = {(row.measure, row.subject): row.measurement for row in rows if row.of_whole and not row.against}
    for subject in ("score", "prediction"):
        found = whole.get(("invalid_rate", subject))
        if found is not None and found.value:
            rows_of = f"{round(found.value * found.n):,} of {found.n:,} {subject}s"
            yield f"{rows_of} are {_value(reading, subject)}: they are not measured."
    sums = whole.get(("unusable_probabilities", ""))
    if sums is not None and sums.value:
        yield (
            f"The probabilities of {sums.value:,.0f} of {sums.n:,} labelled predictions are incomplete, "
            "or do not add up to 1: they are not measured."
        )
    area = whole.get(("roc_auc", ""))
    if area is not None and area.interval is not None and area.interval.upper < _NO_SKILL:
        yield (
            f"roc_auc {with_interval('roc_auc', area)} is surely below 0.5: are the scores, or positive and "
            "negative, the wrong way round?"
        )


def _value(reading: Reading, subject: str) -> str:
    if subject == "prediction" and reading.task is not Task.REGRESSION:
        return f"none of {listed(reading.classes)}"
    if subject == "prediction" or reading.task is not Task.BINARY:
        return "no number"
    lower, upper = reading.score_range
    return f"no number in score_range [{lower:g}, {upper:g}]"
