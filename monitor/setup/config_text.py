"""The configuration that `monitor init` writes: short, each guess with its evidence. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.advice.output_findings import names_table, quoted_list, toml_text
from monitor.core.clock import DAY, to_iso
from monitor.core.text import double_quoted, readable_text
from monitor.setup.role_guess import GuessedRoles, RoleGuess

_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDraft:
    """What is written."""

    source: str
    url: str  # with places for secrets
    name: str
    predictions: str
    labels: str | None
    roles: GuessedRoles
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
    catalog: str | None = None  # URL, with places for secrets


def config_text(draft: ConfigDraft) -> str:
    """TOML of a draft; a name brings no line of its own, in no comment either."""
    lines = [
        f"# Written by `monitor init`: {draft.looked}.",
        "# Every guess says why; what is not known is commented out. Every key: monitor files DIRECTORY.",
        "",
        *_source_lines(draft),
        "",
        *_model_lines(draft),
        "",
        *_predictions_lines(draft),
        *_labels_lines(draft),
        *_classes_lines(draft.roles),
        *_reference_lines(draft),
        *_control_lines(draft.roles),
        *_serving_lines(draft.roles),
        "",
    ]
    return "\n".join(map(readable_text, lines))


def missing_roles(roles: GuessedRoles) -> list[str]:
    """Roles that a model cannot do without and that were not found."""
    wanted = ["id", "event_time"]
    lacking = [role for role in wanted if role not in roles.predictions]
    outputs = {"score", "prediction"} & set(roles.predictions)
    if not outputs and not roles.probabilities:
        lacking.append("prediction" if roles.task != "binary" else "score")
    if roles.task == "regression" and "prediction" not in roles.predictions and "prediction" not in lacking:
        lacking.append("prediction")
    return lacking


def _source_lines(draft: ConfigDraft) -> Iterator[str]:
    yield f"[sources.{draft.source}]"
    yield f"url = {double_quoted(draft.url)}"
    if draft.catalog is not None:
        yield f"catalog = {double_quoted(draft.catalog)}"
    if draft.naive:
        yield '# timezone = "Europe/Vienna"  # FILL IN if times without a zone are not UTC'


def _model_lines(draft: ConfigDraft) -> Iterator[str]:
    roles = draft.roles
    yield "[[models]]"
    yield f"name = {toml_text(draft.name)}"
    yield f"source = {toml_text(draft.source)}"
    yield _key_line("task", toml_text(roles.task), roles.why_task)
    if columns := [name for name in roles.categorical if name in draft.few]:
        yield _key_line("# segments", quoted_list(columns), "each value apart: choose where a fall may hide")
    if draft.horizon is not None:
        yield _key_line("horizon", toml_text(draft.horizon[0]), draft.horizon[1])
    if roles.own_table is not None and "reported_at" not in roles.labels:
        yield _key_line(
            "settle_after", '"7d"', "FILL IN the age from which on labels are complete: no column tells"
        )


def _predictions_lines(draft: ConfigDraft) -> Iterator[str]:
    roles, guesses = draft.roles, draft.roles.predictions
    yield "[models.predictions]"
    yield f"table = {toml_text(draft.predictions)}"
    yield from _guess_lines(
        "id", guesses.get("id"), "the column, or list of columns, that names a prediction"
    )
    yield from _guess_lines("event_time", guesses.get("event_time"), "when the prediction was made")
    first = guesses.get("event_time")
    yield from _partition_lines(guesses)
    yield from _guess_lines(
        "logged_at", guesses.get("logged_at"), "when a row became visible, if it is logged", first
    )
    if roles.task == "binary":
        yield from _guess_lines(
            "score", guesses.get("score"), "the column of the score, high for the positive class"
        )
    if roles.score_range is not None:
        low, high = roles.score_range
        yield _key_line(
            "score_range", f"[{low:g}, {high:g}]", "FILL IN: valid scores, guessed from those looked at"
        )
    yield from _decision_lines(roles)
    yield from _version_lines(roles)
    if draft.refused:
        yield f"# not read, cast them in a view or in `query`: {', '.join(draft.refused)}"
    if draft.nested:
        yield f"# holds JSON: {', '.join(draft.nested)}; take out of it what the model is fed:"
        yield f"# query = {double_quoted(draft.taken_out)}  # instead of table"
    yield ""


def _partition_lines(guesses: Mapping[str, RoleGuess]) -> Iterator[str]:
    if (guess := guesses.get("partition")) is not None:
        yield _key_line("partition", toml_text(guess.column), guess.why)


def _version_lines(roles: GuessedRoles) -> Iterator[str]:
    """The version, or a column that may be it: what a feature seldom is, one value for long."""
    if roles.maybe_version is None:
        meaning = "the column of the model's version, if it is logged"
        yield from _guess_lines("version", roles.predictions.get("version"), meaning)
        return
    guess = roles.maybe_version
    yield _key_line(
        "# version", toml_text(guess.column), f"FILL IN, if it is the model's version: {guess.why}"
    )


def _decision_lines(roles: GuessedRoles) -> Iterator[str]:
    guesses = roles.predictions
    if roles.probabilities:
        columns = ", ".join(
            f"{_toml_key(name)} = {toml_text(column)}" for name, column in roles.probabilities.items()
        )
        yield _key_line("probabilities", f"{{ {columns} }}", "one column a class, by their names")
    if "prediction" in guesses or "score" not in guesses:
        if not roles.probabilities or "prediction" in guesses:
            meaning = "the column of the predicted value"
            if roles.like_label:
                alike = ", ".join(f"{name} (rank correlation {r:.2f})" for name, r in roles.like_label)
                meaning += f"; no column clearly goes with the label more than all others: {alike}"
            yield from _guess_lines("prediction", guesses.get("prediction"), meaning)
    elif roles.threshold is not None:
        yield _key_line("threshold", f"{roles.threshold[0]:.15g}", roles.threshold[1])
        if roles.written is not None:
            yield f"# prediction = {toml_text(roles.written)}  # instead of the threshold, if it may move"
    else:
        low, high = roles.score_range or (0.0, 1.0)
        yield _key_line("threshold", f"{(low + high) / 2:g}", "FILL IN: positive from this score on; a guess")
        if roles.maybe_prediction is not None:
            guess = roles.maybe_prediction
            asked = "FILL IN instead of the threshold, if it is what was decided; a feature until then"
            yield _key_line("# prediction", toml_text(guess.column), f"{asked}: {guess.why}")


def _labels_lines(draft: ConfigDraft) -> Iterator[str]:
    roles, guesses = draft.roles, draft.roles.labels
    if roles.own_table is None:
        yield "# [models.labels]           # FILL IN the table of the truth: without it no performance"
        yield f"# table = {toml_text(draft.labels or 'labels')}"
        yield '# label = "label"'
        yield ""
        return
    yield "[models.labels]"
    if roles.own_table and draft.labels is not None:
        yield f"table = {toml_text(draft.labels)}"
        if draft.labels_where is not None:
            yield f"where = {toml_text(draft.labels_where)}"
        yield from _guess_lines("id", guesses.get("id"), "the column that names the prediction")
    yield from _guess_lines("label", guesses.get("label"), "the column of the truth")
    first = roles.predictions.get("event_time")
    yield from _guess_lines("reported_at", guesses.get("reported_at"), "when a label became known", first)
    yield from _partition_lines(guesses)
    if "revision" in guesses:
        yield from _guess_lines("revision", guesses.get("revision"), "")
    if roles.only_for is not None:
        yield _key_line("only_for", quoted_list(roles.only_for[0]), roles.only_for[1])
    yield ""


def _classes_lines(roles: GuessedRoles) -> Iterator[str]:
    if not roles.classes or roles.task == "regression":
        return
    named = roles.names is not None
    if roles.task == "binary" and (named or roles.classes != ("1", "0") or "guess" in roles.why_classes):
        yield "[models.classes]"
        yield _key_line("positive", toml_text(roles.classes[0]), roles.why_classes)
        yield f"negative = {toml_text(roles.classes[1])}"
    elif roles.task == "multiclass" and (named or not roles.probabilities):
        yield "[models.classes]"
        yield _key_line("values", quoted_list(roles.classes), roles.why_classes)
    else:
        return
    if roles.names is not None:
        # Where no column is read, and no word is asked for, nothing needs them.
        unread = roles.written is not None and roles.only_for is None
        yield _key_line("# names" if unread else "names", names_table(roles.names[0]), roles.names[1])
    yield ""


def _reference_lines(draft: ConfigDraft) -> Iterator[str]:
    roles = draft.roles
    features = roles.numeric or roles.categorical
    if draft.file is not None:
        yield "[models.reference]"
        yield _key_line("file", double_quoted(draft.file), "your test set, or the out-of-fold scores")
    elif draft.reference is None or not features:
        yield "# [models.reference]        # FILL IN what to compare with: without it no shift"
        yield '# file = "test.parquet"     # your test set, or the out-of-fold scores, columns named as above'
        return
    else:
        yield "[models.reference]          # the log's own first days; better your test set, by --reference"
        yield f"from = {toml_text(_day_text(draft.reference[0]))}"
        yield f"to = {toml_text(_day_text(draft.reference[1]))}"
    if not features:
        return
    yield ""
    yield "[models.features]           # the other columns; take out what the model is not fed"
    for key, names in (("numeric", roles.numeric), ("categorical", roles.categorical)):
        if names:
            yield from _list_lines(key, names)


def _control_lines(roles: GuessedRoles) -> Iterator[str]:
    if roles.control is None:
        return
    guess = roles.predictions["arm"]
    yield ""
    yield "[models.control]            # compares both groups; leave it out if it is none"
    yield _key_line("arm_column", toml_text(guess.column), guess.why)
    yield f"control_value = {toml_text(roles.control[0])}"
    yield f"treatment_value = {toml_text(roles.control[1])}"


def _serving_lines(roles: GuessedRoles) -> Iterator[str]:
    if roles.serving is None:
        return
    guess, values = roles.serving
    yield ""
    yield "# [models.serving]           # FILL IN the values of rows that serve, if others are shadow rows"
    yield _key_line("# column", toml_text(guess.column), f"{guess.why}; needs predictions.version")
    yield f"# values = [{', '.join(toml_text(value) for value in values)}]"


def _guess_lines(
    key: str, guess: RoleGuess | None, meaning: str, first: RoleGuess | None = None
) -> Iterator[str]:
    """A key and its evidence, or a line to fill in; the unit of an epoch where the first has another."""
    if guess is None:
        yield f'# {key} = "…"  # FILL IN: {meaning}'
        return
    several = f"[{', '.join(toml_text(name) for name in (guess.column, *guess.more))}]"
    yield _key_line(key, several if guess.more else toml_text(guess.column), guess.why)
    if first is None and guess.unit is not None:
        yield _key_line(f"{key}_unit", toml_text(guess.unit), "between 1990 and 2100")
    elif first is not None and guess.unit != first.unit:
        yield _key_line(f"{key}_unit", toml_text(guess.unit or "none"), "other than that of the event time")


def _list_lines(key: str, names: tuple[str, ...]) -> Iterator[str]:
    whole = f"{key} = [{', '.join(toml_text(name) for name in names)}]"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield f"{key} = ["
    line = "   "
    for name in names:
        if len(line) + len(toml_text(name)) > _WIDTH:
            yield line
            line = "   "
        line += f" {toml_text(name)},"
    yield line
    yield "]"


def _key_line(key: str, value: str, why: str) -> str:
    plain = " ".join(why.split())
    return f"{f'{key} = {value}':<26}  # {plain}" if plain else f"{key} = {value}"


def _toml_key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else toml_text(name)


def _day_text(us: int) -> str:
    return to_iso(us)[:10] if us % DAY == 0 else to_iso(us)
