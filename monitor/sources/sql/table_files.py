"""Files of a table of a lake, as those who look at it want to know them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableFiles:
    """What a table of files is made of."""

    title: str  # its format, as messages call it
    n: int  # files
    partitions: tuple[str, ...] = ()  # columns by which it is laid out in folders

    def __str__(self) -> str:
        return f"{self.title}, {self.n:,} {'file' if self.n == 1 else 'files'}"
