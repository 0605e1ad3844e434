"""Windows against another moment once more: the same oracle on both moments, one less the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from oracle import NONE, Expected, How, Key, Log, less, valid
from oracle_classes import codes

from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import BetterDirection, MeasureFamily, MeasureUnit
from monitor.measures.measurement_row import MeasurementRow

FAMILIES = (MeasureFamily.PERFORMANCE, MeasureFamily.AVERAGES, MeasureFamily.GAINS, MeasureFamily.CALIBRATION)
CONTRIBUTION, LOSS_BY_MIX = "segment_contribution", "log_loss_by_mix"
_MIDDLES = 2.0**-12, 1 - 2.0**-12  # of the outermost cells, which end at 2^-11


@dataclass(frozen=True, slots=True)
class Moment:
    """Records with labels, and the same by segment."""

    told: pd.DataFrame
    segments: Mapping[str, pd.DataFrame]


def differences(
    rows: Iterable[MeasurementRow],
    now: Mapping[Key, Expected],
    then: Mapping[Key, Expected],
    *,
    every: bool,
) -> dict[Key, Expected]:
    """Of performance that does not grow with the records; of headlines that have an interval, or of all."""
    found = {}
    for row in rows:
        measure, key = BY_NAME[row.measure], (row.measure, row.subject)
        grows = (
            measure.total
            or measure.unit is MeasureUnit.RECORDS
            or row.measure.endswith(("_critical", "_p_value"))
        )
        headline = measure.compared or (measure.family is MeasureFamily.PERFORMANCE and measure.headline)
        told = measure.family in FAMILIES if every else headline and row.measurement.interval is not None
        if told and not grows and key in then:
            found[key] = less(now[key], then[key])
    return found


def contribution(log: Log, found: Mapping[Key, Expected], now: Moment, then: Moment) -> dict[Key, Expected]:
    """What the segment adds that contributes most to a fall: nothing where there is none."""
    main = ("accuracy" if log.classes else "mean_absolute_error", "")
    difference = found.get(main, NONE)
    if difference.bounds is None or not now.segments or not then.segments:
        return {}
    sign = -1 if BY_NAME[main[0]].direction is BetterDirection.HIGHER else 1
    if max(sign * bound for bound in difference.bounds) <= 0 or min(sign * b for b in difference.bounds) <= 0:
        return {}
    whole = [_hits(log, moment.told) for moment in (now, then)]
    adds = {}
    for name in now.segments.keys() | then.segments.keys():
        parts = [
            _hits(log, moment.segments[name]) if name in moment.segments else whole[0][:0]
            for moment in (now, then)
        ]
        pulls = [(part - whole[1].mean()).sum() / len(all_) for part, all_ in zip(parts, whole, strict=True)]
        adds[name] = (float(pulls[0] - pulls[1]), len(parts[0]))
    value, n = max(adds.values(), key=lambda pair: sign * pair[0])
    return {(CONTRIBUTION, ""): Expected(value, n=n)} if sign * value > 0 else {}


def loss_by_mix(log: Log, now: Moment, then: Moment) -> dict[Key, Expected]:
    """How much of a difference of log losses other records make: of scores in place of their cells."""
    if len(log.classes) != 2 or "score" not in log.predictions.columns:
        return {}
    (score, _), (earlier, outcome) = (_labelled_scores(log, moment.told) for moment in (now, then))
    if min(len(score), len(earlier)) < 50:
        return {}
    return {(LOSS_BY_MIX, ""): _expected_step(score, earlier, outcome)}


def loss_by_scores(log: Log, known: pd.DataFrame, reference: Moment) -> dict[Key, Expected]:
    """The same of all records, by their scores alone, from the reference's labels."""
    if len(log.classes) != 2 or "score" not in log.predictions.columns:
        return {}
    score = np.clip(known["score"].to_numpy(dtype=float)[valid(known, "score", log)], *_MIDDLES)
    earlier, outcome = _labelled_scores(log, reference.told)
    if min(len(score), len(earlier)) < 50:
        return {}
    return {("log_loss_by_scores", "score"): _expected_step(score, earlier, outcome)}


def _labelled_scores(log: Log, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    actual = rows["actual"].to_numpy()
    used = valid(rows, "score", log) & (actual >= 0) & (actual < 2)
    return np.clip(rows["score"].to_numpy(dtype=float)[used], *_MIDDLES), actual[used]


def _expected_step(score: np.ndarray, earlier: np.ndarray, outcome: np.ndarray) -> Expected:
    edges = np.quantile(earlier, np.arange(1, 40) / 40)
    means = pd.Series(outcome).groupby(np.searchsorted(edges, earlier)).mean()
    usual = means.reindex(range(40)).ffill().bfill().to_numpy()

    def expected_loss(scores: np.ndarray) -> float:
        chance = usual[np.searchsorted(edges, scores)]
        return float((-chance * np.log(scores) - (1 - chance) * np.log1p(-scores)).mean())

    step = expected_loss(score) - expected_loss(earlier)
    return Expected(step, How.BETWEEN, len(score), (step - 0.02, step + 0.02))


def _hits(log: Log, told: pd.DataFrame) -> pd.Series:
    """Whether records are predicted right, or by how much they are not."""
    if log.classes:
        actual, said = codes(told)
        return pd.Series((actual == said) & (actual < len(log.classes)), dtype=float)
    rows = told[told["known"] & valid(told, "prediction", log)]
    return (rows["prediction"] - rows["label"].astype(float)).abs()
