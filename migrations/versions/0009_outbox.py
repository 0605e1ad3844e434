"""The outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column(
            "key",
            sa.Text(),
            nullable=False,
            comment="always the same for a notice and a channel: a receiver knows by it what it has already",
        ),
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("rule", sa.Text(), nullable=False, comment="name of the rule"),
        sa.Column("kind", sa.Text(), nullable=False, comment="firing or resolved"),
        sa.Column("channel", sa.Text(), nullable=False, comment="name of the channel that it goes to"),
        sa.Column(
            "as_of",
            sa.BigInteger(),
            nullable=False,
            comment="as of of the cycle that it tells of; microseconds UTC",
        ),
        sa.Column("payload", sa.Text(), nullable=False, comment="what is told, JSON"),
        sa.Column(
            "written_at",
            sa.BigInteger(),
            nullable=False,
            comment="when it was written, by the clock of this database; microseconds UTC",
        ),
        sa.Column("attempts", sa.BigInteger(), nullable=False, comment="how often it was tried"),
        sa.Column(
            "next_at",
            sa.BigInteger(),
            nullable=False,
            comment="not tried before, by that clock; microseconds UTC",
        ),
        sa.Column(
            "delivered_at",
            sa.BigInteger(),
            comment="when the channel took it, by that clock; microseconds UTC",
        ),
        sa.Column(
            "given_up_at",
            sa.BigInteger(),
            comment="when it was too old to be told, by that clock; microseconds UTC",
        ),
        sa.Column(
            "error",
            sa.Text(),
            nullable=False,
            comment="why the channel did not take it last; empty: it did, or was not tried",
        ),
        sa.PrimaryKeyConstraint("key", name="pk_outbox"),
        comment="notices of alerts to channels: written with the alerts, delivered at least once",
    )
    op.create_index("ix_outbox_run", "outbox", ["run", "channel", "as_of"])
