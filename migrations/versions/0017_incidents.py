"""Incidents are rows of their own, from the first alert to the last; notices tell of them."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "incidents",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column(
            "address",
            sa.Text(),
            nullable=False,
            comment="first day and kind as it opened: never changes",
        ),
        sa.Column(
            "first_day",
            sa.BigInteger(),
            nullable=False,
            comment="start of the first day that it opened with; microseconds UTC",
        ),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="records, labels, performance, inputs missing, …: the worst of its alerts",
        ),
        sa.Column(
            "severity",
            sa.Text(),
            nullable=False,
            comment="of the worst alert that fires, of one that is over the worst of all",
        ),
        sa.Column(
            "opened_at",
            sa.BigInteger(),
            nullable=False,
            comment="as of at which its first alert fired; microseconds UTC",
        ),
        sa.Column(
            "resolved_at",
            sa.BigInteger(),
            nullable=True,
            comment="as of at which it was over; microseconds UTC",
        ),
        sa.Column(
            "members",
            sa.Text(),
            nullable=False,
            comment="its alerts and when each joined and left, JSON",
        ),
        sa.Column("steps", sa.Text(), nullable=False, comment="when it opened, grew and was over, JSON"),
        sa.PrimaryKeyConstraint("run", "model", "address", name="pk_incidents"),
        comment="incidents, alerts of one cause, one row from first to last: kept for ever",
    )
    # What waits was written of rules: it bears the rule's name in place of an incident's, and is delivered.
    op.alter_column("outbox", "rule", new_column_name="incident")
    if op.get_context().dialect.name == "postgresql":  # SQLite keeps no comments
        for name, comment in (
            ("incident", "address of the incident"),
            ("kind", "opened, grew or resolved"),
        ):
            op.alter_column("outbox", name, comment=comment)
        op.create_table_comment(
            "outbox", "notices of incidents to channels: written with them, delivered at least once"
        )
