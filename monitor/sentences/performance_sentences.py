"""What is known of performance: settled, nowcast, against the reference and against a constant answer."""

from collections.abc import Iterator

from monitor.core.clock import DAY, SECOND
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.comparison_measures import CONTRIBUTION, LOSS_BY_MIX
from monitor.measures.catalogue.estimate_measures import ESTIMATED
from monitor.measures.catalogue.measure import BetterDirection, MeasureUnit
from monitor.measures.catalogue.shift_measures import LOSS_BY_SCORES
from monitor.measures.measurement_comparison import FALL, contributed_measure, measurement_difference
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.value_words import (
    CHANCE,
    approximate_text,
    certainty_words,
    format_detail_cell,
    format_measure_difference,
    format_measure_value,
)
from monitor.sentences.known_measurements import (
    NOWCAST,
    KnownMeasurements,
    capitalize_first,
    join_few_names,
    readable_name,
    spoken_measure,
)
from monitor.sentences.label_sentences import next_settling, none_settled_words, settling_reason
from monitor.sentences.reason_words import reason_words, why_absent
from monitor.sentences.time_words import THE_FRAME, day_words, window_end_words, window_words
from monitor.windows.window_ends import nominal_length

_REFERENCE = "reference"
_WAITED_FOR = (Reason.NO_RECORDS, Reason.NO_LABELS, Reason.NOT_SETTLED)  # said of performance already
_FEW = 0.01  # share of the labelled records below which nothing is judged
_LEAST = 10  # labels by which it is told what a constant answer would reach: of two it is 50 % or 100 %
_SINCE = {"surely worse": "worse than", "surely better": "better than"}
_CONSTANT = {  # of a constant answer: nothing became worse
    "surely better": "better than",
    "surely worse": "worse than",
    CHANCE: "no better than",
}


def performance_sentences(measurements: KnownMeasurements, *, labels: bool) -> Iterator[str]:
    """Sentences on settled and on nowcast performance; `labels`: whether labels are configured."""
    if not labels:
        yield "Performance is not known: no labels are configured"
        yield from estimate_sentences(measurements)
        return
    settled, nowcast = (
        measurements.newest_row(measurements.main, truth) for truth in (LabelTruth.SETTLED.value, NOWCAST)
    )
    if settled is None:
        yield capitalize_first(none_settled_words(measurements))
    else:
        yield _value_words(measurements, settled)
    yield from worse_segment_sentences(measurements)
    if nowcast is not None and not (settled and _repeats_settled_value(measurements, settled, nowcast)):
        yield f"By the labels so far: {_value_words(measurements, nowcast)}"
    if not is_performance_known(measurements):
        yield from estimate_sentences(measurements)
    yield from wrong_ranking_sentences(measurements)
    yield from _constant_answer_sentence(measurements)


def worse_than_reference_sentence(measurements: KnownMeasurements, today: int, *, within: str) -> str | None:
    """That the main measure is clearly worse than the reference's, though no alert fires; None: it is not.

    Parameters
    ----------
    within
        said of its limit, after a comma; empty: it has none.
    """
    row = measurements.newest_row(measurements.main, LabelTruth.SETTLED.value)
    step = None if row is None else measurements.sibling_row(row, measurements.main, _REFERENCE)
    if row is None or step is None or step.measurement.value is None or row.measurement.value is None:
        return None
    if certainty_words(row.measure, step.measurement) != "surely worse":
        return None
    name = capitalize_first(spoken_measure(row.measure))
    within = within if row.window == measurements.window else ""
    return (
        f"{name} is worse than in the reference{within}: {_plain_value(row)} "
        f"{window_words(row, today)}, {_reference_words(row, step)} in the reference"
    )


def performance_since_sentence(measurements: KnownMeasurements, since: int) -> str:
    """The main measure of days since a moment alone, beside the reference's; empty: none is known yet.

    Final, or else corrected for the labels that are still to come.
    """
    row = measurements.longest_row_since(measurements.main, since)
    early = "" if row else " by the labels so far"
    row = row or measurements.longest_row_since(measurements.main, since, LabelTruth.NOWCAST)
    if row is None:
        return ""
    said = f"{capitalize_first(spoken_measure(row.measure))} since then is {_plain_value(row)}{early}"
    step = measurements.sibling_row(row, row.measure, _REFERENCE)
    if step is None or step.measurement.value is None:
        return said
    certainty, reference = certainty_words(row.measure, step.measurement), _reference_words(row, step)
    if certainty == CHANCE:
        # Of the first labels it says nothing yet.
        return "" if early else f"{said}: no clear change from the reference ({reference})"
    return f"{said}, {_SINCE.get(certainty, 'beside')} {reference} in the reference"


def wrong_records_sentence(measurements: KnownMeasurements) -> str:
    """What a worse performance is in records, profit or size of errors; empty: none of them is clearly worse.

    Of the newest final window, against the reference.
    """
    wrong = _worse_rows(measurements, "accuracy")
    if wrong is not None:
        row, step = wrong
        days = nominal_length(row.window) / DAY
        n, more = row.measurement.n / days, -(step.measurement.value or 0.0) * row.measurement.n / days
        if more >= 1:
            return f"About {more:,.0f} more of {n:,.0f} records a day are wrong than in the reference"
    if (lost := _worse_rows(measurements, "profit_per_record")) is not None:
        row, step = lost
        a_day = row.measurement.n * DAY / nominal_length(row.window)
        now, then = row.measurement.value or 0.0, step.measurement.value or 0.0
        profits = (approximate_text(value * a_day) for value in (now, now - then))
        return "Profit is about {} a day, {} at the reference's rate".format(*profits)
    if (off := _worse_rows(measurements, "mean_absolute_error")) is not None:
        return (
            f"Predictions are off by {_plain_value(off[0])} on average, {_reference_words(*off)} in the "
            "reference"
        )
    return ""


def _worse_rows(
    measurements: KnownMeasurements, measure: str
) -> tuple[MeasurementRow, MeasurementRow] | None:
    """A measure's newest final row and its step from the reference, where that is clearly to the worse."""
    row = measurements.newest_row(measure, LabelTruth.SETTLED.value)
    step = None if row is None else measurements.sibling_row(row, measure, _REFERENCE)
    if row is None or step is None or row.measurement.value is None or step.measurement.value is None:
        return None
    return (row, step) if certainty_words(measure, step.measurement) == "surely worse" else None


def performance_cause_sentence(measurements: KnownMeasurements) -> str:
    """What is behind a performance that is worse, as far as it is known; empty: nothing is."""
    return loss_split_sentence(measurements) or _few_errors_sentence(measurements)


def _few_errors_sentence(measurements: KnownMeasurements) -> str:
    """Of numbers that a few labels make a worse error: that of most is no worse than the reference's."""
    settled = LabelTruth.SETTLED.value
    steps = [
        measurements.newest_row(name, settled, against=_REFERENCE)
        for name in ("root_mean_squared_error", "mean_absolute_error")
    ]
    squared, absolute = (None if row is None else row.measurement for row in steps)
    if squared is None or absolute is None or squared.interval is None or absolute.value is None:
        return ""
    if squared.interval.lower > 0 and absolute.value <= 0:
        return "The mean absolute error is no worse: a few labels make all of it, look at them first"
    return ""


def loss_split_sentence(measurements: KnownMeasurements) -> str:
    """Whether a log loss that differs from the reference's is of other records; empty: it does not surely."""
    row = measurements.newest_row(LOSS_BY_MIX, LabelTruth.SETTLED.value, against=_REFERENCE)
    mix = None if row is None else row.measurement
    if mix is None or mix.value is None or mix.interval is None or mix.detail is None:
        return ""
    _, relation, lower, upper = mix.detail.rows[0]
    assert isinstance(relation, float)
    assert isinstance(lower, float)
    assert isinstance(upper, float)
    is_mix, is_relation = not mix.interval.lower <= 0 <= mix.interval.upper, not lower <= 0 <= upper
    of_mix, whole = (format_measure_difference("log_loss", one) for one in (mix.value, mix.value + relation))
    sentence = ""
    if is_mix and not is_relation and mix.value > 0:
        sentence = f"By their scores the records are harder: that alone moves log loss by {of_mix}"
    elif is_mix and not is_relation:
        sentence = "What scores mean is as in the reference: other records came, that are harder to rank"
    elif is_relation and relation > 0 and not is_mix:
        sentence = "The records are no harder by their scores: it is what scores mean that changed"
    elif is_mix and relation > 0 and mix.value > 0:
        sentence = f"Harder records make {of_mix} of the log loss's {whole}: the rest is what scores mean"
    elif is_mix and relation > 0 and mix.value + relation > 0:
        sentence = (
            f"By the scores alone log loss should have changed by {of_mix}. It changed by {whole}: what "
            "scores mean is different"
        )
    return sentence


def expected_loss_sentence(measurements: KnownMeasurements, since: int) -> str:
    """The log loss that scores alone lead one to expect since a change; empty: as in the reference.

    A window that holds days before the change makes less of it.
    """
    row = measurements.newest_row_since(LOSS_BY_SCORES, "score", since)
    expected = None if row is None else row.measurement
    if expected is None or expected.value is None or expected.interval is None:
        return ""
    if expected.interval.lower <= 0 <= expected.interval.upper:
        return ""
    how, side = ("harder", "above") if expected.value > 0 else ("easier", "below")
    size = format_measure_value("log_loss", abs(expected.value))
    return f"By their scores the records are {how}: a log loss {size} {side} the reference's is expected"


def newest_performance_row(measurements: KnownMeasurements) -> MeasurementRow | None:
    """The newest main measure that has a value: final, else corrected for labels that are to come."""
    for truth in (LabelTruth.SETTLED.value, NOWCAST):
        row = measurements.newest_row(measurements.main, truth)
        if row is not None and row.measurement.value is not None:
            return row
    return None


def newest_performance_sentence(measurements: KnownMeasurements, today: int) -> str:
    """The main measure, final or corrected for labels that are to come, beside the reference's."""
    row = newest_performance_row(measurements)
    if row is None:
        raise ValueError("performance is not known")
    basis = "" if row.truth is LabelTruth.SETTLED else ", by the labels so far"
    step = measurements.sibling_row(row, measurements.main, _REFERENCE)
    beside = "" if step is None or step.measurement.value is None else _beside_reference_words(row, step)
    name = capitalize_first(spoken_measure(row.measure))
    return f"{name} {_plain_value(row)} {window_words(row, today)}{basis}{beside}"


def _beside_reference_words(row: MeasurementRow, step: MeasurementRow) -> str:
    how = {CHANCE: "as in", "surely better": "better than in", "surely worse": "worse than in"}
    words = how.get(certainty_words(row.measure, step.measurement), "beside")
    return f": {words} the reference ({_reference_words(row, step)})"


def _plain_value(row: MeasurementRow) -> str:
    return format_measure_value(row.measure, row.measurement.value)


def _reference_words(row: MeasurementRow, step: MeasurementRow) -> str:
    """The reference's value."""
    assert row.measurement.value is not None
    assert step.measurement.value is not None
    return format_measure_value(row.measure, row.measurement.value - step.measurement.value)


def awaited_performance_sentence(measurements: KnownMeasurements, today: int) -> str:
    """From which date on performance will be known; why that is not known."""
    settled = measurements.newest_row(measurements.main, LabelTruth.SETTLED.value)
    if settled is not None:
        return (
            f"Performance is not known {window_words(settled, today)}: {why_no_value(measurements, settled)}"
        )
    row = next_settling(measurements)
    if row is None or row.measurement.value is None:
        why = "" if row is None else settling_reason(row)
        return f"Too early to say when performance will be known{why}"
    return f"Performance is known from {day_words(round(row.measurement.value) * SECOND, today)} on"


def worse_segment_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """A sentence on segments whose main measure is surely worse than the reference's, by a twentieth of it.

    Of each segment the settled window with most labels.
    """
    settled = [
        row
        for row in measurements.rows
        if row.segment and (row.measure, row.version, row.subject) == (measurements.main, None, "")
        if row.truth == LabelTruth.SETTLED
    ]
    values = {(row.segment, row.window, row.window_end): row for row in settled if not row.against}
    worse: dict[str, tuple[int, str]] = {}
    for row in settled:
        now, segment = values.get((row.segment, row.window, row.window_end)), str(row.segment)
        then = (
            None if now is None or row.against != _REFERENCE else _reference_if_fallen(now, row.measurement)
        )
        if then is not None and worse.get(segment, (0, ""))[0] < row.measurement.n:
            value = format_measure_value(
                measurements.main, values[row.segment, row.window, row.window_end].measurement.value
            )
            sentence = (
                f"{readable_name(segment)} {value}, reference "
                f"{format_measure_value(measurements.main, then)}, {window_end_words(row)}"
            )
            worse[segment] = row.measurement.n, sentence
    if worse:
        by = f"by more than {100 * FALL:.0f} % than the same segment of the reference"
        yield (
            f"Clearly worse in {measurements.main} {by}: "
            f"{join_few_names(sentence for _, sentence in worse.values())}"
        )


def _reference_if_fallen(now: MeasurementRow, step: Measurement) -> float | None:
    """The reference's value, where a value is surely worse by a twentieth of it."""
    if step.interval is None or step.value is None or now.measurement.value is None:
        return None
    higher = BY_NAME[now.measure].direction is BetterDirection.HIGHER
    fell = -step.interval.upper if higher else step.interval.lower
    then = now.measurement.value - step.value
    return then if fell > FALL * abs(then) else None


def _repeats_settled_value(
    measurements: KnownMeasurements, settled: MeasurementRow, nowcast: MeasurementRow
) -> bool:
    """Whether a nowcast says again, word for word, what its window has settled at."""
    of = [(one.window, one.window_end, _value_words(measurements, one)) for one in (settled, nowcast)]
    return of[0] == of[1]


def _constant_answer_sentence(measurements: KnownMeasurements) -> Iterator[str]:
    """A sentence on whether the model does better than one answer for all records.

    The interval of the difference is made of both intervals, as if they were of other records: where both
    are right about the same records it is too wide, never too narrow.
    """
    for truth, basis in ((LabelTruth.SETTLED.value, ""), (NOWCAST, ", by the labels so far")):
        right, often = (measurements.newest_row(name, truth) for name in ("accuracy", "majority_accuracy"))
        if right is not None and often is not None and _have_values(right, often):
            if _describe_label_base(measurements, right)[1] or not has_enough_labels(often.measurement):
                return
            always = measurements.sibling_row(right, "majority_accuracy") or often
            step = measurement_difference(right.measurement, always.measurement)
            how = _CONSTANT.get(certainty_words("accuracy", step), "beside")
            constant = format_measure_value("accuracy", always.measurement.value)
            beside = f"{how} always giving the most frequent answer ({constant})"
            value = format_measure_value("accuracy", right.measurement.value)
            is_said = measurements.main == "accuracy"  # before, with its value
            yield f"That is {beside}" if is_said else f"Accuracy {value}{basis}: {beside}"
            return
        share = measurements.newest_row("r2_score", truth)
        if share is not None and has_enough_labels(share.measurement):
            yield (
                f"R² {format_measure_value('r2_score', share.measurement.value)}{basis}: "
                f"{_CONSTANT.get(certainty_words('r2_score', share.measurement), 'beside')} always "
                "answering the mean (0)"
            )
            return


def has_enough_labels(always: Measurement) -> bool:
    """Whether labels are enough to tell what always giving the most frequent answer reaches."""
    return always.value is not None and always.n >= _LEAST


def _window_part(row: MeasurementRow) -> str:
    """The time of a row's window as a part of a sentence; a data frame has one window alone."""
    return "" if row.window == THE_FRAME else f" {window_words(row, row.window_end)}"


def is_performance_known(measurements: KnownMeasurements) -> bool:
    """Whether performance has a value: settled or nowcast."""
    return newest_performance_row(measurements) is not None


def wrong_ranking_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """That scores surely rank the classes the wrong way round; a reference with that fault hides it.

    Of a data frame it is a note of its own.
    """
    rows = (measurements.newest_row("roc_auc", truth) for truth in (LabelTruth.SETTLED.value, NOWCAST))
    bounds = [row.measurement.interval for row in rows if row is not None and row.window != THE_FRAME]
    if any(interval is not None and interval.upper < 1 / 2 for interval in bounds):
        yield (
            "ROC AUC is clearly below 0.5: scores are higher for the negative class. Look whether positive "
            "and negative are swapped in [models.classes]"
        )


def why_no_value(measurements: KnownMeasurements, row: MeasurementRow) -> str:
    """Why a row has no value: labels may have come while it is the other half that lacks."""
    base, _ = _describe_label_base(measurements, row)
    return base.removesuffix(": ") if base and not row.measurement.n else why_absent(row.measurement)


def why_window_unjudged(
    measurements: KnownMeasurements, measure: str, truth: str, window: str, against: str
) -> str | None:
    """Why nothing can be judged of a window that was measured; None: it was not measured yet."""
    of = (measure, truth, window, "", "")
    rows = [
        row
        for row in measurements.rows
        if row.is_of_whole and (row.measure, str(row.truth), row.window, row.subject, row.against) == of
    ]
    row = max(rows, key=lambda one: one.window_end, default=None)
    if row is None:
        return None
    if row.measurement.value is None:
        return why_no_value(measurements, row)
    of_what = "the reference" if against == _REFERENCE else against
    return f"there is no {measure} of {of_what} to compare that of {window} with" if against else None


def _value_words(measurements: KnownMeasurements, row: MeasurementRow) -> str:
    """Value, and how it differs from the reference."""
    base, few = _describe_label_base(measurements, row)
    name = capitalize_first(spoken_measure(row.measure))
    if row.measurement.value is None:
        none = base and not row.measurement.n
        why = "" if none else f": {why_absent(row.measurement)}"
        return f"{base}{name} is not known{_window_part(row)}{why}"
    if few:
        return f"{base}too few of them for {name}"
    return f"{base}{_compared_words(measurements, row)}"


def _describe_label_base(measurements: KnownMeasurements, row: MeasurementRow) -> tuple[str, bool]:
    """What a value stands on, where that is not all; whether it is less than a hundredth of the labels."""
    labelled = measurements.sibling_row(row, "labelled_records")
    has = 0 if labelled is None else round(labelled.measurement.value or 0.0)
    if labelled is None or not has:
        return "", False
    n, of, parts = row.measurement.n, labelled.measurement.n, []
    if row.window == THE_FRAME and has < of:
        parts.append(f"{has:,} of {of:,} predictions have a label")
    if n < has:
        whose = "of them" if parts else f"of {has:,} labelled records have"
        usable = "score" if row.measure == "roc_auc" else "prediction"
        parts.append(f"{f'{n:,}' if n else 'none'} {whose} a usable {usable}")
    return (f"{', '.join(parts)}: " if parts else ""), n < _FEW * has


def _compared_words(measurements: KnownMeasurements, row: MeasurementRow) -> str:
    """Value, and how it differs from the reference's."""
    against = measurements.sibling_row(row, row.measure, _REFERENCE)
    name = capitalize_first(spoken_measure(row.measure))
    value = f"{name} {_plain_value(row)}{_window_part(row)}"
    if against is None or against.measurement.value is None:
        reason = reason_words("no_reference") if against is None else why_absent(against.measurement)
        return f"{value}; not compared: {reason}"
    return f"{value}{_beside_reference_words(row, against)}{_segment_words(measurements, row)}"


def _segment_words(measurements: KnownMeasurements, row: MeasurementRow) -> str:
    """Segment that contributes most to a fall; empty where there is none."""
    worst = measurements.sibling_row(row, CONTRIBUTION, _REFERENCE)
    detail = None if worst is None else worst.measurement.detail
    if detail is None or not detail.rows:
        return ""
    (segment, added, *_), mean = detail.rows[0], contributed_measure(detail)
    return (
        f". {readable_name(str(segment))} contributes most: "
        f"{format_detail_cell('contribution', added, mean)} of {spoken_measure(mean)}"
    )


def estimate_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """What the scores' own probabilities lead one to expect, where nothing better is known.

    Where the main measure's estimate is lost, why, and another in its place.
    """
    yield from missing_estimate_sentences(measurements)
    row = best_estimate(measurements)
    if row is not None and row.measurement.value is not None:
        basis = "predictions" if BY_NAME[row.measure].unit is MeasureUnit.LABEL else "scores"
        name = spoken_measure(BY_NAME[row.measure].estimates)
        yield (
            f"By the {basis} alone {name} is expected at {_plain_value(row)}{_window_part(row)}: a change of "
            "what labels mean is not in it"
        )


def missing_estimate_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """Why the main measure is not estimated; nothing where it is, or where labels are waited for."""
    for row in list_newest_estimates(measurements)[:1]:
        lost = row.measurement
        of_frame = row.window == THE_FRAME  # which waits for nothing
        if lost.value is None and (of_frame or lost.reason not in _WAITED_FOR):
            yield f"{row.measure} is not known: {why_absent(lost)}"


def list_newest_estimates(measurements: KnownMeasurements) -> list[MeasurementRow]:
    """Newest estimates of the whole, that of the main measure first."""
    names = sorted(ESTIMATED, key=lambda name: BY_NAME[name].estimates != measurements.main)
    return [row for name in names if (row := measurements.newest_row(name)) is not None]


def best_estimate(measurements: KnownMeasurements) -> MeasurementRow | None:
    """The first estimate that has a value, else the first; None: nothing is estimated of such a model."""
    rows = list_newest_estimates(measurements)
    return next((row for row in rows if row.measurement.value is not None), rows[0] if rows else None)


def _have_values(*rows: MeasurementRow) -> bool:
    return all(row.measurement.value is not None for row in rows)
