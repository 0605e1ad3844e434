"""Columns that many tables have."""

from sqlalchemy import BigInteger, Column, Identity, Integer, MetaData, Text

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s",
}
METADATA = MetaData(naming_convention=NAMES)


def key_column(comment: str, name: str) -> Column[str]:
    """A text that is part of what names a row."""
    return Column(name, Text, nullable=False, comment=comment)


def owner_columns() -> tuple[Column[str], Column[str]]:
    """Whose row it is."""
    return key_column("history: live, or the name of a replay", "run"), key_column(
        "name of the model", "model"
    )


def window_column() -> Column[str]:
    """Kind of a window."""
    return key_column("window as configured (7d, month); empty: figures of the cycle itself", "window")


def time_column(name: str, comment: str, *, nullable: bool = False) -> Column[int]:
    """A moment."""
    return Column(name, BigInteger, nullable=nullable, comment=f"{comment}; microseconds UTC")


def count_column(name: str, comment: str) -> Column[int]:
    """A whole number."""
    return Column(name, BigInteger, nullable=False, comment=comment)


def number_column() -> Column[int]:
    """Number by which other tables refer to a row."""
    return Column(
        "id", Integer, Identity(), autoincrement=True, nullable=False, comment="its number in other tables"
    )  # of identity: who writes rows needs no right on a sequence
