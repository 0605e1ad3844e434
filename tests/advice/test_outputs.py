"""What predictions, scores and labels tell together, each fault and warning with the line to write."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kept_texts import compare_cases
from scipy import stats
from sklearn.metrics import roc_auc_score

from monitor.advice import output_findings
from monitor.core.clock import DAY
from monitor.records.reading import ModelTask, ReadingOptions

READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("PAID", "DEFAULT"),
    has_score=True,
    score_range=(0.0, 1.0),
    names=(("prediction", "decision"),),
    labelled=True,
)
WORDED = replace(READING, words=(("approve", "PAID"), ("decline", "DEFAULT")))
N = 2_000
ABOUT = 'table "log": of the rows looked at'


def rows(seed: int = 0, *, n: int = N, threshold: float = 0.3) -> dict[str, Any]:
    """Decisions at a score, and the truth of everybody."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1.2, 4.0, n)
    return {
        "score": score,
        "prediction": np.where(score < threshold, "approve", "decline"),
        "label": np.where(rng.random(n) < score, "DEFAULT", "PAID"),
    }


def table(columns: dict[str, Any], *without: str) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items() if name not in without})


RECORDS = table(rows(), "label")
JOINED = table(rows(1))


def of_approved(labelled: float = 0.02) -> pa.Table:
    """Labels of the approved, and of few others."""
    columns = rows(2, n=3_000)
    kept = (columns["prediction"] == "approve") | (np.random.default_rng(3).random(3_000) < labelled)
    return table({name: values[kept] for name, values in columns.items()})


def faults(records: pa.Table = RECORDS, joined: pa.Table | None = JOINED, **changed: Any) -> list[str]:
    reading = replace(WORDED, **changed)
    return list(output_findings.output_faults(records, joined, reading, ABOUT))


def test_sound_outputs_are_silent() -> None:
    assert faults() == []
    assert list(output_findings.selective_warnings(RECORDS, JOINED, WORDED, "labels:")) == []
    assert list(output_findings.reversed_score_findings(JOINED, WORDED, "the")) == []


def scored(score: Any) -> pa.Table:
    return RECORDS.set_column(0, "score", pa.array(np.asarray(score)))


def without(role: str) -> pa.Table:
    return RECORDS.set_column(RECORDS.column_names.index(role), role, pa.nulls(N, RECORDS[role].type))


@pytest.mark.texts
def test_what_is_said_of_outputs() -> None:
    score = np.asarray(RECORDS["score"])
    percent = scored(100 * score)
    assert 0.95 < np.mean(np.asarray(percent["score"]) > 1) < 1, "some lie within a range of shares"
    numbers = pa.table({"prediction": pa.array([np.nan] * 20, from_pandas=False)})
    regression = {"task": ModelTask.REGRESSION, "classes": (), "has_score": False, "words": ()}
    made = replace(READING, threshold=0.3)
    records, joined = (each.drop_columns(["prediction"]) for each in (RECORDS, of_approved()))
    swapped = replace(READING, classes=("DEFAULT", "PAID"))
    reference = pa.table({"feature:a": [None, float("nan")], "feature:b": [1.0, None], "score": [0.5, 0.5]})
    selective = output_findings.selective_warnings
    cases: dict[str, Iterable[str]] = {
        "predictions of no class": faults(words=()),
        "predictions of no class, without labels": faults(joined=None, words=()),
        "scores that are all too high": faults(scored((score + 0.01) * 800)),
        "scores that are all negative": faults(scored((score + 0.01) * -4)),
        "scores in percent": faults(percent),
        "no score": faults(without("score")),
        "no prediction": faults(without("prediction")),
        "no number": faults(numbers, None, **regression),
        "labels for predictions that nobody makes": faults(joined=of_approved(), only_for=("aprove",)),
        "labels of some predictions only": selective(RECORDS, of_approved(), WORDED, "labels:"),
        "the same of a young log": selective(RECORDS, of_approved(), WORDED, "labels:", old=False),
        "the same where predictions are made of scores": selective(records, joined, made, "labels:"),
        "a swapped positive class": output_findings.reversed_score_findings(
            JOINED, swapped, "the reference's"
        ),
        "a feature that a reference has no value of": output_findings.empty_features(reference),
    }

    compare_cases("check_outputs", cases.items())


def test_what_is_configured_is_not_told() -> None:
    told = replace(WORDED, only_for=("PAID",))

    assert faults(only_for=("PAID",)) == []
    assert list(output_findings.selective_warnings(RECORDS, of_approved(), told, "labels:")) == []
    assert list(output_findings.empty_features(pa.table({"feature:a": pa.nulls(0)}))) == []


def test_some_predictions_of_no_class_are_no_fault() -> None:
    assert faults(words=(("approve", "PAID"),)) == []


def test_some_scores_out_of_range_are_no_fault() -> None:
    score = np.asarray(RECORDS["score"])
    score = np.where(np.arange(len(score)) % 20 == 0, score, 50.0)  # 95 % of them

    assert faults(RECORDS.set_column(0, "score", pa.array(score))) == []


@pytest.mark.parametrize(
    ("days", "old"), [(None, False), (19.9, False), (20, True)], ids=["unknown", "young", "old"]
)
def test_a_log_is_old_that_is_twice_as_old_as_nine_of_ten_labels_are_late(
    days: float | None, *, old: bool
) -> None:
    delays = np.asarray([1] * 5 + [10] * 5 + [40]) * DAY
    oldest = None if days is None else 100 * DAY - round(days * DAY)

    assert output_findings.is_old(delays, oldest, 100 * DAY) is old


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_labels_less_than_twice_as_often_are_no_choice(share: float) -> None:
    assert output_findings.selective_label_words(RECORDS, of_approved(share), WORDED) is None


def test_few_labels_tell_of_no_choice() -> None:
    assert output_findings.selective_label_words(RECORDS, of_approved().slice(0, 40), WORDED) is None
    assert (
        output_findings.selective_label_words(RECORDS.slice(0, 60), of_approved().slice(0, 50), WORDED)
        is None
    )


def test_a_reference_that_only_chance_puts_below_one_half_is_no_fault() -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"score": rng.random(400), "label": rng.choice(["PAID", "DEFAULT"], 400)})

    assert output_findings.surely_apart(table, READING) is None
    assert list(output_findings.reversed_score_findings(table, READING, "the")) == []
    assert (
        list(
            output_findings.reversed_score_findings(
                JOINED.slice(0, 20), replace(READING, classes=("DEFAULT", "PAID")), "the"
            )
        )
        == []
    )


def test_words_mean_the_class_that_goes_with_them() -> None:
    expected = {"approve": "PAID", "decline": "DEFAULT"}

    assert output_findings.prediction_meanings(RECORDS, JOINED, READING) == expected
    assert output_findings.prediction_meanings(RECORDS, of_approved(), READING) == expected
    assert (
        output_findings.prediction_meanings(RECORDS, of_approved(0.0), READING) == expected
    )  # by the one that has labels
    assert output_findings.prediction_meanings(RECORDS, JOINED.slice(0, 10), READING) == {}
    assert (
        output_findings.prediction_meanings(RECORDS, JOINED, replace(READING, classes=("approve", "decline")))
        == {}
    )


def test_several_words_mean_the_class_of_most_of_their_labels() -> None:
    reading = replace(READING, task=ModelTask.MULTICLASS, classes=("cat", "dog", "owl"))
    words = ["gato", "perro", "buho"] * 40
    labels = ["cat", "dog", "owl"] * 35 + ["dog"] * 15
    records = pa.table({"prediction": words})

    found = output_findings.prediction_meanings(
        records, pa.table({"prediction": words, "label": labels}), reading
    )

    assert found == {"gato": "cat", "perro": "dog", "buho": "owl"}
    muddled = pa.table({"prediction": words, "label": ["cat"] * 120})
    assert output_findings.prediction_meanings(records, muddled, reading) == {}


@pytest.mark.parametrize(("threshold", "written"), [(0.3, 0.3), (0.125, 0.125), (0.31, 0.31)])
def test_the_score_at_which_predictions_flip_is_a_short_number(threshold: float, written: float) -> None:
    columns = rows(7, n=20_000, threshold=threshold)

    flip = output_findings.flip_of(table(columns), READING)

    assert flip is not None
    assert (flip.below, flip.above, flip.n) == ("approve", "decline", 20_000)
    assert flip.threshold == pytest.approx(written, abs=1e-3)
    assert (np.where(columns["score"] >= flip.threshold, "decline", "approve") == columns["prediction"]).all()


def test_a_single_exception_is_no_threshold() -> None:
    columns = rows()
    columns["prediction"][columns["score"].argmax()] = "approve"

    assert output_findings.flip_of(table(columns), READING) is None


def test_the_area_is_that_of_mann_and_whitney() -> None:
    columns = rows(9)
    positive = columns["label"] == "DEFAULT"

    found = output_findings.surely_apart(table(columns), READING)

    test = stats.mannwhitneyu(columns["score"][positive], columns["score"][~positive], alternative="less")
    assert found is not None
    assert found[0] == pytest.approx(roc_auc_score(positive, columns["score"]))
    assert found[1] == test.pvalue


def test_names_of_any_text_are_written_as_toml() -> None:
    assert output_findings.names_table({'a "b"': ["x\ny"], "1": ["${X}"]}) == (
        '{ 1 = ["$${X}"], "a \\"b\\"" = ["x\\ny"] }'
    )
