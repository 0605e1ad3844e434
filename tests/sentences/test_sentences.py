"""What measurements say, in sentences."""

import math
from typing import Any

import pytest
from row_examples import row_of

from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.sentences.input_sentences import input_sentences, quality_sentences
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.sentences.label_sentences import label_sentences
from monitor.sentences.performance_sentences import performance_sentences
from monitor.sentences.reason_words import reason_words

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


def test_scores_that_moved_stand_before_those_that_did_not_and_those_that_are_unknown() -> None:
    told = list(
        input_sentences(
            known(
                value("stability_index", 0.3, "score"),
                value("stability_index_critical", 0.01, "score"),
                value("stability_index", 0.001, "prediction"),
                value("stability_index_critical", 0.01, "prediction"),
                value("stability_index", Reason.TOO_FEW, "label", truth=LabelTruth.SETTLED),
            )
        )
    )

    assert told[1:] == [
        "Outputs moved beyond chance: scores 0.300 (significant; chance gives up to 0.010)",
        "No more than by chance: predictions",
        "Whether labels moved is not known: too few records or labels: wait, or take a longer window",
    ]


def test_without_a_reference_it_is_said_that_nothing_is_known_of_shifts() -> None:
    assert list(input_sentences(known())) == [
        f"Whether features moved is not known: {reason_words('no_reference')}"
    ]


def test_features_that_nothing_is_known_of_are_named() -> None:
    rows = [
        value("stability_index", 0.001, "feature:a"),
        value("stability_index_critical", 0.01, "feature:a"),
        value("stability_index", Reason.TOO_FEW, "feature:b"),
    ]

    assert list(input_sentences(known(*rows))) == [
        "7d to 1970-01-01: none of 1 features moved beyond chance",
        "Of b this is not known: too few records or labels: wait, or take a longer window",
    ]


def test_the_season_is_told_first_and_by_its_own_critical_value() -> None:
    rows = [
        value("stability_index", 5.0, "feature:a"),
        value("stability_index_critical", 0.01, "feature:a"),
        value("stability_index", 0.02, "feature:a", against="season"),
        value("stability_index_critical", 0.01, "feature:a", against="season"),
        value("stability_index", Reason.OUT_OF_RANGE, "feature:b", against="season"),
    ]

    season, unknown, reference = input_sentences(known(*rows))
    far = "1 of 1 features moved beyond what is usual for the season, by a stability_index below 0.1"
    assert season == f"7d to 1970-01-01: {far}: a 0.020"
    assert unknown == (
        "Of b this is not known: most of its numbers lie beyond all of the reference's, before as now"
    )
    far = "1 of 1 features moved beyond chance, by stability_index: a 5.000 (significant)"
    assert reference == f"Against the reference {far}"


def test_a_regression_must_beat_the_mean() -> None:
    better, worse = (known(value("r2_score", number, **SETTLED)) for number in (0.4, -0.3))

    told = [list(performance_sentences(one, labels=True))[-1] for one in (better, worse, known())]

    assert (
        told[0] == "Settled: r2_score 0.400 [0.390, 0.410], surely better than always answering the mean, 0"
    )
    assert told[1].endswith("surely worse than always answering the mean, 0")
    assert told[2] == "No window has settled yet"


@pytest.mark.parametrize("has_labels", [True, False])
def test_where_performance_is_not_known_the_estimate_is_told_with_its_limit(*, has_labels: bool) -> None:
    told = " ".join(performance_sentences(known(value("estimated_roc_auc", 0.7)), labels=has_labels))

    assert (
        "By its own scores alone, 7d to 1970-01-01: estimated_roc_auc 0.700 [0.690, 0.710]; a drift" in told
    )
    assert ("no labels are configured" in told) != has_labels
    assert ("No window has settled yet" in told) == has_labels


def test_a_value_without_what_it_is_compared_with_says_why() -> None:
    now = value("roc_auc", 0.7, **SETTLED)
    no_reference = value("roc_auc", Reason.NO_REFERENCE, against="reference", **SETTLED)
    bare = row_of("roc_auc", Measurement(-0.1, n=9), against="reference", **SETTLED)

    for rows in ([now], [now, no_reference]):
        told = next(iter(performance_sentences(known(*rows), labels=True)))
        assert told.endswith(f"[0.690, 0.710]; not compared: {reason_words('no_reference')}")
    told = next(iter(performance_sentences(known(now, bare), labels=True)))
    assert told.endswith("reference 0.800, difference −0.100: without an interval nothing is sure")


def test_delays_and_coverage_of_labels_are_told() -> None:
    rows = [
        value("label_delay_median", 7_200.0, **SETTLED),
        value("label_delay_p90", 86_400.0, **SETTLED),
        value("coverage", 0.9, **SETTLED),
        value("coverage", 0.3, window="1d", truth=LabelTruth.PROVISIONAL),
        value("next_settling", Reason.NOT_SETTLED),
    ]

    assert list(label_sentences(known(*rows))) == [
        "Half of them come within 2h 0m, nine of ten within 1d 0h",
        "When the next window settles is not known: labels are still coming: wait until the window settles.",
        "Labelled: 7d to 1970-01-01 90.0 % (settled), 1d to 1970-01-01 30.0 % (provisional)",
    ]


def test_faulty_values_and_odd_rows_are_named_with_their_number() -> None:
    rows = [
        value("missing_rate", 0.2, "feature:a", against="reference"),
        value("unseen_rate", 0.5, "feature:b", against="reference"),
        value("missing_rate", 0.0, "feature:c", against="reference"),
        value("orphan_labels", 716.0, window=""),
        value("repeated_ids", 0.0, window=""),
    ]

    assert list(quality_sentences(known(*rows))) == [
        (
            "Surely more faulty values than the reference: b +50.0 points [+49.0, +51.0] unseen and "
            "a +20.0 points [+19.0, +21.0] missing"
        ),
        "In the log: orphan labels 716",
    ]
    assert next(iter(quality_sentences(known(rows[2])))).startswith("No more missing, invalid or unseen")


def test_numbers_beyond_all_of_the_reference_are_told_with_their_share() -> None:
    rows = [
        value("missing_rate", 0.0, "feature:a", against="reference"),
        value("out_of_range_rate", 0.3, "feature:a"),
        value("out_of_range_rate", 0.838, "feature:b"),
        value("out_of_range_rate", 0.002, "feature:c"),
    ]

    assert (
        list(quality_sentences(known(*rows)))[1]
        == "Below or above all numbers of the reference: b 83.8 % and a 30.0 %"
    )


def test_the_main_window_is_told_before_a_newer_one_and_strata_are_left_out() -> None:
    rows = [
        value("roc_auc", 0.7, **SETTLED),
        value("roc_auc", 0.6, window="1d", truth=LabelTruth.SETTLED, window_end=9),
        value("roc_auc", 0.5, segment="region=North", **SETTLED),
    ]

    assert known(*rows).newest_value("roc_auc", "settled") == 0.7
    assert known(rows[2]).newest_value("roc_auc", "settled") is None


def test_a_nowcast_that_says_again_what_has_settled_is_left_out() -> None:
    rows = [value("roc_auc", 0.7001, **SETTLED), value("roc_auc", 0.7004, truth=LabelTruth.NOWCAST)]

    told = list(performance_sentences(known(*rows), labels=True))

    assert [one.partition(",")[0] for one in told] == ["Settled"]


def test_labels_without_a_usable_score_are_not_waited_for() -> None:
    rows = [value("labelled_records", 900, **SETTLED), value("roc_auc", Reason.NO_LABELS, **SETTLED)]

    (told,) = performance_sentences(known(*rows), labels=True)

    assert told.endswith(": none of 900 labelled records have a usable score: roc_auc is not known")


def index_of(index: float, *cells: tuple[str, float, float, float], subject: str) -> list[MeasurementRow]:
    detail = DetailTable(("cell", "expected", "actual", "contribution"), cells)
    row = row_of("stability_index", Measurement(index, n=900, detail=detail), subject=subject, **PLACE)
    return [row, value("stability_index_critical", 0.01, subject)]


def test_what_is_only_missing_is_not_told_to_have_moved() -> None:
    lost, tenth = ("(missing)", 0.0, 0.3, 2.2), ("0.1 to 0.2", 0.1, 0.07, 0.01)
    only = index_of(2.2 - 0.3 * math.log(0.7) + 0.004, lost, tenth, subject="score")
    both = index_of(2.2 - 0.3 * math.log(0.7) + 0.17, lost, tenth, subject="prediction")
    feature = index_of(2.307, lost, subject="feature:a")

    assert list(input_sentences(known(*only, *both, *feature))) == [
        "7d to 1970-01-01: none of 1 features moved beyond chance",
        "Moved by missing or invalid values alone: a (30.0 % are missing, reference 0 %)",
        (
            "Outputs moved beyond chance: predictions 2.477 (significant; chance gives up to 0.010; "
            "30.0 % are missing, reference 0 %; 0.200 without them)"
        ),
        "Moved by missing or invalid values alone: scores (30.0 % are missing, reference 0 %)",
    ]


def test_of_what_is_all_missing_nothing_moved_but_that() -> None:
    rows = index_of(9.0, ("(missing)", 0.0, 1.0, 5.0), subject="score")

    assert list(input_sentences(known(*rows)))[1:] == [
        "Moved by missing or invalid values alone: scores (100 % are missing, reference 0 %)"
    ]


def test_a_critical_value_that_is_next_to_nothing_is_told_as_less_than_it() -> None:
    rows = [value("stability_index", 0.3, "score"), value("stability_index_critical", 0.0002, "score")]

    assert list(input_sentences(known(*rows)))[1].endswith(
        "scores 0.300 (significant; chance gives less than 0.001)"
    )


def test_missing_values_that_are_hardly_more_than_before_are_part_of_the_shift() -> None:
    rows = index_of(0.3, ("(missing)", 0.001, 0.009, 0.02), subject="score")

    assert list(input_sentences(known(*rows)))[1:] == [
        "Outputs moved beyond chance: scores 0.300 (significant; chance gives up to 0.010)"
    ]


@pytest.mark.parametrize(
    ("index", "mean", "said"),
    [
        (0.047, 477.3, "0.047 (mean 477, reference 50.2, ×9.5 by 8.1 % of its numbers, beyond all of the"),
        (0.047, 502.0, "0.047 (mean 502, reference 50.2, ×10 by 8.1 % of its numbers, beyond all of the"),
        (4.2, 502.0, "4.200 (significant; mean 502, reference 50.2, ×10, as in other units)"),
    ],
)
def test_a_mean_that_few_numbers_make_is_none_in_other_units(index: float, mean: float, said: str) -> None:
    figures = DetailTable(("value", "lower", "upper", "n"), ((50.2, 49.0, 51.0, 8_000.0),))
    of_mean = Measurement(mean, n=900, detail=figures)
    rows = [
        *index_of(index, subject="feature:amount"),
        row_of("mean", of_mean, subject="feature:amount", **PLACE),
        value("out_of_range_rate", 0.081, "feature:amount"),
    ]

    assert said in next(iter(input_sentences(known(*rows))))


def test_features_that_moved_by_little_are_named_before_it_is_said_what_chance_does() -> None:
    rows = [
        row
        for name, index in (("a", 0.02), ("b", 0.03))
        for row in (
            value("stability_index", index, f"feature:{name}"),
            value("stability_index_critical", 0.01, f"feature:{name}"),
        )
    ]

    moved, chance = list(input_sentences(known(*rows)))[:2]

    assert moved == (
        "7d to 1970-01-01: 2 of 2 features moved beyond chance, each by a stability_index below 0.1: b 0.030 "
        "and a 0.020"
    )
    assert chance == "Chance alone moves one feature of 20"
