"""Shares of labels that are in: averaged over spans, as sure as their curves, and looked back at."""

import numpy as np
import pytest

from monitor.core.array_types import Floats
from monitor.windows.label_shares import LabelShares, ReportedSteps, look_back_covariance
from monitor.windows.settling import DelayCurve

EDGES: Floats = np.asarray([1.0, 2.0, 4.0, 8.0, 16.0])
CURVE = DelayCurve(np.asarray([0.1, 0.3, 0.6, 1.0]), np.asarray([0.4, 0.2, 0.1, 0.0]))
LATER = DelayCurve(np.asarray([0.0, 0.1, 0.2, 1.0]), np.asarray([np.inf, 0.3, 0.2, 0.0]))


def shares(age: list[float], width: float, *curves: DelayCurve) -> LabelShares:
    return LabelShares.from_curves(curves or (CURVE,), EDGES, np.asarray(age), np.full(len(age), width))


def test_a_share_is_the_mean_of_the_curve_over_the_span() -> None:
    at = np.linspace(0, 20, 2_000_001)
    curve = np.interp(at, [0.0, *EDGES[:4]], [0.1, *CURVE.completeness])

    found = shares([0.0, 1.5, 3.0, 7.0, 9.0], 3.0).share[:, 0]

    oracle = [curve[(at >= age) & (at <= age + 3.0)].mean() for age in (0.0, 1.5, 3.0, 7.0, 9.0)]
    assert found == pytest.approx(oracle, abs=1e-5)


def test_of_records_that_are_still_to_come_no_label_is_in() -> None:
    assert shares([-5.0], 3.0).share[0, 0] == 0.0
    assert shares([-1.0], 2.0).share[0, 0] == pytest.approx(0.05)  # of half of them a tenth


def test_spans_count_where_each_class_has_enough() -> None:
    found = shares([1.0, 5.0, 8.0], 1.0, CURVE, LATER)

    assert found.are_complete(0.2).tolist() == [False, True, True]
    assert found.are_complete(float(found.share[1].min())).tolist() == [False, True, True]
    assert np.isfinite(found.variance).all()


def test_the_curves_error_is_common_to_spans_the_variance_of_the_older_one_shared() -> None:
    found = shares([1.0, 3.0, 5.0], 0.5)
    records = np.asarray([[30.0], [50.0], [20.0]])
    weight = (records / records.sum())[:, 0]

    together = np.minimum.outer(found.variance[:, 0], found.variance[:, 0])
    assert found.total_variance(records)[0] == pytest.approx(weight @ together @ weight)


def test_the_error_of_a_share_is_that_at_the_middle_of_the_span() -> None:
    found = shares([0.5, 1.0, 6.0], 2.0, CURVE, LATER)

    assert found.variance[:, 0] == pytest.approx([0.3, 0.2, 0.025])
    assert found.variance[:, 1] == pytest.approx([0.65, 0.3, 0.05])  # infinite is 1: nothing is in


def reported(rng: np.random.Generator, batch: int, steps: int = 120, lags: int = 65) -> ReportedSteps:
    """Two classes with delays of 4 steps in the mean, reported with the next of the batches."""
    count = np.zeros((2, steps, lags), dtype=np.int64)
    for kind in range(2):
        at = rng.integers(0, steps, 20_000)
        when = at + rng.geometric(0.25, 20_000) - 1
        when = -(-(when + 1) // batch) * batch - 1
        np.add.at(count[kind], (at, when - at), 1)
    share = count.sum(axis=1).cumsum(axis=1) / count.sum(axis=(1, 2))[:, None]
    known = np.arange(steps) < steps - 40
    return ReportedSteps(count, share.T, known)


def test_looking_back_finds_what_batches_add_and_next_to_nothing_where_delays_are_independent() -> None:
    rng = np.random.default_rng(1)

    alone = look_back_covariance(reported(rng, 1), range(14), 0.2)
    batches = look_back_covariance(reported(rng, 7), range(14), 0.2)

    assert np.sqrt(alone.diagonal()).max() < 0.02
    assert np.sqrt(batches.diagonal()).min() > 0.05
    assert batches[0, 1] > 0.8 * np.sqrt(batches[0, 0] * batches[1, 1])  # both classes wait for one batch


def test_looking_back_needs_some_moments_and_something_to_tell() -> None:
    looked = reported(np.random.default_rng(2), 7)
    few = ReportedSteps(looked.count, looked.share, np.arange(120) < 13)

    assert not look_back_covariance(few, range(14), 0.2).any()
    assert not look_back_covariance(looked, range(50, 60), 0.2).any()


def looked_back_at_by_hand(looked: ReportedSteps, lags: range, least: float) -> Floats:
    """The same, moment by moment."""
    classes, steps, _ = looked.count.shape
    told = [lag for lag in lags if lag < len(looked.share) and least <= looked.share[lag].min() < 0.99]
    off, chance = [], []
    for moment in range(-200, 200):
        behind = [moment - lag for lag in told]
        if not all(0 <= at < steps and looked.known[at] for at in behind):
            continue
        came = np.zeros(classes)
        guess, spread = np.zeros((2, classes))
        for at, lag in zip(behind, told, strict=True):
            for kind in range(classes):
                share, total = looked.share[lag, kind], looked.count[kind, at].sum()
                came[kind] += total
                guess[kind] += looked.count[kind, at, : lag + 1].sum() / share
                spread[kind] += total * (1 - share) / share
        if (came > 0).all():
            off.append(guess / came - 1)
            chance.append(spread / came**2)
    covariance = np.mean([np.outer(one, one) for one in off], axis=0)
    excess = np.maximum(covariance.diagonal() - np.mean(chance, axis=0), 0)
    scale = np.sqrt(excess / covariance.diagonal())
    scaled: Floats = covariance * np.outer(scale, scale)
    return scaled


def test_looking_back_is_what_each_earlier_moment_would_have_told() -> None:
    for seed, batch in ((3, 7), (4, 5), (5, 1)):
        looked = reported(np.random.default_rng(seed), batch, steps=70)
        looked.count[:, :20] //= 300  # few labels: of some moments a class has none
        for lags in (range(14), range(3, 9)):
            found = look_back_covariance(looked, lags, 0.2)

            assert found == pytest.approx(looked_back_at_by_hand(looked, lags, 0.2))


def test_looking_back_needs_six_moments() -> None:
    looked = reported(np.random.default_rng(2), 7)
    lags = range(3, 5)

    for moments, enough in ((5, False), (6, True)):
        known = np.arange(len(looked.known)) < moments + 1
        assert (
            look_back_covariance(ReportedSteps(looked.count, looked.share, known), lags, 0.2).any() == enough
        )
