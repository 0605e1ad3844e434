"""A guess and its evidence."""

from dataclasses import dataclass, field

from monitor.look.table_look import NAMED_FROM, ColumnLook

MOST_CLASSES = 50


@dataclass(frozen=True, slots=True)
class RoleGuess:
    """A column and why it is thought to have a role; `unit` of an epoch; `more` columns of an id."""

    column: str
    why: str
    unit: str | None = None
    more: tuple[str, ...] = ()

    @property
    def columns(self) -> set[str]:
        """All of them."""
        return {self.column, *self.more}


@dataclass(slots=True)
class GuessedRoles:
    """What was guessed; a role that is not there could not be."""

    task: str
    # why_task, why_classes: evidence.
    why_task: str
    # predictions, labels: guesses by role.
    predictions: dict[str, RoleGuess] = field(default_factory=dict)
    labels: dict[str, RoleGuess] = field(default_factory=dict)
    own_table: bool | None = None  # labels stand in a table of their own; None: there are none
    # of the label and of the prediction, the most frequent first; binary: (positive, negative).
    classes: tuple[str, ...] = ()
    why_classes: str = ""
    probabilities: dict[str, str] = field(default_factory=dict)  # column by class
    control: tuple[str, str] | None = None  # control and treatment value of the arm column
    # column that may tell rows that serve, and its values; it is only hinted at.
    serving: tuple[RoleGuess, tuple[str, ...]] | None = None
    score_range: tuple[float, float] | None = None
    # numeric, categorical: what is left and looks like features.
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    # words of the predictions by class, where they are not the labels' own; and their evidence.
    names: tuple[dict[str, list[str]], str] | None = None
    # score from which on the positive class is predicted, and its evidence; None: it is not known.
    threshold: tuple[float, str] | None = None
    written: str | None = None  # column of predictions that the threshold stands for
    maybe_version: RoleGuess | None = None  # a column that may be the version though its name does not say so
    # a column that may be the prediction: scores nearly tell its values apart.
    maybe_prediction: RoleGuess | None = None
    # predictions that labels come for, and their evidence; None: all.
    only_for: tuple[tuple[str, ...], str] | None = None
    # columns of numbers that go with the label, none of them clearly more than the others; and how much.
    like_label: tuple[tuple[str, float], ...] = ()


def type_words(column: ColumnLook) -> str:
    """The database's type of a column."""
    return column.type or "no declared type"


def content_words(column: ColumnLook) -> str:
    """What a column holds, in a few words: its levels, or its ends."""
    if column.numbers is not None and column.distinct > 8:
        low, high = column_range(column)
        return f"numbers from {low:g} to {high:g}"
    named = [name for name, count in column.levels.items() if count >= NAMED_FROM][:4]
    others = column.distinct - len(named)
    parts = [f"{name} {column.levels[name] / column.there:.0%}" for name in named]
    return ", ".join([*parts, f"{others} {'other' if named else 'rare'} values"] if others else parts)


def column_range(column: ColumnLook) -> tuple[float, float]:
    """Smallest and largest number looked at."""
    values = column.numbers
    return (0.0, 0.0) if values is None else (float(values.min()), float(values.max()))


def holds_shares(column: ColumnLook) -> bool:
    """All values are numbers from 0 to 1."""
    values = column.numbers
    return values is not None and bool((values >= 0.0).all() and (values <= 1.0).all())
