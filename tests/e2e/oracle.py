"""Every measure once more: from raw rows, by pandas, scikit-learn and SciPy, without our counts and cells."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

UNSEEN = "(unseen)"
TOLERANCE = 300_000_000  # of clocks, microseconds
LEVEL = 0.95


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


Floats: TypeAlias = NDArray[Any]
Key: TypeAlias = tuple[str, str]
Found: TypeAlias = Iterator[tuple[Key, Expected]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A model's log as data frames. Times are microseconds, classes and categories text, numbers doubles.

    Parameters
    ----------
    predictions
        id, event_time, logged_at, version, arm, prediction, perhaps score, features.
    labels
        id, label, reported_at, revision.
    reference
        prediction, perhaps score, features.
    whole
        the reference, where `reference` is a segment of it: the deciles are the whole's.
    classes
        (negative, positive) of a binary model; empty for a regression.
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
    rows = log.predictions
    logged = rows["logged_at"].fillna(rows["event_time"]).astype("int64")
    inside = (rows["event_time"] >= span[0]) & (rows["event_time"] < span[1])
    known = (logged <= as_of) & (rows["event_time"] <= as_of + TOLERANCE)
    rows = rows.assign(logged=logged, pane=rows["event_time"] // log.pane)[inside & known]
    outputs = ["score", "prediction"] if log.scored else ["prediction"]
    outputs += [column for column in rows.columns if column.startswith("probability:")]
    key = ["pane", "id", "version"]
    rows = rows.sort_values([*key, "logged", *outputs], na_position="first", kind="stable")
    size = rows.groupby(key, sort=False, dropna=False)["id"].transform("size")
    first = rows.assign(repeats=size - 1).drop_duplicates(key).reset_index(drop=True)
    return first.assign(row=first.index)


def with_labels(log: Log, rows: pd.DataFrame, as_of: int) -> pd.DataFrame:
    """Records, without features, with their winning label and with what their reports tell."""
    pairs = rows[["row", "id", "event_time"]].merge(log.labels, on="id")
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
    told["invalid"] = False if log.classes else told["label"].notna() & ~_finite(told["label"])
    told["known"] = told["label"].notna() & ~told["invalid"]
    return told.assign(actual=_positions(log, told["label"]), said=_positions(log, told["prediction"]))


def _positions(log: Log, outcome: pd.Series) -> pd.Series:
    """Position of each class, k of one that is not known, -1 where there is none; numbers have none."""
    if not log.classes:
        return pd.Series(-1, outcome.index)
    position = {name: at for at, name in enumerate(log.classes)}
    found = outcome.map(position).fillna(len(log.classes))
    return found.where(outcome.notna(), -1).astype("int64")


def _finite(values: pd.Series) -> pd.Series:
    return values.astype("float64").between(-sys.float_info.max, sys.float_info.max)


def of_labels(log: Log, told: pd.DataFrame, *, delays: bool = True) -> dict[Key, Expected]:
    """All that is measured of records with labels; a version's or an arm's are not told their delays."""
    families: list[Callable[[Log, pd.DataFrame], Found]] = [_label_quality]
    families += [_class_rates, _class_averages, _cells] if log.classes else [_errors]
    families += [_scores] if log.binary and log.scored else []
    families += [_delays] if delays else []
    return {key: expected for family in families for key, expected in family(log, told)}


def rate(count: int, n: int) -> Expected:
    """Share with Wilson's interval: both p at which the share lies z standard errors away."""
    if n == 0:
        return Expected(None)
    share, z2 = count / n, float(stats.norm.ppf(0.5 + LEVEL / 2)) ** 2
    lower, upper = sorted(np.roots([1 + z2 / n, -2 * share - z2 / n, share**2]).real)
    return Expected(share, n=n, bounds=(float(lower), float(upper)))


def difference(first: tuple[int, int], second: tuple[int, int]) -> Expected:
    """Newcombe (1998), method 10: of two rates, by squares and the roots of both Wilson intervals."""
    one, two = rate(*first), rate(*second)
    if one.value is None or two.value is None or one.bounds is None or two.bounds is None:
        return Expected(None)
    value = one.value - two.value
    lower = value - math.sqrt((one.value - one.bounds[0]) ** 2 + (two.bounds[1] - two.value) ** 2)
    upper = value + math.sqrt((one.bounds[1] - one.value) ** 2 + (two.value - two.bounds[0]) ** 2)
    return Expected(value, n=first[1] + second[1], bounds=(lower, upper))


def mean(terms: Any, value: float) -> Expected:
    """Value of a library, with the normal interval of the mean of its terms."""
    half = float(stats.norm.ppf(0.5 + LEVEL / 2) * stats.sem(terms)) if len(terms) > 1 else math.nan
    bounds = (max(0.0, value - half), value + half) if half > 1e-12 else None
    return Expected(value, n=len(terms), bounds=bounds)


def _codes(told: pd.DataFrame) -> tuple[Floats, Floats]:
    """Actual and predicted class of the records that have both."""
    both = (told["actual"] >= 0) & (told["said"] >= 0)
    return told.loc[both, "actual"].to_numpy(), told.loc[both, "said"].to_numpy()


def _class_rates(log: Log, told: pd.DataFrame) -> Found:
    actual, said = _codes(told)
    n, k = len(actual), len(log.classes)
    right = np.zeros((4, k))
    if n:
        right = metrics.precision_recall_fscore_support(actual, said, labels=range(k), zero_division=0)
    for at, name in enumerate(log.classes):
        true, predicted = int(np.sum(actual == at)), int(np.sum(said == at))
        found = {
            "precision": rate(round(right[0][at] * predicted), predicted),
            "recall": rate(round(right[1][at] * true), true),
            "base_rate": rate(true, n),
            "predicted_rate": rate(predicted, n),
            "f1": Expected(float(right[2][at]) if true + predicted else None),
        }
        if log.binary and at == 0:
            yield ("specificity", ""), found["recall"]
        elif log.binary:
            yield from (((measure, ""), expected) for measure, expected in found.items())
        else:
            del found["f1"]
            yield from (((measure, f"class:{name}"), expected) for measure, expected in found.items())


def _class_averages(log: Log, told: pd.DataFrame) -> Found:
    actual, said = _codes(told)
    n, k = len(actual), len(log.classes)
    right = round(metrics.accuracy_score(actual, np.where(said == k, -1, said)) * n) if n else 0
    most = max(int(np.sum(actual == at)) for at in range(k))
    present = np.unique(actual[actual < k])
    recalls = metrics.recall_score(actual, said, labels=present, average=None) if len(present) else None
    yield ("accuracy", ""), rate(right, n)
    yield ("majority_accuracy", ""), rate(most, n)
    yield ("relative_accuracy", ""), Expected(right / most if most else None)
    yield ("average_class_accuracy", ""), Expected(None if recalls is None else float(np.mean(recalls)))
    yield ("harmonic_class_accuracy", ""), Expected(None if recalls is None else float(stats.hmean(recalls)))
    yield ("absent_classes", ""), Expected(float(k - len(present)) if n else None)


def _cells(log: Log, told: pd.DataFrame) -> Found:
    sides, names = _codes(told), [*log.classes, UNSEEN]
    n, known = len(sides[0]), range(len(names))
    counts = metrics.confusion_matrix(*sides, labels=known) if n else np.zeros((len(names),) * 2)
    profit = 0.0
    for (row, column), count in np.ndenumerate(counts):
        profit += count * log.profit.get((names[row], names[column]), 0.0)
        if count or (log.binary and max(row, column) < 2):
            subject = f"actual:{names[row]},predicted:{names[column]}"
            yield ("confusion_records", subject), Expected(float(count), n=n)
    if log.profit:
        yield ("profit", ""), Expected(profit if n else None)
        yield ("profit_per_record", ""), Expected(profit / n if n else None)


def _scores(log: Log, told: pd.DataFrame) -> Found:
    rows = told[told["actual"].isin((0, 1)) & valid(told, "score", log)]
    score, truth = rows["score"].to_numpy(), rows["actual"].to_numpy()
    n, classes = len(rows), len(set(truth))
    auc = separation = brier = loss = Expected(None)
    if classes == 2:
        auc = Expected(float(metrics.roc_auc_score(truth, score)), How.WITHIN, n)
        separation = Expected(ks(score[truth == 1], score[truth == 0]), How.BELOW, n)
    given = np.where(truth == 1, score, 1 - score)
    clipped = np.clip(given, 2.0**-52, 1 - 2.0**-52)
    if n:
        brier = mean((1 - given) ** 2, float(metrics.brier_score_loss(truth, score, pos_label=1)))
        loss = mean(-np.log(clipped), float(metrics.log_loss(truth, score, labels=[0, 1])))
    yield ("roc_auc", ""), auc
    yield ("ks_separation", ""), separation
    yield ("brier_score", ""), brier
    yield ("log_loss", ""), loss
    yield ("clipped_records", ""), Expected(float(np.sum(clipped != given)), n=n)


def _errors(log: Log, told: pd.DataFrame) -> Found:
    rows = told[told["known"] & valid(told, "prediction", log)]
    label, said = rows["label"].to_numpy(dtype=float), rows["prediction"].to_numpy(dtype=float)
    squared = mean((said - label) ** 2, float(metrics.mean_squared_error(label, said)))
    root = float(metrics.root_mean_squared_error(label, said))
    bounds = None
    if squared.bounds is not None and squared.value is not None:
        half = (squared.bounds[1] - squared.value) / (2 * root)
        bounds = (max(0.0, root - half), root + half)
    yield ("mean_squared_error", ""), squared
    yield ("root_mean_squared_error", ""), Expected(root, n=len(rows), bounds=bounds)
    absolute = float(metrics.mean_absolute_error(label, said))
    yield ("mean_absolute_error", ""), mean(np.abs(said - label), absolute)
    determined = float(metrics.r2_score(label, said)) if len(set(label)) > 1 else None
    yield ("r2_score", ""), Expected(determined, n=len(rows))


def _label_quality(log: Log, told: pd.DataFrame) -> Found:
    n, known = len(told), told["known"]
    yield ("coverage", ""), rate(int(known.sum()), n)
    counts = {
        "labelled_records": known,
        "corrected_labels": told["corrections"],
        "retracted_labels": told["reported"] & told["label"].isna(),
        "invalid_labels": told["invalid"],
        "stale_labels": told["newest"] - told["event_time"] > log.horizon,
        "early_labels": known & (told["first"] < told["event_time"]),
    }
    for name, counted in counts.items():
        yield (name, ""), Expected(float(counted.sum()), n=n)


def _delays(log: Log, told: pd.DataFrame) -> Found:
    rows = told[told["known"] & (told["actual"] < len(log.classes))]
    seconds = np.sort((rows["first"] - rows["event_time"]).to_numpy(dtype=float) / 1e6)
    for name, share in (("label_delay_median", 0.5), ("label_delay_p90", 0.9)):
        if len(seconds) == 0:
            yield (name, ""), Expected(None)
            continue
        rank = math.ceil(share * len(seconds))
        yield (name, ""), Expected(max(0.0, float(seconds[rank - 1])), How.ABOVE, len(seconds))


def of_arms(log: Log, told: pd.DataFrame) -> dict[Key, Expected]:
    """Control against treatment: outcomes, and treatment's less control's."""
    if not log.classes:
        return _means(told[told["known"] & valid(told, "prediction", log)])
    if not log.binary:
        return {}
    rows = told[told["known"] & told["label"].isin(log.classes)]
    positive = rows["label"] == log.classes[1]
    sides = [
        (int((positive & (rows["arm"] == arm)).sum()), int((rows["arm"] == arm).sum()))
        for arm in ("treatment", "control")
    ]
    return {
        ("treatment_outcome_rate", ""): rate(*sides[0]),
        ("control_outcome_rate", ""): rate(*sides[1]),
        ("outcome_rate_difference", ""): difference(*sides),
    }


def _means(rows: pd.DataFrame) -> dict[Key, Expected]:
    found: dict[Key, Expected] = {}
    sides = [rows.loc[rows["arm"] == arm, "label"].to_numpy(dtype=float) for arm in ("treatment", "control")]
    for arm, side in zip(("treatment", "control"), sides, strict=True):
        interval = stats.ttest_1samp(side, 0.0).confidence_interval(LEVEL)
        bounds = (float(interval.low), float(interval.high))
        found[f"{arm}_outcome_mean", ""] = Expected(float(np.mean(side)), n=len(side), bounds=bounds)
    interval = stats.ttest_ind(*sides, equal_var=False).confidence_interval(LEVEL)
    found["outcome_mean_difference", ""] = Expected(
        float(np.mean(sides[0]) - np.mean(sides[1])),
        n=len(rows[rows["arm"].isin(("treatment", "control"))]),
        bounds=(float(interval.low), float(interval.high)),
    )
    return found


def valid(rows: pd.DataFrame, column: str, log: Log) -> pd.Series:
    """Rows whose number is one: finite, a score in [0, 1]."""
    within = column == "score" and log.classes
    return rows[column].astype("float64").between(0.0, 1.0) if within else _finite(rows[column])


def ks(one: Any, two: Any) -> float:
    """Largest difference of two empirical distribution functions."""
    if min(len(one), len(two)) < 10:
        return float(stats.ks_2samp(one, two, method="exact").statistic)
    return float(stats.ks_2samp(one, two, method="asymp").statistic)
