"""The key `against`: what windows are compared with beside the reference."""

import pytest
from configurations import File, model

RULE = '"previous" or a trailing span of whole weeks, as in "28d"'
SMALL = 'must hold a window shifted back by whole weeks, at least "35d" here'


def test_nothing_is_compared_unless_it_is_asked_for(file: File) -> None:
    assert file.spec(model()).keys.against == ()


def test_spans_are_named_by_their_days(file: File) -> None:
    spec = file.spec(model(keys='against = ["previous", "4w", "7d"]'))

    assert spec.keys.against == ("previous", "28d", "7d")


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ('against = ["previos"]', f'.against[0]: {RULE}: got "previos"; did you mean "previous"?'),
        ('against = ["previous", "10d"]', f'.against[1]: {RULE}: got "10d"'),
        ('against = ["0d"]', f'.against[0]: {RULE}: got "0d"'),
        ('against = ["28d", "4w"]', '.against[1]: every entry is given once: got "28d" twice'),
        ('windows = ["30d"]\nagainst = ["28d"]', f'.against[0]: {SMALL}: got "28d"'),
        ('windows = ["month"]\nagainst = ["7d"]', f'.against[0]: {SMALL}: got "7d"'),
    ],
)
def test_what_cannot_be_compared_with_is_a_fault(file: File, keys: str, fault: str) -> None:
    assert file.faults_of(model(keys=keys)) == [f'models[0] "late"{fault}']


def test_a_span_that_only_short_windows_fit_into_is_none(file: File) -> None:
    text = model(keys='windows = ["1d", "7d", "30d"]\nagainst = ["28d"]')

    assert file.spec(text).keys.against == ("28d",)


SEASONAL = '[models.reference]\nfile = "reference.parquet"\nseason = "week"\n'
LABELS = '[models.labels]\ntable = "labels"\nlabel = "late"\nreported_at = "reported_at"\n'
OWN = 'must be "reference" or one of the model\'s own against ("reference")'
ALERT = '[[models.alerts]]\nname = "moved"\nagainst = "season"\nabove = 0.1\n'


def test_a_season_is_part_of_the_reference(file: File) -> None:
    spec = file.spec(model(tables=SEASONAL))

    assert spec.season == "week"
    assert file.spec(model()).season == ""


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        (SEASONAL.replace("week", "moon"), '.reference.season: must be one of "week", "year": got "moon"'),
        (
            ALERT + 'measure = "stability_index"\nsubject = "score"\n',
            f'.alerts[0].against: {OWN}: got "season"',
        ),
        (
            SEASONAL + ALERT + 'measure = "missing_rate"\nsubject = "score"\n',
            '.alerts[0].against: "missing_rate" is not compared with that: got "season"',
        ),
        (
            SEASONAL + LABELS + ALERT + 'measure = "stability_index"\nsubject = "label"\n',
            '.alerts[0].against: labels are not compared with a season: got "season"',
        ),
    ],
)
def test_what_no_season_is_compared_with_is_a_fault(file: File, tables: str, fault: str) -> None:
    assert file.faults_of(model(tables=tables)) == [f'models[0] "late"{fault}']


def test_a_season_needs_the_measures_of_shift(file: File) -> None:
    text = model(keys='measures = ["values"]', tables=SEASONAL)

    assert file.faults_of(text) == [
        'models[0] "late".reference.season: compares shift: add "shift" to measures'
    ]
