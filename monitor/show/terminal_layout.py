"""Columns and paragraphs that fit a terminal: nothing is cut, what does not fit goes on below."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from unicodedata import category, east_asian_width

from monitor.core.text import readable_text

Cells = Sequence[Sequence[str]]

_NUMBER = re.compile(r"([<>] )?[-−]?([\d,.]*( %)?|\d+[dhm]( \d+[hms])?|[\d.]+s)")
_FIXED = "\N{NO-BREAK SPACE}"
_TOGETHER = re.compile(r"\[[^][ ]+ [^][ ]+\]|[\d>] (%|points)|[<>] \d|\d[dhm] \d|\d{4}-\d\d-\d\d \d\d:")
_WIDE = "\N{WORD JOINER}"  # stands behind a wide character while lines are made; `readable_text` leaves none
_GAP = 2
_LEAST = 12  # characters that a column of texts is narrowed to
_DEEPER = 4  # what goes on below a row


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: wide characters two, marks on another one none [1]_.

    References
    ----------
    .. [1] Unicode Standard Annex 11: East Asian Width.

    >>> display_width("origin"), display_width("東京"), display_width("e\N{COMBINING ACUTE ACCENT}")
    (6, 4, 1)
    """
    if text.isascii():
        return len(text)
    marks = sum(category(char) in ("Mn", "Me") for char in text)
    return len(text) + sum(east_asian_width(char) in "WF" for char in text) - marks


def align_columns(lines: Cells, width: int | None = None) -> str:
    """Columns of equal width, numbers to the right: see `format_table_rows`."""
    return "\n".join(format_table_rows(lines, width))


def format_table_rows(lines: Cells, width: int | None = None) -> list[str]:
    r"""Text of each row of a table, the headings first; every cell is readable and whole.

    Where the table is wider than the terminal its last column, if of texts, goes on below each row. Then
    columns of texts become narrower: a longer cell moves those behind it to the next line. What still has no
    room goes below too, each value with its heading.

    `width`: of the terminal in characters; None: as wide as the table is.

    Examples
    --------
    >>> table = [("of", "n", "note"), ("score", "7", "it varies by itself")]
    >>> print("\n".join(format_table_rows(table, 80)))
    of     n  note
    score  7  it varies by itself
    >>> print("\n".join(format_table_rows(table, 20)))
    of     n
    score  7
        it varies by
        itself
    """
    rows = [[readable_text(cell) for cell in line] for line in lines]
    columns = list(zip(*rows, strict=True))
    right = [len(rows) > 1 and all(map(_NUMBER.fullmatch, column[1:])) for column in columns]
    sizes = _column_sizes(columns, right, width)
    names = [*rows[0][:-1], rows[0][-1] if right[-1] else ""][len(sizes) :]
    return [
        "\n".join(_row_lines(row, sizes, right, names if at else (), width)) for at, row in enumerate(rows)
    ]


def indent_columns(lines: Cells, width: int | None = None) -> str:
    """Columns as `align_columns` has them, each line four characters further in."""
    text = align_columns(lines, None if width is None else width - 4)
    return textwrap.indent(text, 4 * " ")


def wrap_text(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Lines of a text; a number stays together with its unit, and an interval with itself."""
    whole = _TOGETHER.sub(lambda part: part[0].replace(" ", _FIXED), readable_text(text))
    if not whole.isascii():
        whole = "".join(char + _WIDE * (east_asian_width(char) in "WF") for char in whole)
        width -= _WIDE in whole  # a line may end between the two
    lines = textwrap.wrap(
        whole, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
    )
    return [line.replace(_FIXED, " ").replace(_WIDE, "") for line in lines]


def wrap_paragraphs(text: str, width: int | None) -> str:
    """Text whose lines go on below where they are longer than the terminal is wide."""
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        start = _indent_of(line)
        lines += (
            [line]
            if display_width(line) <= width
            else wrap_text(line.lstrip(), width, start, start + _DEEPER * " ")
        )
    return "\n".join(lines)


def _column_sizes(columns: Cells, right: Sequence[bool], width: int | None) -> list[int]:
    """Width of each column that stands in the line: of all of them, or of the first ones."""
    sizes = [max(map(display_width, column)) for column in columns]
    if width is None or _excess_width(sizes, width) <= 0:
        return sizes
    told = len(columns) - (not right[-1])
    if _excess_width(sizes[:told], width) <= 0:
        return sizes[:told]
    for many in range(told, 1, -1):
        narrow = _narrow_columns(columns[:many], right, sizes[:many], width)
        if _excess_width(narrow, width) <= 0:
            return narrow
    return sizes[:1]


def _excess_width(sizes: Sequence[int], width: int) -> int:
    return sum(sizes) + _GAP * (len(sizes) - 1) - width


def _narrow_columns(columns: Cells, right: Sequence[bool], sizes: list[int], width: int) -> list[int]:
    """Columns of texts made narrower, again and again the one in which that moves the fewest cells.

    A long cell moves none where the next one is empty: it takes its place.
    """
    lengths = [
        Counter(display_width(cell) for cell, after in zip(column, behind, strict=True) if after)
        for column, behind in zip(columns, [*columns[1:], columns[-1]], strict=True)
    ]
    while (over := _excess_width(sizes, width)) > 0:
        steps = []
        for at, size in enumerate(sizes):
            if not right[at] and size > _LEAST:
                shorter = max([_LEAST, *(length for length in lengths[at] if length < size)])
                steps.append((lengths[at][size] / (size - shorter), at, shorter))
        if not steps:
            break
        _, at, shorter = min(steps)
        now = max(shorter, sizes[at] - over)
        lengths[at][now] += lengths[at].pop(sizes[at], 0)
        sizes[at] = now
    return sizes


def _row_lines(
    row: Sequence[str], sizes: Sequence[int], right: Sequence[bool], names: Sequence[str], width: int | None
) -> Iterator[str]:
    """One row: the cells that fit in their columns, the others on lines of their own."""
    line, start = "", 0
    deeper = (len(row[0]) - len(row[0].lstrip()) + _DEEPER) * " "
    for cell, size, to_right in zip(row, sizes, right, strict=False):
        if cell:
            if line and display_width(line) > start - _GAP:
                yield line
                line = ""
            line += (start - display_width(line)) * " " + (size - display_width(cell)) * " " * to_right + cell
            if width is not None and display_width(line) > width:
                alone = start > 0 and line.lstrip() == cell
                *full, line = wrap_text(line.lstrip(), width, deeper if alone else _indent_of(line), deeper)
                yield from full
        start += size + _GAP
    yield line
    rest = [f"{name} {cell}".lstrip() for name, cell in zip(names, row[len(sizes) :], strict=False) if cell]
    if rest and width is not None:
        yield from wrap_text("; ".join(rest), width, deeper, deeper)


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
