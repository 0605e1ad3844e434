"""The loan log is as its story says: the tests that run on it rest on that."""

import numpy as np
import pandas as pd
import pytest
from loans import BROKEN, CENTS, DRIFTED, THRESHOLD, day, loans
from scipy import stats
from sklearn.metrics import roc_auc_score


def joined(days: int = 95, **changed: bool) -> pd.DataFrame:
    log = loans(days, **changed)
    return log.predictions.merge(log.labels, on="application", how="left")


def test_almost_only_approved_loans_are_labelled_and_their_share_stays_near_three_quarters() -> None:
    rows = joined()
    labelled = rows["outcome"].notna()

    assert 0.74 < labelled.mean() < 0.78
    assert labelled[rows["decision"] == "approve"].all()
    assert labelled[rows["decision"] == "decline"].mean() < 0.05
    assert ((rows["default_score"] < THRESHOLD) == (rows["decision"] == "approve")).all()


def test_all_are_labelled_where_labels_are_complete() -> None:
    assert joined(selective=False)["outcome"].notna().all()


def test_labels_come_five_to_forty_days_late_and_defaults_later_unless_paces_are_equal() -> None:
    def delays(rows: pd.DataFrame, outcome: str) -> np.ndarray:
        chosen = rows[rows["outcome"] == outcome]
        days: np.ndarray = (
            chosen["known_at"] - chosen["requested_at"]
        ).dt.total_seconds().to_numpy() / 86_400
        return days

    rows, equal = joined(), joined(equal_pace=True)
    both = np.concatenate([delays(rows, "PAID"), delays(rows, "DEFAULT")])

    assert 5 <= both.min() < both.max() <= 40
    assert np.median(delays(rows, "DEFAULT")) > np.median(delays(rows, "PAID")) + 5
    assert stats.ks_2samp(delays(equal, "PAID"), delays(equal, "DEFAULT")).pvalue > 0.001


def test_the_unit_of_one_feature_alone_changes_on_its_day() -> None:
    rows = joined()
    before, after = (rows[rows["requested_at"] < day(45)], rows[rows["requested_at"] >= day(45)])

    assert before[BROKEN].max() < 100_000
    assert after[BROKEN].median() == pytest.approx(CENTS * before[BROKEN].median(), rel=0.02)
    others = [name for name in rows if rows[name].dtype == "float64" and name != BROKEN]
    assert all(stats.ks_2samp(before[name], after[name]).pvalue > 0.001 for name in others)


def test_the_score_orders_defaults_until_it_drifts_in_two_regions() -> None:
    rows = joined(selective=False)
    rows["defaulted"] = rows["outcome"] == "DEFAULT"

    def auc(chosen: pd.DataFrame) -> float:
        return float(roc_auc_score(chosen["defaulted"], chosen["default_score"]))

    late, there = rows["requested_at"] >= day(62), rows["region"].isin(DRIFTED)
    assert auc(rows[~late]) > 0.75
    assert auc(rows[late & ~there]) > 0.75
    assert auc(rows[late & there]) < 0.5
    assert abs(rows[~late]["defaulted"].mean() - rows[~late]["default_score"].mean()) < 0.01


def test_the_same_seed_gives_the_same_log() -> None:
    first, second = loans(3, seed=4), loans(3, seed=4)
    for name in ("predictions", "labels", "reference"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))
