"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_counts()
    _create_measurements()
    _create_shared()


def _owner() -> list[sa.Column[str]]:
    return [
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
    ]


def _measurement() -> list[sa.Column[str] | sa.Column[int] | sa.Column[float]]:
    return [
        sa.Column(
            "window",
            sa.Text(),
            nullable=False,
            comment="window as configured (7d, month); empty: figures of the cycle itself",
        ),
        sa.Column(
            "window_end",
            sa.BigInteger(),
            nullable=False,
            comment="end of the window (exclusive); microseconds UTC",
        ),
        sa.Column(
            "as_of",
            sa.BigInteger(),
            nullable=False,
            comment="what was known at this moment; microseconds UTC",
        ),
        sa.Column(
            "truth",
            sa.Text(),
            nullable=False,
            comment="settled or provisional labels; empty: stands on no labels",
        ),
        sa.Column("version", sa.Text(), nullable=False, comment="version of the model; empty: the whole"),
        sa.Column("segment", sa.Text(), nullable=False, comment="column=value; empty: the whole"),
        sa.Column("measure", sa.Text(), nullable=False, comment="name in the catalogue of measures"),
        sa.Column(
            "subject",
            sa.Text(),
            nullable=False,
            comment="score, prediction, label, feature:NAME, class:NAME or empty",
        ),
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
        sa.Column("warning", sa.Text(), nullable=False, comment="partial, low_coverage, or empty"),
    ]


def _create_counts() -> None:
    op.create_table(
        "panes",
        *_owner(),
        sa.Column("part", sa.Text(), nullable=False, comment="records or labels"),
        sa.Column("start", sa.BigInteger(), nullable=False, comment="start of the pane; microseconds UTC"),
        sa.Column("layout", sa.Text(), nullable=False, comment="hash of what the counters mean"),
        sa.Column("codec", sa.Integer(), nullable=False, comment="version of the blob's format"),
        sa.Column(
            "counted_as_of", sa.BigInteger(), nullable=False, comment="as of the count; microseconds UTC"
        ),
        sa.Column("rows", sa.BigInteger(), nullable=False, comment="rows read, repeats included"),
        sa.Column(
            "newest",
            sa.BigInteger(),
            nullable=True,
            comment="largest logged_at or reported_at read; microseconds UTC",
        ),
        sa.Column("records", sa.BigInteger(), nullable=False, comment="records of the pane"),
        sa.Column("labelled", sa.BigInteger(), nullable=False, comment="of them with a label"),
        sa.Column(
            "checksum",
            sa.BigInteger(),
            nullable=False,
            comment="which record has which label: a sum of hashes modulo 2^63",
        ),
        sa.Column(
            "blob", sa.LargeBinary(), nullable=False, comment="counters by stratum, see monitor.records.codec"
        ),
        sa.PrimaryKeyConstraint("run", "model", "part", "start", name="pk_panes"),
        comment="counted parts of panes",
    )
    op.create_table(
        "waiting",
        *_owner(),
        sa.Column("part", sa.Text(), nullable=False, comment="records or labels"),
        sa.Column("start", sa.BigInteger(), nullable=False, comment="start of the pane; microseconds UTC"),
        sa.Column(
            "since",
            sa.BigInteger(),
            nullable=False,
            comment="as of at which it was first seen changed; microseconds UTC",
        ),
        sa.Column(
            "labels",
            sa.BigInteger(),
            nullable=False,
            comment="labels seen to have changed since the last count",
        ),
        sa.PrimaryKeyConstraint("run", "model", "part", "start", name="pk_waiting"),
        comment="parts of panes that changed in the source and are not yet counted again",
    )
    op.create_table(
        "models",
        *_owner(),
        sa.Column("as_of", sa.BigInteger(), nullable=True, comment="as of the last cycle; microseconds UTC"),
        sa.Column(
            "first_as_of", sa.BigInteger(), nullable=True, comment="as of the first cycle; microseconds UTC"
        ),
        sa.Column(
            "oldest",
            sa.BigInteger(),
            nullable=True,
            comment="oldest event time of the log at the first cycle; microseconds UTC",
        ),
        sa.Column(
            "logged_cursor",
            sa.BigInteger(),
            nullable=True,
            comment="predictions are seen up to here; microseconds UTC",
        ),
        sa.Column(
            "reported_cursor",
            sa.BigInteger(),
            nullable=True,
            comment="labels are seen up to here; microseconds UTC",
        ),
        sa.Column(
            "audited_as_of", sa.BigInteger(), nullable=True, comment="as of the last audit; microseconds UTC"
        ),
        sa.PrimaryKeyConstraint("run", "model", name="pk_models"),
        comment="where the history of a model stands",
    )
    op.create_table(
        "windows",
        *_owner(),
        sa.Column("window", sa.Text(), nullable=False, comment="window as configured"),
        sa.Column(
            "window_end",
            sa.BigInteger(),
            nullable=False,
            comment="end of the window (exclusive); microseconds UTC",
        ),
        sa.Column(
            "first_as_of",
            sa.BigInteger(),
            nullable=False,
            comment="as of its first measurement; microseconds UTC",
        ),
        sa.Column(
            "settled_as_of",
            sa.BigInteger(),
            nullable=True,
            comment="as of which enough labels were in; microseconds UTC",
        ),
        sa.Column(
            "measured_as_of",
            sa.BigInteger(),
            nullable=True,
            comment="as of its last measurement; microseconds UTC",
        ),
        sa.Column(
            "records_seen",
            sa.BigInteger(),
            nullable=False,
            comment="rows behind it when it was last measured",
        ),
        sa.Column(
            "labels_seen",
            sa.BigInteger(),
            nullable=False,
            comment="checksum of its panes' labels when it was last measured, compared for equality",
        ),
        sa.Column("warning", sa.Text(), nullable=False, comment="partial, low_coverage, or empty"),
        sa.PrimaryKeyConstraint("run", "model", "window", "window_end", name="pk_windows"),
        comment="what has happened to the kept windows",
    )


def _create_measurements() -> None:
    op.create_table(
        "current",
        *_owner(),
        *_measurement(),
        sa.PrimaryKeyConstraint(
            "run",
            "model",
            "window",
            "window_end",
            "segment",
            "version",
            "truth",
            "measure",
            "subject",
            name="pk_current",
        ),
        comment="latest measurements, replaced by each cycle",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "provenance",
        *_owner(),
        sa.Column("as_of", sa.BigInteger(), nullable=False, comment="as of the cycle; microseconds UTC"),
        sa.Column("grid", sa.Text(), nullable=False, comment="hash of the grids"),
        sa.Column("reference", sa.Text(), nullable=False, comment="hash of the reference; empty: none"),
        sa.Column("config", sa.Text(), nullable=False, comment="hash of the model's configuration"),
        sa.Column("code", sa.Text(), nullable=False, comment="version of the code"),
        sa.Column("rows_read", sa.BigInteger(), nullable=False, comment="rows read by the cycle"),
        sa.Column(
            "newest_logged_at",
            sa.BigInteger(),
            nullable=True,
            comment="newest logged_at seen; microseconds UTC",
        ),
        sa.Column(
            "newest_reported_at",
            sa.BigInteger(),
            nullable=True,
            comment="newest reported_at seen; microseconds UTC",
        ),
        sa.PrimaryKeyConstraint("run", "model", "as_of", name="pk_provenance"),
        comment="what stood behind the snapshots of one as of",
    )
    op.create_table(
        "snapshots",
        *_owner(),
        *_measurement(),
        sa.ForeignKeyConstraint(
            ["run", "model", "as_of"],
            ["provenance.run", "provenance.model", "provenance.as_of"],
            name="fk_snapshots_provenance",
        ),
        sa.PrimaryKeyConstraint(
            "run",
            "model",
            "window",
            "window_end",
            "segment",
            "version",
            "as_of",
            "truth",
            "measure",
            "subject",
            name="pk_snapshots",
        ),
        comment="kept measurements; append-only, the revision of a window is the rank by as_of",
        sqlite_with_rowid=False,
    )


def _create_shared() -> None:
    op.create_table(
        "references_",
        sa.Column("key", sa.Text(), nullable=False, comment="hash of the reference's specification"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model it was made for"),
        sa.Column("hash", sa.Text(), nullable=False, comment="hash of its grids"),
        sa.Column("counting", sa.Text(), nullable=False, comment="grids and reading options, JSON"),
        sa.Column("records", sa.LargeBinary(), nullable=False, comment="counters of its records"),
        sa.Column("labels", sa.LargeBinary(), nullable=False, comment="counters of its labels"),
        sa.Column("created", sa.BigInteger(), nullable=False, comment="when it was kept; microseconds UTC"),
        sa.PrimaryKeyConstraint("key", name="pk_references_"),
        comment="references: how to count, and what is compared against",
    )
    op.create_table(
        "leases",
        *_owner(),
        sa.Column("owner", sa.Text(), nullable=False, comment="process that has the model"),
        sa.Column(
            "token", sa.BigInteger(), nullable=False, comment="grows with each claim; checked by a commit"
        ),
        sa.Column(
            "expires_at",
            sa.BigInteger(),
            nullable=False,
            comment="by the clock of this database; microseconds UTC",
        ),
        sa.PrimaryKeyConstraint("run", "model", name="pk_leases"),
        comment="which process runs a model's cycles",
    )
