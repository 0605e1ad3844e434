"""Tests where nothing is wrong: how often critical values and p-values raise a false alarm."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
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
)

from monitor.core.measurement import Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import (
    compare_challenger,
    make_expected_cells,
    measure_performance,
    measure_shifts,
)
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.records.reading import ChallengerOutput, ModelTask, ReadingOptions
from monitor.records.reference import reference_of

ASK = MeasureOptions()
FEATURES = ReadingOptions(
    task=ModelTask.REGRESSION, numeric=("even",), categorical=("eight", "thirty"), time_units=UNITS
)
P_VALUES = ("ks_p_value", "chi_squared_p_value", "sign_test_p_value", "signed_rank_p_value")


def of_calibrated() -> Case:
    """Scores that are the probability of a positive label, and labels that have nothing to do with them."""

    def simulate(rng: Rng, size: int, times: int) -> Iterator[dict[str, Outcome]]:
        for count in batches(size, times):
            score = rng.beta(1, 3, size * count)
            labels = rng.random(size * count) < score, rng.random(size * count) < 0.25
            both = [pa.table({"score": score, "label": np.where(label, "1", "0")}) for label in labels]
            parts = zip(*(labels_parts(table, counting, size) for table in both), strict=True)
            for calibrated, idle in parts:
                found = _alarms(measure_performance(counting, calibrated, ASK))
                del found["ks_separation"]
                yield found | {
                    name: outcome
                    for name, outcome in _alarms(measure_performance(counting, idle, ASK)).items()
                    if name == "ks_separation"
                }

    beta = np.random.default_rng(9).beta(1, 3, REFERENCE)
    counting = reference_of(
        pa.table({"score": beta, "label": np.where(beta > 0.5, "1", "0")}), BINARY
    ).counting
    told = (
        "Measures above their critical value: calibration errors of scores that are calibrated (a quarter "
        "positive), and the K-S separation of scores that tell nothing."
    )
    return Case("False alarms of scores", told, 0.25, simulate, alarms=True)


def of_challenger_alarms() -> Case:
    """Two models that are equally good."""
    reading = replace(BINARY, challenger=ChallengerOutput(column="challenger", threshold=0.3))
    table = challenged(np.random.default_rng(10), REFERENCE, 0.0)
    counting = reference_of(table, reading).counting

    def simulate(rng: Rng, size: int, times: int) -> Iterator[dict[str, Outcome]]:
        for count in batches(size, times):
            for part in labels_parts(challenged(rng, size * count, 0.0), counting, size):
                yield _alarms(compare_challenger(counting, part, ASK))

    told = "P-values below 0.05 where both models are equally good."
    return Case("False alarms of a challenger", told, 0.2, simulate, alarms=True)


def of_shift(m: int) -> Case:
    """Features that have not shifted; each sample has a reference of its own."""
    options = replace(ASK, families=frozenset({MeasureFamily.SHIFT, MeasureFamily.DISTANCES}))

    def simulate(rng: Rng, size: int, times: int) -> Iterator[dict[str, Outcome]]:
        for _ in range(times):
            reference = reference_of(_features(rng, m), FEATURES)
            expected = make_expected_cells(reference.counting, reference.records)
            (window,) = records_parts(_features(rng, size), reference.counting, size)
            yield _alarms(measure_shifts(reference.counting, expected, window, options))

    told = (
        "Features drawn from the distribution of the reference: a normal number, eight equally frequent "
        "levels, thirty whose frequencies fall as 1/rank. Each sample has a reference of its own, of "
        f"{m:,} records."
    )
    return Case(f"False alarms of shift, {m:,} reference records", told, 1.0, simulate, alarms=True)


def _alarms(results: Iterable[MeasureResult]) -> dict[str, Outcome]:
    """Whether measures stay below their critical values, and p-values above 0.05."""
    by_name = {name_of(result): result.measurement for result in results}
    found = {}
    for name, measurement in by_name.items():
        measure, _, subject = name.partition(" ")
        if subject == "prediction":
            continue
        critical = by_name.get(f"{BY_NAME[measure].critical} {subject}".strip())
        if critical is not None:
            found[name] = _quiet(measurement, critical, measurement)
        elif measure in P_VALUES:
            found[name] = _quiet(Measurement(0.05, measurement.n), measurement, measurement)
    return found


def _quiet(low: Measurement, high: Measurement, own: Measurement) -> Outcome:
    right = None if low.value is None or high.value is None else low.value <= high.value
    return Outcome(right, own.n)


def _features(rng: Rng, size: int) -> pa.Table:
    weights = 1 / np.arange(1, 31)
    thirty = rng.choice(30, p=weights / weights.sum(), size=size)
    return pa.table(
        {
            "prediction": np.zeros(size),
            "feature:even": rng.normal(size=size),
            "feature:eight": np.asarray(list("abcdefgh"))[rng.integers(0, 8, size)],
            "feature:thirty": np.asarray([f"level {at:02}" for at in range(30)])[thirty],
        }
    )


ALARMS: tuple[Callable[[], Case], ...] = (
    of_calibrated,
    of_challenger_alarms,
    partial(of_shift, 10_000),
    partial(of_shift, 1_000),
)
