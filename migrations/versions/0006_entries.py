"""What has entered the comparisons that go on."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "entries",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("comparison", sa.Text(), nullable=False, comment="outcome, sample_ratio or challenger"),
        sa.Column("key", sa.Text(), nullable=False, comment="hash of what is compared: another begins anew"),
        sa.Column(
            "start", sa.BigInteger(), nullable=False, comment="start of what entered; microseconds UTC"
        ),
        sa.Column("until", sa.BigInteger(), nullable=False, comment="its end (exclusive); microseconds UTC"),
        sa.Column(
            "as_of", sa.BigInteger(), nullable=False, comment="as of which it entered; microseconds UTC"
        ),
        sa.Column("entered", sa.Text(), nullable=False, comment="its counts, JSON"),
        sa.Column("total", sa.Text(), nullable=False, comment="counts of all that has entered so far, JSON"),
        sa.Column(
            "most",
            sa.Double(),
            nullable=False,
            comment="logarithm of the most evidence that there was so far",
        ),
        sa.PrimaryKeyConstraint("run", "model", "comparison", "key", "start", name="pk_entries"),
        comment="what has entered the comparisons that go on: each record once, in the order of event time",
    )
