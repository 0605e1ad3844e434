"""Messages of incidents that channels edit: by what each finds its own."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    found_by = "by what the channel finds it, and where it was posted, no secret"
    op.create_table(
        "messages",
        sa.Column("run", sa.Text(), nullable=False, comment="history: live, or the name of a replay"),
        sa.Column("model", sa.Text(), nullable=False, comment="name of the model"),
        sa.Column("incident", sa.Text(), nullable=False, comment="address of the incident"),
        sa.Column("channel", sa.Text(), nullable=False, comment="name of the channel that it stands in"),
        sa.Column("message", sa.Text(), nullable=False, comment=found_by),
        sa.PrimaryKeyConstraint("run", "model", "incident", "channel", name="pk_messages"),
        comment="messages of incidents that channels edit as these grow, until they are over",
    )
