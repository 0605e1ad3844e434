"""Names, units and help of the exposed families. They derive from the catalogue of measures."""

from monitor.measures.catalogue.measure import WITH_TRUTH, Measure, MeasureExposure, MeasureUnit
from monitor.measures.measurement_comparison import is_comparable

PREFIX = "model_monitor_"
LABELS = ("model", "version", "segment", "window", "subject")
TRUTH = "truth"

WINDOW_END = f"{PREFIX}window_end_seconds"
WINDOW_RECORDS = f"{PREFIX}window_records"
WINDOW_COVERAGE = f"{PREFIX}window_coverage_ratio"
AS_OF = f"{PREFIX}as_of_seconds"
ABSENT = f"{PREFIX}absent_measurements"
DROPPED = f"{PREFIX}dropped_series"
ALERT_FIRING = f"{PREFIX}alert_firing"
ALERT_PENDING = f"{PREFIX}alert_pending"
ALERT_SAID = f"{PREFIX}alert_said_timestamp_seconds"
ALERT_SINCE = f"{PREFIX}alert_since_timestamp_seconds"
INCIDENTS_OPEN = f"{PREFIX}incidents_open"
RULE_SERIES = f"{PREFIX}rule_series"

REFERENCE = "reference"  # ending of the families that tell the reference's own performance

_SUFFIXES = {MeasureUnit.RATIO: "_ratio", MeasureUnit.SECONDS: "_seconds", MeasureUnit.RECORDS: "_records"}
_RESERVED = ("_total", "_count", "_sum", "_bucket")
_WORDS = {
    MeasureUnit.RATIO: "0 to 1",
    MeasureUnit.SECONDS: "seconds",
    MeasureUnit.RECORDS: "records",
    MeasureUnit.PLAIN: "a plain number",
    MeasureUnit.LABEL: "in the unit of the label",
    MeasureUnit.LABEL_SQUARED: "in the squared unit of the label",
    MeasureUnit.AMOUNT: "in the unit of the configured amounts",
}


def family_name(measure: Measure) -> str:
    """Metric name of a measure: prefix, name, unit; endings that Prometheus reserves are left out.

    >>> from monitor.measures.catalogue import BY_NAME
    >>> family_name(BY_NAME["accuracy"])
    'model_monitor_accuracy_ratio'
    """
    stem = f"window_{measure.name}" if MeasureExposure.WINDOW in measure.exposed else measure.name
    for ending in _RESERVED:
        stem = stem.removesuffix(ending)
    suffix = _SUFFIXES.get(measure.unit, "")
    return f"{PREFIX}{stem.removesuffix(suffix)}{suffix}"


def has_truth_label(measure: Measure) -> bool:
    """Whether the family says on which labels its values stand."""
    return measure.family in WITH_TRUTH


def has_reference_family(measure: Measure) -> bool:
    """Whether a family tells what the reference's labels gave: shown performance that is compared with it."""
    return measure.exposes_whole and is_comparable(measure)


def family_help(measure: Measure, bound: str = "") -> str:
    """One line of help; the same in both text formats, which escape quotes and backslashes differently."""
    what = " ".join(measure.definition.split()).rstrip(".").replace("\\", "/").replace('"', "'")
    text = f"{what}; {_WORDS[measure.unit]}."
    if bound == REFERENCE:
        return f"Value of the reference: {text}"
    return f"{bound.capitalize()} bound of the interval: {text}" if bound else text
