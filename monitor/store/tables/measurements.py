"""Tables of measurements, and the views in which they are read.

`current` and `snapshots` are views: what names a measurement is in `series`, its values are in
`current_rows` and `snapshot_rows`, of kept ones what repeats is in `row_sets` and `details`.
"""

from sqlalchemy import (
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from monitor.store.tables.columns import METADATA, count, key, number, owner, time, window


def _ends() -> tuple[Column[int], Column[int]]:
    return time("window_end", "end of the window (exclusive)"), time("as_of", "what was known then")


def _identity() -> tuple[Column[str], ...]:
    return (
        key("settled, provisional or nowcast; empty: stands on no labels", "truth"),
        key("version of the model; empty: the whole", "version"),
        key("column=value; empty: the whole", "segment"),
        key("name in the catalogue of measures", "measure"),
        key("score, prediction, label, feature:NAME, class:NAME or empty", "subject"),
        key("what the value is the difference from: reference, previous, 28d; empty: it is none", "against"),
    )


_SHARED = "level", "coverage", "warning"


def _measured(*without: str) -> list[Column[float] | Column[str] | Column[int]]:
    columns = [
        Column("value", Double, comment="NULL: see reason"),
        Column("reason", Text, comment="why there is no value"),
        count("n", "records behind the value"),
        Column("lower", Double, comment="lower bound of the interval"),
        Column("upper", Double, comment="upper bound of the interval"),
        Column("level", Double, comment="probability that the interval holds the true value"),
        Column("resolution", Double, nullable=False, comment="bound of the error due to cells; 0: exact"),
        Column("coverage", Double, comment="labelled share of the window's records"),
        key("partial, low_coverage, or empty", "warning"),
        Column("detail", Text, comment="table behind the value, JSON"),
    ]
    return [column for column in columns if column.name not in without]


series = Table(
    "series",
    METADATA,
    number(),
    *owner(),
    window(),
    *_identity(),
    PrimaryKeyConstraint("id"),
    UniqueConstraint(
        "run", "model", "measure", "window", "subject", "segment", "version", "truth", "against"
    ),
    comment="what is measured again and again: all that names a value but its moment",
)

current_rows = Table(
    "current_rows",
    METADATA,
    Column("series", Integer, nullable=False, comment="number of the series"),
    *_ends(),
    *_measured(),
    PrimaryKeyConstraint("series", "window_end"),
    comment="latest measurements, replaced by each cycle; read them in the view current",
    sqlite_with_rowid=False,
)

row_sets = Table(
    "row_sets",
    METADATA,
    number(),
    *owner(),
    window(),
    *_ends(),
    *(column for column in _measured() if column.name in _SHARED),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(
        ["run", "model", "as_of"], ["provenance.run", "provenance.model", "provenance.as_of"]
    ),
    Index(None, "run", "model", "window", "window_end", "as_of"),
    comment="what kept measurements of a window have alike; its revision is the rank by as of",
)

details = Table(
    "details",
    METADATA,
    number(),
    key("name of the model", "model"),
    count("checksum", "of the text, by which it is found: CRC-32"),
    key("table behind kept values, JSON", "text"),
    PrimaryKeyConstraint("id"),
    Index(None, "checksum"),
    comment="tables behind kept values, each once: those of the reference stand behind many",
)

snapshot_rows = Table(
    "snapshot_rows",
    METADATA,
    Column("row_set", Integer, nullable=False, comment="number of the row set"),
    Column("series", Integer, nullable=False, comment="number of the series"),
    *_measured("detail", *_SHARED),
    Column("detail", Integer, comment="number of the table behind the value"),
    PrimaryKeyConstraint("row_set", "series"),
    ForeignKeyConstraint(["row_set"], ["row_sets.id"]),
    # a foreign key on series or details would need an index, a sixth of the space: else each that goes scans
    comment="kept measurements, append-only; read them in the view snapshots",
    sqlite_with_rowid=False,
)

VIEWS = MetaData()


def _view(name: str, *key: str) -> Table:
    """Columns of a view, without the timestamps at its end, which are for people."""
    columns = *owner(), window(), *_ends(), *_identity(), *_measured()
    return Table(name, VIEWS, *columns, PrimaryKeyConstraint("run", "model", "window", "window_end", *key))


current = _view("current", "segment", "version", "truth", "measure", "subject", "against")
snapshots = _view("snapshots", "segment", "version", "as_of", "truth", "measure", "subject", "against")
