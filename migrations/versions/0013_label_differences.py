"""What labels add to panes is kept beside them, and added to them once a day."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "differences",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column(
            "number",
            sa.BigInteger(),
            nullable=False,
            comment="of this write of labels parts, see models.label_writes",
        ),
        sa.Column(
            "as_of", sa.BigInteger(), nullable=False, comment="labels that were known then; microseconds UTC"
        ),
        sa.Column("layout", sa.Text(), nullable=False, comment="hash of what the counters mean"),
        sa.Column("blob", sa.LargeBinary(), nullable=False, comment="see monitor.records.codec"),
        sa.PrimaryKeyConstraint("run", "model", "number", name="pk_differences"),
        comment="what labels have added to panes since these were stored; added to them once a day",
    )
    op.add_column(
        "panes",
        sa.Column(
            "holds",
            sa.BigInteger(),
            nullable=True,
            comment="of labels: number of the last difference that is in it",
        ),
    )
    op.add_column(
        "models",
        sa.Column(
            "label_writes",
            sa.BigInteger(),
            nullable=True,
            comment="how often labels parts of panes were written",
        ),
    )
