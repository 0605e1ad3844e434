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
