"""Predictions, and when their labels come: a log without a fault but for the delays."""

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, SECOND
from simulation.changes import Changes, inserted
from simulation.mix import Delay, Mix

CARRIERS = np.asarray(["AA", "DL", "UA"])
VERSIONS = np.asarray(["v1", "v2"])
_SHAPE = 2.0  # of the scores' beta distribution
_PARETO = 1.2
_NIGHT = 2 * HOUR


def predictions(mix: Mix, span: tuple[int, int], rng: np.random.Generator) -> Changes:
    """Predictions in [start, end), logged within seconds. The second version serves the second half."""
    start, end = span
    event = start + np.sort(rng.integers(0, end - start, (end - start) * mix.per_day // DAY))
    event = event[~np.isin((event - start) // DAY, mix.missing_days)]
    n = len(event)
    logged = event + (rng.exponential(5.0, n) * SECOND).astype(np.int64)
    return inserted(
        logged,
        row=np.arange(n),
        id=np.arange(n),
        event_time=event,
        logged_at=logged,
        model_version=VERSIONS[(event >= (start + end) // 2).astype(np.int64)],
        score=np.round(rng.beta(_SHAPE, _SHAPE * (1.0 - mix.base_rate) / mix.base_rate, n), 6),
        temp=np.round(rng.normal(10.0, 5.0, n), 3),
        carrier=rng.choice(CARRIERS, n),
    )


def labels(mix: Mix, start: int, of: Changes, rng: np.random.Generator) -> Changes:
    """First labels of predictions: the class 1 with the score as its probability.

    Parameters
    ----------
    start
        the log's beginning.
    of
        predictions, each of an id of its own.
    """
    event, n = of.columns["event_time"], len(of)
    label = (rng.random(n) < of.columns["score"]).astype(np.int64)
    delay = np.where(label == 1, _delays(mix.positives, n, rng), _delays(mix.negatives, n, rng))
    if mix.slower is not None:
        delay = np.where(event >= start + mix.slower[0], delay * mix.slower[1], delay)
    reported = event + delay.astype(np.int64)
    if mix.nightly:
        reported = -(-(reported - _NIGHT) // DAY) * DAY + _NIGHT
    for first, last in mix.outages:
        out = (reported >= start + first) & (reported < start + last)
        reported = np.where(out, start + last, reported)
    made = inserted(
        reported,
        row=np.arange(n),
        id=of.columns["id"],
        label=label.astype(np.float64),
        reported_at=reported,
        revision=np.zeros(n, dtype=np.int64),
    )
    return made.take(rng.random(n) >= mix.never)


def _delays(delay: Delay, n: int, rng: np.random.Generator) -> Ints:
    usual = np.exp(rng.normal(np.log(delay.median), delay.spread, n))
    heavy = delay.median * (1.0 + rng.pareto(_PARETO, n))
    return np.where(rng.random(n) < delay.tail, heavy, usual)
