"""Labels that the next search sees again are kept with a model's state: a restart counts none twice."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "models",
        sa.Column(
            "seen_again",
            sa.Text(),
            nullable=True,
            comment="labels that the next search for changes sees again: [start, labels] of panes, JSON",
        ),
    )
