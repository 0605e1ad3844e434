"""What did the model say, and of what? Classes, outputs, version, arms, features: guessed. Pure."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from monitor.advice.output_findings import round_range
from monitor.look.table_look import ColumnLook, TableLook
from monitor.measures.statistics.two_samples import mann_whitney_less
from monitor.records.column_values import parse_numbers
from monitor.records.reading import canonical_name
from monitor.setup.column_names import clearest_name, name_rank, rank_or_last
from monitor.setup.role_guess import (
    MOST_CLASSES,
    GuessedRoles,
    RoleGuess,
    column_range,
    content_words,
    holds_shares,
    type_words,
)

_POSITIVE = ("1", "yes", "y", "t", "positive", "pos", "bad", "fraud", "default", "churn", "churned", "late")
_SERVING = ("shadow", "live", "champion", "challenger", "canary")
_FEW = 6  # values of a column that tells rows that serve
_PAIR = 2
_TIME_PART = re.compile(r"(?i)(^|_)(year|month|week|day|hour|minute|date|dt|ds|ts|yyyy|mm|dd|hh)$")
_MOSTLY_APART = 0.9  # share of pairs from which on a column may be what a threshold stands for
_FEW_VERSIONS = 5  # among rows that were looked at
_CONTROL = ("control", "ctrl", "holdout", "placebo", "c", "a")


def guess_version(survey: TableLook, roles: GuessedRoles) -> None:
    """The column of the model's version."""
    name = clearest_name(
        "version", [each.name for each in _unused_columns(survey, roles) if each.distinct <= 100]
    )
    if name is not None:
        column = survey.find_column(name)
        roles.predictions["version"] = RoleGuess(name, f"{type_words(column)}: {content_words(column)}")
        return
    runs = [each for each in _unused_columns(survey, roles) if _has_long_runs(each)]
    if runs:
        roles.maybe_version = RoleGuess(
            runs[0].name, f"{type_words(runs[0])}: {content_words(runs[0])}, in long runs"
        )


def _has_long_runs(column: ColumnLook) -> bool:
    """Whether a text names few things, one after the other: as versions do, and features do not."""
    if column.is_time or not 1 < column.distinct <= _FEW_VERSIONS:
        return False
    changes: int = sum(one != other for one, other in pairwise(column.texts.to_pylist()))
    return changes < 2 * column.distinct


def guess_classes(label: ColumnLook | None, roles: GuessedRoles) -> None:
    """Classes, and which is the positive one."""
    if roles.task == "regression" or label is None:
        return
    levels = list(label.levels)
    if roles.task == "multiclass":
        roles.classes, roles.why_classes = tuple(sorted(levels[:MOST_CLASSES])), "as the labels hold them"
        return
    if len(levels) < 2:
        other = "0" if levels and levels[0] != "0" else "1"
        levels = [*levels, other]
    named = [name for name in levels if name.lower() in _POSITIVE]
    positive = named[0] if len(named) == 1 else levels[-1]
    negative = next(name for name in levels if name != positive)
    roles.classes = (positive, negative)
    roles.why_classes = "by its name" if len(named) == 1 else "a guess: it is the rarer one"


def guess_outputs(survey: TableLook, label: ColumnLook | None, roles: GuessedRoles) -> None:
    """Score, probabilities, prediction."""
    left = _unused_columns(survey, roles)
    if roles.task == "multiclass":
        _guess_probabilities(left, roles)
    if roles.task == "binary":
        _guess_score(left, roles)
        left = _unused_columns(survey, roles)
    _guess_prediction(survey, left, label, roles)


def _guess_score(left: Sequence[ColumnLook], roles: GuessedRoles) -> None:
    numbers = [each for each in left if each.numbers is not None and each.distinct > 2 and each.unit is None]
    name = clearest_name("score", [each.name for each in numbers])
    shares = [each.name for each in numbers if not each.whole and holds_shares(each)]
    if name is None and len(shares) == 1:
        name = shares[0]
    if name is None:
        return
    column = next(each for each in left if each.name == name)
    low, high = column_range(column)
    roles.predictions["score"] = RoleGuess(name, f"{type_words(column)}: from {low:g} to {high:g}")
    if not holds_shares(column):
        roles.score_range = round_range(low, high)


def _guess_prediction(
    survey: TableLook, left: Sequence[ColumnLook], label: ColumnLook | None, roles: GuessedRoles
) -> None:
    if roles.task == "regression":
        candidates = [each for each in left if each.numbers is not None]
    else:
        classes = set(roles.classes)
        candidates = [each for each in left if each.there and set(each.levels) <= classes] if classes else []
    name = clearest_name("prediction", [each.name for each in candidates])
    if name is None and not candidates and roles.task != "regression":
        _guess_worded_prediction(left, roles)
        return
    if name is None and roles.task != "regression":
        # Several columns hold the classes. The score keeps the values of the prediction apart, not those of a
        # feature that happens to be 0 and 1.
        apart = {each.name: _told_apart(survey, each, roles) for each in candidates}
        exact = [each for each, share in apart.items() if share == 1.0]
        name = exact[0] if len(exact) == 1 else None
        mostly = max(apart, key=lambda each: apart[each], default="")
        if name is None and "score" in roles.predictions and apart.get(mostly, 0.0) >= _MOSTLY_APART:
            column = survey.find_column(mostly)
            why = f"{content_words(column)}; the score orders {apart[mostly]:.1%} of pairs of its values"
            roles.maybe_prediction = RoleGuess(mostly, why)
    if name is not None:
        column = survey.find_column(name)
        like = "" if label is None or roles.task == "regression" else ", classes of the label"
        roles.predictions["prediction"] = RoleGuess(
            name, f"{type_words(column)}: {content_words(column)}{like}"
        )


def _told_apart(survey: TableLook, column: ColumnLook, roles: GuessedRoles) -> float:
    """Share of pairs of its values that scores, if there are any, order alike: 0 and 1 may be a feature.

    1 only where no score lies between those of another value.
    """
    if "score" not in roles.predictions or column.distinct < _PAIR:
        return float(column.distinct >= _PAIR)
    score = parse_numbers(survey.find_column(roles.predictions["score"].column).values)
    is_known = ~score.missing
    said = np.asarray(column.texts.to_pylist(), dtype=object)[is_known]
    sides = [score.values[is_known][said == level] for level in set(said) - {None}]
    ordered = sorted((side for side in sides if len(side)), key=np.median)
    shares = [mann_whitney_less(high, low)[0] for low, high in pairwise(ordered)]
    return min(shares, default=0.0)


def _guess_worded_prediction(left: Sequence[ColumnLook], roles: GuessedRoles) -> None:
    """A column that is named as predictions are and holds other words than the labels, as many as classes."""
    few = [each for each in left if each.there and each.distinct == max(len(roles.classes), 2)]
    name = clearest_name("prediction", [each.name for each in few])
    if name is not None and roles.classes:
        column = next(each for each in few if each.name == name)
        why = f"{type_words(column)}: {content_words(column)}, other words than the label's"
        roles.predictions["prediction"] = RoleGuess(name, why)


def _guess_probabilities(left: Sequence[ColumnLook], roles: GuessedRoles) -> None:
    """One column for each class, named by it behind or before a common part."""
    shares = {column.name.lower(): column.name for column in left if holds_shares(column)}
    # A common part is a column's name without that of a class: it is the right one if each class has a column
    # of its own by it.
    for common in {
        name.replace(each.lower(), "*") for name in shares for each in roles.classes if each.lower() in name
    }:
        wanted = {each: shares.get(common.replace("*", each.lower())) for each in roles.classes}
        if len(set(wanted.values())) == len(wanted) and None not in wanted.values():
            roles.probabilities = {each: name for each, name in wanted.items() if name is not None}
            return


def guess_arm(survey: TableLook, roles: GuessedRoles) -> None:
    """The column of control and treatment: one of two values, one of them named as a control is."""
    for column in _unused_columns(survey, roles):
        if name_rank("arm", column.name) is None or column.distinct != 2:
            continue
        control = [level for level in column.levels if canonical_name(level).lower() in _CONTROL]
        if len(control) == 1:
            other = next(level for level in column.levels if level != control[0])
            roles.predictions["arm"] = RoleGuess(
                column.name, f"{type_words(column)}: {content_words(column)}"
            )
            roles.control = (control[0], other)
            return


def guess_serving(survey: TableLook, roles: GuessedRoles) -> None:
    """A column that may tell rows that serve from shadow rows."""
    name = clearest_name(
        "serving", [each.name for each in _unused_columns(survey, roles) if 2 <= each.distinct <= _FEW]
    )
    if name is not None:
        column = survey.find_column(name)
        roles.serving = RoleGuess(name, content_words(column)), tuple(column.levels)


def guess_features(survey: TableLook, roles: GuessedRoles) -> None:
    """What is left and looks like features."""
    ids = {
        column.name
        for column in survey.columns
        if column.unique and column.numbers is not None and column.whole
    }
    times = {column.name for column in survey.columns if column.is_time or _is_epoch(column)}
    folders = () if survey.files is None else survey.files.partitions
    named_times = {name for name in folders if _TIME_PART.search(name)}  # as day=2026-01-01, month=3
    left = [
        column
        for column in _unused_columns(survey, roles)
        if column.name not in ids | times | named_times
        and column.distinct > 1
        and rank_or_last("id", column.name) > 1
        and not _is_output(column)
    ]
    roles.numeric = tuple(column.name for column in left if column.kind == "numeric")
    roles.categorical = tuple(column.name for column in left if column.kind == "categorical")


def number_columns(survey: TableLook, roles: GuessedRoles) -> list[str]:
    """Columns of numbers without a role: one of them may be the predicted number."""
    return [
        each.name
        for each in _unused_columns(survey, roles)
        if each.numbers is not None and each.distinct > _PAIR
    ]


def _is_output(column: ColumnLook) -> bool:
    """Whether a column's name is that of an output: of another model, perhaps."""
    return column.numbers is not None and (
        rank_or_last("score", column.name) < 2 or name_rank("prediction", column.name) is not None
    )


def _unused_columns(survey: TableLook, roles: GuessedRoles) -> list[ColumnLook]:
    guesses = [*roles.predictions.values(), *(() if roles.own_table else roles.labels.values())]
    used = {name for guess in guesses for name in guess.columns} | set(roles.probabilities.values())
    if roles.serving is not None and _tells_shadow(*roles.serving):
        used.add(roles.serving[0].column)  # neither an output nor a feature
    return [column for column in survey.columns if column.name not in used and column.there]


def _tells_shadow(guess: RoleGuess, levels: Sequence[str]) -> bool:
    """Whether a column tells rows that serve, by its name or by what it holds."""
    return name_rank("serving", guess.column) == 0 or not {level.lower() for level in levels}.isdisjoint(
        _SERVING
    )


def _is_epoch(column: ColumnLook) -> bool:
    return column.unit is not None and (
        name_rank("event_time", column.name) is not None or name_rank("logged_at", column.name) is not None
    )
