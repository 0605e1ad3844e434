"""Every measure once more: from raw rows, by pandas, scikit-learn and SciPy, without our counts and cells.

Here: which rows there are, and what all families need.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

UNSEEN = "(unseen)"
TOLERANCE = 300_000_000  # of clocks, microseconds
LEVEL = 0.95
Z = float(stats.norm.ppf(0.5 + LEVEL / 2))
DAY = 86_400_000_000


class How(Enum):
    """What the monitor may report beside the exact value."""

    EXACT = auto()
    WITHIN = auto()  # at most the resolution away
    BELOW = auto()  # at most the resolution below
    ABOVE = auto()  # at most the resolution above
    BETWEEN = auto()  # the bounds are given


@dataclass(frozen=True, slots=True)
class Expected:
    """A value (None: there must be none), how near it must be, and its interval if that has a closed form."""

    value: float | None
    how: How = How.EXACT
    n: int | None = None
    bounds: tuple[float, float] | None = None


NONE = Expected(None)
Floats: TypeAlias = NDArray[Any]
Span: TypeAlias = tuple[int, int]
Key: TypeAlias = tuple[str, str]
Found: TypeAlias = Iterator[tuple[Key, Expected]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A model's log as data frames. Times are microseconds, classes and categories text, numbers doubles.

    Parameters
    ----------
    predictions
        id, event_time, logged_at, version, arm, prediction, perhaps score and challenger, features; perhaps
        key, by which the database finds the labels of a row, said, the text of its event time, and adjusted:
        a change of clocks moved that.
    labels
        id, label, reported_at, revision, perhaps key.
    invalid
        rows whose event time is no time: id, version, when they were logged, what is said.
    timeless
        when each row was logged whose event time is NULL.
    reference
        prediction, label, perhaps score, features.
    whole
        the reference, where `reference` is a segment of it, or another moment: the cells are the whole's.
    classes
        (negative, positive) of a binary model; empty for a regression.
    planned, detect, threshold
        share of the control arm, difference between the arms that matters, the challenger's threshold.
    made
        deciles and levels by column, which are made of the cells' reference once.
    """

    predictions: pd.DataFrame
    labels: pd.DataFrame
    reference: pd.DataFrame
    classes: tuple[str, ...]
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    pane: int
    horizon: int
    profit: dict[Key, float]
    segments: tuple[str, ...] = ()
    whole: pd.DataFrame | None = None
    planned: float | None = None
    detect: float | None = None
    threshold: float | None = None
    invalid: pd.DataFrame | None = None
    timeless: pd.Series = field(default_factory=partial(pd.Series, dtype="Int64"))
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def grids(self) -> pd.DataFrame:
        """Reference that the cells are made of."""
        return self.reference if self.whole is None else self.whole

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @property
    def scored(self) -> bool:
        """Whether there are scores, which lie in [0, 1]."""
        return "score" in self.predictions.columns


def records(log: Log, span: tuple[int, int], as_of: int) -> pd.DataFrame:
    """Rows known as of a moment with event times in [start, end), one for each pane, id and version."""
    rows = visible(log, span, as_of)
    outputs = ["score", "prediction"] if log.scored else ["prediction"]
    outputs += [column for column in rows.columns if column.startswith("probability:")]
    key = ["pane", "id", "version"]
    rows = rows.sort_values([*key, "logged", *outputs], na_position="first", kind="stable")
    size = rows.groupby(key, sort=False, dropna=False)["id"].transform("size")
    first = rows.assign(repeats=size - 1).drop_duplicates(key).reset_index(drop=True)
    return first.assign(row=first.index)


def visible(log: Log, span: tuple[int, int], as_of: int) -> pd.DataFrame:
    """Rows with an id known as of a moment with event times in [start, end)."""
    rows = log.predictions[log.predictions["id"].notna()]
    rows = rows[rows["event_time"].between(span[0], min(span[1] - 1, as_of + TOLERANCE))]
    logged = rows["logged_at"].fillna(rows["event_time"]).astype("int64")
    return rows.assign(logged=logged, pane=rows["event_time"] // log.pane)[logged <= as_of]


def first_counted(log: Log, first_as_of: int) -> int:
    """Start of the panes that the first cycle, and no later one, counted: of the log, or of the horizon."""
    edge = -(-(first_as_of - log.horizon) // log.pane) * log.pane
    seen = records(log, (edge, first_as_of + TOLERANCE + 1), first_as_of)["event_time"].min() // DAY * DAY
    return int(max(edge, seen))


def of_spans(log: Log, spans: Sequence[Span], as_of: int) -> pd.DataFrame:
    """Records of several spans."""
    rows = pd.concat([records(log, span, as_of) for span in spans], ignore_index=True)
    return rows.assign(row=rows.index)


def with_labels(log: Log, rows: pd.DataFrame, as_of: int) -> pd.DataFrame:
    """Records, without features, with their winning label and with what their reports tell."""
    pairs = _pairs(log, rows, as_of)
    pairs["at"] = pairs["reported_at"].fillna(pairs["event_time"]).astype("int64")
    there = pairs[["label", "reported_at", "revision"]].notna().any(axis=1)
    pairs = pairs[there & (pairs["at"] <= as_of)]
    ordered = pairs.sort_values("label", na_position="first", kind="stable")
    ordered = ordered.sort_values("at", ascending=False, kind="stable")
    ordered = ordered.sort_values("revision", ascending=False, na_position="last", kind="stable")
    label = ordered.drop_duplicates("row").set_index("row")["label"]
    different = pairs.drop_duplicates(["row", "revision", "at", "label"]).groupby("row").size()
    told = rows.drop(columns=[*log.numeric, *log.categorical]).set_index("row", drop=False)
    told["reported"] = told["row"].isin(label.index)
    told["label"] = label
    told["corrections"] = (different - 1).reindex(told.index, fill_value=0)
    told["first"] = pairs[pairs["label"].notna()].groupby("row")["at"].min()
    told["newest"] = pairs.groupby("row")["at"].max()
    return judged(log, told)


def _pairs(log: Log, rows: pd.DataFrame, as_of: int) -> pd.DataFrame:
    """Each record with each of its labels: of all rows of its id, as the database compares ids."""
    if "key" not in log.labels.columns or rows.empty:
        return rows[["row", "id", "event_time"]].merge(
            log.labels.drop(columns="key", errors="ignore"), on="id"
        )
    span = int(rows["pane"].min()) * log.pane, (int(rows["pane"].max()) + 1) * log.pane
    members = visible(log, span, as_of)[["pane", "id", "version", "key"]].drop_duplicates()
    of_record = rows[["row", "event_time", "pane", "id", "version"]].merge(members)
    return of_record.merge(log.labels.drop(columns="id"), on="key")


def judged(log: Log, told: pd.DataFrame) -> pd.DataFrame:
    """Rows with labels, and what these and the predictions are."""
    there = told["label"].notna()
    if not log.classes:
        invalid = there & ~_finite(told["label"])
    else:  # of two classes a third is no label; of several it may be a new one
        invalid = there & ~told["label"].isin(log.classes) & log.binary
    told = told.assign(invalid=invalid, known=there & ~np.asarray(invalid))
    actual = _positions(log, told["label"].where(told["known"]))
    return told.assign(actual=actual, said=_positions(log, told["prediction"]))


def _positions(log: Log, outcome: pd.Series) -> pd.Series:
    """Position of each class, k of one that is not known, -1 where there is none; numbers have none."""
    if not log.classes:
        return pd.Series(-1, outcome.index)
    position = {name: at for at, name in enumerate(log.classes)}
    found = outcome.map(position).fillna(len(log.classes))
    return found.where(outcome.notna(), -1).astype("int64")


def _finite(values: pd.Series) -> Floats:
    finite: Floats = np.isfinite(values.to_numpy(dtype=float))
    return finite


@lru_cache(maxsize=16_384)
def rate(count: int, n: int) -> Expected:
    """Share with Wilson's interval: both p at which the share lies z standard errors away."""
    if n == 0:
        return Expected(None)
    share, z2 = count / n, Z**2
    lower, upper = sorted(np.roots([1 + z2 / n, -2 * share - z2 / n, share**2]).real)
    return Expected(share, n=n, bounds=(float(lower), float(upper)))


def difference(first: tuple[int, int], second: tuple[int, int]) -> Expected:
    """Newcombe (1998), method 10: of two rates, by squares and the roots of both Wilson intervals."""
    return replace(less(rate(*first), rate(*second)), n=first[1] + second[1])


def less(one: Expected, two: Expected) -> Expected:
    """One value less another: Zou & Donner (2008), of both intervals by squares and roots."""
    if one.value is None or two.value is None:
        return NONE
    value, bounds = one.value - two.value, None
    if one.bounds is not None and two.bounds is not None:
        lower = value - math.sqrt((one.value - one.bounds[0]) ** 2 + (two.bounds[1] - two.value) ** 2)
        upper = value + math.sqrt((one.bounds[1] - one.value) ** 2 + (two.value - two.bounds[0]) ** 2)
        bounds = (lower, upper)
    exact = one.how is two.how is How.EXACT
    return Expected(value, How.EXACT if exact else How.WITHIN, one.n, bounds)


def mean(terms: Any, value: float, lowest: float = 0.0) -> Expected:
    """Value of a library, with the normal interval of the mean of its terms, which are `lowest` at least."""
    half = Z * float(stats.sem(terms)) if len(terms) > 1 else math.nan
    bounds = (max(lowest, value - half), value + half) if half > 1e-12 else None
    return Expected(value, n=len(terms), bounds=bounds)


def valid(rows: pd.DataFrame, column: str, log: Log) -> Floats:
    """Rows whose number is one: finite, a score in [0, 1]."""
    if not (column == "score" and log.classes):
        return _finite(rows[column])
    score = rows[column].to_numpy(dtype=float)
    return (score >= 0.0) & (score <= 1.0)


def ranked(ordered: Floats, cells: int) -> Floats:
    """Distinct values at the ranks that cut ascending values into so many parts."""
    return np.unique([ordered[-(-k * len(ordered) // cells) - 1] for k in range(1, cells)])


def ks(one: Any, two: Any) -> float:
    """Largest difference of two empirical distribution functions."""
    if min(len(one), len(two)) < 10:
        return float(stats.ks_2samp(one, two, method="exact").statistic)
    return float(stats.ks_2samp(one, two, method="asymp").statistic)
