"""Values: numbers, categories and classes of a column, and their order where a tie must be settled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.text import make_shown_name
from monitor.records.reading import canonical_name
from monitor.states.grids import CategoryGrid

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_FEW = 2**62  # of numbers, whose differences are numbers still


@dataclass(frozen=True, slots=True)
class NumberValues:
    """Doubles: NaN where the value is no number, whatever where it is missing."""

    values: Floats
    missing: Bools

    def take_rows(self, rows: Ints) -> "NumberValues":
        """Chosen rows."""
        return NumberValues(self.values[rows], self.missing[rows])

    def rank_ties(self) -> Ints:
        """Order in which ties are settled: NULL < NaN < numbers."""
        ranks = np.unique(np.where(np.isnan(self.values), 0.0, self.values), return_inverse=True)[1] + 2
        return np.where(self.missing, 0, np.where(np.isnan(self.values), 1, ranks))

    @property
    def finite(self) -> Bools:
        """Neither missing nor invalid."""
        return ~self.missing & np.isfinite(self.values)

    def lies_within(self, bounds: tuple[float, float]) -> Bools:
        """Finite, and in the closed range."""
        return self.finite & (self.values >= bounds[0]) & (self.values <= bounds[1])


@dataclass(frozen=True, slots=True)
class CategoryValues:
    """Levels (of a column: in the order of their bytes), and each row's position; -1 is missing."""

    levels: tuple[str, ...]
    codes: Ints
    # positions of levels whose texts could not be names as they stand: see `make_shown_name`.
    unusual: frozenset[int] = frozenset()

    def take_rows(self, rows: Ints) -> "CategoryValues":
        """Chosen rows."""
        return replace(self, codes=self.codes[rows])

    def renamed_rows(self) -> Bools:
        """Rows whose texts are not the names that they are counted under."""
        return np.isin(self.codes, list(self.unusual)) if self.unusual else np.zeros(len(self.codes), bool)

    def with_meanings(self, words: Mapping[str, str]) -> "CategoryValues":
        """The same rows by what their levels mean; a level without a meaning of its own stays.

        What was given a meaning is no longer unusual. Cost: one look-up a level.

        >>> some = CategoryValues(("approve", "decline", "refer"), np.asarray([0, 2, -1, 1]))
        >>> meant = some.with_meanings({"decline": "DEFAULT", "approve": "PAID"})
        >>> meant.levels, meant.codes.tolist()
        (('DEFAULT', 'PAID', 'refer'), [1, 2, -1, 0])
        """
        if words.keys().isdisjoint(self.levels):
            return self
        named = [words.get(level, level) for level in self.levels]
        levels = sorted(set(named), key=str.encode)
        place = {level: at for at, level in enumerate(levels)}
        of_code = np.asarray([*(place[level] for level in named), -1], dtype=np.int64)
        unusual = frozenset(int(of_code[at]) for at in self.unusual if self.levels[at] not in words)
        return CategoryValues(tuple(levels), of_code[self.codes], unusual)

    def rank_ties(self) -> Ints:
        """Order in which ties are settled: NULL < text by bytes."""
        return self.codes

    def grid_cells(self, grid: CategoryGrid) -> Ints:
        """Cell of each row."""
        of_level = np.asarray([grid.find_level_cell(level) for level in (*self.levels, None)], dtype=np.int64)
        return of_level[self.codes]

    def level_positions(self, named: tuple[str, ...], otherwise: int) -> Ints:
        """Position of each row's level among the named ones; missing is -1."""
        where = {level: position for position, level in enumerate(named)}
        of_level = np.asarray([*(where.get(level, otherwise) for level in self.levels), -1], dtype=np.int64)
        return of_level[self.codes]


def is_nan(level: str) -> bool:
    """Whether a text is what databases and pandas print for a number that is none."""
    return level.lower() in ("nan", "+nan", "-nan")


def parse_numbers(column: pa.ChunkedArray) -> NumberValues:
    """Numbers of a column of doubles, integers, booleans or text."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    missing = np.asarray(array.is_null())
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        trimmed = pc.utf8_trim_whitespace(array)
        is_number = pc.match_substring_regex(trimmed, _NUMBER)
        text = pc.utf8_ltrim(pc.if_else(is_number, trimmed, None), characters="+")
        array = text.cast(pa.float64()).fill_null(np.nan)
    doubles = array.cast(pa.float64(), safe=False)
    return NumberValues(np.asarray(doubles.fill_null(0.0) if array.null_count else doubles), missing)


def parse_categories(column: pa.ChunkedArray) -> CategoryValues:
    """Categories of a column of any type that prints as text; their levels are canonical."""
    return _name_levels(column, canonical_name)


def parse_texts(column: pa.ChunkedArray, name: Callable[[str], str] = make_shown_name) -> CategoryValues:
    """Categories as they are written: names, of versions for example, in which 1.0 is not 1."""
    return _name_levels(column, name)


def _name_levels(column: pa.ChunkedArray, name: Callable[[str], str]) -> CategoryValues:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = (array.cast(pa.string()) if pa.types.is_null(array.type) else array).dictionary_encode()
    written = _unicode_texts(encoded.dictionary.cast(pa.string()))
    names = [name(text) for text in written]
    levels = sorted(set(names), key=str.encode)
    position = {level: at for at, level in enumerate(levels)}
    of_code = np.asarray([*(position[level] for level in names), -1], dtype=np.int64)
    unusual = frozenset(
        position[level] for level, text in zip(names, written, strict=True) if make_shown_name(text) != text
    )
    codes = of_code[encoded.indices.cast(pa.int64()).fill_null(len(names))]
    return CategoryValues(tuple(levels), codes, unusual)


def _unicode_texts(array: pa.Array) -> list[str]:
    """Texts; bytes that are no UTF-8, as SQLite hands them over, become lone surrogates."""
    try:
        written: list[str] = array.to_pylist()
    except UnicodeDecodeError:
        written = [text.decode(errors="surrogateescape") for text in array.cast(pa.binary()).to_pylist()]
    return written


def encode_texts(column: pa.ChunkedArray) -> Ints:
    """Equal numbers for equal texts; -1 where missing. For ids: compared, never interpreted."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_integer(array.type) and len(array) and not array.null_count:
        codes: Ints = np.asarray(array.cast(pa.int64()))
        least = int(codes.min())
        # Integers are their own numbers, unless a difference would leave 64 bits.
        if int(codes.max()) - least < _FEW:
            return codes - least
    encoded = array.cast(pa.string()).dictionary_encode()
    return np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1))


def join_id_columns(table: pa.Table) -> pa.Table:
    """Columns id, id:1, id:2, … as one text: joined by commas, commas in them escaped; null where one is."""
    parts = [name for name in table.column_names if name.partition(":")[0] == "id"]
    if len(parts) < 2:
        return table
    joined = pc.binary_join_element_wise(
        *(_escape_texts(table[name]) for name in parts), ",", null_handling="emit_null"
    )
    rest = table.drop_columns(parts[1:])
    return rest.set_column(rest.column_names.index("id"), "id", joined)


def _escape_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring(pc.replace_substring(column.cast(pa.string()), "\\", "\\\\"), ",", "\\,")
