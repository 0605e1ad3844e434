"""Evaluate: all measures of a set of counters, by name."""

from dataclasses import dataclass

from monitor.core.errors import GridMismatch
from monitor.core.measurement import Reason
from monitor.core.typing import Counts, Ints
from monitor.measures import binary, challenger, classes, errors, numbers, probabilities, values
from monitor.measures import comparison as arms
from monitor.measures import estimates as estimated
from monitor.measures import labels as label_measures
from monitor.measures import quality as data_quality
from monitor.measures import shift as shifts
from monitor.measures.ask import Ask, Result, generator
from monitor.measures.binary import Scored
from monitor.measures.cells import Expected, Subject
from monitor.measures.class_estimates import class_results, largest_result
from monitor.measures.estimates import Calibration, ClassCalibrations, ExpectedErrors, Learned
from monitor.measures.measure import Family
from monitor.measures.mixture import Mixture
from monitor.measures.moments import mixed, moments_of
from monitor.records.counting import TALLY, VOLUME, Counting
from monitor.records.labels import pairing
from monitor.records.reading import Task
from monitor.states.counters import Counters, Layout
from monitor.states.views import Histogram

__all__ = [
    "Ask",
    "Result",
    "best_threshold",
    "challenge",
    "comparison",
    "estimate_errors",
    "estimates",
    "expectation",
    "label_quality",
    "learned",
    "performance",
    "quality",
    "shift",
]


def performance(counting: Counting, labels: Counters, ask: Ask) -> list[Result]:
    """Measures of a labels part; none for a model without labels.

    Cost: without a bootstrap about 0.3 ms for a binary model, with one (400 resamples) below 10 ms.
    """
    if counting.label is None:
        return []
    _require(counting.labels, labels)
    if counting.reading.task is Task.REGRESSION:
        moments = counting.errors(labels)
        tables = counting.error_table(labels), counting.label_errors(labels)
        return [
            *numbers.results(moments, counting.percentages(labels), ask),
            *errors.results(moments, *tables, ask),
        ]
    rng, opened = generator(labels) if ask.resamples else None, labels.opened()
    found = list(classes.results(counting.confusion(opened), ask, rng))
    clipped = int(opened.block("tally")[TALLY.index("clipped")])
    if counting.scored:
        losses = counting.losses(opened) if counting.probabilistic else None
        table, bounds = counting.score_table(opened), counting.score_bounds
        found += binary.results(Scored(table, bounds, counting.reading.classes, losses, clipped), ask, rng)
    if counting.probable:
        found += probabilities.results(counting.class_tables(opened), counting.losses(opened), clipped, ask)
        if ask.whole and Family.CALIBRATION in ask.families:
            table, bounds = counting.score_table(opened), counting.score_bounds
            found += probabilities.calibration_results(table, bounds, ask, rng)
    return found


def best_threshold(counting: Counting, labels: Counters, ask: Ask) -> float | None:
    """Threshold on the score that would have given the largest profit; None where nothing tells."""
    if not counting.scored:
        return None
    _require(counting.labels, labels)
    table = counting.score_table(labels)
    scored = Scored(table, counting.score_bounds, counting.reading.classes, None, 0)
    return binary.best_threshold(scored, ask)


def expectation(counting: Counting, reference: Counters | Mixture, *, features: bool = True) -> Expected:
    """What a reference, or several, lead one to expect of outputs and features: made once, used often.

    Parameters
    ----------
    reference
        records part.
    features
        False for versions, segments and arms, whose features are not counted.
    """
    subjects = tuple(
        Subject(name, grid, counting.records.offsets[name])
        for name, grid in counting.outputs.items()
        if features or not name.startswith("feature:")
    )
    parts = reference.parts if isinstance(reference, Mixture) else ((1.0, reference),)
    moments = {
        name: mixed([(share, moments_of(counting.moments(counters), name)) for share, counters in parts])
        for name in (one.name for one in subjects if one.name in counting.summed)
    }
    return Expected(subjects, _dense(counting, reference), moments)


def shift(counting: Counting, expected: Expected | None, records: Counters, ask: Ask) -> list[Result]:
    """Shift of score, prediction and each feature of a records part against what is expected.

    Parameters
    ----------
    expected
        None: score and prediction are absent for want of a reference.
    """
    _require(counting.records, records)
    found: list[Result] = []
    if expected is not None:
        absent = Reason.NOT_COUNTED if _records(records) else Reason.NO_RECORDS
        if Family.SHIFT in ask.families:
            found += shifts.results(expected, records.index, records.value, ask, absent)
        if ask.whole and Family.VALUES in ask.families:
            sums = counting.moments(records) if counting.summed else None
            found += values.results(expected, records.index, records.value, sums, ask.level, absent)
        return found
    for name, grid in counting.outputs.items():
        if Family.SHIFT in ask.families and not name.startswith("feature:"):
            n = counting.histogram(records, name).n
            found += shifts.absent_results(name, grid, Reason.NO_REFERENCE, n, ask)
    return found


def quality(
    counting: Counting, records: Counters, *, level: float = 0.95, features: bool = True
) -> list[Result]:
    """Volumes, and the rates of missing, invalid and unseen values, of a records part.

    Parameters
    ----------
    features
        False for versions and arms, whose features are not counted.
    """
    now = _Decoded.of(counting, records)
    unusual = int(now.dense[counting.records.slice("unusual_names")][0]) if features else None
    found = list(data_quality.volume_results(now.volume, unusual))
    for name in counting.outputs:
        if features or not name.startswith("feature:"):
            histogram = now.histogram(name)
            absent = Reason.NOT_COUNTED if now.records else Reason.NO_RECORDS
            found += data_quality.results(name, histogram, absent, level)
    return found


def label_quality(counting: Counting, labels: Counters, ask: Ask, *, delays: bool = True) -> list[Result]:
    """Coverage, delays and oddities of the labels; none for a model without labels.

    Parameters
    ----------
    delays
        False for versions, segments and arms, whose delays are not counted.
    """
    if counting.label is None:
        return []
    _require(counting.labels, labels)
    opened = labels.opened()
    table = counting.delays(opened) if delays else None
    return list(label_measures.results(opened.block("tally"), table, ask.level))


def comparison(
    counting: Counting, control: Counters | None, treatment: Counters | None, ask: Ask
) -> list[Result]:
    """Outcomes of two arms' labels parts; none without labels, or without arms."""
    no_arms = counting.reading.arms is None and control is None and treatment is None
    wanted = Family.COMPARISON in ask.families
    if counting.label is None or no_arms or not wanted:
        return []
    for arm in (control, treatment):
        if arm is not None:
            _require(counting.labels, arm)
    if counting.reading.task is Task.REGRESSION:
        means = [arms.mean_of(None if arm is None else counting.errors(arm)) for arm in (control, treatment)]
        return list(arms.mean_results(means[0], means[1], ask.level))
    classes = counting.reading.classes
    labels = [None if arm is None else counting.histogram(arm, "label") for arm in (control, treatment)]
    rates = [arms.rates_of(label, len(classes)) for label in labels]
    return [
        result
        for at, subject in arms.outcomes(classes)
        for result in arms.rate_results(rates[0][at], rates[1][at], ask.level, subject)
    ]


def challenge(counting: Counting, labels: Counters, ask: Ask) -> list[Result]:
    """Champion against challenger on the records of a labels part; none without a challenger."""
    if not counting.challenged:
        return []
    _require(counting.labels, labels)
    opened = labels.opened()
    losses = pairing.paired_losses(opened) if counting.probabilistic else None
    scores = pairing.paired_scores(opened) if counting.scored else None
    return list(challenger.results(pairing.agreement(opened), scores, losses, ask.level))


def learned(counting: Counting, labels: Counters, *, whole: bool = True) -> Learned | Reason:
    """What a labels part teaches of records whose labels are not there: made once, used often.

    Parameters
    ----------
    whole
        False for segments, whose class probabilities are not counted: of several classes the largest alone.
    """
    _require(counting.labels, labels)
    if "scores" in counting.labels.by_name and counting.score is not None:
        opened = labels.opened()
        of_scores = counting.score_table(opened), counting.confusion(opened)
        if counting.scored or not whole:
            return Calibration.of(*of_scores)
        return ClassCalibrations.of(*of_scores, counting.probable, counting.coarse_tables(opened))
    errors = counting.prediction_errors(labels)
    if errors is None:
        return Reason.NO_REFERENCE
    return ExpectedErrors.of(errors, counting.prediction.regular)


def estimates(
    counting: Counting, taught: Learned | Reason, records: Counters, ask: Ask, *, whole: bool = True
) -> list[Result]:
    """Estimates of the performance on a records part; none for a model without labels, or without scores.

    Cost: about 0.2 ms; of class probabilities see `class_results`.

    Parameters
    ----------
    whole
        False for segments: as in `learned`.
    """
    names = _estimated(counting, whole=whole)
    if not names or Family.ESTIMATE not in ask.families:
        return []
    _require(counting.records, records)
    predictions = counting.histogram(records, "prediction")
    match taught:
        case Calibration():
            scores = counting.histogram(records, "score")
            if not counting.scored:
                return [largest_result(taught, scores, ask.level)]
            return list(estimated.binary_results(taught, scores, predictions, ask.level))
        case ClassCalibrations():
            scores, tables = counting.histogram(records, "score"), counting.predicted_tables(records)
            return list(class_results(taught, tables, scores, predictions, ask.level))
        case ExpectedErrors():
            return list(estimated.number_results(taught, predictions, ask.level))
        case Reason():
            return list(estimated.absent_results(names, taught, _records(records)))


def estimate_errors(found: list[Result], realised: list[Result]) -> list[Result]:
    """Estimates less what labels gave."""
    return list(estimated.error_results(found, realised))


def _estimated(counting: Counting, *, whole: bool) -> tuple[str, ...]:
    """Measures of a model, or of its segments, that are estimated."""
    if counting.label is None:
        return ()
    if counting.reading.task is Task.REGRESSION:
        return ("mean_absolute_error",)
    if counting.scored:
        return ("roc_auc", "accuracy", "precision", "recall")
    if not counting.probable:
        return ()
    return ("accuracy", "roc_auc_macro", "precision_macro", "recall_macro") if whole else ("accuracy",)


@dataclass(frozen=True, slots=True)
class _Decoded:
    """Counters of a records part, made dense once for all its blocks."""

    counting: Counting
    dense: Ints

    @classmethod
    def of(cls, counting: Counting, counters: Counters) -> "_Decoded":
        _require(counting.records, counters)
        return cls(counting, counters.dense())

    @property
    def volume(self) -> Ints:
        return self.dense[self.counting.records.slice("volume")]

    @property
    def records(self) -> int:
        return int(self.volume[VOLUME.index("records")])

    def histogram(self, name: str) -> Histogram:
        return Histogram(self.counting.outputs[name], self.dense[self.counting.records.slice(name)])


def _records(records: Counters) -> int:
    return int(records.block("volume")[VOLUME.index("records")])


def _dense(counting: Counting, reference: Counters | Mixture) -> Counts:
    parts = reference.parts if isinstance(reference, Mixture) else ((1.0, reference),)
    for _, counters in parts:
        _require(counting.records, counters)
    return reference.dense()


def _require(layout: Layout, counters: Counters) -> None:
    if counters.layout is not layout and counters.layout != layout:
        raise GridMismatch("the counters were counted on other grids than the model's")
