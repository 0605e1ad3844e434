"""What was configured, and what references were made of, is kept for ever."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "configurations",
        sa.Column("hash", sa.Text(), nullable=False, comment="of what is configured, defaults included"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column(
            "content",
            sa.Text(),
            nullable=False,
            comment="what is configured, JSON; a value of the environment or of a file is its place",
        ),
        sa.Column(
            "created", sa.BigInteger(), nullable=False, comment="when it was first used; microseconds UTC"
        ),
        sa.PrimaryKeyConstraint("hash", name="pk_configurations"),
        comment="configurations of models: kept for ever",
    )
    op.add_column(
        "references_",
        sa.Column(
            "made_of",
            sa.Text(),
            nullable=False,
            server_default="",
            comment="what it was made of: file, table, query or time range",
        ),
    )
