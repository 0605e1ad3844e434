"""What changed is kept as named values, where it was a table of one row; rows that are kept stay as they are.

No table changes. A program of before would take new rows for damaged ones: by this number it stands aside.
"""

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing to move: what was kept before is read as before."""
