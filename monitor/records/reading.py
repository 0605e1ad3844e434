"""Reading options: what the columns of a model's tables mean.

Sources hand over Arrow tables whose columns bear role names:
``id, event_time, logged_at, version, arm, serving, segment:NAME, score, prediction, probability:CLASS,
challenger, feature:NAME, label, reported_at, revision``. An id, a category, a class is a string; a number is
a double or a string; a time is an integer, a timestamp or a string. Null is missing.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.text import make_shown_name
from monitor.states.strata import Stratum, make_rest_stratum, make_segment_stratum

_WHOLE = re.compile(r"(-?[0-9]+)(\.0*)?")
MOST_CLASSES = 1_000  # every pane and window has counters for each pair that occurs


class ModelTask(StrEnum):
    """What the model predicts."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedArms:
    """Values of the arm column, as canonical text."""

    column: str
    control: str
    treatment: str

    @property
    def arm_strata(self) -> tuple[Stratum, Stratum]:
        """Strata of control and treatment."""
        return make_segment_stratum(self.column, self.control), make_segment_stratum(
            self.column, self.treatment
        )

    @property
    def rest_stratum(self) -> Stratum:
        """Stratum of the rows of no arm."""
        return make_rest_stratum(self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingRule:
    """Which rows serve: values of a column, as canonical text. Other rows are their version's only."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengerOutput:
    """Another model's score of the same records, positive from the threshold on; or its predicted class."""

    column: str
    threshold: float | None = None  # None: the column holds a class

    @property
    def identity(self) -> list[object]:
        """What tells it from another challenger, in JSON."""
        return [self.column, self.threshold]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """How rows are read."""

    task: ModelTask
    # canonical text; for a binary task (negative, positive); empty for regression, and for a multi-class
    # model whose classes come from its reference.
    classes: tuple[str, ...] = ()
    has_score: bool = False
    score_range: tuple[float, float] = (-math.inf, math.inf)
    # the prediction is positive from this score on; None where a column holds it.
    threshold: float | None = None
    probabilities: tuple[str, ...] = ()
    # numeric, categorical: features, sorted by name.
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    versioned: bool = False
    arms: ComparedArms | None = None
    # columns whose values are strata; only with a reference, which says which values.
    segments: tuple[str, ...] = ()
    # (a prediction's canonical text, the class that it means), sorted; other texts mean themselves.
    words: tuple[tuple[str, str], ...] = ()
    # the labels part holds the records of these predictions alone; empty: of all. Classes, where the words
    # mean some.
    only_for: tuple[str, ...] = ()
    serving: ServingRule | None = None  # None: every row serves
    # its score, of a binary model with a score; its class, of a multi-class model; None: there is none.
    challenger: ChallengerOutput | None = None
    labelled: bool = False
    zone: str = "UTC"  # IANA name of the zone of naive times
    # "s", "ms" or "us" of integer epochs by role; roles left out hold timestamps or text.
    time_units: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()  # the user's names of columns by role, for messages
    scale: float = 1.0  # of labels and errors without a reference (see design of exact sums)
    # pane, tolerance, horizon: microseconds.
    pane: int = HOUR
    tolerance: int = 5 * MINUTE
    horizon: int = 60 * DAY

    @property
    def has_logged_column(self) -> bool:
        """Whether a column says when rows were logged."""
        return "logged_at" in dict(self.names)

    def unit_of(self, role: str) -> str | None:
        """Return the unit of a role's integer epochs."""
        return dict(self.time_units).get(role)

    def column_name(self, role: str) -> str:
        """Return the user's name of a role's column."""
        return dict(self.names).get(role, role)


def canonical_name(text: str) -> str:
    """One text for one class value: true = 1 = 1.0 = "1"; no name: see `make_shown_name`.

    >>> [canonical_name(text) for text in ("true", "1.0", "1", "-0.0", "DM", "1.5")]
    ['1', '1', '1', '0', 'DM', '1.5']
    """
    lowered = text.lower()
    if lowered in ("true", "false"):
        return "1" if lowered == "true" else "0"
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        text = "0" if whole[1] == "-0" else whole[1]
    return make_shown_name(text)
