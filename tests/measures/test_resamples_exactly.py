"""Resamples of ranked scores: their means, spreads and cells, and the intervals made of them."""

import math

import numpy as np
import pytest

from monitor.measures.statistics.intervals import row_quantiles
from monitor.measures.statistics.ranked_scores import (
    FEW,
    NORMAL_FROM,
    RankedScores,
    ResampleSpread,
    ScoreResamples,
    measure_resample_spreads,
    merge_score_cells,
    resample_cells,
)
from monitor.states.views import ScoreTable

RESAMPLES = 2_000
SPREAD = ResampleSpread(merged=0.5, low=0.4, high=0.65, level=0.9)


def ranked(negative: list[int], positive: list[int]) -> RankedScores:
    """Cells from the highest score down."""
    table = ScoreTable(np.asarray(negative[::-1]), np.asarray(positive[::-1]))
    return RankedScores.from_table(table, np.linspace(0, 1, len(negative) + 1))


def test_a_percentile_interval_is_moved_to_the_value_of_all_cells() -> None:
    found = SPREAD.percentile_interval(0.52)

    assert [found.lower, found.upper, found.level] == pytest.approx([0.42, 0.67, 0.9])


def test_a_basic_interval_is_turned_about_the_value_of_all_cells() -> None:
    found = SPREAD.basic_interval(0.52, lowest=0.0)

    assert [found.lower, found.upper, found.level] == pytest.approx([0.37, 0.62, 0.9])
    assert SPREAD.basic_interval(0.52, lowest=0.45, highest=0.6).lower == 0.45
    assert SPREAD.basic_interval(0.52, lowest=0.45, highest=0.6).upper == 0.6


def test_an_interval_holds_its_value_and_ends_at_the_border_that_single_precision_cannot_reach() -> None:
    near = 2.0**-21
    touching = ResampleSpread(merged=0.5, low=near, high=1 - near, level=0.95).percentile_interval(0.5)

    assert (touching.lower, touching.upper) == (0.0, 1.0)
    above = ResampleSpread(merged=0.5, low=0.55, high=0.6, level=0.95).percentile_interval(0.5)
    below = ResampleSpread(merged=0.5, low=0.4, high=0.45, level=0.95).percentile_interval(0.5)
    assert (above.lower, below.upper) == (0.5, 0.5)


def test_a_spread_holds_the_middle_of_its_own_resamples() -> None:
    drawn = np.random.default_rng(1).permutation(np.arange(501.0))
    other = np.random.default_rng(2).permutation(np.arange(501.0)) / 10

    found = measure_resample_spreads({"a": np.append(7.0, drawn), "b": np.append(8.0, other)}, 0.8)

    ordered = np.arange(501.0)[None]
    low, high = row_quantiles(ordered, 0.1)[0], row_quantiles(ordered, 0.9)[0]
    assert (found["a"].merged, found["a"].level) == (7.0, 0.8)
    assert [found["a"].low, found["a"].high] == pytest.approx([low, high])
    assert found["b"].merged == 8.0
    assert [found["b"].low, found["b"].high] == pytest.approx([low / 10, high / 10])
    assert low == pytest.approx(50, abs=1)
    assert high == pytest.approx(450, abs=1)


@pytest.mark.parametrize("scale", [1, 40])
def test_resamples_have_the_means_and_the_spreads_of_the_multinomial(scale: int) -> None:
    """60 records are drawn one by one, 2,400 from the normal limit."""
    counts = np.asarray([30, 18, 9, 3]) * scale
    n, share = int(counts.sum()), counts / counts.sum()

    drawn = resample_cells(counts, RESAMPLES, 0)

    assert drawn.dtype == np.float32
    assert drawn[:, 0] == pytest.approx(share)
    assert drawn.sum(axis=0) == pytest.approx(1, abs=1e-5)
    assert drawn[:, 1:].mean(axis=1) == pytest.approx(share, abs=5 * math.sqrt(0.25 / n / RESAMPLES))
    expected = np.diag(share) - np.outer(share, share)
    assert n * np.cov(drawn[:, 1:]) == pytest.approx(expected, abs=0.03)
    if n < NORMAL_FROM:
        assert drawn[:, 1:] * n == pytest.approx(np.rint(drawn[:, 1:] * n), abs=1e-4)


def test_resamples_of_nothing_are_nothing() -> None:
    drawn = resample_cells(np.zeros(3, dtype=np.int64), 5, 0)

    assert (drawn.shape, drawn.dtype, drawn.any()) == ((3, 6), np.dtype(np.float32), np.False_)


@pytest.mark.parametrize("positives", [2, FEW, 40])
def test_of_a_rare_class_each_resample_is_a_whole_and_its_share_spreads_as_a_binomial_one(
    positives: int,
) -> None:
    cells = ranked(negative=[100, 200, 300], positive=[positives - 1, 1, 0])
    n = 600 + positives

    found = ScoreResamples.from_ranked(cells, RESAMPLES, np.random.default_rng(3))

    whole = found.positive.sum(axis=0)
    assert whole + found.negative.sum(axis=0) == pytest.approx(1, abs=1e-5)
    assert found.both[-1] == pytest.approx(1, abs=1e-5)
    assert found.true[-1] == pytest.approx(whole)
    assert whole[0] == pytest.approx(positives / n)
    assert whole.min() >= 1 / n - 1e-7
    deviation = math.sqrt(positives * 600) / n / math.sqrt(n)
    if positives >= FEW:
        assert whole[1:].mean() == pytest.approx(positives / n, abs=5 * deviation / math.sqrt(RESAMPLES))
        assert whole[1:].std() == pytest.approx(deviation, rel=0.08)
    else:
        assert whole * n == pytest.approx(np.rint(whole * n), abs=1e-3)  # few are drawn as whole records
        lost = math.exp(-positives)  # resamples that would have none have one
        assert np.mean(whole[1:] * n < 1.5) == pytest.approx(lost * (1 + positives), abs=0.05)


def test_few_records_of_both_classes_are_resampled_apart() -> None:
    cells = ranked(negative=[40, 50], positive=[40, 30])

    found = ScoreResamples.from_ranked(cells, RESAMPLES, np.random.default_rng(4))

    within = [side[0, 1:] / side[:, 1:].sum(axis=0) for side in (found.positive, found.negative)]
    share = found.positive[:, 1:].sum(axis=0)
    assert np.corrcoef([*within, share]) == pytest.approx(np.eye(3), abs=0.1)
    assert [float(one.mean()) for one in within] == pytest.approx([40 / 70, 40 / 90], abs=0.01)


def test_many_records_of_both_classes_are_resampled_together() -> None:
    counts = np.asarray([[500, 300, 200], [900, 1_500, 600]])
    cells = ranked(negative=counts[1].tolist(), positive=counts[0].tolist())

    found = ScoreResamples.from_ranked(cells, RESAMPLES, np.random.default_rng(5))

    share = counts / counts.sum()
    each = np.concatenate([found.positive, found.negative])
    assert each.sum(axis=0) == pytest.approx(1, abs=1e-5)
    assert each[:, 0] == pytest.approx(share.ravel())
    assert each[:, 1:].mean(axis=1) == pytest.approx(share.ravel(), abs=1e-3)
    expected = np.diag(share.ravel()) - np.outer(share, share)
    assert counts.sum() * np.cov(each[:, 1:]) == pytest.approx(expected, abs=0.02)
    assert found.true[-1] == pytest.approx(found.positive.sum(axis=0), abs=1e-5)


def test_a_cell_belongs_where_its_middle_record_is() -> None:
    """Of 300 records borders lie at 0, 3, 6, 10, 15, 20, 30, …; middles at 10, 24, 29.5, 35.5 and 170."""
    first, group = merge_score_cells(ranked(negative=[20, 8, 3, 9, 260], positive=[0] * 5))

    assert first.tolist() == [0, 1, 3, 4]
    assert group.tolist() == [0, 1, 3]
