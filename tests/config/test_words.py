"""Words of predictions, and the predictions that labels come for, in the configuration."""

import pytest
from configurations import File, model

from monitor.specs.reference_choice import reference_key

WRITTEN = 'prediction = "decision"'
NAMED = """
[models.classes]
positive = "DEFAULT"
negative = "PAID"
names = { DEFAULT = ["decline"], PAID = ["ok", 1] }
"""
LABELS = '[models.labels]\ntable = "labels"\nlabel = "outcome"\nreported_at = "at"\n'


def test_words_mean_classes_as_canonical_text(file: File) -> None:
    reading = file.spec(model(predictions=WRITTEN, tables=NAMED)).reading

    assert reading.words == (("1", "PAID"), ("decline", "DEFAULT"), ("ok", "PAID"))


@pytest.mark.parametrize(
    ("given", "meant"),
    [('["ok"]', ("PAID",)), ('["ok", true, "PAID"]', ("PAID",)), ('["refer", "ok"]', ("PAID", "refer"))],
)
def test_predictions_that_labels_come_for_are_what_their_words_mean(
    file: File, given: str, meant: tuple[str, ...]
) -> None:
    spec = file.spec(model(predictions=WRITTEN, tables=f"{LABELS}only_for = {given}\n{NAMED}"))

    assert spec.reading.only_for == meant


def test_classes_that_are_made_of_scores_mean_themselves_but_only_for_may_say_words(file: File) -> None:
    reading = file.spec(model(tables=f'{LABELS}only_for = ["ok"]\n{NAMED}')).reading

    assert (reading.words, reading.only_for) == ((), ("PAID",))


def test_another_choice_is_another_reference(file: File) -> None:
    tables = (NAMED, f"{LABELS}{NAMED}", f'{LABELS}only_for = ["ok"]\n{NAMED}', LABELS)
    texts = [
        model(predictions=WRITTEN, tables=f'{table}\n[models.reference]\nfile = "r.csv"') for table in tables
    ]

    assert len({reference_key(file.spec(text)) for text in texts}) == 4


NAMES = "[models.classes]\nnames = "
FAULTS = [
    (
        '{ 2 = ["no"] }',
        '.classes.names.2: words are given for a class ("0", "1"): got "2"',
    ),
    ('{ 1 = ["yes"], 0 = ["no", "yes"] }', '.classes.names: every word means one class: got "yes" twice'),
    ("{ 1 = [] }", ".classes.names.1: must have at least one entry: got []"),
]


@pytest.mark.parametrize(("names", "fault"), FAULTS)
def test_words_that_mean_no_class_or_two_are_faults(file: File, names: str, fault: str) -> None:
    assert f'models[0] "late"{fault}' in file.faults_of(model(predictions=WRITTEN, tables=NAMES + names))


def test_words_need_a_column_of_predictions_or_labels_that_come_for_some(file: File) -> None:
    words_of = "words are those of a column of predictions: give predictions.prediction, or leave them out"

    assert file.faults_of(model(tables=f'{NAMES}{{ 1 = ["yes"] }}')) == [
        f'models[0] "late".classes.names: {words_of}'
    ]


def test_labels_come_for_predictions_that_are_made(file: File) -> None:
    rule = 'predictions are made of scores: name classes ("0", "1") or words of classes.names'

    assert file.faults_of(model(tables=f'{LABELS}only_for = ["yes"]')) == [
        f'models[0] "late".labels.only_for: {rule}: got "yes"'
    ]
    assert file.faults_of(model(tables=f"{LABELS}only_for = []")) == [
        'models[0] "late".labels.only_for: must have at least one entry: got []'
    ]


def test_a_regression_has_neither(file: File) -> None:
    tables = f'{LABELS}only_for = ["1"]\n[models.classes]\nnames = {{ 1 = ["a"] }}'

    assert sorted(file.faults_of(model("regression", predictions=WRITTEN, tables=tables))) == [
        'models[0] "late".classes: a regression model has none',
        'models[0] "late".labels.only_for: a regression predicts numbers: choose the labels by labels.where',
    ]
