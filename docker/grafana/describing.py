"""What a dashboard is made of, as plain values."""

import zlib
from dataclasses import dataclass
from enum import Enum, auto

from monitor.exposition import metric_names
from monitor.measures.catalogue.measure import ChanceYardstick, Measure, MeasureUnit

WHOLE = 'version="", segment=""'
ONE = f'model="$model", {WHOLE}, window="$window"'
SHARE, NUMBER, SECONDS, MOMENT = "percentunit", "short", "s", "dateTimeAsIso"
_SHORT = frozenset({"roc", "auc", "ks", "r2"})


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

    `bounds`: it finds the bounds of intervals, too, named as the value with ``lower`` or ``upper`` behind.
    """

    expr: str
    legend: str = ""
    bounds: bool = False


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
    """

    kind: Kind
    title: str
    text: str
    queries: tuple[Query, ...]
    unit: str = NUMBER
    decimals: int | None = None
    width: int = 8
    height: int = 7
    steps: tuple[tuple[float | None, str], ...] = ()
    page: str = ""


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
    """A dashboard; `of_store`: its queries are SQL, for a store on PostgreSQL."""

    uid: str
    title: str
    text: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
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
    """Title of a measure: its name in words."""
    words = " ".join(word.upper() if word in _SHORT else word for word in measure.name.split("_"))
    return words[0].upper() + words[1:]


def told(measure: Measure) -> str:
    """Text of a measure's panel."""
    way = {"higher": " Higher is better.", "lower": " Lower is better.", "none": ""}[measure.direction]
    interval = f" Interval: {measure.certainty}." if measure.certainty else ""
    return f"{measure.definition}{way}{interval}"


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
