"""What is behind a performance that is worse: other records, what scores mean, a few labels."""

import pytest
from row_examples import row_of

from monitor.core.clock import DAY
from monitor.core.measurement import DetailTable, Interval, Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.sentences.performance_sentences import expected_loss_sentence, performance_cause_sentence

SETTLED = {"truth": LabelTruth.SETTLED, "window_end": 0, "against": "reference"}


def split_of(mix: float, relation: float, half: float = 0.01) -> list[MeasurementRow]:
    """Both parts of a log loss that differs from the reference's."""
    rest = DetailTable(
        ("part", "value", "lower", "upper"), (("relation", relation, relation - half, relation + half),)
    )
    found = Measurement(mix, n=900, interval=Interval(mix - half, mix + half), detail=rest)
    return [row_of("log_loss_by_mix", found, **SETTLED)]


def errors_of(squared: float, absolute: float) -> list[MeasurementRow]:
    """Differences of two errors of numbers from the reference's."""
    figures = (("root_mean_squared_error", squared), ("mean_absolute_error", absolute))
    return [
        row_of(name, Measurement(step, n=900, interval=Interval(step - 0.1, step + 0.1)), **SETTLED)
        for name, step in figures
    ]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (0.056, "By their scores the records are harder: a log loss 0.056 above the reference's is expected"),
        (-0.04, "By their scores the records are easier: a log loss 0.040 below the reference's is expected"),
        (0.009, ""),
    ],
)
def test_scores_alone_say_which_loss_is_expected(step: float, said: str) -> None:
    found = Measurement(step, n=900, interval=Interval(step - 0.01, step + 0.01))
    row = row_of("log_loss_by_scores", found, subject="score", window_end=0)

    assert expected_loss_sentence(KnownMeasurements([row], "7d", "roc_auc"), 0) == said


@pytest.mark.parametrize(("days", "said"), [(1, "0.190"), (6, "0.190"), (7, "0.170")])
def test_the_loss_that_is_expected_is_of_no_window_that_began_before_the_change(days: int, said: str) -> None:
    rows = [
        row_of(
            "log_loss_by_scores",
            Measurement(step, n=900, interval=Interval(0.01, 0.3)),
            subject="score",
            window=window,
            window_end=100 * DAY,
        )
        for window, step in (("7d", 0.17), ("1d", 0.19), ("30d", 0.02))
    ]

    sentence = expected_loss_sentence(KnownMeasurements(rows, "7d", "roc_auc"), (100 - days) * DAY)

    assert f"log loss {said} above" in sentence


def sentence_of(rows: list[MeasurementRow]) -> str:
    return performance_cause_sentence(KnownMeasurements(rows, "7d", "roc_auc"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (split_of(0.056, 0.0), "By their scores the records are harder: that alone moves log loss by +0.056"),
        (
            split_of(0.0, 0.07),
            "The records are no harder by their scores: it is what scores mean that changed",
        ),
        (
            split_of(0.03, 0.07),
            "Harder records make +0.030 of the log loss's +0.100: the rest is what scores mean",
        ),
        (
            split_of(-0.03, 0.07),
            (
                "By the scores alone log loss should have changed by −0.030. It changed by +0.040: "
                "what scores mean is different"
            ),
        ),
        (
            split_of(-0.028, 0.0),
            "What scores mean is as in the reference: other records came, that are harder to rank",
        ),
        (split_of(0.0, 0.0), ""),
        (split_of(0.0, -0.07), ""),
        (
            errors_of(2.0, -0.2),
            "The mean absolute error is no worse: a few labels make all of it, look at them first",
        ),
        (errors_of(2.0, 0.5), ""),
        ([], ""),
    ],
)
def test_what_is_behind_it_is_said_where_it_is_sure(rows: list[MeasurementRow], said: str) -> None:
    assert sentence_of(rows) == said
