"""What stands in the way of a model's cycles: `status` and the pages tell it, not the log alone."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "troubles",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("as_of", sa.BigInteger(), nullable=False, comment="of its last cycle; microseconds UTC"),
        sa.Column("since", sa.BigInteger(), nullable=False, comment="as of of the first; microseconds UTC"),
        sa.Column(
            "failed", sa.BigInteger(), nullable=False, comment="cycles that failed in a row; 0: none did"
        ),
        sa.Column("told", sa.Text(), nullable=False, comment="what it is, in words"),
        sa.PrimaryKeyConstraint("run", "model", name="pk_troubles"),
        comment="what stands in the way of a model's cycles, as long as it does",
    )
