"""Labels counted by difference: as of when, and of what the pane was counted; labels no longer wait."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_COMMENTS = {
    "counted_as_of": "as of the last whole count; microseconds UTC",
    "rows": "rows read, repeats included; of labels the records",
}


def upgrade() -> None:
    op.add_column(
        "panes",
        sa.Column(
            "labelled_as_of",
            sa.BigInteger(),
            nullable=True,
            comment="as of the last difference of its labels since then; microseconds UTC",
        ),
    )
    op.add_column(
        "panes",
        sa.Column(
            "mapping",
            sa.Text(),
            nullable=True,
            comment="hash of the tables, columns and conditions that it was read by",
        ),
    )
    with op.batch_alter_table("waiting") as batch:
        batch.drop_column("labels")
    if op.get_bind().dialect.name != "sqlite":  # which keeps no comments
        for column, comment in _COMMENTS.items():
            op.alter_column("panes", column, existing_type=sa.BigInteger(), comment=comment)
