"""Which column has which role? Guessed from names, types and values; each guess says why. Pure."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from monitor.look.table_look import ColumnLook, TableLook
from monitor.setup.column_names import clearest_name, name_rank, rank_or_last
from monitor.setup.composite_id import are_unique, guess_key
from monitor.setup.output_guesses import (
    guess_arm,
    guess_classes,
    guess_features,
    guess_outputs,
    guess_serving,
    guess_version,
)
from monitor.setup.role_guess import MOST_CLASSES, GuessedRoles, RoleGuess, content_words, type_words
from monitor.sources.sql.statements import has_equality
from monitor.sources.sql.table_files import TableFiles
from monitor.sources.sql.time_ranges import is_partition_of

_DAY_FILES = 2  # that a day of times may lie in, however few files there are
Matches = Callable[[str, str], tuple[int, int] | None]


def guess_roles(predictions: TableLook, labels: TableLook | None, matches: Matches) -> GuessedRoles:
    """Guess the role of every column.

    Parameters
    ----------
    labels
        None: the truth may stand in the prediction table.
    matches
        how many of some labels' ids are found, given the id columns of both tables.
    """
    if labels is None:
        predicted = _own_id(predictions)
        predicted |= _event_times(predictions, predicted)
        truth = _truth_beside(predictions, predicted)
    else:
        predicted, truth = _guess_ids(predictions, labels, matches)
        predicted |= _event_times(predictions, predicted)
        truth |= _label_times(labels, truth)
        truth |= _guess_label_roles(labels, truth, [column.name for column in predictions.columns])
    holder = predictions if labels is None else labels
    label = holder.find_column(truth["label"].column) if "label" in truth else None
    roles = GuessedRoles(*_guess_task(label, predictions, predicted))
    roles.predictions, roles.labels = predicted, truth
    roles.own_table = None if label is None else labels is not None
    guess_version(predictions, roles)
    _id_and_version(predictions, roles)
    guess_key(predictions, labels, roles)
    guess_classes(label, roles)
    guess_serving(predictions, roles)
    guess_outputs(predictions, label, roles)
    guess_arm(predictions, roles)
    guess_features(predictions, roles)
    return roles


def _guess_ids(
    predictions: TableLook, labels: TableLook, matches: Matches
) -> tuple[dict[str, RoleGuess], dict[str, RoleGuess]]:
    """The pair of columns whose values meet; among equals the clearest names."""
    ours, theirs = _id_candidates(predictions), _id_candidates(labels)
    named = {column.name for column in ours} - {column.name for column in theirs}
    # Corrections repeat an id among the labels: it is not unique there, but named as that of the predictions.
    theirs += [column for column in labels.columns if column.name in named and column.there]
    best: tuple[float, int, int, RoleGuess, RoleGuess] | None = None
    # The four clearest columns of each side: every pair of them costs a query.
    for at, own in enumerate(ours[:4]):
        for other, their in enumerate(theirs[:4]):
            met = matches(own.name, their.name)
            share = 0.0 if not met or not met[1] else met[0] / met[1]
            # Values that meet tell most; equal names as much as half of the values, being unique a little.
            score = share + (0.5 if own.name.lower() == their.name.lower() else 0.0) + 0.2 * own.unique
            if best is None or score > best[0]:
                how = "" if not met else f"; {met[0]} of {met[1]} labels looked at are found by it"
                mine = RoleGuess(own.name, f"{type_words(own)}, {_uniqueness_words(own, predictions)}")
                best = (score, at, other, mine, RoleGuess(their.name, f"{type_words(their)}{how}"))
    if best is None:
        return _own_id(predictions), {}
    return {"id": best[3]}, {"id": best[4]}


def _own_id(predictions: TableLook) -> dict[str, RoleGuess]:
    candidates = _id_candidates(predictions)
    if not candidates:
        return {}
    own = candidates[0]
    return {"id": RoleGuess(own.name, f"{type_words(own)}, {_uniqueness_words(own, predictions)}")}


def _id_candidates(survey: TableLook) -> list[ColumnLook]:
    """Columns that may be ids: the unique ones and those named so, the clearest first."""
    may_be = [
        column
        for column in survey.columns
        if not column.is_time
        and has_equality(column.type)
        and (column.numbers is None or column.whole)
        and column.there
        and (column.unique or name_rank("id", column.name) is not None)
    ]
    return sorted(may_be, key=lambda column: (not column.unique, rank_or_last("id", column.name)))


def _uniqueness_words(column: ColumnLook, survey: TableLook) -> str:
    if column.unique:
        return f"unique in {survey.looked:,} rows"
    return f"NOT unique: {column.distinct:,} values in {survey.looked:,} rows; only the first of each counts"


def _id_and_version(survey: TableLook, roles: GuessedRoles) -> None:
    """An id that two versions share is no fault: records are known by both."""
    own, version = roles.predictions.get("id"), roles.predictions.get("version")
    if own is None or version is None or survey.find_column(own.column).unique:
        return
    if are_unique([survey.find_column(guess.column) for guess in (own, version)]):
        why = f"{type_words(survey.find_column(own.column))}, unique for each {version.column}"
        roles.predictions["id"] = RoleGuess(own.column, why)


def _event_times(survey: TableLook, role_guesses: Mapping[str, RoleGuess]) -> dict[str, RoleGuess]:
    """Event time and `logged_at`: by name; where names do not tell, the earlier one is the event."""
    times = _time_columns(survey, role_guesses, "event_time")
    if not times:
        return {}
    logged = clearest_name("logged_at", times)
    named = [name for name in times if name_rank("event_time", name) is not None and name != logged] or list(
        times
    )
    first = min(
        named,
        key=lambda name: (
            rank_or_last("event_time", name),
            _median_time(survey.find_column(name), times[name]),
        ),
    )
    guesses = {"event_time": _time_guess(survey, first, times[first])}
    rest = [name for name in times if name != first]
    later = [
        name
        for name in rest
        if _share_at_least(survey.find_column(name), times[name], survey.find_column(first), times[first])
        > 0.99
    ]
    second = clearest_name("logged_at", later)
    if second is not None:
        guesses["logged_at"] = _time_guess(survey, second, times[second], f"never before {first}")
    return guesses | _partition_guess(survey, guesses["event_time"])


def _label_times(survey: TableLook, guesses: Mapping[str, RoleGuess]) -> dict[str, RoleGuess]:
    times = _time_columns(survey, guesses, "reported_at")
    name = clearest_name("reported_at", times) or next(iter(times), None)
    if name is None:
        return {}
    guess = _time_guess(survey, name, times[name])
    return {"reported_at": guess} | _partition_guess(survey, guess)


def _partition_guess(survey: TableLook, time: RoleGuess) -> dict[str, RoleGuess]:
    """Folders that are days of a time by which files are not laid out otherwise, as of texts."""
    column = survey.find_column(time.column)
    moments = column.parse_moments(time.unit)
    if survey.files is None or moments is None or _is_laid_out(survey.files, column):
        return {}
    known = moments.known.tolist()
    for folder in survey.columns if any(known) else ():
        rows = zip(folder.texts.to_pylist(), moments.us.tolist(), known, strict=True)
        if folder.name in survey.files.partitions and all(
            is_partition_of(day, us) for day, us, is_known in rows if is_known
        ):
            why = f"folders: the day of {time.column}; a row of another day is not read"
            return {"partition": RoleGuess(folder.name, why)}
    return {}


def _time_columns(survey: TableLook, guesses: Mapping[str, RoleGuess], role: str) -> dict[str, str | None]:
    """Columns of times with the unit of their epochs; whole numbers only where the name says so too."""
    used_names = {guess.column for guess in guesses.values()}
    units: dict[str, str | None] = {}
    for column in survey.columns:
        if column.name in used_names:
            continue
        if column.is_time:
            units[column.name] = None
        elif column.unit is not None and any(
            name_rank(each, column.name) is not None for each in (role, "logged_at")
        ):
            units[column.name] = column.unit
    # The day of a folder's name is that of another column: which of both is the time, no name need say.
    folders = () if survey.files is None else survey.files.partitions
    own = {name: unit for name, unit in units.items() if name not in folders}
    return own or units


def _time_guess(survey: TableLook, name: str, unit: str | None, more: str = "") -> RoleGuess:
    column = survey.find_column(name)
    how = "times without a zone" if column.naive else "times"
    if unit:
        how = f"whole numbers that are times in {unit}"
    found = "indexed" if column.indexed else "NOT indexed"
    if survey.files is not None:
        found = _layout_words(survey.files, column)
    return RoleGuess(name, ", ".join(part for part in (type_words(column), how, found, more) if part), unit)


def _is_laid_out(files: TableFiles, column: ColumnLook) -> bool:
    """Whether a day of a column's times is in few of the files, by their bounds."""
    return column.day_files is not None and column.day_files <= max(_DAY_FILES, files.n // 4)


def _layout_words(files: TableFiles, column: ColumnLook) -> str:
    """Whether files are laid out by a column of times, which is all that finds rows by it."""
    if column.day_files is None or files.n == 1:
        return "" if column.day_files is None else "all in one file"
    spread = f"a day of it is in {column.day_files:,} of {files.n:,} files"
    if _is_laid_out(files, column):
        return spread
    return f"files are NOT laid out by it: {spread}, which each cycle reads"


def _guess_label_roles(
    survey: TableLook, role_guesses: Mapping[str, RoleGuess], predicted: Sequence[str]
) -> dict[str, RoleGuess]:
    """The truth: by its name, by that of a prediction of it, as the only column left or of few values."""
    used_names = {guess.column for guess in role_guesses.values()}
    left = [
        each for each in survey.columns if each.name not in used_names and not each.is_time and each.there
    ]
    revision = next(
        (
            each
            for each in left
            if each.whole and name_rank("revision", each.name) is not None and len(left) > 1
        ),
        None,
    )
    guesses = {} if revision is None else {"revision": RoleGuess(revision.name, type_words(revision))}
    left = [each for each in left if each is not revision]
    # What both tables have joins them.
    own = [each for each in left if each.name not in predicted]
    few = [each for each in own if each.distinct <= MOST_CLASSES]
    # By the surest evidence first: the first of these that names a column is taken.
    ways = (
        (clearest_name("label", [each.name for each in left]), ""),
        (
            next((each.name for each in (*few, *left) if _is_prediction_of(each.name, predicted)), None),
            "named as a prediction is",
        ),
        (own[0].name if len(own) == 1 else None, "the only column left"),
        (few[0].name if len(few) == 1 else None, "the only column of few values"),
    )
    for name, how in ways:
        if name is not None:
            column = survey.find_column(name)
            why = ", ".join(part for part in (type_words(column), content_words(column), how) if part)
            return guesses | {"label": RoleGuess(name, why)}
    return guesses


def _is_prediction_of(name: str, columns: Sequence[str]) -> bool:
    """Whether a column's name is that of a prediction of it: pred_NAME, NAME_hat."""
    near = {f"{head}{name}".lower() for head in ("pred_", "predicted_", "prediction_", "p_", "is_")}
    near |= {f"{name}{tail}".lower() for tail in ("_pred", "_hat", "_prediction", "_predicted")}
    return any(column.lower() in near for column in columns)


def _truth_beside(survey: TableLook, guesses: Mapping[str, RoleGuess]) -> dict[str, RoleGuess]:
    """A label in the prediction table: only where its name says so clearly."""
    used_names = {guess.column for guess in guesses.values()}
    named = [
        column.name
        for column in survey.columns
        if column.name not in used_names
        and not column.is_time
        and (rank_or_last("label", column.name) <= 1)
        and column.there
    ]
    name = clearest_name("label", [column for column in named if name_rank("prediction", column) is None])
    if name is None:
        return {}
    label = {
        "label": RoleGuess(
            name, f"{type_words(survey.find_column(name))}: {content_words(survey.find_column(name))}"
        )
    }
    times = [
        column
        for column in _time_columns(survey, guesses, "reported_at")
        if rank_or_last("reported_at", column) < 2
    ]
    return label | ({"reported_at": _time_guess(survey, times[0], None)} if times else {})


def _guess_task(
    label: ColumnLook | None, predictions: TableLook, guesses: Mapping[str, RoleGuess]
) -> tuple[str, str]:
    if label is None:
        used_names = {guess.column for guess in guesses.values()}
        name = clearest_name(
            "prediction", [each.name for each in predictions.columns if each.name not in used_names]
        )
        column = None if name is None else predictions.find_column(name)
        if column is None or column.distinct == 2:
            return "binary", "there is no label to tell"
        return _guess_column_task(column, "prediction")
    return _guess_column_task(label, "label")


def _guess_column_task(column: ColumnLook, what: str) -> tuple[str, str]:
    if column.distinct <= 2:
        return "binary", f"{what} {column.name} holds {content_words(column)}"
    if column.numbers is not None and (not column.whole or column.distinct > MOST_CLASSES):
        return "regression", f"{what} {column.name} holds {content_words(column)}"
    if column.distinct > MOST_CLASSES:
        return (
            "multiclass",
            f"{what} {column.name} holds {column.distinct} different values: are they classes?",
        )
    return "multiclass", f"{what} {column.name} holds {content_words(column)}"


def _median_time(column: ColumnLook, unit: str | None) -> float:
    times = column.parse_moments(unit)
    return float(np.median(times.us[times.known])) if times is not None and times.known.any() else np.inf


def _share_at_least(column: ColumnLook, unit: str | None, first: ColumnLook, first_unit: str | None) -> float:
    mine, other = column.parse_moments(unit), first.parse_moments(first_unit)
    if mine is None or other is None:
        return 0.0
    both = mine.known & other.known
    return float(np.mean(mine.us[both] >= other.us[both])) if both.any() else 0.0
