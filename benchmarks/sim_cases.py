"""Populations whose values are known, and how often the intervals of samples of them hold these values."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from scipy.special import softmax
from sim_samples import (
    BINARY,
    REFERENCE,
    UNITS,
    Case,
    Outcome,
    Rng,
    batches,
    challenged,
    labels_parts,
    name_of,
    records_parts,
    scores_of,
    taken,
    whole_of,
)

from monitor.measures.catalogue import BY_NAME
from monitor.measures.evaluate import (
    compare_arms,
    compare_challenger,
    learn_from_labels,
    measure_estimates,
    measure_performance,
)
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import is_comparable, measurement_difference
from monitor.measures.score_estimates import measure_estimate_errors
from monitor.records.counting import Counting
from monitor.records.reading import ChallengerOutput, ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.states.counters import Counters

UNIVERSE = 400_000  # records of a population
ASK, HEADLINES = MeasureOptions(), MeasureOptions(resamples=0, whole=False)
AMOUNTS = {("1", "1"): 4.0, ("0", "1"): -1.0, ("1", "0"): -2.0}
NUMBERS = ReadingOptions(task=ModelTask.REGRESSION, labelled=True, time_units=UNITS)
LETTERS = ("a", "b", "c")
CLASSES = replace(BINARY, task=ModelTask.MULTICLASS, classes=LETTERS, probabilities=LETTERS, threshold=None)
LEFT_OUT = ("class:a", "class:b")


def of_rates(positive: float, offset: float) -> Case:
    """Binary scores, not calibrated."""
    table = scores_of(np.random.default_rng(1), UNIVERSE, positive, offset)
    name = f"Binary, {100 * positive:.0f} % positive"
    told = (
        f"Scores, {100 * positive:.0f} % positive, `roc_auc` 0.86, not calibrated, predicted positive from "
        "0.3. Wilson's intervals of other rates (`coverage`, `missing_rate`, …) are those of the rates here."
    )
    return _performance(name, told, table, BINARY, positive)


def of_classes() -> Case:
    """Three classes with probabilities."""
    rng, shares = np.random.default_rng(2), (0.6, 0.3, 0.1)
    actual = rng.choice(3, p=shares, size=UNIVERSE)
    logits = rng.normal(size=(UNIVERSE, 3)) + 1.5 * np.eye(3)[actual] + np.log(shares)
    columns = dict(zip((f"probability:{name}" for name in LETTERS), softmax(logits, axis=1).T, strict=True))
    table = pa.table({"label": np.asarray(LETTERS)[actual], **columns})
    told = "Probabilities of classes with 60, 30 and 10 % of the records; measures by class: the last one's."
    return _performance("Three classes", told, table, CLASSES, min(shares))


def of_normal_errors() -> Case:
    """Normal labels and errors."""
    rng = np.random.default_rng(3)
    label = rng.normal(50, 10, UNIVERSE)
    table = pa.table({"label": label, "prediction": label + rng.normal(0.5, 3, UNIVERSE)})
    told = "Labels of mean 50 and standard deviation 10, errors of mean 0.5 and standard deviation 3."
    return _performance("Numbers, normal errors", told, table, NUMBERS, 1.0)


def of_heavy_errors() -> Case:
    """Skewed labels, errors of Student's t with 5 degrees of freedom."""
    rng = np.random.default_rng(4)
    label = rng.gamma(2, 10, UNIVERSE)
    table = pa.table({"label": label, "prediction": label + 3 * rng.standard_t(5, UNIVERSE)})
    told = (
        "Gamma labels of shape 2, many of them near 0; errors of Student's t with 5 degrees of freedom, the "
        "fewest with a finite fourth moment."
    )
    return _performance("Numbers, heavy tails", told, table, NUMBERS, 1.0)


def of_arms_rates() -> Case:
    """Outcome rates of two arms."""
    rng = np.random.default_rng(5)
    arms = [scores_of(rng, UNIVERSE, positive, -2.0) for positive in (0.10, 0.12)]
    told = "Outcomes of 10 and 12 %; n: records of each arm."
    return _arms("Control and treatment, rates", told, arms, BINARY, 0.1)


def of_arms_means() -> Case:
    """Outcome means of two arms, skewed."""
    rng = np.random.default_rng(6)
    arms = []
    for mean in (1.0, 1.1):
        label = rng.lognormal(mean, 0.8, UNIVERSE)
        arms.append(pa.table({"label": label, "prediction": label}))
    told = "Lognormal outcomes of skewness 3.7, means 10 % apart; n: records of each arm."
    return _arms("Control and treatment, means", told, arms, NUMBERS, 1.0)


def of_differences() -> Case:
    """A window and the one before, of one population: the true difference is 0."""
    table = scores_of(np.random.default_rng(12), UNIVERSE, 0.2, -2.0)
    counting = reference_of(table.slice(0, REFERENCE), BINARY).counting

    def simulate(rng: Rng, size: int, times: int) -> Iterator[dict[str, Outcome]]:
        for count in batches(size, times):
            windows = (labels_parts(taken(table, rng, size * count), counting, size) for _ in range(2))
            for before, now in zip(*windows, strict=True):
                sides = (measure_performance(counting, part, HEADLINES) for part in (now, before))
                found = [
                    replace(one, measurement=measurement_difference(one.measurement, other.measurement))
                    for one, other in zip(*sides, strict=True)
                    if is_comparable(BY_NAME[one.measure])
                ]
                yield _covered(found, dict.fromkeys((one.measure for one in found), 0.0))

    told = "Differences from the window before (`against`), both of n records of the first population."
    return Case("A window against another", told, 0.2, simulate)


def of_challenger() -> Case:
    """A better challenger."""
    reading, universe = (
        replace(BINARY, challenger=ChallengerOutput(column="challenger", threshold=0.3)),
        UNIVERSE,
    )
    table = challenged(np.random.default_rng(7), universe, 0.4)
    counting = reference_of(table.slice(0, REFERENCE), reading).counting
    measured = partial(compare_challenger, counting, options=ASK)
    truth = _values(measured(whole_of(counting, table)))
    simulate = partial(_of_samples, table, counting, measured, truth)
    told = "Two scores of the same records, 20 % positive; the challenger's is the better one."
    return Case("Champion and challenger", told, 0.2, simulate, truth)


def of_estimates() -> Case:
    """Performance of scores, estimated without labels."""
    table = scores_of(np.random.default_rng(8), UNIVERSE, 0.2, -2.0)
    told = (
        "The scores of the first population, learned from n labelled records, estimated on n others: how "
        "often the interval of the estimate's error holds 0; that is, the estimate's one what labels give."
    )
    return _estimates("Estimates before labels, scores", told, table, BINARY, 0.2)


def of_estimated_errors() -> Case:
    """Absolute errors that grow with the prediction, estimated without labels."""
    rng = np.random.default_rng(11)
    prediction = rng.gamma(2, 10, UNIVERSE)
    label = prediction + (1 + prediction / 10) * rng.normal(size=UNIVERSE)
    told = "The same of errors that grow with the prediction, a gamma number of shape 2."
    table = pa.table({"label": label, "prediction": prediction})
    return _estimates("Estimates before labels, numbers", told, table, NUMBERS, 1.0)


def _performance(name: str, told: str, table: pa.Table, reading: ReadingOptions, rarest: float) -> Case:
    counting = reference_of(table.slice(0, REFERENCE), reading).counting
    options = replace(ASK, profit=AMOUNTS) if reading is BINARY else ASK
    measured = partial(measure_performance, counting, options=options)
    truth = _values(measured(whole_of(counting, table)))
    simulate = partial(_of_samples, table, counting, measured, truth)
    return Case(name, told, rarest, simulate, truth)


def _arms(name: str, told: str, tables: list[pa.Table], reading: ReadingOptions, rarest: float) -> Case:
    counting = reference_of(tables[0].slice(0, REFERENCE), reading).counting
    control, treatment = (whole_of(counting, table) for table in tables)
    truth = _values(compare_arms(counting, control, treatment, ASK))

    def simulate(rng: Rng, size: int, times: int) -> Iterator[dict[str, Outcome]]:
        for count in batches(size, times):
            arms = [labels_parts(taken(table, rng, size * count), counting, size) for table in tables]
            for control, treatment in zip(*arms, strict=True):
                yield _covered(compare_arms(counting, control, treatment, ASK), truth)

    return Case(name, told, rarest, simulate, truth)


def _estimates(name: str, told: str, table: pa.Table, reading: ReadingOptions, rarest: float) -> Case:
    counting = reference_of(table.slice(0, REFERENCE), reading).counting

    def simulate(rng: Rng, size: int, times: int) -> Iterator[dict[str, Outcome]]:
        for count in batches(size, times):
            then, now = (taken(table, rng, size * count) for _ in range(2))
            sides = (
                labels_parts(then, counting, size),
                labels_parts(now, counting, size),
                records_parts(now, counting, size),
            )
            for taught, labels, records in zip(*sides, strict=True):
                found = measure_estimates(counting, learn_from_labels(counting, taught), records, ASK)
                errors = measure_estimate_errors(found, measure_performance(counting, labels, HEADLINES))
                yield _covered(errors, dict.fromkeys((one.measure for one in errors), 0.0))

    return Case(name, told, rarest, simulate)


def _of_samples(
    table: pa.Table,
    counting: Counting,
    measured: Callable[[Counters], list[MeasureResult]],
    truth: Mapping[str, float],
    rng: Rng,
    size: int,
    times: int,
) -> Iterator[dict[str, Outcome]]:
    for count in batches(size, times):
        for part in labels_parts(taken(table, rng, size * count), counting, size):
            yield _covered(measured(part), truth)


def _covered(results: Iterable[MeasureResult], truth: Mapping[str, float]) -> dict[str, Outcome]:
    """Whether intervals hold the truth."""
    found = {}
    for result in results:
        name, measurement = name_of(result), result.measurement
        if not result.subject.startswith(LEFT_OUT):
            found[name] = Outcome(_holds(result, truth.get(name)), measurement.n)
    return found


def _holds(result: MeasureResult, truth: float | None) -> bool | None:
    """Whether an interval holds the true value, which for a total is that of as many records."""
    interval = result.measurement.interval
    if interval is None or truth is None:
        return None
    value = truth * result.measurement.n / UNIVERSE if BY_NAME[result.measure].total else truth
    return interval.lower <= value <= interval.upper


def _values(results: Iterable[MeasureResult]) -> dict[str, float]:
    found = ((name_of(result), result.measurement.value) for result in results)
    return {name: value for name, value in found if value is not None}


CASES: tuple[Callable[[], Case], ...] = (
    partial(of_rates, 0.2, -2.0),
    partial(of_rates, 0.02, -2.5),
    of_classes,
    of_normal_errors,
    of_heavy_errors,
    of_arms_rates,
    of_arms_means,
    of_differences,
    of_challenger,
    of_estimates,
    of_estimated_errors,
)
