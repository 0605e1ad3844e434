"""Shift, data quality and volume once more, from raw rows."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from oracle import (
    DAY,
    LEVEL,
    NONE,
    TOLERANCE,
    Expected,
    Floats,
    Found,
    How,
    Key,
    Log,
    first_counted,
    ks,
    ranked,
    rate,
    records,
    valid,
)
from scipy import special, stats

MINUTE = 60_000_000
_YEARS = 25 * 366 * DAY  # from a moment of these logs on, none has such rows
Named: TypeAlias = Iterator[tuple[str, Expected]]
BACK = {"1d": 7, "7d": 7, "month": 35, "30d": 35, "90d": 91, "365d": 371}  # days, whole weeks


@dataclass(frozen=True, slots=True)
class Sides:
    """Reference and window of one subject.

    Parameters
    ----------
    cells
        shape (2, cells): counts in the cells of the stability index.
    numbers
        of a subject that is one: the valid ones of both sides.
    bounded
        whether the numbers have a range, as scores do.
    ends
        smallest and largest number of the reference that the cells are made of.
    missing, invalid, unseen
        of the window; levels alone can be unseen.
    """

    cells: Floats
    numbers: tuple[Floats, Floats] | None
    bounded: bool
    missing: int
    invalid: int
    unseen: int = 0
    ends: tuple[float, float] = (-math.inf, math.inf)


def of_records(log: Log, rows: pd.DataFrame, sides: Mapping[str, Sides]) -> dict[Key, Expected]:
    """All that is measured of records without labels: volumes, shift, missing, invalid and unseen values."""
    n = len(rows)
    found = {
        ("records", ""): Expected(float(n), n=n),
        ("duplicate_records", ""): Expected(float(rows["repeats"].sum()), n=n),
        ("stale_records", ""): Expected(
            float((rows["logged"] - rows["event_time"] > log.horizon).sum()), n=n
        ),
        ("adjusted_times", ""): Expected(float(rows["adjusted"].sum()) if "adjusted" in rows else 0.0, n=n),
        ("unlogged_records", ""): Expected(float(rows["logged_at"].isna().sum()), n=n),
    }
    return found | of_faulty_values(sides, n) | of_shift(sides)


def of_log_delays(rows: pd.DataFrame) -> Found:
    """How late rows are logged: of the whole alone."""
    logged = rows[rows["logged_at"].notna()]
    delays = (logged["logged_at"] - logged["event_time"]).sort_values().to_numpy(dtype=float) / 1e6
    for name, share in (("log_delay_median", 0.5), ("log_delay_p90", 0.9)):
        if len(delays) == 0:
            yield (name, ""), NONE
            continue
        rank = math.ceil(share * len(delays))
        yield (name, ""), Expected(max(0.0, float(delays[rank - 1])), How.ABOVE, len(delays))


def of_faulty_values(sides: Mapping[str, Sides], n: int) -> dict[Key, Expected]:
    """Rates of missing, invalid and unseen values among n records."""
    found: dict[Key, Expected] = {}
    for subject, one in sides.items():
        found["missing_rate", subject] = rate(one.missing, n)
        found["invalid_rate", subject] = rate(one.invalid, n)
        if one.numbers is None:
            found["unseen_rate", subject] = rate(one.unseen, n)
    return found


def of_shift(sides: Mapping[str, Sides]) -> dict[Key, Expected]:
    """Stability index and K-S distance of all subjects."""
    found: dict[Key, Expected] = {}
    for subject, one in sides.items():
        found |= {(name, subject): expected for name, expected in _index(*one.cells)}
        if one.numbers is not None:
            found |= {(name, subject): expected for name, expected in _separation(*one.numbers)}
    return found


def of_stratum(log: Log, rows: pd.DataFrame) -> dict[Key, Expected]:
    """Records of a version or an arm, whose features are not counted."""
    return of_records(log, rows, dict(sides_of(log, rows, features=False)))


def of_segment(log: Log, reference: pd.DataFrame | None, rows: pd.DataFrame) -> dict[Key, Expected]:
    """Records of a segment against the same segment of the reference, which may have none."""
    found = of_stratum(
        log if reference is None else replace(log, reference=reference, whole=log.reference), rows
    )
    if reference is None:
        found |= {key: NONE for key in found if key[0].startswith(("stability_index", "ks_"))}
    return found


def sides_of(log: Log, rows: pd.DataFrame, *, features: bool) -> Iterator[tuple[str, Sides]]:
    """Both sides of the outputs and the features."""
    numbers = [("score", "score")] if log.scored else []
    numbers += [(f"feature:{name}", name) for name in log.numeric if features]
    levels = [(f"feature:{name}", name) for name in log.categorical if features]
    (levels if log.classes else numbers).append(("prediction", "prediction"))
    yield from ((subject, _of_numbers(log, rows, column)) for subject, column in numbers)
    yield from ((subject, _of_levels(log, rows, column)) for subject, column in levels)


def of_labels(log: Log, then: pd.DataFrame, now: pd.DataFrame) -> dict[Key, Expected]:
    """Shift of the labels of what has one."""
    sides = [one.loc[one["label"].notna(), ["label"]] for one in (then, now)]
    made = _of_levels if log.classes else _of_numbers
    told = made(replace(log, reference=sides[0], whole=log.grids), sides[1], "label")
    return of_shift({"label": told})


def of_volume(
    log: Log, window: str, span: tuple[int, int], as_of: int, first_as_of: int
) -> dict[Key, Expected]:
    """Records against the mean of four earlier spans that were counted whole and are not empty."""
    oldest, back = max(first_counted(log, first_as_of), as_of - log.horizon), BACK[window] * DAY
    earlier = [(span[0] - k * back, span[1] - k * back) for k in range(1, 5)]
    totals = [len(records(log, one, as_of)) for one in earlier if one[0] >= oldest]
    n, usual = len(records(log, span, as_of)), [total for total in totals if total]
    return {("volume_ratio", ""): Expected(n / float(np.mean(usual)) if usual else None, n=n)}


def _of_numbers(log: Log, rows: pd.DataFrame, column: str) -> Sides:
    sides = [side[column].astype("float64") for side in (log.reference, rows)]
    right = [side.to_numpy()[valid(side.to_frame(), column, log)] for side in sides]
    missing = [int(side.isna().sum()) for side in sides]
    invalid = [len(side) - gone - len(good) for side, gone, good in zip(sides, missing, right, strict=True)]
    if column not in log.made:
        of_grid = np.sort(log.grids[column].astype("float64")[valid(log.grids, column, log)].to_numpy())
        log.made[column] = ranked(of_grid, 10), (float(of_grid[0]), float(of_grid[-1]))
    edges, ends = log.made[column]
    cells = [
        [*np.bincount(np.searchsorted(edges, good, side="right"), minlength=len(edges) + 1), gone, bad]
        for good, gone, bad in zip(right, missing, invalid, strict=True)
    ]
    bounded = bool(column == "score" and log.classes)
    return Sides(np.array(cells), (right[0], right[1]), bounded, missing[1], invalid[1], ends=ends)


def _of_levels(log: Log, rows: pd.DataFrame, column: str) -> Sides:
    """Levels that the grid names, in its order, of which those are first that the reference has most of."""
    if column not in log.made:
        counts = log.grids[column].value_counts()
        named = counts[counts >= 10]
        order = sorted(named.index, key=lambda level: (-int(named[level]), str(level)))
        log.made[column] = set(counts.index), order
    known, order = log.made[column]
    if column in ("prediction", "label"):
        known, order = set(log.classes), list(log.classes)
    held = log.reference[column].value_counts()
    first = sorted(order, key=lambda level: -int(held.get(level, 0)))[:19]
    cells = []
    for side in (log.reference[column], rows[column]):
        by_level = side.value_counts()
        of_first = [int(by_level.get(level, 0)) for level in first]
        others = sum(int(count) for level, count in by_level.items() if level in known) - sum(of_first)
        unseen = sum(int(count) for level, count in by_level.items() if level not in known)
        cells.append([*of_first, others, unseen, int(side.isna().sum())])
    return Sides(np.array(cells), None, False, missing=cells[1][-1], invalid=0, unseen=cells[1][-2])


def _separation(reference: Floats, current: Floats) -> Named:
    if not len(reference) or not len(current):
        yield "ks_distance", NONE
        yield "ks_p_value", NONE
        return
    distance = ks(reference, current)
    root = math.sqrt(len(reference) * len(current) / (len(reference) + len(current)))
    yield "ks_distance", Expected(distance, How.BELOW, len(current))
    lowest = float(stats.kstwobign.sf(distance * root))
    yield "ks_p_value", Expected(lowest, How.BETWEEN, bounds=(lowest, 1.0))


def _index(reference: Any, current: Any) -> Named:
    used = (reference + current) > 0
    q, p = reference[used], current[used]
    m, n, held = int(q.sum()), int(p.sum()), tuple(int(count) for count in q if count)
    enough = n >= 10 * len(q) and n > 0 and m > 0
    yield "stability_index", Expected(float(_stability(q, p)) if enough else None, n=n)
    if n == 0 or m == 0:
        yield "stability_index_critical", NONE
        yield "stability_index_bias", NONE
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


def _invalid(log: Log, bounds: tuple[int, int], as_of: int) -> pd.DataFrame | None:
    """Rows logged by then whose time is none; of those that begin with a date the ones near the bounds."""
    if log.invalid is None:
        return None
    dated = log.invalid["said"].str.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
    first, last = (str(pd.Timestamp(bound, unit="us").date()) for bound in bounds)
    near = ~dated | log.invalid["said"].between(first, last)
    rows = log.invalid.assign(dated=dated)
    return rows[near & (log.invalid["logged_at"].fillna(0) <= as_of)]


def of_cycle(log: Log, as_of: int, before: int | None = None) -> dict[Key, Expected]:
    """Known rows that have no place in a window, within two horizons before and one after.

    A label is an orphan as long as its prediction is not logged; predictions are looked for within a horizon
    more than the labels. `before`: of the cycle before, if there was one.
    """
    rows, labels = log.predictions, log.labels
    logged = rows["logged_at"].fillna(rows["event_time"]).astype("int64")
    lower, upper = as_of - 2 * log.horizon, as_of + log.horizon
    known = (logged <= as_of) & (rows["event_time"] >= lower) & (rows["event_time"] < upper)
    future = known & (rows["event_time"] > as_of + TOLERANCE)
    stale = known & (logged - rows["event_time"] > log.horizon)
    recent = (labels["reported_at"] >= lower) & (labels["reported_at"] <= as_of)
    near = rows["event_time"].between(as_of - 3 * log.horizon, upper) & (logged <= as_of)
    key = "key" if "key" in labels else "id"
    unheard = recent if before is None else recent & (labels["reported_at"] > before)
    orphans = unheard & (labels["id"].isna() | ~labels[key].isin(rows[key][near]))
    seen = rows[known & ~future & rows["id"].notna()]
    seen = seen.assign(pane=seen["event_time"] // log.pane)
    invalid = _invalid(log, (lower, upper), as_of)
    if invalid is not None:  # an id whose first or last text is no time is left out
        ordered = pd.concat([seen, invalid[invalid["dated"]]]).sort_values("said")
        panes = ordered.groupby(["id", "version"])["pane"].agg(
            lambda pane: pane.nunique() if pane.iloc[[0, -1]].notna().all() else 0
        )
    else:
        panes = seen.groupby(["id", "version"], dropna=False)["pane"].nunique()
    counts = {
        "future_records": int(future.sum()),
        "stale_log_records": int(stale.sum()),
        "orphan_labels": int(orphans.sum()),
        "invalid_times": 0 if invalid is None else len(invalid),
        "rows_without_id": int((known & rows["id"].isna()).sum()),
        "rows_without_time": int((log.timeless.fillna(lower).between(lower, as_of)).sum()),
        "repeated_ids": int((panes > 1).sum()),
    }
    heard = labels["reported_at"][recent]
    ages = {"log_age": logged[known].max(), "label_age": heard.max() if len(labels) else None}
    if before is None or log.invalid is not None:  # odd times of logging find no rows that are new
        misdated = (logged <= as_of) & ~rows["event_time"].between(as_of - _YEARS, as_of + _YEARS)
        first = -(-(lower if before is None else before) // log.pane) * log.pane
        of = int(misdated.sum() + (known & ~future & (rows["event_time"] >= first)).sum())
    else:  # times of logging are text, compared to the minute
        new = (rows["logged_at"] > before) & (rows["logged_at"] < (as_of // MINUTE + 1) * MINUTE)
        misdated = new & ~rows["event_time"].between(before - 2 * log.horizon, upper, inclusive="left")
        of = int(new.sum())
    counts["misdated_records"] = int(misdated.sum())
    found = {(name, ""): Expected(float(count), n=count) for name, count in counts.items()}
    found["misdated_rate", ""] = rate(counts["misdated_records"], of)
    return found | {
        (name, ""): Expected((as_of - int(newest)) / 1e6, n=0)
        for name, newest in ages.items()
        if newest is not None
    }
