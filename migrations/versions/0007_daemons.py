"""Daemons that share a run; what a search sees again outlives the process that saw it first."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name, what in (("seen_again", "labels"), ("rows_seen_again", "rows")):
        comment = f"{what} by pane that the next search for changes sees again, JSON"
        op.add_column("models", sa.Column(name, sa.Text(), nullable=True, comment=comment))
    op.create_table(
        "daemons",
        sa.Column("run", sa.Text(), nullable=False, comment="history that it writes"),
        sa.Column("owner", sa.Text(), nullable=False, comment="process"),
        sa.Column("config", sa.Text(), nullable=False, comment="hash of its configuration and code"),
        sa.Column(
            "generation",
            sa.BigInteger(),
            nullable=False,
            comment="grows with each other configuration that comes into use",
        ),
        sa.Column(
            "expires_at",
            sa.BigInteger(),
            nullable=False,
            comment="by the clock of this database; microseconds UTC",
        ),
        sa.PrimaryKeyConstraint("run", "owner", name="pk_daemons"),
        comment="which daemons share a run, and whose configuration is the newest",
    )
