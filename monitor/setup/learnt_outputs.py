"""What the rows that were looked at tell of the outputs: words, the threshold, who gets labels. Pure."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa

from monitor.advice.output_findings import (
    CHANCE,
    SURELY,
    ThresholdFlip,
    flip_of,
    is_old,
    prediction_meanings,
    selective_label_words,
    surely_apart,
    words_by_class,
)
from monitor.advice.row_findings import RowFindings
from monitor.look.table_look import ENOUGH, TableLook
from monitor.measures.statistics.intervals import normal_quantile
from monitor.measures.statistics.two_samples import rank_correlation
from monitor.records.column_values import parse_numbers
from monitor.records.reading import ReadingOptions
from monitor.setup.role_guess import GuessedRoles, RoleGuess, type_words

_ALIKE = 0.5  # rank correlation with the label from which on a column may be the prediction
_NEARLY = 1 - 1e-9  # Fisher's transformation of 1 is infinite
_NAMED = 3  # columns of which none is clearly the prediction


def learn_prediction(roles: GuessedRoles, survey: TableLook, rows: pa.Table) -> GuessedRoles:
    """The predicted number: the column that goes with the label surely more than any other does.

    It is nearer to the label than the label's median is: what has other units may be a feature. What is the
    label itself is none. Where two may be it, both are named and none is taken.

    `rows`: some labels, with columns of their predictions: see `labelled_values`.
    """
    truth, found = parse_numbers(rows["label"]), list[tuple[str, float, int]]()
    for name in rows.column_names[1:]:
        values = parse_numbers(rows[name])
        both = truth.finite & values.finite
        if both.sum() < ENOUGH:
            continue
        label, guessed = truth.values[both], values.values[both]
        misses, spread = np.abs(guessed - label), np.abs(label - np.median(label))
        if misses.max() > 0 and np.median(misses) < np.median(spread):
            correlation = rank_correlation(label, guessed)
            found.append((name.removeprefix("column:"), correlation, int(both.sum())))
    found = sorted((each for each in found if each[1] >= _ALIKE), key=lambda each: -each[1])
    if not found:
        return roles
    name, correlation, n = found[0]
    # The lower bound of the best one and the upper bound of the next: where they meet, either may be it.
    if len(found) > 1 and _lower_bound(correlation, n) <= -_lower_bound(-found[1][1], found[1][2]):
        return replace(roles, like_label=tuple((other, r) for other, r, _ in found[:_NAMED]))
    why = f"{type_words(survey.find_column(name))}: rank correlation {correlation:.2f} with {n:,} labels"
    return replace(
        roles,
        predictions={**roles.predictions, "prediction": RoleGuess(name, why)},
        numeric=tuple(other for other in roles.numeric if other != name),
        categorical=tuple(other for other in roles.categorical if other != name),
    )


def _lower_bound(correlation: float, n: int) -> float:
    """Lower bound of a rank correlation, by Fisher's transformation."""
    within = min(max(correlation, -_NEARLY), _NEARLY)
    return math.tanh(math.atanh(within) - normal_quantile(SURELY) * math.sqrt(1.06 / (n - 3)))


def learn_outputs(roles: GuessedRoles, findings: RowFindings, reading: ReadingOptions) -> GuessedRoles:
    """What was guessed, with what predictions and labels tell together.

    `findings`, `reading`: what was seen by the first guess, and how that was read.
    """
    records, joined = findings.alike or findings.records, findings.joined
    if records is None or roles.task == "regression":
        return roles
    # A drift turns the newest round.
    told = findings.first if surely_apart(findings.first, reading) else joined
    ranked, sure = _learn_positive_class(roles, told, reading)
    if "prediction" in roles.predictions:
        roles = _learn_class_words(ranked, records, told, reading, sure=sure)
    else:
        roles = ranked
    # By a threshold that is only guessed nothing is told.
    if "prediction" in records.column_names:
        selective = selective_label_words(records, joined, reading)
        if selective is not None and is_old(findings.delays, findings.oldest, findings.newest):
            roles = replace(roles, only_for=(selective.words, str(selective)))
    return roles


def _learn_positive_class(
    roles: GuessedRoles, told: pa.Table | None, reading: ReadingOptions
) -> tuple[GuessedRoles, bool]:
    """The positive class is that with the higher scores, if they are surely so; whether they are."""
    found = surely_apart(told, reading)
    if told is None or found is None or found[1] >= CHANCE:
        return roles, found is not None
    negative, positive = reading.classes
    why = f"its scores are higher: ROC AUC {1 - found[0]:.2f} in {told.num_rows:,} labels"
    return replace(roles, classes=(negative, positive), why_classes=why), True


def _learn_class_words(
    roles: GuessedRoles, records: pa.Table, joined: pa.Table | None, reading: ReadingOptions, *, sure: bool
) -> GuessedRoles:
    """Words that mean the classes, and the threshold at which the one becomes the other.

    `sure`: labels have told which class has the higher scores.
    """
    meaning, flip = prediction_meanings(records, joined, reading), flip_of(records, reading)
    own = meaning or {name: name for name in reading.classes}
    if flip is not None and not meaning and not {flip.below, flip.above} & set(reading.classes):
        own = meaning = {flip.above: roles.classes[0], flip.below: roles.classes[1]}
        why = "a guess, by the score: too few labels tell"
    else:
        n = 0 if joined is None else joined.num_rows
        why = f"by {n:,} labels that have a prediction"
    if meaning:
        roles = replace(roles, names=(words_by_class(meaning), why))
    if flip is None or not {flip.below, flip.above} <= own.keys():
        return roles
    of_high_scores = own[flip.above], own[flip.below]
    if of_high_scores == roles.classes:
        return _apply_threshold_flip(roles, flip)
    # Scores and words contradict each other: the column says what was predicted.
    if sure:
        return roles
    return _apply_threshold_flip(
        replace(roles, classes=of_high_scores, why_classes="predicted of high scores"), flip
    )


def _apply_threshold_flip(roles: GuessedRoles, flip: ThresholdFlip) -> GuessedRoles:
    """A threshold instead of the column."""
    column = roles.predictions["prediction"].column
    why = f"{column} is {flip.below} below and {flip.above} from there on, in all of {flip.n:,} rows"
    others = {role: guess for role, guess in roles.predictions.items() if role != "prediction"}
    return replace(roles, predictions=others, threshold=(flip.threshold, why), written=column)
