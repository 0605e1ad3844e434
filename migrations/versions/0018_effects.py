"""What features do to the score, kept with their reference."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    comment = "effect table of its features; NULL: nobody has looked"
    op.add_column("references_", sa.Column("effects", sa.LargeBinary(), nullable=True, comment=comment))
