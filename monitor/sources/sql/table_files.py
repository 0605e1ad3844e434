"""Files of a table of a lake, as those who look at it want to know them."""

from dataclasses import dataclass

from monitor.specs.protocols import Range


@dataclass(frozen=True, slots=True)
class TableFiles:
    """What a table of files is made of."""

    title: str  # its format, as messages call it
    n: int  # files
    partitions: tuple[str, ...] = ()  # columns by which it is laid out in folders

    def __str__(self) -> str:
        return f"{self.title}, {self.n:,} {'file' if self.n == 1 else 'files'}"


@dataclass(frozen=True, slots=True)
class EdgeOfRows:
    """So many rows at an end of a span of time, by a column."""

    column: str
    unit: str | None  # of integers
    span: Range
    rows: int
    newest: bool
