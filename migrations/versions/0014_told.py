"""What an alert was judged by as it began, as it fired, and as it became worse."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "alerts",
        sa.Column(
            "told",
            sa.Text(),
            nullable=True,
            comment="its breach as it began, fired and became twice as bad, each as of when, JSON",
        ),
    )
