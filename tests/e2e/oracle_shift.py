"""Shift, data quality and volume once more, from raw rows."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from oracle import LEVEL, TOLERANCE, Expected, How, Key, Log, ks, rate, records, valid
from scipy import special, stats

Named: TypeAlias = Iterator[tuple[str, Expected]]
DAY = 86_400_000_000


def of_records(log: Log, rows: pd.DataFrame, *, features: bool = True) -> dict[Key, Expected]:
    """All that is measured of records without labels: volumes, shift, missing, invalid and unseen values.

    A version's or an arm's features are not counted.
    """
    n = len(rows)
    found = {
        ("records", ""): Expected(float(n), n=n),
        ("duplicate_records", ""): Expected(float(rows["repeats"].sum()), n=n),
        ("stale_records", ""): Expected(
            float((rows["logged"] - rows["event_time"] > log.horizon).sum()), n=n
        ),
        ("adjusted_times", ""): Expected(0.0, n=n),
        ("unlogged_records", ""): Expected(float(rows["logged_at"].isna().sum()), n=n),
    }
    numbers = [("score", "score")] if log.scored else []
    numbers += [(f"feature:{name}", name) for name in log.numeric if features]
    levels = [(f"feature:{name}", name) for name in log.categorical if features]
    (levels if log.classes else numbers).append(("prediction", "prediction"))
    for subject, column in numbers:
        found |= {(name, subject): expected for name, expected in _number_shift(log, rows, column)}
    for subject, column in levels:
        found |= {(name, subject): expected for name, expected in _level_shift(log, rows, column)}
    return found


def of_segment(log: Log, reference: pd.DataFrame | None, rows: pd.DataFrame) -> dict[Key, Expected]:
    """Records of a segment against the same segment of the reference, which may have none."""
    found = of_records(
        log if reference is None else replace(log, reference=reference, whole=log.reference),
        rows,
        features=False,
    )
    if reference is None:
        found |= {key: Expected(None) for key in found if key[0].startswith(("stability_index", "ks_"))}
    return found


def of_volume(
    log: Log, window: str, span: tuple[int, int], as_of: int, first_as_of: int
) -> dict[Key, Expected]:
    """Records against the mean of four earlier spans that were counted whole and are not empty."""
    edge = -(-(first_as_of - log.horizon) // log.pane) * log.pane
    seen = records(log, (edge, first_as_of + TOLERANCE + 1), first_as_of)["event_time"].min() // DAY * DAY
    oldest = max(edge, seen, as_of - log.horizon)
    back = {"7d": 7, "month": 35, "30d": 35, "90d": 91, "365d": 371}[window] * DAY
    earlier = [(span[0] - k * back, span[1] - k * back) for k in range(1, 5)]
    totals = [len(records(log, one, as_of)) for one in earlier if one[0] >= oldest]
    n, usual = len(records(log, span, as_of)), [total for total in totals if total]
    return {("volume_ratio", ""): Expected(n / float(np.mean(usual)) if usual else None, n=n)}


def _number_shift(log: Log, rows: pd.DataFrame, column: str) -> Named:
    sides = [side[column].astype("float64") for side in (log.reference, rows)]
    right = [side[valid(side.to_frame(), column, log)].to_numpy() for side in sides]
    missing = [int(side.isna().sum()) for side in sides]
    invalid = [len(side) - gone - len(good) for side, gone, good in zip(sides, missing, right, strict=True)]
    whole = log.reference if log.whole is None else log.whole
    ordered = np.sort(whole[column].astype("float64")[valid(whole, column, log)].to_numpy())
    edges = np.unique([ordered[-(-k * len(ordered) // 10) - 1] for k in range(1, 10)])
    cells = [
        [*np.bincount(np.searchsorted(edges, good, side="right"), minlength=len(edges) + 1), gone, bad]
        for good, gone, bad in zip(right, missing, invalid, strict=True)
    ]
    yield from _index(np.array(cells[0]), np.array(cells[1]))
    if len(right[1]):
        distance = ks(right[0], right[1])
        root = math.sqrt(len(right[0]) * len(right[1]) / (len(right[0]) + len(right[1])))
        yield "ks_distance", Expected(distance, How.BELOW, len(right[1]))
        lowest = float(stats.kstwobign.sf(distance * root))
        yield "ks_p_value", Expected(lowest, How.BETWEEN, bounds=(lowest, 1.0))
    else:
        yield "ks_distance", Expected(None)
        yield "ks_p_value", Expected(None)
    yield "missing_rate", rate(missing[1], len(rows))
    yield "invalid_rate", rate(invalid[1], len(rows))


def _level_shift(log: Log, rows: pd.DataFrame, column: str) -> Named:
    sides = [side[column] for side in (log.reference, rows)]
    counts = sides[0].value_counts()
    known, named = set(counts.index), counts[counts >= 10]
    if column == "prediction":
        known, named = set(log.classes), counts.reindex(list(log.classes), fill_value=0)
    first = sorted(named.index, key=lambda level: (-int(named[level]), str(level)))[:19]
    cells = []
    for side in sides:
        by_level = side.value_counts()
        of_first = [int(by_level.get(level, 0)) for level in first]
        others = sum(int(count) for level, count in by_level.items() if level in known) - sum(of_first)
        unseen = sum(int(count) for level, count in by_level.items() if level not in known)
        cells.append(np.array([*of_first, others, unseen, int(side.isna().sum())]))
    yield from _index(cells[0], cells[1])
    yield "missing_rate", rate(int(cells[1][-1]), len(rows))
    yield "unseen_rate", rate(int(cells[1][-2]), len(rows))
    yield "invalid_rate", rate(0, len(rows))


def _index(reference: Any, current: Any) -> Named:
    used = (reference + current) > 0
    q, p = reference[used], current[used]
    m, n, held = int(q.sum()), int(p.sum()), tuple(int(count) for count in q if count)
    enough = n >= 10 * len(q) and n > 0
    yield "stability_index", Expected(float(_stability(q, p)) if enough else None, n=n)
    if n == 0:
        yield "stability_index_critical", Expected(None)
        yield "stability_index_bias", Expected(None)
        return
    yield "stability_index_bias", Expected((len(held) - 1) * (1 / n + 1 / m), n=n)
    if min(held) * min(1.0, n / m) >= 50:
        quantile = float(stats.chi2.ppf(LEVEL, len(held) - 1)) if len(held) > 1 else 0.0
        yield "stability_index_critical", Expected((1 / n + 1 / m) * quantile, n=n)
    else:
        lower, upper = _simulated(held, n)
        yield "stability_index_critical", Expected(lower, How.BETWEEN, n, (lower, upper))


def _stability(q: Any, p: Any) -> Any:
    """Each row's index, with half a record more on both sides of each cell that is not empty on both."""
    half = 0.5 * (q + p > 0)
    q, p = (q + half) / (q + half).sum(-1, keepdims=True), (p + half) / (p + half).sum(-1, keepdims=True)
    return (special.rel_entr(p, q) + special.rel_entr(q, p)).sum(-1)


@lru_cache(maxsize=1024)
def _simulated(held: tuple[int, ...], n: int) -> tuple[float, float]:
    """Quantiles 0.91 and 0.98 of the index without shift: 1,000 draws miss them by five standard errors.

    One twelfth is left for sizes and shares that are rounded to two digits.
    """
    rng, shares = np.random.default_rng(20131231), np.array(held) / sum(held)
    sides = [rng.multinomial(size, shares, size=2_000) for size in (sum(held), n)]
    lower, upper = np.quantile(_stability(*sides), [0.91, 0.98])
    return float(lower) * 11 / 12, float(upper) * 13 / 12


def of_cycle(log: Log, as_of: int) -> dict[Key, Expected]:
    """Known rows that have no place in a window, within two horizons before and one after.

    A label whose prediction is in the table, even if it is logged later, is no orphan; predictions are looked
    for within a horizon more than the labels.
    """
    rows, labels = log.predictions, log.labels
    logged = rows["logged_at"].fillna(rows["event_time"]).astype("int64")
    lower, upper = as_of - 2 * log.horizon, as_of + log.horizon
    known = (logged <= as_of) & (rows["event_time"] >= lower) & (rows["event_time"] < upper)
    future = known & (rows["event_time"] > as_of + TOLERANCE)
    stale = known & (logged - rows["event_time"] > log.horizon)
    recent = (labels["reported_at"] >= lower) & (labels["reported_at"] <= as_of)
    near = rows["event_time"].between(lower - log.horizon, upper)
    orphans = recent & ~labels["id"].isin(rows["id"][near])
    seen = rows[known & ~future & rows["id"].notna()]
    by_id = seen.assign(pane=seen["event_time"] // log.pane).groupby(["id", "version"], dropna=False)
    panes = by_id["pane"].nunique()
    counts = {
        "future_records": int(future.sum()),
        "stale_log_records": int(stale.sum()),
        "orphan_labels": int(orphans.sum()),
        "invalid_times": 0,
        "rows_without_id": int((known & rows["id"].isna()).sum()),
        "rows_without_time": 0,
        "repeated_ids": int((panes > 1).sum()),
    }
    return {(name, ""): Expected(float(count), n=count) for name, count in counts.items()}
