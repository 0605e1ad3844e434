"""Where the files of a source stood: by it the next cycle finds what was rewritten."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    comment = "where the files of the source stood at the last cycle, JSON"
    op.add_column("models", sa.Column("position", sa.Text(), nullable=True, comment=comment))
