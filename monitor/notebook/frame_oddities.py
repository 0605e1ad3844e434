"""What looks wrong in frames, although it could be counted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from monitor.core.measurement import Measurement
from monitor.core.text import number_text
from monitor.measures.classification.confusion import UNSEEN
from monitor.measures.measure_options import FEATURE
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import value_with_interval
from monitor.notebook.model_keys import NO_TIME
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sentences.known_measurements import readable_name
from monitor.show.terminal_words import counted_noun
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec

_WINS = {"revision": "the highest revision", "reported_at": "the latest report"}
_Whole: TypeAlias = Mapping[tuple[str, str], Measurement]  # of the whole, by measure and subject
_NO_SKILL = 0.5  # area under the ROC curve of scores that know nothing


def oddity_sentences(reading: ReadingOptions, rows: Sequence[MeasurementRow]) -> Iterator[str]:
    """Sentences on answers that are no value, no class or missing, and on scores that rank the wrong way.

    Parameters
    ----------
    rows
        all measurements of the frames.
    """
    whole = {
        (row.measure, row.subject): row.measurement for row in rows if row.is_of_whole and not row.against
    }
    yield from _invalid_value_sentences(reading, whole)
    unseen, labels = _count_unseen_labels(whole)
    yield from _unknown_class_sentences(reading, "label", unseen, labels)
    if (predicted := whole.get(("unseen_rate", "prediction"))) is not None and predicted.value:
        yield from _unknown_class_sentences(
            reading, "prediction", round(predicted.value * predicted.n), predicted.n
        )
    sums = whole.get(("unusable_probabilities", ""))
    if sums is not None and sums.value and (count := round(sums.value) - unseen) > 0:
        yield (
            f"The probabilities of {count:,} of {sums.n:,} labelled predictions are incomplete, "
            "or do not add up to 1: they are not measured."
        )
    error = whole.get(("root_mean_squared_error", ""))
    if error is not None and error.resolution:
        yield (
            f"root_mean_squared_error is known to within {number_text(error.resolution)} alone: the labels "
            "of the "
            "reference spread over far more than these errors. Is one of them a code, as 999999999?"
        )
    yield from _reversed_score_sentences(reading, whole)


def _invalid_value_sentences(reading: ReadingOptions, whole: _Whole) -> Iterator[str]:
    for subject in ("score",) if reading.threshold is not None else ("score", "prediction"):
        for fault in ("invalid", "missing"):
            measurement = whole.get((f"{fault}_rate", subject))
            if measurement is not None and measurement.value:
                count = round(measurement.value * measurement.n)
                what = _value_words(reading, subject) if fault == "invalid" else fault
                yield (
                    f"{count:,} of {counted_noun(measurement.n, subject)} "
                    f"{_verb_form(count, 'are')} {what}: not "
                    "measured."
                )
    for (measure, subject), measurement in whole.items():
        if measure == "invalid_rate" and subject.startswith(FEATURE) and measurement.value == 1:
            yield (
                f"All {measurement.n:,} values of {readable_name(subject)} are no numbers: is it categorical?"
            )


def _unknown_class_sentences(reading: ReadingOptions, subject: str, count: int, n: int) -> Iterator[str]:
    if count:
        is_none = f"{_verb_form(count, 'are')} none of {quote_names(reading.classes)}"
        yield f"{count:,} of {counted_noun(n, subject)} {is_none}: each counts as a wrong answer."


def _count_unseen_labels(whole: _Whole) -> tuple[int, int]:
    """Labels of no class, and all labels."""
    tables = [
        (subject, measurement)
        for (measure, subject), measurement in whole.items()
        if measure == "confusion_records"
    ]
    count = sum(
        measurement.value or 0 for subject, measurement in tables if subject.startswith(f"actual:{UNSEEN},")
    )
    return round(count), max((measurement.n for _, measurement in tables), default=0)


def _reversed_score_sentences(reading: ReadingOptions, whole: _Whole) -> Iterator[str]:
    for subject in ("", *(f"class:{name}" for name in reading.classes)):
        area = whole.get(("roc_auc", subject))
        if area is not None and area.interval is not None and area.interval.upper < _NO_SKILL:
            of = f" of {readable_name(subject)}" if subject else ""
            what = "the columns of probabilities" if subject else "the scores, or positive and negative,"
            yield (
                f"roc_auc{of} {value_with_interval('roc_auc', area)} is clearly below 0.5: are {what} the "
                "wrong way "
                "round?"
            )


def label_coverage_sentences(spec: ModelSpec, rows: Sequence[MeasurementRow]) -> Iterator[str]:
    """Sentences on how many predictions have a label, and on ids that have several rows."""
    whole = {
        row.measure: row.measurement for row in rows if row.is_of_whole and not (row.against or row.subject)
    }
    labelled = whole.get("labelled_records")
    if labelled is not None and labelled.value and labelled.value < labelled.n:
        have = f"{_verb_form(labelled.value, 'have')} a label: performance is of these alone."
        yield f"{labelled.value:,.0f} of {counted_noun(labelled.n, 'prediction')} {have}"
    if (repeats := whole.get("duplicate_records")) is not None and repeats.value:
        orders = {"logged_at": "the first that was logged", "event_time": "the earliest, then the first row,"}
        known = [
            sentence
            for role, sentence in orders.items()
            if spec.predictions.column_of(role) not in (None, NO_TIME)
        ]
        first = [*known, "the first row"][0]
        repeating = f"{counted_noun(int(repeats.value), 'prediction')} {_verb_form(repeats.value, 'repeat')}"
        yield f"{repeating} an id: of each id {first} counts."
    if (differ := whole.get("corrected_labels")) is not None and differ.value and spec.labels is not None:
        order = [sentence for role, sentence in _WINS.items() if spec.labels.column_of(role)]
        which = ", then ".join([*order, "the smallest value"])
        more = "" if order else " (give revision or reported_at for another)"
        differing = f"{counted_noun(int(differ.value), 'label')} {_verb_form(differ.value, 'differ')}"
        yield f"{differing} from another of the same id: {which} counts{more}."


def _verb_form(count: float, plural: str) -> str:
    return plural if count != 1 else {"are": "is", "have": "has"}.get(plural, f"{plural}s")


def _value_words(reading: ReadingOptions, subject: str) -> str:
    if subject == "prediction" and reading.task is not ModelTask.REGRESSION:
        return f"none of {quote_names(reading.classes)}"
    if subject == "prediction" or reading.task is not ModelTask.BINARY:
        return "no number"
    lower, upper = reading.score_range
    return f"no number in score_range [{lower:g}, {upper:g}]"
