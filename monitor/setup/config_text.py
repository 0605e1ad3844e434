"""The configuration that `monitor init` writes: short, each guess with its evidence. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.advice.outputs import names_table, quoted, quoted_list
from monitor.core.clock import DAY, to_iso
from monitor.core.text import double_quoted, readable
from monitor.setup.guess import Guess, Roles

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is written."""

    source: str
    url: str  # with places for secrets
    name: str
    predictions: str
    labels: str | None
    roles: Roles
    looked: str  # what was looked at, a sentence
    naive: bool = False
    # first and last moment of the log's range that serves as one; None: none.
    reference: tuple[int, int] | None = None
    horizon: tuple[str, str] | None = None  # longer than the default, with the reason
    refused: tuple[str, ...] = ()  # columns whose type is not read
    # of the reference, from the directory of what is written; None: it is a range of the log, or none.
    file: str | None = None
    # nested, taken_out: columns that hold JSON, and the SELECT that takes their values out.
    nested: tuple[str, ...] = ()
    taken_out: str = ""
    labels_where: str | None = None  # condition on the labels
    few: tuple[str, ...] = ()  # columns of a few values each


def config_text(draft: Draft) -> str:
    """TOML of a draft; a name brings no line of its own, in no comment either."""
    lines = [
        f"# Written by `monitor init`: {draft.looked}.",
        "# Every guess says why; what is not known is commented out. Every key: monitor files DIRECTORY.",
        "",
        *_source(draft),
        "",
        *_model(draft),
        "",
        *_predictions(draft),
        *_labels(draft),
        *_classes(draft.roles),
        *_reference(draft),
        *_control(draft.roles),
        *_serving(draft.roles),
        "",
    ]
    return "\n".join(map(readable, lines))


def missing_roles(roles: Roles) -> list[str]:
    """Roles that a model cannot do without and that were not found."""
    wanted = ["id", "event_time"]
    lacking = [role for role in wanted if role not in roles.predictions]
    outputs = {"score", "prediction"} & set(roles.predictions)
    if not outputs and not roles.probabilities:
        lacking.append("prediction" if roles.task != "binary" else "score")
    if roles.task == "regression" and "prediction" not in roles.predictions and "prediction" not in lacking:
        lacking.append("prediction")
    return lacking


def _source(draft: Draft) -> Iterator[str]:
    yield f"[sources.{draft.source}]"
    yield f"url = {double_quoted(draft.url)}"
    if draft.naive:
        yield '# timezone = "Europe/Vienna"  # FILL IN if times without a zone are not UTC'


def _model(draft: Draft) -> Iterator[str]:
    roles = draft.roles
    yield "[[models]]"
    yield f"name = {quoted(draft.name)}"
    yield f"source = {quoted(draft.source)}"
    yield _line("task", quoted(roles.task), roles.why_task)
    if columns := [name for name in roles.categorical if name in draft.few]:
        yield _line("# segments", quoted_list(columns), "each value apart: choose where a fall may hide")
    if draft.horizon is not None:
        yield _line("horizon", quoted(draft.horizon[0]), draft.horizon[1])
    if roles.own_table is not None and "reported_at" not in roles.labels:
        yield _line(
            "settle_after", '"7d"', "FILL IN the age from which on labels are complete: no column tells"
        )


def _predictions(draft: Draft) -> Iterator[str]:
    roles, guesses = draft.roles, draft.roles.predictions
    yield "[models.predictions]"
    yield f"table = {quoted(draft.predictions)}"
    yield from _guess("id", guesses.get("id"), "the column, or list of columns, that names a prediction")
    yield from _guess("event_time", guesses.get("event_time"), "when the prediction was made")
    first = guesses.get("event_time")
    yield from _guess(
        "logged_at", guesses.get("logged_at"), "when a row became visible, if it is logged", first
    )
    if roles.task == "binary":
        yield from _guess(
            "score", guesses.get("score"), "the column of the score, high for the positive class"
        )
    if roles.score_range is not None:
        low, high = roles.score_range
        yield _line(
            "score_range", f"[{low:g}, {high:g}]", "FILL IN: valid scores, guessed from those looked at"
        )
    yield from _decision(roles)
    yield from _version(roles)
    if draft.refused:
        yield f"# not read, cast them in a view or in `query`: {', '.join(draft.refused)}"
    if draft.nested:
        yield f"# holds JSON: {', '.join(draft.nested)}; take out of it what the model is fed:"
        yield f"# query = {double_quoted(draft.taken_out)}  # instead of table"
    yield ""


def _version(roles: Roles) -> Iterator[str]:
    """The version, or a column that may be it: what a feature seldom is, one value for long."""
    if roles.maybe_version is None:
        meaning = "the column of the model's version, if it is logged"
        yield from _guess("version", roles.predictions.get("version"), meaning)
        return
    guess = roles.maybe_version
    yield _line("# version", quoted(guess.column), f"FILL IN, if it is the model's version: {guess.why}")


def _decision(roles: Roles) -> Iterator[str]:
    guesses = roles.predictions
    if roles.probabilities:
        columns = ", ".join(
            f"{_key(name)} = {quoted(column)}" for name, column in roles.probabilities.items()
        )
        yield _line("probabilities", f"{{ {columns} }}", "one column a class, by their names")
    if "prediction" in guesses or "score" not in guesses:
        if not roles.probabilities or "prediction" in guesses:
            meaning = "the column of the predicted value"
            if roles.like_label:
                alike = ", ".join(f"{name} (rank correlation {r:.2f})" for name, r in roles.like_label)
                meaning += f"; no column clearly goes with the label more than all others: {alike}"
            yield from _guess("prediction", guesses.get("prediction"), meaning)
    elif roles.threshold is not None:
        yield _line("threshold", f"{roles.threshold[0]:.15g}", roles.threshold[1])
        if roles.written is not None:
            yield f"# prediction = {quoted(roles.written)}  # instead of the threshold, if it may move"
    else:
        low, high = roles.score_range or (0.0, 1.0)
        yield _line("threshold", f"{(low + high) / 2:g}", "FILL IN: positive from this score on; a guess")
        if roles.maybe_prediction is not None:
            guess = roles.maybe_prediction
            asked = "FILL IN instead of the threshold, if it is what was decided; a feature until then"
            yield _line("# prediction", quoted(guess.column), f"{asked}: {guess.why}")


def _labels(draft: Draft) -> Iterator[str]:
    roles, guesses = draft.roles, draft.roles.labels
    if roles.own_table is None:
        yield "# [models.labels]           # FILL IN the table of the truth: without it no performance"
        yield f"# table = {quoted(draft.labels or 'labels')}"
        yield '# label = "label"'
        yield ""
        return
    yield "[models.labels]"
    if roles.own_table and draft.labels is not None:
        yield f"table = {quoted(draft.labels)}"
        if draft.labels_where is not None:
            yield f"where = {quoted(draft.labels_where)}"
        yield from _guess("id", guesses.get("id"), "the column that names the prediction")
    yield from _guess("label", guesses.get("label"), "the column of the truth")
    first = roles.predictions.get("event_time")
    yield from _guess("reported_at", guesses.get("reported_at"), "when a label became known", first)
    if "revision" in guesses:
        yield from _guess("revision", guesses.get("revision"), "")
    if roles.only_for is not None:
        yield _line("only_for", quoted_list(roles.only_for[0]), roles.only_for[1])
    yield ""


def _classes(roles: Roles) -> Iterator[str]:
    if not roles.classes or roles.task == "regression":
        return
    named = roles.names is not None
    if roles.task == "binary" and (named or roles.classes != ("1", "0") or "guess" in roles.why_classes):
        yield "[models.classes]"
        yield _line("positive", quoted(roles.classes[0]), roles.why_classes)
        yield f"negative = {quoted(roles.classes[1])}"
    elif roles.task == "multiclass" and (named or not roles.probabilities):
        yield "[models.classes]"
        yield _line("values", quoted_list(roles.classes), roles.why_classes)
    else:
        return
    if roles.names is not None:
        # where no column is read, and no word is asked for, nothing needs them
        unread = roles.written is not None and roles.only_for is None
        yield _line("# names" if unread else "names", names_table(roles.names[0]), roles.names[1])
    yield ""


def _reference(draft: Draft) -> Iterator[str]:
    roles = draft.roles
    features = roles.numeric or roles.categorical
    if draft.file is not None:
        yield "[models.reference]"
        yield _line("file", double_quoted(draft.file), "your test set, or the out-of-fold scores")
    elif draft.reference is None or not features:
        yield "# [models.reference]        # FILL IN what to compare with: without it no shift"
        yield '# file = "test.parquet"     # your test set, or the out-of-fold scores, columns named as above'
        return
    else:
        yield "[models.reference]          # the log's own first days; better your test set, by --reference"
        yield f"from = {quoted(_day(draft.reference[0]))}"
        yield f"to = {quoted(_day(draft.reference[1]))}"
    if not features:
        return
    yield ""
    yield "[models.features]           # the other columns; take out what the model is not fed"
    for key, names in (("numeric", roles.numeric), ("categorical", roles.categorical)):
        if names:
            yield from _listed(key, names)


def _control(roles: Roles) -> Iterator[str]:
    if roles.control is None:
        return
    guess = roles.predictions["arm"]
    yield ""
    yield "[models.control]            # compares both groups; leave it out if it is none"
    yield _line("arm_column", quoted(guess.column), guess.why)
    yield f"control_value = {quoted(roles.control[0])}"
    yield f"treatment_value = {quoted(roles.control[1])}"


def _serving(roles: Roles) -> Iterator[str]:
    if roles.serving is None:
        return
    guess, values = roles.serving
    yield ""
    yield "# [models.serving]           # FILL IN the values of rows that serve, if others are shadow rows"
    yield _line("# column", quoted(guess.column), f"{guess.why}; needs predictions.version")
    yield f"# values = [{', '.join(quoted(value) for value in values)}]"


def _guess(key: str, guess: Guess | None, meaning: str, first: Guess | None = None) -> Iterator[str]:
    """A key and its evidence, or a line to fill in; the unit of an epoch where the first has another."""
    if guess is None:
        yield f'# {key} = "…"  # FILL IN: {meaning}'
        return
    several = f"[{', '.join(quoted(name) for name in (guess.column, *guess.more))}]"
    yield _line(key, several if guess.more else quoted(guess.column), guess.why)
    if first is None and guess.unit is not None:
        yield _line(f"{key}_unit", quoted(guess.unit), "between 1990 and 2100")
    elif first is not None and guess.unit != first.unit:
        yield _line(f"{key}_unit", quoted(guess.unit or "none"), "other than that of the event time")


def _listed(key: str, names: tuple[str, ...]) -> Iterator[str]:
    whole = f"{key} = [{', '.join(quoted(name) for name in names)}]"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield f"{key} = ["
    line = "   "
    for name in names:
        if len(line) + len(quoted(name)) > _WIDTH:
            yield line
            line = "   "
        line += f" {quoted(name)},"
    yield line
    yield "]"


def _line(key: str, value: str, why: str) -> str:
    plain = " ".join(why.split())
    return f"{f'{key} = {value}':<26}  # {plain}" if plain else f"{key} = {value}"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else quoted(name)


def _day(us: int) -> str:
    return to_iso(us)[:10] if us % DAY == 0 else to_iso(us)
