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

from monitor.store.tables.shared_columns import (
    METADATA,
    count_column,
    key_column,
    number_column,
    owner_columns,
    time_column,
    window_column,
)


def _end_columns() -> tuple[Column[int], Column[int]]:
    return time_column("window_end", "end of the window (exclusive)"), time_column(
        "as_of", "what was known then"
    )


def _identity_columns() -> tuple[Column[str], ...]:
    return (
        key_column("settled, provisional or nowcast; empty: stands on no labels", "truth"),
        key_column("version of the model; empty: the whole", "version"),
        key_column("column=value; empty: the whole", "segment"),
        key_column("name in the catalogue of measures", "measure"),
        key_column("score, prediction, label, feature:NAME, class:NAME or empty", "subject"),
        key_column(
            "what the value is the difference from: reference, previous, 28d; empty: it is none", "against"
        ),
    )


_SHARED = "level", "coverage", "warning"


def _measured_columns(*without: str) -> list[Column[float] | Column[str] | Column[int]]:
    columns = [
        Column("value", Double, comment="NULL: see reason"),
        Column("reason", Text, comment="why there is no value"),
        count_column("n", "records behind the value"),
        Column("lower", Double, comment="lower bound of the interval"),
        Column("upper", Double, comment="upper bound of the interval"),
        Column("level", Double, comment="probability that the interval holds the true value"),
        Column("resolution", Double, nullable=False, comment="bound of the error due to cells; 0: exact"),
        Column("coverage", Double, comment="labelled share of the window's records"),
        key_column("partial, low_coverage, or empty", "warning"),
        Column("detail", Text, comment="table behind the value, JSON"),
    ]
    return [column for column in columns if column.name not in without]


series = Table(
    "series",
    METADATA,
    number_column(),
    *owner_columns(),
    window_column(),
    *_identity_columns(),
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
    *_end_columns(),
    *_measured_columns(),
    PrimaryKeyConstraint("series", "window_end"),
    comment="latest measurements, replaced by each cycle; read them in the view current",
    sqlite_with_rowid=False,
)

row_sets = Table(
    "row_sets",
    METADATA,
    number_column(),
    *owner_columns(),
    window_column(),
    *_end_columns(),
    *(column for column in _measured_columns() if column.name in _SHARED),
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
    number_column(),
    key_column("name of the model", "model"),
    count_column("checksum", "of the text, by which it is found: CRC-32"),
    key_column("table behind kept values, JSON", "text"),
    PrimaryKeyConstraint("id"),
    Index(None, "checksum"),
    comment="tables behind kept values, each once: those of the reference stand behind many",
)

snapshot_rows = Table(
    "snapshot_rows",
    METADATA,
    Column("row_set", Integer, nullable=False, comment="number of the row set"),
    Column("series", Integer, nullable=False, comment="number of the series"),
    *_measured_columns("detail", *_SHARED),
    Column("detail", Integer, comment="number of the table behind the value"),
    PrimaryKeyConstraint("row_set", "series"),
    ForeignKeyConstraint(["row_set"], ["row_sets.id"]),
    # a foreign key on series or details would need an index, a sixth of the space: else each that goes scans
    comment="kept measurements, append-only; read them in the view snapshots",
    sqlite_with_rowid=False,
)

VIEWS = MetaData()


def _view_table(name: str, *key: str) -> Table:
    """Columns of a view, without the timestamps at its end, which are for people."""
    columns = *owner_columns(), window_column(), *_end_columns(), *_identity_columns(), *_measured_columns()
    return Table(name, VIEWS, *columns, PrimaryKeyConstraint("run", "model", "window", "window_end", *key))


current = _view_table("current", "segment", "version", "truth", "measure", "subject", "against")
snapshots = _view_table("snapshots", "segment", "version", "as_of", "truth", "measure", "subject", "against")
