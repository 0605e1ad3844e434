"""The script that a user would write with pandas, SciPy and scikit-learn: a report for each day."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats
from sklearn import metrics

Report = dict[str, float]


def read(url: str) -> pd.DataFrame:
    """The whole log."""
    return pd.read_sql("SELECT * FROM predictions", url)


def by_day(frame: pd.DataFrame) -> dict[pd.Timestamp, pd.DataFrame]:
    """Rows of each day."""
    day = pd.to_datetime(frame["event_time"], unit="us").dt.floor("D")
    return dict(iter(frame.groupby(day)))


def stability_index(expected: np.ndarray, actual: np.ndarray) -> float:
    """Population stability index of two sets of counts."""
    p, q = (expected + 0.5) / (expected + 0.5).sum(), (actual + 0.5) / (actual + 0.5).sum()
    return float(((q - p) * np.log(q / p)).sum())


def drift_of_number(reference: pd.Series, current: pd.Series) -> Report:
    """Kolmogorov-Smirnov and stability index on the reference's deciles, of a number."""
    before, now = reference.dropna().to_numpy(), current.dropna().to_numpy()
    test = stats.ks_2samp(before, now)
    edges = np.unique([-np.inf, *np.quantile(before, np.arange(1, 10) / 10), np.inf])
    index = stability_index(np.histogram(before, edges)[0], np.histogram(now, edges)[0])
    missing = float(current.isna().mean())
    return {"ks": float(test.statistic), "p": float(test.pvalue), "psi": index, "missing": missing}


def drift_of_category(reference: pd.Series, current: pd.Series) -> Report:
    """Chi-squared, Jensen-Shannon distance and stability index of a category."""
    before, now = reference.value_counts(), current.value_counts()
    levels = before.index.union(now.index)
    p, q = (one.reindex(levels, fill_value=0).to_numpy() for one in (before, now))
    test = stats.chi2_contingency(np.stack([p, q]))
    distance = float(np.sqrt(stats.entropy(p / p.sum(), (p / p.sum() + q / q.sum()) / 2)))
    missing = float(current.isna().mean())
    index = stability_index(p, q)
    return {
        "chi2": float(test.statistic),
        "p": float(test.pvalue),
        "psi": index,
        "js": distance,
        "missing": missing,
    }


def drift(
    reference: pd.DataFrame, current: pd.DataFrame, numeric: Sequence[str], categorical: Sequence[str]
) -> Mapping[str, Report]:
    """Drift of all columns of a day."""
    numbers = {name: drift_of_number(reference[name], current[name]) for name in numeric}
    return numbers | {name: drift_of_category(reference[name], current[name]) for name in categorical}


def performance(current: pd.DataFrame, threshold: float = 0.5) -> Report:
    """Performance of a day, without intervals."""
    actual, score = current["label"].to_numpy(), current["score"].to_numpy()
    predicted = (score >= threshold).astype(int)
    return {
        "roc_auc": metrics.roc_auc_score(actual, score),
        "average_precision": metrics.average_precision_score(actual, score),
        "log_loss": metrics.log_loss(actual, score),
        "brier": metrics.brier_score_loss(actual, score),
        "accuracy": metrics.accuracy_score(actual, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(actual, predicted),
        "precision": metrics.precision_score(actual, predicted),
        "recall": metrics.recall_score(actual, predicted),
        "f1": metrics.f1_score(actual, predicted),
        "matthews": metrics.matthews_corrcoef(actual, predicted),
    }
