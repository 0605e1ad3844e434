"""What features do to the mean score, by the effect table; and the gate that decides whether it is said."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from monitor.core.array_types import Bools, Floats
from monitor.core.change import ChangeEffect, EffectStanding
from monitor.core.effect import MOVE, TOGETHER, UNATTRIBUTED, FeatureEffect, ScoreMove
from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import moments_of, normal_quantile
from monitor.records.counting import Counting
from monitor.records.effect_table import FOLDS, EffectCells, EffectTable
from monitor.records.probabilities import probability_cell_middles
from monitor.states.counters import Counters
from monitor.states.grids import NumericGrid

COLUMNS = ("feature", "effect", "lower", "upper")
_MOST_EFFECTS = 10  # that are kept of a window
LEAST_R2 = 0.5  # of rows that the table has not seen
_PART = 0.25  # of the largest move: what may remain
_LARGEST = 1e100  # mean that is told
_BEYOND = 0.2  # share of a feature's records that the reference hardly has: nothing is said of it


@dataclass(frozen=True, slots=True)
class MeanScore:
    """Mean of what stands for the score, in its own unit, and the variance of that mean."""

    mean: float
    variance: float
    n: float


def measure_mean_score(counting: Counting, target: str, records: Counters) -> MeanScore | None:
    """Mean of a target of `effect_target` over a records part; None: it has none."""
    if target.startswith("class:"):
        block = records.dense_block(f"probability:{target.removeprefix('class:')}").sum(axis=0)
        n = float(block.sum())
        if n < 2:
            return None
        middles = probability_cell_middles()
        mean = float(block @ middles) / n
        return MeanScore(mean, float(block @ np.square(middles - mean)) / (n - 1) / n, n)
    grid, moments = counting.output_grids[target], moments_of(counting.moments_view(records), target)
    if not isinstance(grid, NumericGrid) or moments.reason is not None:
        return None
    mean, deviation = grid.centre + moments.mean * grid.scale, math.sqrt(moments.variance) * grid.scale
    if not abs(mean) + deviation < _LARGEST:  # nor of one record, whose variance is not known
        return None
    return MeanScore(mean, deviation**2 / moments.n, moments.n)


@dataclass(frozen=True, slots=True)
class ScoredSide:
    """One of two sets of records: its mean score, and by feature what the table asks of it."""

    score: MeanScore
    shares: Floats  # of each cell within its feature
    n: Floats  # records of each feature
    spread: Floats  # variance of each feature's effects
    is_beyond: Bools  # features of which the reference hardly has such values


@dataclass(frozen=True)
class ScoreEffects:
    """An effect table on its cells: what is asked how the mean score moves from some records to others."""

    counting: Counting
    target: str  # as `effect_target` says
    table: EffectTable  # fitted
    cells: EffectCells
    reference: Counters  # records part that it was fitted to

    def explain_move(self, now: Counters, before: Counters | None, level: float) -> ScoreMove | None:
        """How far the mean score moved, and what of it the features make; None: it has no mean on a side.

        The effect of a feature is Σ (q - p)·β over its cells, q and p its shares now and before. Its variance
        is that of the jackknife by folds, and Σ q·β² - (Σ q·β)², over n, of either side.

        Parameters
        ----------
        before
            None: the reference.
        """
        here, there = self._score_side(now), self._reference_side
        there = there if before is None else self._score_side(before)
        if here is None or there is None:
            return None
        actual, z = here.score.mean - there.score.mean, normal_quantile(level)
        known = (here.n > 0) & (there.n > 0)
        moved = (here.shares - there.shares) * self._effects
        by_fold = np.where(known, np.add.reduceat(moved, self.cells.starts[:-1], axis=1), 0.0)
        alone, total = by_fold[0], float(by_fold[0].sum())
        variance = _jackknife_variance(by_fold)
        variance += here.spread / np.maximum(here.n, 1.0) + there.spread / np.maximum(there.n, 1.0)
        remaining = self.table.deviation**2 * (1 / here.score.n + 1 / there.score.n)
        remaining += float(_jackknife_variance(by_fold.sum(axis=1, keepdims=True))[0])
        largest = max(abs(actual), abs(total), float(np.abs(alone).max(initial=0.0)))
        allowed = max(_PART * largest, z * math.sqrt(remaining))
        figures = (
            alone.tolist(),
            (z * np.sqrt(variance)).tolist(),
            (here.is_beyond | there.is_beyond).tolist(),
        )
        return ScoreMove(
            target=self.target,
            actual=actual,
            half_width=z * math.sqrt(here.score.variance + there.score.variance),
            total=total,
            is_attributed=self.table.r2 >= LEAST_R2 and abs(actual - total) <= allowed,
            features=tuple(
                FeatureEffect(name, value, half, is_beyond=beyond)
                for name, value, half, beyond, has in zip(
                    self.cells.features, *figures, known.tolist(), strict=True
                )
                if has
            ),
            n=int(here.score.n),
        )

    @cached_property
    def _effects(self) -> Floats:
        return self.table.effects.astype(np.float64)

    @cached_property
    def _reference_side(self) -> ScoredSide | None:
        return self._score_side(self.reference)

    def _score_side(self, records: Counters) -> ScoredSide | None:
        """What is asked of a records part; None: it has no mean score."""
        score = measure_mean_score(self.counting, self.target, records)
        if score is None:
            return None
        counts, starts = self.cells.sum_cells(records), self.cells.starts[:-1]
        n = np.add.reduceat(counts, starts)
        shares = counts / np.repeat(np.maximum(n, 1.0), self.cells.sizes)
        middle = shares * self._effects[0]
        spread = np.add.reduceat(middle * self._effects[0], starts) - np.add.reduceat(middle, starts) ** 2
        is_beyond: Bools = self.cells.sum_tails(records) > _BEYOND * n
        return ScoredSide(score, shares, n, np.maximum(spread, 0.0), is_beyond)


def find_change_effect(move: ScoreMove | None, feature: str) -> ChangeEffect | None:
    """What one feature that changed does to the mean score; None: it is not known how that moved."""
    own = None if move is None else next((one for one in move.features if one.name == feature), None)
    if move is None or own is None:
        return None
    standing = EffectStanding.KNOWN if move.is_attributed else EffectStanding.MIXED
    return ChangeEffect(
        own=_round_figure(own.value),
        own_half_width=_round_figure(own.half_width),
        moved=_round_figure(move.actual),
        moved_half_width=_round_figure(move.half_width),
        standing=(EffectStanding.BEYOND if own.is_beyond else standing).value,
        target=move.target,
    )


def score_move_result(move: ScoreMove | None, target: str, level: float) -> MeasureResult:
    """The move as a measurement: behind it what the features make of it."""
    if move is None:
        return MeasureResult(MOVE, target, Measurement.without_value(Reason.NO_RECORDS, n=0))
    rows: list[tuple[float | str | None, ...]] = [
        (TOGETHER if move.is_attributed else UNATTRIBUTED, move.total, None, None)
    ]
    rows += [
        (one.name, one.value, one.value - one.half_width, one.value + one.half_width)
        for one in move.certain_effects()[:_MOST_EFFECTS]
    ]
    rows += [(one.name, None, None, None) for one in move.features if one.is_beyond][:_MOST_EFFECTS]
    interval = Interval(move.actual - move.half_width, move.actual + move.half_width, level)
    rounded = tuple(
        tuple(_round_figure(cell) if isinstance(cell, float) else cell for cell in row) for row in rows
    )
    return MeasureResult(
        MOVE,
        target,
        Measurement(move.actual, move.n, interval=interval, detail=DetailTable(COLUMNS, rounded)),
    )


def _round_figure(value: float) -> float:
    """Four digits: more says no more, and takes room."""
    return float(f"{value:.4g}")


def _jackknife_variance(by_fold: Floats) -> Floats:
    """Variance of each column, of rows without one fold each; the first row is of all."""
    left = by_fold[1:]
    variance: Floats = (FOLDS - 1) / FOLDS * np.square(left - left.mean(axis=0)).sum(axis=0)
    return variance
