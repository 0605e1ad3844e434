"""Days that were judged against the false-alarm budget."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "days",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("part", sa.Text(), nullable=False, comment="records or labels"),
        sa.Column("start", sa.BigInteger(), nullable=False, comment="start of the day; microseconds UTC"),
        sa.Column("until", sa.BigInteger(), nullable=False, comment="its end (exclusive); microseconds UTC"),
        sa.Column(
            "due",
            sa.BigInteger(),
            nullable=False,
            comment="as of which it was counted: a function of the day alone; microseconds UTC",
        ),
        sa.Column(
            "age", sa.BigInteger(), nullable=False, comment="of its labels then, in days; 0 of records"
        ),
        sa.Column("key", sa.Text(), nullable=False, comment="hash of what is watched: another begins anew"),
        sa.Column(
            "blob",
            sa.LargeBinary(),
            nullable=False,
            comment="its counters, or statistics: see monitor.evidence",
        ),
        sa.PrimaryKeyConstraint("run", "model", "part", "key", "start", name="pk_days"),
        comment="days as they were judged against the false-alarm budget: append-only, once and for good",
    )
