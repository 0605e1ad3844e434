"""Frames as they come: ids of several columns, words that are no classes, columns of several types."""

import uuid
from typing import Any, cast

import made_frames
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import monitor
from monitor.core.errors import ConfigurationError, SourceError

N = 400
RNG = np.random.default_rng(5)
SCORE = RNG.random(N)
TRUTH = np.where(RNG.random(N) < SCORE, "yes", "no")
RIGHT = float(((SCORE >= 0.5) == (TRUTH == "yes")).mean())
BINARY: dict[str, Any] = {"task": "binary", "label": "truth", "positive": "yes", "negative": "no"}
SCORED: dict[str, Any] = BINARY | {"score": "score", "threshold": 0.5}


@pytest.mark.parametrize("apart", [False, True])
def test_an_id_may_be_several_columns(*, apart: bool) -> None:
    loan, month = np.arange(N) // 4, np.arange(N) % 4
    predictions = pd.DataFrame({"loan": loan, "month": month, "score": SCORE, "truth": TRUTH})
    labels = predictions[["loan", "month", "truth"]].sample(frac=1, random_state=1) if apart else None

    found = monitor.evaluate(predictions, labels, id=["loan", "month"], **SCORED)

    assert (found.value("records"), found.value("accuracy"), found.notes) == (N, RIGHT, ())


def test_predictions_in_other_words_than_the_classes_are_refused_with_what_would_help() -> None:
    frame = {"said": SCORE >= 0.5, "truth": TRUTH}

    with pytest.raises(
        SourceError, match=r'none? .*"no", "yes": got "true", "false"|names=\{"yes": \["…"\]\}'
    ):
        monitor.evaluate(frame, prediction="said", **BINARY)

    named = monitor.evaluate(frame, prediction="said", names={"yes": [True], "no": [False]}, **BINARY)
    assert named.value("accuracy") == RIGHT


def test_some_predictions_and_labels_of_no_class_are_told_of() -> None:
    said = np.where(SCORE > 0.9, "unsure", np.where(SCORE > 0.5, "yes", "no"))
    unsure = int((SCORE > 0.9).sum())
    truth = TRUTH.astype(object)
    truth[:7] = "withdrawn"

    binary = monitor.evaluate({"said": said, "truth": TRUTH}, prediction="said", **BINARY)
    many = monitor.evaluate(
        {"said": TRUTH, "truth": truth},
        task="multiclass",
        prediction="said",
        label="truth",
        classes=["yes", "no"],
    )

    of_none = 'are none of "no", "yes": each counts as a wrong answer.'
    assert binary.notes == (f"{unsure} of {N} predictions {of_none}",)
    assert many.notes == (f"7 of {N} labels {of_none}",)


def test_of_a_repeated_id_the_first_row_counts_whatever_its_values() -> None:
    truth = ["yes"] * 2 + ["no"] * 2
    twice: dict[str, list[Any]] = {"id": [0, 0, 1, 1], "score": [0.9, 0.1, 0.8, 0.2], "truth": truth}
    turned = {name: values[::-1] for name, values in twice.items()}
    dated = twice | {"at": ["2026-01-02", "2026-01-01"] * 2}

    rates = [monitor.evaluate(frame, id="id", **SCORED).value("predicted_rate") for frame in (twice, turned)]
    earliest = monitor.evaluate(dated, id="id", event_time="at", **SCORED)

    assert rates == [1.0, 0.0]
    assert earliest.value("predicted_rate") == 0.0
    assert "of each id the earliest, then the first row, counts" in earliest.notes[-1]


@pytest.mark.parametrize("lacks", ["predictions", "labels"])
def test_whole_numbers_among_which_one_is_missing_are_ids_still(lacks: str) -> None:
    """Pandas makes doubles of them."""
    ids = pd.Series(12_345_678_900 + np.arange(N))
    predictions, labels = pd.DataFrame({"id": ids, "score": SCORE}), pd.DataFrame({"id": ids, "truth": TRUTH})
    none = pd.DataFrame({"id": [np.nan]})
    if lacks == "labels":
        labels = pd.concat([labels, none])
    else:
        predictions = pd.concat([predictions, none])

    found = monitor.evaluate(predictions, labels, id="id", **SCORED)

    assert (found.value("records"), found.value("coverage"), found.value("accuracy")) == (N, 1.0, RIGHT)


def test_ids_are_compared_as_texts_byte_by_byte() -> None:
    odd: list[Any] = ["a", "A", "a ", " a", "", " ", 7, "7", 7.0, "7.0", "07", b"a", b"\xff", b"\xfe", None]
    texts = {"a", "A", "a ", " a", "", " ", "7", "7.0", "07", "ff", "fe"}
    frame = pd.DataFrame({"id": odd, "score": SCORE[: len(odd)]})
    labels = pd.DataFrame({"id": odd[:4], "truth": ["yes", "no", "yes", "no"]})
    of_bytes = pd.DataFrame({"id": [b"a", b"\xff", b"\xfe", b"\xff"], "score": SCORE[:4]})

    found = monitor.evaluate(frame, labels, id="id", **SCORED)
    alone = monitor.evaluate(of_bytes, labels, id="id", **SCORED)

    assert (found.value("records"), found.value("duplicate_records")) == (len(texts), 14 - len(texts))
    assert found.value("coverage") == 4 / len(texts)
    assert (alone.value("records"), alone.value("duplicate_records")) == (3, 1)


def test_segments_need_no_reference() -> None:
    group = np.where(np.arange(N) % 3 > 0, "A", "B")

    found = monitor.evaluate({"score": SCORE, "truth": TRUTH, "group": group}, segments=["group"], **SCORED)

    at = group == "A"
    assert found.value("accuracy", segment="group=A") == ((SCORE >= 0.5) == (TRUTH == "yes"))[at].mean()


@pytest.mark.parametrize("known", ["no column", "no value", "other months"])
def test_segments_that_the_reference_lacks_are_counted_as_themselves(known: str) -> None:
    """As pandas and scikit-learn count them: months of the frame, whatever the months of the reference."""
    at = np.arange(N) // 30
    month = pd.Series(pd.period_range("2024-01", periods=at.max() + 1, freq="M").astype(str))[at].to_numpy()
    frame = pd.DataFrame({"score": SCORE, "truth": TRUTH, "age": SCORE + 1, "month": month})
    columns: dict[str, dict[str, Any]] = {"no column": {}, "no value": {"month": None}}
    other = columns.get(known, {"month": "2023-12"})
    reference = frame.drop(columns="month").assign(**other)

    found = monitor.evaluate(frame, reference=reference, segments=["month"], **SCORED)

    by_month = frame.assign(right=(frame["score"] >= 0.5) == (frame["truth"] == "yes")).groupby("month")
    most = by_month.size().sort_values(ascending=False, kind="stable").index[:20]
    for name, rows in by_month:
        assert (name in most) is (f"month={name}" in set(found.to_frame()["segment"]))
        if name in most:
            assert found.value("accuracy", segment=f"month={name}") == rows["right"].mean()
            area = roc_auc_score(rows["truth"] == "yes", rows["score"])
            assert found.value("roc_auc", segment=f"month={name}") == pytest.approx(area, abs=1e-9)
    told = "Segments of month are compared with nothing: the reference has no such column."
    assert (told in found.notes) is (known == "no column")


def test_values_that_are_other_are_said_to_be() -> None:
    """Of 24 values the 20 most frequent are segments; the others, and what is rare, are counted together."""
    rng = np.random.default_rng(4)
    shop = np.concatenate([np.repeat([f"s{at:02}" for at in range(24)], np.arange(34, 10, -1)), ["rare"] * 3])
    rng.shuffle(shop)
    n = len(shop)
    truth = np.where(rng.uniform(size=n) < 0.5, "yes", "no")
    frame = pd.DataFrame({"score": rng.uniform(size=n), "truth": truth, "shop": shop})
    told = (
        "5 values of shop with 53 predictions are one segment, shop=other: the 20 most frequent values of at "
        "least 10 rows have their own."
    )

    found = [
        monitor.evaluate(frame, reference=reference, segments=["shop"], **SCORED)
        for reference in (None, frame.assign(shop="s23"))
    ]

    for one in found:
        assert told in one.notes
        segments = set(one.to_frame()["segment"].dropna())
        assert segments == {"shop=other", *(f"shop=s{at:02}" for at in range(20))}
        assert one.value("records", segment="shop=other") == 53


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_numbers_of_any_size_have_their_errors(size: float) -> None:
    truth = size * (1 + 0.3 * RNG.normal(size=N))
    said = truth + 0.1 * size * RNG.normal(size=N)

    found = monitor.evaluate(
        {"said": said, "truth": truth}, task="regression", prediction="said", label="truth"
    )

    rmse = np.sqrt(np.mean((said - truth) ** 2))
    assert found.value("root_mean_squared_error") == pytest.approx(rmse, rel=1e-9)
    assert found.value("r2_score") == pytest.approx(1 - rmse**2 / np.var(truth), rel=1e-9)


@pytest.mark.parametrize(("code", "known"), [(None, True), (99_999_999.0, True), (1e12, False)])
def test_a_code_among_the_references_labels_is_told_by_what_it_does_to_errors(
    *, code: float | None, known: bool
) -> None:
    truth = 400 + 78 * RNG.normal(size=(2, N))
    said = truth + 43 * RNG.normal(size=(2, N))
    here, there = ({"said": one, "truth": two} for one, two in zip(said, truth.copy(), strict=True))
    if code is not None:
        there["truth"][5] = code

    found = monitor.evaluate(
        here, reference=there, numeric=[], task="regression", prediction="said", label="truth"
    )

    frame = found.to_frame().query("against.isna()").set_index("measure")
    error, rmse = frame.loc["root_mean_squared_error"], np.sqrt(np.mean((said[0] - truth[0]) ** 2))
    assert bool(np.isfinite(error["value"])) is known
    if known:
        assert abs(error["value"] - rmse) <= error["resolution"] + 1e-9
        assert bool(error["resolution"] > 0) is (code is not None)
        assert any("Is one of them a code" in note for note in found.notes) is (code is not None)
    else:
        assert error["reason"] == "out_of_range"
        assert abs(frame.loc["mean_absolute_error", "value"] - np.abs(said[0] - truth[0]).mean()) <= 0.01


def test_a_feature_that_holds_no_number_is_told_of() -> None:
    frame = {"score": SCORE, "truth": TRUTH, "city": np.where(SCORE > 0.5, "Lyon", "Nice")}

    found = monitor.evaluate(frame, reference=frame, numeric=["city"], **SCORED)

    assert found.notes == (f"All {N} values of city are no numbers: is it categorical?",)


def test_columns_of_several_types_are_texts() -> None:
    frame = pd.DataFrame(
        {"id": [uuid.uuid4() for _ in range(N)], "score": SCORE, "mixed": [1, "x"] * (N // 2)}
    )
    labels = pd.DataFrame({"id": frame["id"], "truth": TRUTH, "told": None})

    found = monitor.evaluate(frame, labels, id="id", **SCORED)

    assert (found.value("labelled_records"), found.value("accuracy")) == (N, RIGHT)


def test_times_that_are_all_missing_are_so() -> None:
    frame = made_frames.predictions()
    labels = made_frames.labels(frame).assign(told=None)

    found = monitor.evaluate(
        frame, labels, task="binary", id="id", score="score", threshold=0.5, label="bad", event_time="at",
        reported_at="told",
    )  # fmt: skip

    assert found.value("labelled_records") == labels["id"].isin(frame["id"]).sum()


def test_a_reference_without_labels_is_said_to_have_none_not_to_be_missing() -> None:
    frame = {"score": SCORE, "truth": TRUTH, "number": SCORE}

    told = str(monitor.evaluate(frame, reference={"score": SCORE, "number": SCORE}, **SCORED))
    alone = str(monitor.evaluate(frame, **SCORED))

    assert "not compared: the reference has none" in told
    assert "give reference" not in told
    assert "Inputs       Whether inputs or outputs moved is not known: give reference." in alone


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: monitor.evaluate({"score": SCORE}, **SCORED | {"label": pd.Series(TRUTH)}),
            "label: must be",
        ),
        (lambda: monitor.open(cast("str", pd.DataFrame())), "got DataFrame"),
    ],
)
def test_what_is_no_name_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        call()
