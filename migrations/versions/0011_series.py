"""What names a measurement has a row of its own; `current` and `snapshots` become views of the same columns.

One transaction: a migration that is cut short leaves the tables as they were, and is run again.
"""

import zlib

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_IDENTITY = "truth", "version", "segment", "measure", "subject", "against"
_SERIES = "run", "model", "window", *_IDENTITY
_SHARED = "level", "coverage", "warning"
_MOMENT = "run", "model", "window", "window_end", "as_of"
_VALUES = (
    "value", "reason", "n", "lower", "upper", "level", "resolution", "coverage", "warning", "detail",
)  # fmt: skip
_OWN = tuple(name for name in _VALUES if name not in (*_SHARED, "detail"))
_WINDOW = "window as configured (7d, month); empty: figures of the cycle itself"
_TEXTS = {
    "truth": "settled, provisional or nowcast; empty: stands on no labels",
    "version": "version of the model; empty: the whole",
    "segment": "column=value; empty: the whole",
    "measure": "name in the catalogue of measures",
    "subject": "score, prediction, label, feature:NAME, class:NAME or empty",
    "against": "what the value is the difference from: reference, previous, 28d; empty: it is none",
}
_TIMES = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%S', {column} / 1000000, 'unixepoch')",
    "postgresql": "to_timestamp({column} / 1e6)",
}
_STATISTICS = {  # of about ten thousand rows: SQLite would take any column to find ten of them
    ("series", "sqlite_autoindex_series_1"): "10000 5000 2000 20 10 2 2 1 1 1",
    ("row_sets", "ix_row_sets_run"): "10000 5000 2500 800 15 6",
    ("snapshot_rows", "snapshot_rows"): "400000 40 1",
    ("current_rows", "current_rows"): "10000 1 1",
}
_AT_A_TIME = 10_000
_LATEST = "run", "model", "window", "window_end", "version", "segment", "measure", "subject", "against"


def upgrade() -> None:
    _create_tables()
    _move_rows()
    readers = _readers()
    op.drop_table("snapshots")
    op.drop_table("current")
    if op.get_bind().dialect.name == "sqlite":
        _describe_sizes()
    for name, sql in _views(op.get_bind().dialect.name).items():
        op.execute(f'CREATE VIEW "{name}" AS {sql}')
        for reader in readers:
            op.execute(f'GRANT SELECT ON "{name}" TO {reader}')


def _text(name: str, comment: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, comment=comment)


def _time(name: str, comment: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, comment=f"{comment}; microseconds UTC")


def _number(name: str, comment: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, comment=comment)


def _owner() -> list[sa.Column[str]]:
    return [
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("window", _WINDOW),
    ]


def _moments() -> list[sa.Column[int]]:
    return [
        _time("window_end", "end of the window (exclusive)"),
        _time("as_of", "what was known then"),
    ]


def _values(*names: str) -> list[sa.Column[str] | sa.Column[int] | sa.Column[float]]:
    columns: list[sa.Column[str] | sa.Column[int] | sa.Column[float]] = [
        sa.Column("value", sa.Double(), nullable=True, comment="NULL: see reason"),
        sa.Column("reason", sa.Text(), nullable=True, comment="why there is no value"),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="records behind the value"),
        sa.Column("lower", sa.Double(), nullable=True, comment="lower bound of the interval"),
        sa.Column("upper", sa.Double(), nullable=True, comment="upper bound of the interval"),
        sa.Column(
            "level", sa.Double(), nullable=True, comment="probability that the interval holds the true value"
        ),
        sa.Column(
            "resolution", sa.Double(), nullable=False, comment="bound of the error due to cells; 0: exact"
        ),
        sa.Column("coverage", sa.Double(), nullable=True, comment="labelled share of the window's records"),
        _text("warning", "partial, low_coverage, or empty"),
        sa.Column("detail", sa.Text(), nullable=True, comment="table behind the value, JSON"),
    ]
    return [column for column in columns if column.name in names]


def _create_tables() -> None:
    op.create_table(
        "series",
        sa.Column(
            "id",
            sa.Integer(),
            sa.Identity(),
            autoincrement=True,
            nullable=False,
            comment="its number in other tables",
        ),
        *_owner(),
        *(_text(name, comment) for name, comment in _TEXTS.items()),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint(
            "run", "model", "measure", "window", "subject", "segment", "version", "truth", "against",
            name="uq_series",
        ),
        comment="what is measured again and again: all that names a value but its moment",
    )  # fmt: skip
    op.create_table(
        "row_sets",
        sa.Column(
            "id",
            sa.Integer(),
            sa.Identity(),
            autoincrement=True,
            nullable=False,
            comment="its number in other tables",
        ),
        *_owner(),
        *_moments(),
        *_values(*_SHARED),
        sa.PrimaryKeyConstraint("id", name="pk_row_sets"),
        sa.ForeignKeyConstraint(
            ["run", "model", "as_of"],
            ["provenance.run", "provenance.model", "provenance.as_of"],
            name="fk_row_sets_provenance",
        ),
        comment="what kept measurements of a window have alike; its revision is the rank by as of",
    )
    op.create_index("ix_row_sets_run", "row_sets", _MOMENT)
    op.create_table(
        "details",
        sa.Column(
            "id",
            sa.Integer(),
            sa.Identity(),
            autoincrement=True,
            nullable=False,
            comment="its number in other tables",
        ),
        _text("model", "name of the model"),
        sa.Column(
            "checksum", sa.BigInteger(), nullable=False, comment="of the text, by which it is found: CRC-32"
        ),
        _text("text", "table behind kept values, JSON"),
        sa.PrimaryKeyConstraint("id", name="pk_details"),
        comment="tables behind kept values, each once: those of the reference stand behind many",
    )
    op.create_index("ix_details_checksum", "details", ["checksum"])
    op.create_table(
        "current_rows",
        _number("series", "number of the series"),
        *_moments(),
        *_values(*_VALUES),
        sa.PrimaryKeyConstraint("series", "window_end", name="pk_current_rows"),
        comment="latest measurements, replaced by each cycle; read them in the view current",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshot_rows",
        _number("row_set", "number of the row set"),
        _number("series", "number of the series"),
        *_values(*_OWN),
        sa.Column("detail", sa.Integer(), nullable=True, comment="number of the table behind the value"),
        sa.PrimaryKeyConstraint("row_set", "series", name="pk_snapshot_rows"),
        sa.ForeignKeyConstraint(["row_set"], ["row_sets.id"], name="fk_snapshot_rows_row_sets"),
        comment="kept measurements, append-only; read them in the view snapshots",
        sqlite_with_rowid=False,
    )


def _listed(names: tuple[str, ...], table: str = "") -> str:
    return ", ".join(f'{table}"{name}"' for name in names)


def _same(names: tuple[str, ...], one: str, other: str) -> str:
    return " AND ".join(f'{one}."{name}" = {other}."{name}"' for name in names)


def _move_rows() -> None:
    """In the order in which rows lie then: by row set, as they were kept, and by series."""
    series, shared, own, values = (_listed(names) for names in (_SERIES, _SHARED, _OWN, _VALUES))
    op.execute(
        f"INSERT INTO series ({series}) SELECT {series} FROM snapshots UNION SELECT {series} FROM current "
        "ORDER BY 1, 2, 3, 5, 6, 4, 7, 8, 9"
    )
    op.execute(
        f"INSERT INTO row_sets ({_listed(_MOMENT)}, {shared}) SELECT DISTINCT {_listed(_MOMENT)}, {shared} "
        "FROM snapshots ORDER BY 5, 1, 2, 3, 4, 6, 7, 8"
    )
    _move_details()
    alike = " AND ".join(f"m.{name} IS NOT DISTINCT FROM o.{name}" for name in _SHARED)
    if op.get_bind().dialect.name == "sqlite":
        alike = alike.replace("IS NOT DISTINCT FROM", "IS")
    op.execute(
        f"INSERT INTO snapshot_rows (row_set, series, {own}, detail) "
        f"SELECT m.id, s.id, {_listed(_OWN, 'o.')}, d.id FROM snapshots AS o "
        f"JOIN row_sets AS m ON {_same(_MOMENT, 'm', 'o')} AND {alike} "
        f"JOIN series AS s ON {_same(_SERIES, 's', 'o')} "
        "LEFT JOIN details AS d ON d.model = o.model AND d.text = o.detail ORDER BY m.id, s.id"
    )
    op.execute(
        f"INSERT INTO current_rows (series, window_end, as_of, {values}) "
        f"SELECT s.id, o.window_end, o.as_of, {_listed(_VALUES, 'o.')} FROM current AS o "
        f"JOIN series AS s ON {_same(_SERIES, 's', 'o')} ORDER BY s.id, o.window_end"
    )


def _move_details() -> None:
    """Each text once, by the moment at which it was kept first."""
    connection = op.get_bind()
    asked = "SELECT model, detail FROM snapshots WHERE detail IS NOT NULL GROUP BY 1, 2 ORDER BY min(as_of)"
    texts = connection.execute(sa.text(asked).execution_options(yield_per=_AT_A_TIME))
    for some in texts.partitions():
        rows = [{"model": model, "sum": zlib.crc32(text.encode()), "text": text} for model, text in some]
        connection.execute(
            sa.text("INSERT INTO details (model, checksum, text) VALUES (:model, :sum, :text)"), rows
        )


def _describe_sizes() -> None:
    """What ANALYZE would find in a store of some years: SQLite chooses by it where a query begins."""
    op.execute("ANALYZE sqlite_schema")  # makes the table
    for (table, index), sizes in _STATISTICS.items():
        op.execute(f"DELETE FROM sqlite_stat1 WHERE tbl = '{table}'")
        op.execute(f"INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('{table}', '{index}', '{sizes}')")


def _readers() -> list[str]:
    """Roles that may read the old tables: of PostgreSQL, quoted."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return []
    asked = (
        "SELECT DISTINCT CASE grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(grantee) END "
        "FROM information_schema.role_table_grants WHERE table_schema = current_schema() "
        "AND table_name = 'snapshots' AND privilege_type = 'SELECT' AND grantee <> grantor"
    )
    return list(connection.execute(sa.text(asked)).scalars())


def _views(dialect: str) -> dict[str, str]:
    window_end, as_of = (_TIMES[dialect].format(column=name) for name in ("m.window_end", "m.as_of"))
    moments = f"{window_end} AS window_end_time, {as_of} AS as_of_time"
    named = f"{_listed(('run', 'model', 'window'), 's.')}, m.window_end, m.as_of, {_listed(_IDENTITY, 's.')}"
    of_current = f"SELECT {named}, {_listed(_VALUES, 'm.')}, {moments} FROM current_rows AS m"
    tables = dict.fromkeys(_OWN, "k.") | dict.fromkeys(_SHARED, "m.")
    values = ", ".join(_listed((name,), tables[name]) for name in _VALUES[:-1])
    kept = f"SELECT {named}, {values}, d.text AS detail, {moments} FROM snapshot_rows AS k"
    # run, model and window of both: whichever a query begins with, it finds by an index
    owner = _same(("run", "model", "window"), "m", "s")
    other = f"SELECT 1 FROM snapshots AS n WHERE {_same(_LATEST, 'n', 's')}"
    newer = f"{other} AND n.as_of > s.as_of AND (n.truth = 'nowcast') = (s.truth = 'nowcast')"
    settled = f"s.truth = 'nowcast' AND EXISTS ({other} AND n.truth = 'settled')"
    return {
        "current": f"{of_current} JOIN series AS s ON s.id = m.series",
        "snapshots": f"{kept} JOIN row_sets AS m ON m.id = k.row_set "
        f"JOIN series AS s ON s.id = k.series AND {owner} LEFT JOIN details AS d ON d.id = k.detail",
        "snapshots_latest": f"SELECT s.* FROM snapshots AS s WHERE NOT EXISTS ({newer}) AND NOT ({settled})",
    }
