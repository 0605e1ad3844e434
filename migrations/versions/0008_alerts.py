"""Alerts."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("rule", sa.Text(), nullable=False, comment="name of the rule"),
        sa.Column("version", sa.Text(), nullable=False, comment="version of the model; empty: the whole"),
        sa.Column("segment", sa.Text(), nullable=False, comment="column=value; empty: the whole"),
        sa.Column(
            "window",
            sa.Text(),
            nullable=False,
            comment="window as configured; empty: figures of the cycle itself",
        ),
        sa.Column(
            "subject",
            sa.Text(),
            nullable=False,
            comment="score, feature:NAME, feature:* (a share of them), … or empty",
        ),
        sa.Column(
            "since", sa.BigInteger(), nullable=False, comment="as of of the first breach; microseconds UTC"
        ),
        sa.Column("severity", sa.Text(), nullable=False, comment="critical, warning or info"),
        sa.Column("state", sa.Text(), nullable=False, comment="pending, firing or resolved"),
        sa.Column("fired_at", sa.BigInteger(), comment="as of at which it fired; microseconds UTC"),
        sa.Column("resolved_at", sa.BigInteger(), comment="as of at which it ended; microseconds UTC"),
        sa.Column("ended", sa.Text(), comment="why it ended: cleared, revised, no_data, removed"),
        sa.Column(
            "window_end",
            sa.BigInteger(),
            nullable=False,
            comment="end of the window of its newest breach; microseconds UTC",
        ),
        sa.Column("value", sa.Double(), comment="of its newest breach"),
        sa.Column("lower", sa.Double(), comment="lower bound of the interval"),
        sa.Column("upper", sa.Double(), comment="upper bound of the interval"),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="records behind the value"),
        sa.Column("limit_", sa.Double(), comment="that the value is beyond"),
        sa.Column(
            "cause", sa.Text(), comment="cells that moved, segments or features that contribute most, JSON"
        ),
        sa.Column(
            "judged_at",
            sa.BigInteger(),
            nullable=False,
            comment="as of of the newest verdict: the revision that it speaks of; microseconds UTC",
        ),
        sa.Column("verdict", sa.Text(), nullable=False, comment="newest verdict, JSON"),
        sa.Column(
            "breached",
            sa.BigInteger(),
            nullable=False,
            comment="for how long it has been in breach; microseconds",
        ),
        sa.Column(
            "clear_since",
            sa.BigInteger(),
            comment="as of since which its verdicts are clear; microseconds UTC",
        ),
        sa.Column(
            "unknown_since",
            sa.BigInteger(),
            comment="as of since which its verdicts are unknown; microseconds UTC",
        ),
        sa.PrimaryKeyConstraint(
            "run", "model", "rule", "version", "segment", "window", "subject", "since", name="pk_alerts"
        ),
        comment="alerts, one row an episode: kept for ever",
    )
