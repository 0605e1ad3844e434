"""Why there is no value, and what would help: a sentence for each reason."""

from monitor.core.measurement import BECAUSE, REMEDY, WHEN, Measurement, Reason
from monitor.core.text import readable_text

OF_THE_PAST = "`monitor replay --run NAME` measures the past"  # where a window was never measured
_RUNBOOK = ': see "Why is there no value?" in the runbook'
_REASONS = {
    "no_records": "the window has no records: look whether the log is written",
    "no_labels": "no label has come for the window: wait for labels, or look at their feed",
    "no_reference": "there is nothing to compare with: give a [models.reference] that has it",
    "too_few": "too few records or labels: wait, or take a longer window",
    "one_class": "only one class has been seen: wait for labels of the others, or take a longer window",
    "undefined": "the formula has no value for these records: see docs/measures.md",
    "out_of_range": "values lie outside of what the formula takes: see docs/measures.md",
    "not_counted": "what it needs was not counted, as weeks before the log began: wait until it is longer",
    "not_settled": "labels are still coming: wait until the window settles",
    "not_configured": "its options are not configured: see docs/measures.md",
    "no_interval": "its value has no interval yet: wait; where its measure never has one leave bound out",
    "no_limit": "what its limit is a multiple of is not known: give [models.reference] or a number",
    "selective_labels": "only some answers get labels, and the reference has all: give labels.only_for",
    "too_short": "too few earlier periods of its season have been counted: wait, or give a longer horizon",
    "learning": "too few days have been learned to know what to expect: wait until there are 14",
    "few_delays": "a class has too few labels to tell how late it comes: wait, or give settle_after",
    "too_early": "too few labels are in, or they were watched for too short a time: wait",
}


def why_absent(result: Measurement) -> str:
    """Why a measurement has no value, and what would help: the line to write, where it brings that along.

    >>> from monitor.core.measurement import DetailTable, Reason
    >>> lines = DetailTable(REMEDY, (("labels come for some", "[models.labels] only_for = [...]"),))
    >>> why_absent(Measurement(None, 9, Reason.SELECTIVE_LABELS, detail=lines))
    'labels come for some; write [models.labels] only_for = [...]'
    """
    detail = result.detail
    if result.reason is Reason.TOO_SHORT and detail is not None and detail.columns == WHEN and detail.rows:
        return readable_text(str(detail.rows[0][0]))
    if detail is not None and detail.columns == BECAUSE and detail.rows:
        return readable_text(str(detail.rows[0][0]))
    if detail is None or detail.columns != REMEDY or not detail.rows:
        return reason_words(str(result.reason))
    because, line = map(str, detail.rows[0])
    return f"{readable_text(because)}; write {readable_text(line)}"


def reason_words(reason: str) -> str:
    """Reason in words, and what would help; one that is not listed here is quoted.

    >>> reason_words("no_reference")
    'there is nothing to compare with: give a [models.reference] that has it'
    """
    return _REASONS.get(reason, f'the reason is "{reason}"{_RUNBOOK}')
