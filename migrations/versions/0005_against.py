"""A measurement may compare with another window (`against`), and carry a small table (`detail`)."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEYS = {
    "current": ("run", "model", "window", "window_end", "segment", "version", "truth", "measure", "subject"),
    "snapshots": (
        "run", "model", "window", "window_end", "segment", "version", "as_of", "truth", "measure", "subject",
    ),
}  # fmt: skip


def upgrade() -> None:
    for table, key in KEYS.items():
        with op.batch_alter_table(table, table_kwargs={"sqlite_with_rowid": False}) as batch:
            batch.add_column(
                sa.Column(
                    "against",
                    sa.Text(),
                    nullable=False,
                    server_default="",
                    comment="what the value is the difference from: reference, previous, 28d; "
                    "empty: it is none",
                )
            )
            batch.add_column(
                sa.Column("detail", sa.Text(), nullable=True, comment="table behind the value, JSON")
            )
            batch.drop_constraint(f"pk_{table}", type_="primary")
            batch.create_primary_key(f"pk_{table}", [*key, "against"])
        with op.batch_alter_table(table, table_kwargs={"sqlite_with_rowid": False}) as batch:
            batch.alter_column("against", server_default=None)
