"""Control and challenger: what is compared, and what of it cannot be."""

from configurations import File, model

from monitor.core.clock import from_iso
from monitor.records.reading import ChallengerOutput

SCORED = 'score = "score"\nthreshold = 0.4\n'
LABELS = '[models.labels]\ntable = "labels"\nlabel = "late"\nreported_at = "reported_at"\n'
ARMS = '[models.control]\narm_column = "group"\ncontrol_value = "c"\ntreatment_value = "t"\n'
CHALLENGER = '[models.challenger]\nscore = "score_2"\n'
CLASSES = '[models.classes]\nvalues = ["a", "b", "c"]\n'


def test_without_control_and_challenger_nothing_is_compared(file: File) -> None:
    spec = file.spec(model())

    assert (spec.keys.control, spec.control_share, spec.detect) == (None, None, None)
    assert spec.reading.challenger is None


def test_arms_of_classes_are_told_apart_from_1_percent_on(file: File) -> None:
    assert file.spec(model(tables=LABELS + ARMS)).detect == 0.01


def test_arms_of_numbers_are_not_tested_without_the_size_that_matters(file: File) -> None:
    spec = file.spec(model("regression", predictions='prediction = "p"', tables=LABELS + ARMS))

    assert spec.detect is None


def test_what_is_compared_and_since_when(file: File) -> None:
    keys = 'control_share = 0.1\nsince = "2024-02-01"\ndetect = 0.02\n'
    challenger = CHALLENGER + 'threshold = 0.6\nsince = "2024-03-01"\n'

    spec = file.spec(model(predictions=SCORED, tables=LABELS + ARMS + keys + challenger))

    assert spec.keys.control is not None
    assert spec.keys.challenger is not None
    assert (spec.control_share, spec.detect) == (0.1, 0.02)
    assert spec.keys.control.since == from_iso("2024-02-01")
    assert spec.keys.challenger.since == from_iso("2024-03-01")
    assert spec.reading.challenger == ChallengerOutput(column="score_2", threshold=0.6)
    assert spec.predictions.column_of("challenger") == "score_2"


def test_several_classes_are_compared_by_the_challengers_class(file: File) -> None:
    challenger = '[models.challenger]\nprediction = "p_2"\n'

    spec = file.spec(
        model("multiclass", predictions='prediction = "p"', tables=LABELS + CLASSES + challenger)
    )
    assert spec.reading.challenger == ChallengerOutput(column="p_2")
    assert spec.predictions.column_of("challenger") == "p_2"


def test_a_challengers_threshold_is_the_models_own_unless_it_has_one(file: File) -> None:
    spec = file.spec(model(predictions=SCORED, tables=LABELS + CHALLENGER))

    assert spec.reading.challenger == ChallengerOutput(column="score_2", threshold=0.4)
