"""What a dashboard is made of, as plain values."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from monitor.exposition import metric_names
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import ChanceYardstick, Measure, MeasureUnit
from monitor.sentences.known_measurements import capitalize_first, spoken_measure

WHOLE = 'version="", segment=""'
ONE = f'model="$model", {WHOLE}, window="$window"'
SHARE, NUMBER, SECONDS, MOMENT = "percentunit", "short", "s", "dateTimeAsIso"
Steps = tuple[tuple[float | None, str], ...]  # thresholds (value, colour), the first one without a value
BAD: Steps = ((None, "green"), (1.0, "red"))
LIMIT: Steps = ((None, "transparent"), (1.0, "red"))  # a line at 1
# What chance explains has no colour; amber and more by the usual 0.1 and 0.25. Red is left to alerts.
PSI_STEPS: Steps = ((None, "#8e969f"), (0.000_1, "blue"), (0.1, "yellow"), (0.25, "orange"))
_SHORT = frozenset({"roc", "auc", "ks", "r2"})
_PLAIN = {
    "roc_auc": "How often a positive scores above a negative. 0.5 is chance, 1 is perfect.",
    "accuracy": "Share of labelled records that the model predicts right.",
    "root_mean_squared_error": "Typical size of an error, in the unit of the label; large ones count more.",
    "estimated_roc_auc": "ROC AUC that the scores promise, before labels come.",
    "estimated_accuracy": "Accuracy that the scores promise, before labels come.",
    "estimated_mean_absolute_error": "Mean size of an error to expect, before labels come.",
    "stability_index": "How differently values are spread than in training (PSI). 0: not at all.",
    "volume_ratio": "Records compared with the same hours of the four weeks before. 1: as many.",
    "ks_distance": "Largest difference from training of the share of values below any point.",
    "missing_rate": "Share of records without a value.",
    "unseen_rate": "Share of records with a category that training did not have.",
    "invalid_rate": "Share of records whose value cannot be used: no number, or out of range.",
    "out_of_range_rate": "Share of records below the smallest or above the largest value of training.",
    "outcome_rate_difference": "Outcome of treatment, less that of control.",
    "outcome_rate_ratio": "Outcome of treatment, divided by that of control.",
    "outcome_rate_difference_always_valid": "Outcome of treatment, less that of control, since the start.",
    "control_p_value_always_valid": "Small: the arms differ. You may look at it at any time.",
    "control_record_share": "Share of records in the control group, since the start.",
    "sample_ratio_p_value_always_valid": "Small: the groups do not have their planned shares, so they do not "
    "compare.",
    "challenger_accuracy_difference": "Accuracy of the challenger, less that of the model, on the same "
    "records.",
    "challenger_auc_difference": "ROC AUC of the challenger, less that of the model, on the same records.",
    "sign_test_p_value": "Small: challenger and model differ. For one look, at a window chosen beforehand.",
    "challenger_p_value_always_valid": "Small: challenger and model differ. You may look at it at any time.",
}


class Kind(Enum):
    """How a panel shows its queries."""

    STAT = auto()
    LINES = auto()
    TABLE = auto()
    BARS = auto()
    CELLS = auto()
    STATES = auto()


@dataclass(frozen=True, slots=True)
class Query:
    """One query: in `legend` stand labels as {{label}}, in tables the column's name.

    Parameters
    ----------
    bounds
        it finds the bounds of intervals, too, named as the value with ``lower`` or ``upper`` behind.
    unit, decimals, steps, page
        of a table's column, where they are not the panel's.
    """

    expr: str
    legend: str = ""
    bounds: bool = False
    unit: str = ""
    decimals: int | None = None
    steps: Steps = ()
    page: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Parameters
    ----------
    text
        what is seen, and how to read it.
    width
        of 24 columns.
    steps
        thresholds (value, colour), the first one without a value.
    page
        path of the monitor's page that its values link to; empty: none.
    soft_most
        the axis begins at 0 and reaches at least this; None: as far as the values do.
    sorted_by
        columns of a table, the largest value first.
    """

    kind: Kind
    title: str
    text: str
    queries: tuple[Query, ...]
    unit: str = NUMBER
    decimals: int | None = None
    width: int = 8
    height: int = 7
    steps: Steps = ()
    page: str = ""
    soft_most: float | None = None
    sorted_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """Values of a label that can be chosen among.

    Parameters
    ----------
    found
        in the series of this selector; of a board of the store, by this query.
    everything
        pattern for "All", which is offered then, as are several values; empty: one value is chosen.
    first
        value that is chosen at first; empty: all, or the first one.
    name
        under which queries have it; empty: the label's.
    """

    label: str
    found: str
    everything: str = ""
    first: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard.

    Parameters
    ----------
    since
        how far back it opens: some lengths of what it draws, so that a line has a course.
    page
        path of the monitor's page that it leads to.
    marked
        selector of the models whose incidents and versions stand as marks in its charts; empty: none.
    of_store
        its queries are SQL, for a store on PostgreSQL.
    """

    uid: str
    title: str
    text: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    since: str
    page: str
    marked: str = ""
    of_store: bool = False


def panel_id(board: Board, row: Row, panel: Panel | None = None) -> int:
    """Fixed: it stays when other panels come and go."""
    name = f"{board.uid}/{row.title}/{'' if panel is None else panel.title}"
    return zlib.crc32(name.encode()) % 1_000_000_000 + 1


def newest(family: str, matchers: str) -> str:
    """One series where several daemons serve the same one; of the past, where values are days apart, too.

    >>> newest("as_of_seconds", 'model="late"')
    'max without (instance, job) (last_over_time(as_of_seconds{model="late"}[$__rate_interval]))'
    """
    return f"max without (instance, job) ({spanned(family, matchers)})"


def spanned(family: str, matchers: str) -> str:
    """Last values within a step: what is kept stands at the ends of windows alone."""
    return f"last_over_time({family}{{{matchers}}}[$__rate_interval])"


def lasting(family: str, matchers: str) -> str:
    """The last one in all the time shown: windows end before it, settled ones long before."""
    return f"max without (instance, job) (last_over_time({family}{{{matchers}}}[$__range]))"


def unit_of(measure: Measure) -> tuple[str, int | None]:
    """Grafana's unit of a measure, and decimals."""
    if measure.unit is MeasureUnit.RATIO:
        percent = measure.percent and measure.yardstick is not ChanceYardstick.P_VALUE
        return (SHARE, 1) if percent else (NUMBER, 3)
    return (SECONDS, None) if measure.unit is MeasureUnit.SECONDS else (NUMBER, None)


def spoken(measure: Measure) -> str:
    """Title of a measure: its name as people say it."""
    name = spoken_measure(measure.name)
    words = (word.upper() if word in _SHORT else word for word in name.replace("p value", "p-value").split())
    return capitalize_first(" ".join(words))


def told(measure: Measure) -> str:
    """Text of a measure's panel: what it is, which way is better, and then its definition."""
    plain = _PLAIN.get(measure.name)
    way = {"higher": "Higher is better.", "lower": "Lower is better.", "none": ""}[measure.direction]
    interval = f"Interval: {measure.certainty}." if measure.certainty else ""
    if plain is None:
        return " ".join(filter(None, (measure.definition, way, interval)))
    return " ".join(filter(None, (plain, way, f"Exactly: {measure.definition}", interval)))


def beyond_chance(outputs_or_features: str, asked: Callable[[str, str], str]) -> str:
    """Stability index of what chance alone does not explain, and 0 for the rest.

    Where a critical value is missing (it is given up first of all series), the index stands as it is.
    """
    index, critical = (
        asked(metric_names.family_name(BY_NAME[name]), outputs_or_features)
        for name in ("stability_index", "stability_index_critical")
    )
    return f"{index} * ({index} > bool {critical}) or {index}"


def band(
    measure: Measure, matchers: str, legend: str, *, width: int = 8, height: int = 7, page: str = ""
) -> Panel:
    """A measure with its interval as a band, and the reference's own value where there is one."""
    family, (unit, decimals) = metric_names.family_name(measure), unit_of(measure)
    queries = [Query(newest(family, matchers), legend)]
    if measure.certainty:
        queries += [
            Query(newest(f"{family}_{end}", matchers), f"{legend} {end}") for end in ("lower", "upper")
        ]
    if metric_names.has_reference_family(measure):
        reference = (
            f"max without (instance, job, truth) ({spanned(f'{family}_{metric_names.REFERENCE}', matchers)})"
        )
        queries.append(Query(reference, metric_names.REFERENCE))
    return Panel(
        Kind.LINES, spoken(measure), told(measure), tuple(queries), unit, decimals, width, height, page=page
    )


def lines(measure: Measure, matchers: str, legend: str, *, width: int = 8, page: str = "") -> Panel:
    """A measure's values alone."""
    unit, decimals = unit_of(measure)
    query = Query(newest(metric_names.family_name(measure), matchers), legend)
    return Panel(Kind.LINES, spoken(measure), told(measure), (query,), unit, decimals, width, page=page)
