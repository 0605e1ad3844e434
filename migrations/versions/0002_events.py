"""What happened to a history, by a program or by a person."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
            comment="grows with each event",
        ),
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("at", sa.BigInteger(), nullable=False, comment="when; microseconds UTC"),
        sa.Column(
            "kind", sa.Text(), nullable=False, comment="what happened: renamed, recounted, forgotten, …"
        ),
        sa.Column("subject", sa.Text(), nullable=False, comment="to what: a version, an old name, or empty"),
        sa.Column("who", sa.Text(), nullable=False, comment="person or process; empty: the service itself"),
        sa.Column("why", sa.Text(), nullable=False, comment="in words, or empty"),
        sa.Column("detail", sa.Text(), nullable=False, comment="figures of the kind, JSON"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        comment="what happened to histories: kept for ever",
    )
    op.create_index("ix_events_run", "events", ["run", "model", "kind"])
