"""What the rows that were looked at tell of the outputs: words, the threshold, who gets labels. Pure."""

from dataclasses import replace

import pyarrow as pa

from monitor.advice.inspect import Inspection
from monitor.advice.outputs import CHANCE, Flip, by_class, come_for, flip_of, is_old, meanings, surely_apart
from monitor.records.reading import Reading
from monitor.setup.guess import Roles


def with_outputs(roles: Roles, looked: Inspection, reading: Reading) -> Roles:
    """What was guessed, with what predictions and labels tell together.

    Parameters
    ----------
    looked, reading
        what was seen by the first guess, and how that was read.
    """
    records, joined = looked.alike or looked.records, looked.joined
    if records is None or roles.task == "regression":
        return roles
    told = looked.first if surely_apart(looked.first, reading) else joined  # a drift turns the newest round
    ranked, sure = _by_ranks(roles, told, reading)
    if "prediction" in roles.predictions:
        roles = _in_words(ranked, records, told, reading, sure=sure)
    else:
        roles = ranked
    if "prediction" in records.column_names:  # by a threshold that is only guessed nothing is told
        found = come_for(records, joined, reading)
        if found is not None and is_old(looked.delays, looked.oldest, looked.newest):
            roles = replace(roles, only_for=(found.words, str(found)))
    return roles


def _by_ranks(roles: Roles, told: pa.Table | None, reading: Reading) -> tuple[Roles, bool]:
    """The positive class is that with the higher scores, if they are surely so; whether they are."""
    found = surely_apart(told, reading)
    if told is None or found is None or found[1] >= CHANCE:
        return roles, found is not None
    negative, positive = reading.classes
    why = f"its scores are higher: ROC AUC {1 - found[0]:.2f} in {told.num_rows:,} labels"
    return replace(roles, classes=(negative, positive), why_classes=why), True


def _in_words(
    roles: Roles, records: pa.Table, joined: pa.Table | None, reading: Reading, *, sure: bool
) -> Roles:
    """Words that mean the classes, and the threshold at which the one becomes the other.

    Parameters
    ----------
    sure
        labels have told which class has the higher scores.
    """
    meaning, flip = meanings(records, joined, reading), flip_of(records, reading)
    own = meaning or {name: name for name in reading.classes}
    if flip is not None and not meaning and not {flip.below, flip.above} & set(reading.classes):
        own = meaning = {flip.above: roles.classes[0], flip.below: roles.classes[1]}
        why = "a guess, by the score: too few labels tell"
    else:
        n = 0 if joined is None else joined.num_rows
        why = f"by {n:,} labels that have a prediction"
    if meaning:
        roles = replace(roles, names=(by_class(meaning), why))
    if flip is None or not {flip.below, flip.above} <= own.keys():
        return roles
    of_high_scores = own[flip.above], own[flip.below]
    if of_high_scores == roles.classes:
        return _flipped(roles, flip)
    if sure:  # scores and words contradict each other: the column says what was predicted
        return roles
    return _flipped(replace(roles, classes=of_high_scores, why_classes="predicted of high scores"), flip)


def _flipped(roles: Roles, flip: Flip) -> Roles:
    """A threshold instead of the column."""
    column = roles.predictions["prediction"].column
    why = f"{column} is {flip.below} below and {flip.above} from there on, in all of {flip.n:,} rows"
    others = {role: guess for role, guess in roles.predictions.items() if role != "prediction"}
    return replace(roles, predictions=others, threshold=(flip.threshold, why), written=column)
