"""Evaluate: all measures of a set of counters, by name."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from monitor.core.errors import GridMismatch
from monitor.core.measurement import LEVEL, Detail, Reason
from monitor.measures import regression
from monitor.measures.against import NO_RECORDS, SegmentMean
from monitor.measures.catalogue.measure import Family
from monitor.measures.class_estimates import class_results, largest_result
from monitor.measures.classification import confusion, gains, probabilities, scores
from monitor.measures.classification.confusion import Margins, shares
from monitor.measures.classification.scores import Scored
from monitor.measures.comparison import arms, challenger
from monitor.measures.days import without
from monitor.measures.estimates import (
    Calibration,
    ClassCalibrations,
    ExpectedErrors,
    Learned,
    absent_results,
    binary_results,
    number_results,
)
from monitor.measures.labels import class_coverage
from monitor.measures.labels import results as label_results
from monitor.measures.options import FEATURE, Options, Result
from monitor.measures.regression import mean_absolute_error
from monitor.measures.shift import season, stability_index, values
from monitor.measures.shift.cells import Expected, Mixture, Subject
from monitor.measures.statistics.intervals import mixed, moments_of
from monitor.measures.statistics.ranked import Ranked
from monitor.measures.volume import log_delays, volume_results
from monitor.records.counting import TALLY, VOLUME, Counting
from monitor.records.labels import pairing
from monitor.records.reading import Task
from monitor.states.counters import Counters, Layout
from monitor.states.views import Histogram


def performance(counting: Counting, labels: Counters, options: Options) -> list[Result]:
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
            *regression.results(moments, counting.percentages(labels), options),
            *regression.cell_results(moments, *tables, options),
        ]
    rng, opened = _generator(labels) if options.resamples else None, labels.opened()
    results = list(confusion.results(counting.confusion(opened), options, rng))
    clipped = int(opened.block("tally")[TALLY.index("clipped")])
    if counting.scored:
        losses = counting.losses(opened) if counting.probabilistic else None
        table, bounds = counting.score_table(opened), counting.score_bounds
        results += scores.results(
            Scored(table, bounds, counting.reading.classes, losses, clipped), options, rng
        )
    if counting.probable:
        results += probabilities.results(
            counting.class_tables(opened), counting.losses(opened), clipped, options
        )
        if options.whole and Family.CALIBRATION in options.families:
            table, bounds = counting.score_table(opened), counting.score_bounds
            results += probabilities.calibration_results(table, bounds, options, rng)
    return results


def whole_curves(counting: Counting, labels: Counters, options: Options) -> dict[str, Detail]:
    """Curves behind measures of a labels part, by their corners; none of a model without scores."""
    if not counting.scored:
        return {}
    _require(counting.labels, labels)
    opened = labels.opened()
    table, bounds = counting.score_table(opened), counting.score_bounds
    scored = Scored(table, bounds, counting.reading.classes, None, 0)
    profit = options.profit if Family.GAINS in options.families else {}
    return scores.whole_details(scored, profit, counting.reading.threshold)


def whole_cells(
    counting: Counting, expected: Expected, records: Counters, options: Options
) -> dict[str, Detail]:
    """All cells behind the stability index of a records part, by subject."""
    _require(counting.records, records)
    sides = stability_index.Sides.of(expected, records.index, records.value, Reason.NO_RECORDS)
    indices = stability_index.stability_indices(sides, replace(options, detailed=True))
    pairs = zip(expected.subjects, indices, strict=True)
    return {subject.name: index.detail for subject, index in pairs if index.detail is not None}


def best_threshold(counting: Counting, labels: Counters, options: Options) -> float | None:
    """Threshold on the score that would have given the largest profit; None where nothing tells."""
    if not (counting.scored and options.profit):
        return None
    _require(counting.labels, labels)
    ranked = Ranked.of(counting.score_table(labels), counting.score_bounds)
    return gains.best_threshold(ranked, gains.amounts_of(counting.reading.classes, options.profit))


def expectation(
    counting: Counting, reference: Counters | Mixture, *, features: bool = True, only: str = ""
) -> Expected:
    """What a reference, or several, lead one to expect of outputs and features: made once, used often.

    Parameters
    ----------
    reference
        records part.
    features
        False for versions, segments and arms, whose features are not counted.
    only
        the one output or feature; empty: all of them.
    """
    parts = reference.parts if isinstance(reference, Mixture) else ((1.0, reference),)
    for _, counters in parts:
        _require(counting.records, counters)
    subjects = tuple(
        Subject(name, grid, counting.records.offsets[name])
        for name, grid in counting.outputs.items()
        if (features or not name.startswith(FEATURE)) and only in ("", name)
    )
    moments = {
        name: mixed([(share, moments_of(counting.moments(counters), name)) for share, counters in parts])
        for name in (subject.name for subject in subjects if subject.name in counting.summed)
    }
    return Expected(subjects, reference.dense(), moments)


def shift(counting: Counting, expected: Expected | None, records: Counters, options: Options) -> list[Result]:
    """Shift of score, prediction and each feature of a records part against what is expected.

    Parameters
    ----------
    expected
        None: score and prediction are absent for want of a reference.
    """
    _require(counting.records, records)
    results: list[Result] = []
    if expected is not None:
        absent = Reason.NOT_COUNTED if _records(records) else Reason.NO_RECORDS
        if Family.SHIFT in options.families:
            results += stability_index.results(expected, records.index, records.value, options, absent)
        if options.whole and Family.VALUES in options.families:
            sums = counting.moments(records) if counting.summed else None
            results += values.results(expected, records.index, records.value, sums, options.level, absent)
        return results
    for name, grid in counting.outputs.items():
        if Family.SHIFT in options.families and not name.startswith(FEATURE):
            n = counting.histogram(records, name).n
            results += stability_index.absent_results(name, grid, Reason.NO_REFERENCE, n, options)
    return results


def seasonal(
    counting: Counting, periods: Sequence[Counters], records: Counters, options: Options, when: str
) -> list[Result]:
    """Shift of a records part against the sum of earlier periods, by how far these lie from one another.

    Parameters
    ----------
    periods
        records parts of the same phase, each with records.
    when
        what is said where there are fewer than three of them.
    """
    total = Counters.merge_all(counting.records, periods)
    expected = expectation(counting, total)
    shifted = shift(counting, expected, records, replace(options, families=frozenset({Family.SHIFT})))
    others = [(period, expectation(counting, without(total, period))) for period in periods]
    apart, blind = season.Apart.of(others, options), season.out_of_range(expected)
    results = list(season.results(shifted, apart, blind, options.level, when))
    if Family.VALUES not in options.families or not counting.summed:
        return results
    now, *sums = (counting.moments(part) for part in (records, *periods))
    for name in counting.summed:
        then = [moments_of(each, name) for each in sums]
        grid = counting.outputs[name]
        mean = season.expected_mean(moments_of(now, name), then, grid, options.level, when)
        results.append(Result(season.MEAN, name, mean))
    return results


def quality(
    counting: Counting, records: Counters, *, level: float = LEVEL, features: bool = True
) -> list[Result]:
    """Volumes, and the rates of missing, invalid and unseen values, of a records part.

    Parameters
    ----------
    features
        False for versions and arms, whose features are not counted.
    """
    _require(counting.records, records)
    dense, layout = records.dense(), counting.records
    counted = dense[layout.slice("volume")]
    unusual = int(dense[layout.slice("unusual_names")][0]) if features else None
    results = list(volume_results(counted, unusual))
    if features:
        delays = counting.log_delays(records) if counting.reading.logged else None
        results += log_delays(delays, int(counted[VOLUME.index("records")]))
    absent = Reason.NOT_COUNTED if counted[VOLUME.index("records")] else Reason.NO_RECORDS
    for name, grid in counting.outputs.items():
        if features or not name.startswith(FEATURE):
            histogram = Histogram(grid, dense[layout.slice(name)])
            results += values.quality_results(name, histogram, absent, level)
    return results


def label_quality(
    counting: Counting, labels: Counters, options: Options, *, delays: bool = True
) -> list[Result]:
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
    table, reading = counting.delays(opened) if delays else None, counting.reading
    results = list(label_results(opened.block("tally"), table, options.level))
    if delays and reading.classes:
        predicted = counting.predicted(opened)
        results += class_coverage(reading.classes, predicted, options.level, reading.only_for)
    return results


def comparison(
    counting: Counting, control: Counters | None, treatment: Counters | None, options: Options
) -> list[Result]:
    """Outcomes of two arms' labels parts; none without labels, or without arms."""
    no_arms = counting.reading.arms is None and control is None and treatment is None
    wanted = Family.COMPARISON in options.families
    if counting.label is None or no_arms or not wanted:
        return []
    for arm in (control, treatment):
        if arm is not None:
            _require(counting.labels, arm)
    if counting.reading.task is Task.REGRESSION:
        means = [arms.mean_of(None if arm is None else counting.errors(arm)) for arm in (control, treatment)]
        return list(arms.mean_results(means[0], means[1], options.level))
    classes = counting.reading.classes
    labels = [None if arm is None else counting.histogram(arm, "label") for arm in (control, treatment)]
    rates = [arms.rates_of(label, len(classes)) for label in labels]
    return [
        result
        for at, subject in arms.outcomes(classes)
        for result in arms.rate_results(rates[0][at], rates[1][at], options.level, subject)
    ]


def challenge(counting: Counting, labels: Counters, options: Options) -> list[Result]:
    """Champion against challenger on the records of a labels part; none without a challenger."""
    if not counting.challenged:
        return []
    _require(counting.labels, labels)
    opened = labels.opened()
    losses = pairing.paired_losses(opened) if counting.probabilistic else None
    scores = pairing.paired_scores(opened) if counting.scored else None
    return list(challenger.results(pairing.agreement(opened), scores, losses, options.level))


def mean_of(counting: Counting, labels: Counters) -> SegmentMean:
    """Mean of the main measure over a labels part."""
    if counting.reading.task is Task.REGRESSION:
        error = mean_absolute_error(counting.errors(labels))
        return NO_RECORDS if error.value is None else SegmentMean(error.n, error.value)
    right, n, _ = shares(Margins.of(counting.confusion(labels)))["accuracy"]
    return SegmentMean(n, right / n) if n else NO_RECORDS


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
    counting: Counting, taught: Learned | Reason, records: Counters, options: Options, *, whole: bool = True
) -> list[Result]:
    """Estimates of the performance on a records part; none for a model without labels, or without scores.

    Cost: about 0.2 ms; of class probabilities see `class_results`.

    Parameters
    ----------
    whole
        False for segments: as in `learned`.
    """
    names = _estimated(counting, whole=whole)
    if not names or Family.ESTIMATE not in options.families:
        return []
    _require(counting.records, records)
    because = ""
    if counting.reading.only_for and counting.reading.threshold is None:
        taught = Reason.NOT_CONFIGURED
        because = (
            "labels come for some predictions, and which scores are theirs is counted by threshold alone"
        )
    predictions = counting.histogram(records, "prediction")
    match taught:
        case Calibration():
            scores = counting.histogram(records, "score")
            if not counting.scored:
                return [largest_result(taught, scores, options.level)]
            return list(binary_results(taught, scores, predictions, options.level, _come_for(counting)))
        case ClassCalibrations():
            scores, tables = counting.histogram(records, "score"), counting.predicted_tables(records)
            return list(class_results(taught, tables, scores, predictions, options.level))
        case ExpectedErrors():
            return list(number_results(taught, predictions, options.level))
        case Reason():
            return list(absent_results(names, taught, _records(records), because))


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


def _come_for(counting: Counting) -> tuple[bool, bool]:
    """Whether labels come for negative, and for positive predictions of a binary model."""
    reading = counting.reading
    negative, positive = (not reading.only_for or name in reading.only_for for name in reading.classes)
    return negative, positive


def _records(records: Counters) -> int:
    return int(records.block("volume")[VOLUME.index("records")])


def _require(layout: Layout, counters: Counters) -> None:
    if counters.layout is not layout and counters.layout != layout:
        raise GridMismatch("the counters were counted on other grids than the model's")


def _generator(counters: Counters) -> np.random.Generator:
    """Random numbers seeded by the counters' content: equal states have equal intervals."""
    digest = hashlib.blake2b(counters.layout.hash.encode(), digest_size=16)
    digest.update(counters.index.data)
    digest.update(counters.value.data)
    return np.random.default_rng(int.from_bytes(digest.digest()))
