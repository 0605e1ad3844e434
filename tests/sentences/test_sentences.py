"""What measurements say, in sentences: tests/texts/sentences_of_*.txt, written by `make texts`."""

import math
from typing import Any

import pytest
from kept_texts import compare_cases
from row_examples import row_of

from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.sentences.input_sentences import input_sentences, quality_sentences
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.sentences.label_sentences import label_sentences
from monitor.sentences.performance_sentences import performance_sentences

PLACE: dict[str, Any] = {"window_end": 0}
SETTLED: dict[str, Any] = {"window_end": 0, "truth": LabelTruth.SETTLED}


def known(*rows: MeasurementRow, main: str = "roc_auc") -> KnownMeasurements:
    return KnownMeasurements(rows, "7d", main)


def value(measure: str, number: float | Reason, subject: str = "", **others: Any) -> MeasurementRow:
    measured = (
        Measurement.without_value(number, n=0)
        if isinstance(number, Reason)
        else Measurement(number, n=900, interval=Interval(number - 0.01, number + 0.01))
    )
    return row_of(measure, measured, subject=subject, **(PLACE | others))


def index_of(index: float, *cells: tuple[str, float, float, float], subject: str) -> list[MeasurementRow]:
    detail = DetailTable(("cell", "expected", "actual", "contribution"), cells)
    row = row_of("stability_index", Measurement(index, n=900, detail=detail), subject=subject, **PLACE)
    return [row, value("stability_index_critical", 0.01, subject)]


def moved(subject: str, index: float, chance: float = 0.01, **others: Any) -> list[MeasurementRow]:
    return [
        value("stability_index", index, subject, **others),
        value("stability_index_critical", chance, subject, **others),
    ]


def mean_moved(index: float, mean: float) -> list[MeasurementRow]:
    figures = DetailTable(("value", "lower", "upper", "n"), ((50.2, 49.0, 51.0, 8_000.0),))
    return [
        *index_of(index, subject="feature:amount"),
        row_of("mean", Measurement(mean, n=900, detail=figures), subject="feature:amount", **PLACE),
        value("out_of_range_rate", 0.081, "feature:amount"),
    ]


@pytest.mark.texts
def test_sentences_of_inputs() -> None:
    unknown = value("stability_index", Reason.TOO_FEW, "label", truth=LabelTruth.SETTLED)
    season = [*moved("feature:a", 5.0), *moved("feature:a", 0.02, against="season")]
    beyond = value("stability_index", Reason.OUT_OF_RANGE, "feature:b", against="season")
    lost, tenth = ("(missing)", 0.0, 0.3, 2.2), ("0.1 to 0.2", 0.1, 0.07, 0.01)
    only = index_of(2.2 - 0.3 * math.log(0.7) + 0.004, lost, tenth, subject="score")
    both = index_of(2.2 - 0.3 * math.log(0.7) + 0.17, lost, tenth, subject="prediction")
    hardly = ("(missing)", 0.001, 0.009, 0.02)
    cases = {
        "without a reference": [],
        "outputs that moved, that did not, and that are unknown": [
            *moved("score", 0.3), *moved("prediction", 0.001), unknown,
        ],
        "a feature of which nothing is known": [
            *moved("feature:a", 0.001), value("stability_index", Reason.TOO_FEW, "feature:b"),
        ],
        "the season first, and by its own critical value": [*season, beyond],
        "what is only missing did not move": [*only, *both, *index_of(2.307, lost, subject="feature:a")],
        "all missing": index_of(9.0, ("(missing)", 0.0, 1.0, 5.0), subject="score"),
        "hardly more missing than before": index_of(0.3, hardly, subject="score"),
        "a critical value that is next to nothing": moved("score", 0.3, 0.0002),
        "a mean that few numbers make, below ten times": mean_moved(0.047, 477.3),
        "a mean that few numbers make": mean_moved(0.047, 502.0),
        "a mean in other units": mean_moved(4.2, 502.0),
        "features that moved by little": [*moved("feature:a", 0.02), *moved("feature:b", 0.03)],
    }  # fmt: skip

    compare_cases(
        "sentences_of_inputs", ((name, input_sentences(known(*rows))) for name, rows in cases.items())
    )


@pytest.mark.texts
def test_sentences_of_performance() -> None:
    now = value("roc_auc", 0.7, **SETTLED)
    no_reference = value("roc_auc", Reason.NO_REFERENCE, against="reference", **SETTLED)
    bare = row_of("roc_auc", Measurement(-0.1, n=9), against="reference", **SETTLED)
    again = [value("roc_auc", 0.7001, **SETTLED), value("roc_auc", 0.7004, truth=LabelTruth.NOWCAST)]
    unscored = [value("labelled_records", 900, **SETTLED), value("roc_auc", Reason.NO_LABELS, **SETTLED)]
    estimate = [value("estimated_roc_auc", 0.7)]
    cases = {
        "a regression that beats the mean": [value("r2_score", 0.4, **SETTLED)],
        "a regression that does not": [value("r2_score", -0.3, **SETTLED)],
        "nothing": [],
        "an estimate alone": estimate,
        "no reference": [now],
        "a reference without the value": [now, no_reference],
        "a difference without an interval": [now, bare],
        "a nowcast that says again what has settled": again,
        "labels without a usable score": unscored,
    }
    told = [(name, performance_sentences(known(*rows), labels=True)) for name, rows in cases.items()]
    told.append(("an estimate, without labels", performance_sentences(known(*estimate), labels=False)))

    compare_cases("sentences_of_performance", told)


@pytest.mark.texts
def test_sentences_of_labels_and_quality() -> None:
    delays = [
        value("label_delay_median", 7_200.0, **SETTLED),
        value("label_delay_p90", 86_400.0, **SETTLED),
        value("coverage", 0.9, **SETTLED),
        value("coverage", 0.3, window="1d", truth=LabelTruth.PROVISIONAL),
        value("next_settling", Reason.NOT_SETTLED),
    ]
    good = value("missing_rate", 0.0, "feature:c", against="reference")
    faulty = [
        value("missing_rate", 0.2, "feature:a", against="reference"),
        value("unseen_rate", 0.5, "feature:b", against="reference"),
        good,
        value("orphan_labels", 716.0, window=""),
        value("repeated_ids", 0.0, window=""),
    ]
    beyond = [
        value("missing_rate", 0.0, "feature:a", against="reference"),
        value("out_of_range_rate", 0.3, "feature:a"),
        value("out_of_range_rate", 0.838, "feature:b"),
        value("out_of_range_rate", 0.002, "feature:c"),
    ]

    compare_cases(
        "sentences_of_labels_and_quality",
        [
            ("delays and coverage", label_sentences(known(*delays))),
            ("faulty values and odd rows", quality_sentences(known(*faulty))),
            ("no more than before", quality_sentences(known(good))),
            ("numbers beyond all of the reference", quality_sentences(known(*beyond))),
        ],
    )


def test_the_main_window_is_told_before_a_newer_one_and_strata_are_left_out() -> None:
    rows = [
        value("roc_auc", 0.7, **SETTLED),
        value("roc_auc", 0.6, window="1d", truth=LabelTruth.SETTLED, window_end=9),
        value("roc_auc", 0.5, segment="region=North", **SETTLED),
    ]

    assert known(*rows).newest_row("roc_auc", "settled") == rows[0]
    assert known(rows[2]).newest_row("roc_auc", "settled") is None
