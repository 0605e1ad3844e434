"""The learnt settling age is kept with a model's state."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "models",
        sa.Column(
            "settling_age",
            sa.BigInteger(),
            nullable=True,
            comment="age from which windows could settle at the last cycle; microseconds",
        ),
    )
