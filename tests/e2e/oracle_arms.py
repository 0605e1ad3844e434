"""Control against treatment, and champion against challenger, of one window: by SciPy and scikit-learn."""

import numpy as np
import pandas as pd
from oracle import LEVEL, NONE, Expected, Floats, Found, How, Key, Log, Z, difference, rate, valid
from scipy import stats
from sklearn import metrics

ARMS = ("treatment", "control")
FEW = 10


def of_arms(log: Log, told: pd.DataFrame) -> dict[Key, Expected]:
    """Outcomes of the arms, and treatment's against control's."""
    if not log.classes:
        return dict(_means(with_outcome(log, told)))
    return {
        key: one for name in outcomes(log) for key, one in _rates(with_outcome(log, told, name), name, log)
    }


def outcomes(log: Log) -> tuple[str, ...]:
    """Classes whose rates are compared: the positive one, or each of several."""
    return log.classes[-1:] if log.binary else log.classes


def subject_of(log: Log, name: str) -> str:
    """What the comparison of a class is of: of two classes the model itself."""
    return "" if log.binary else f"class:{name}"


def with_outcome(log: Log, told: pd.DataFrame, name: str | None = None) -> pd.DataFrame:
    """Records that have an outcome: a class, or a number that was predicted, too."""
    if log.classes:
        rows = told[told["known"] & told["label"].isin(log.classes)]
        return rows.assign(outcome=(rows["label"] == name).astype(float))
    rows = told[told["known"] & valid(told, "prediction", log)]
    return rows.assign(outcome=rows["label"].astype(float))


def _rates(rows: pd.DataFrame, name: str, log: Log) -> Found:
    subject = subject_of(log, name)
    of_arm = [rows.loc[rows["arm"] == arm, "outcome"] for arm in ARMS]
    sides = [(int(side.sum()), len(side)) for side in of_arm]
    for arm, side in zip(ARMS, sides, strict=True):
        yield (f"{arm}_outcome_rate", subject), rate(*side)
    yield ("outcome_rate_difference", subject), difference(*sides)
    ratio = NONE
    if sides[0][1] and sides[1][0]:
        found = stats.contingency.relative_risk(*sides[0], *sides[1])
        interval = found.confidence_interval(LEVEL)
        bounds = (float(interval.low), float(interval.high)) if sides[0][0] else None
        ratio = Expected(float(found.relative_risk), n=len(of_arm[0]) + len(of_arm[1]), bounds=bounds)
    yield ("outcome_rate_ratio", subject), ratio


def _means(rows: pd.DataFrame) -> Found:
    sides = [rows.loc[rows["arm"] == arm, "outcome"].to_numpy() for arm in ARMS]
    n = sum(map(len, sides))
    for arm, side in zip(ARMS, sides, strict=True):
        interval = stats.ttest_1samp(side, 0.0).confidence_interval(LEVEL)
        bounds = (float(interval.low), float(interval.high))
        yield (f"{arm}_outcome_mean", ""), Expected(float(np.mean(side)), n=len(side), bounds=bounds)
        yield (f"{arm}_outcome_sd", ""), _sd(side)
    interval = stats.ttest_ind(*sides, equal_var=False).confidence_interval(LEVEL)
    means = [float(np.mean(side)) for side in sides]
    bounds = (float(interval.low), float(interval.high))
    yield ("outcome_mean_difference", ""), Expected(means[0] - means[1], n=n, bounds=bounds)
    ratio = NONE
    if min(means) > 0:
        half = Z * float(np.linalg.norm([stats.sem(side) / np.mean(side) for side in sides]))
        value = means[0] / means[1]
        ratio = Expected(value, n=n, bounds=(value * np.exp(-half), value * np.exp(half)))
    yield ("outcome_mean_ratio", ""), ratio


def _sd(side: Floats) -> Expected:
    """Delta method: the variance of s² is (m4 - m2²) / n, and s moves by 1 / (2 s) of it."""
    value = float(np.std(side, ddof=1))
    second, fourth = (float(stats.moment(side, order)) for order in (2, 4))
    half = Z * float(np.sqrt((fourth - second**2) / len(side))) / (2 * value)
    return Expected(value, n=len(side), bounds=(max(0.0, value - half), value + half))


def of_challenger(log: Log, told: pd.DataFrame) -> dict[Key, Expected]:
    """Both models on the records that both predicted; nothing where there is one model."""
    if "challenger" not in told.columns:
        return {}
    return dict(_agreement(log, told)) | (dict(_paired(log, told)) if log.binary else {})


def discordant(log: Log, told: pd.DataFrame) -> pd.DataFrame:
    """Records that both models predicted, and which of the two was right."""
    if not log.binary:
        rows = told[told["known"] & told["label"].isin(log.classes)]
        rows = rows[rows["prediction"].notna() & rows["challenger"].notna()]
        right = [rows[name] == rows["label"] for name in ("prediction", "challenger")]
        return rows.assign(champion_right=right[0], challenger_right=right[1])
    rows = told[told["actual"].isin((0, 1)) & (told["said"] >= 0) & told["challenger"].between(0.0, 1.0)]
    said = (rows["challenger"] >= log.threshold).astype(int)
    return rows.assign(champion_right=rows["said"] == rows["actual"], challenger_right=said == rows["actual"])


def _agreement(log: Log, told: pd.DataFrame) -> Found:
    rows = discordant(log, told)
    n = len(rows)
    b = int((rows["champion_right"] & ~rows["challenger_right"]).sum())
    c = int((rows["challenger_right"] & ~rows["champion_right"]).sum())
    value = two_sided = one_sided = NONE
    if n:
        # Bonett & Price (2012): two more records, one each way
        p, q = (c + 1) / (n + 2), (b + 1) / (n + 2)
        half = Z * float(np.sqrt((p + q - (p - q) ** 2) / (n + 2)))
        value = Expected((c - b) / n, n=n, bounds=(max(-1.0, p - q - half), min(1.0, p - q + half)))
        tests = [stats.binomtest(c, b + c, alternative=side) for side in ("two-sided", "greater")]
        two_sided, one_sided = (Expected(float(test.pvalue), n=n) for test in tests)
    yield ("challenger_accuracy_difference", ""), value
    yield ("sign_test_p_value", ""), two_sided
    yield ("sign_test_p_value_one_sided", ""), one_sided


def _paired(log: Log, told: pd.DataFrame) -> Found:
    both = valid(told, "score", log) & told["challenger"].between(0.0, 1.0)
    rows = told[told["actual"].isin((0, 1)) & both]
    truth, n = rows["actual"].to_numpy(), len(rows)
    scores = [rows[name].to_numpy(dtype=float) for name in ("score", "challenger")]
    area = rank = NONE
    if len(set(truth)) == 2:
        areas = [float(metrics.roc_auc_score(truth, score)) for score in scores]
        area = Expected(areas[1] - areas[0], How.WITHIN, n)
    given = [np.clip(np.where(truth == 1, score, 1 - score), 2.0**-52, 1 - 2.0**-52) for score in scores]
    gain = np.log(given[1]) - np.log(given[0])
    if np.count_nonzero(gain) >= FEW:
        test = stats.wilcoxon(gain, zero_method="wilcox", method="approx")
        rank = Expected(float(test.pvalue), How.WITHIN, n)
    yield ("challenger_auc_difference", ""), area
    yield ("signed_rank_p_value", ""), rank
