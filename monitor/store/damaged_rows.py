"""Rows that are not what this program wrote: a disk, a hand or another program changed them.

SQLite keeps any value in any column. So each value is looked at as it comes: of its column's type, a time
within the calendar. What a value means (JSON, names, bytes) is looked at where it is read.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from sqlalchemy import BigInteger, Dialect, Double, Integer, LargeBinary, MetaData, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from monitor.core.clock import FIRST, LAST
from monitor.core.errors import DAMAGE, damage_error

_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    BigInteger: ("a whole number", (int,)),
    Integer: ("a whole number", (int,)),
    Double: ("a number", (float, int)),
    Text: ("text", (str,)),
    LargeBinary: ("bytes", (bytes, memoryview)),
}


@contextmanager
def named_damage(what: str) -> Iterator[None]:
    """Name what is damaged, where reading it goes wrong in whatever way.

    Raises
    ------
    CodecError
        in place of any error that damaged values lead to.
    """
    try:
        yield
    except DAMAGE as error:
        raise damage_error(what, f"{type(error).__name__} while it is read") from error


class GuardedType(TypeDecorator[Any]):
    """Type of a column whose values are looked at as they come.

    Parameters
    ----------
    kept
        the type itself.
    where
        table and column.
    moment
        whether it is a time.
    nullable
        whether NULL may stand there.
    """

    impl = Text
    cache_ok = True

    def __init__(self, kept: TypeEngine[Any], where: str, *, moment: bool, nullable: bool) -> None:
        super().__init__()
        self.impl = kept  # type: ignore[assignment]
        self.kept, self.where, self.moment, self.nullable = kept, where, moment, nullable

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Function of a value as the driver hands it over."""
        made = self.kept.dialect_impl(dialect).result_processor(dialect, coltype)
        name, kinds = _KINDS[type(self.kept)]
        low, high = (FIRST, LAST) if self.moment else (None, None)
        accepted = frozenset({*kinds, type(None)} if self.nullable else kinds)

        def refuse(value: Any) -> NoReturn:
            raise damage_error(self.where, f"{name} expected: got {_type_name(value)}")

        def checked(value: Any) -> Any:  # plain columns, the most: nothing but the look
            return value if type(value) in accepted else refuse(value)

        def checked_and_made(value: Any) -> Any:
            if type(value) not in accepted:
                refuse(value)
            if value is None:
                return None
            if low is not None and not low <= value <= high:
                raise damage_error(
                    self.where, f"a time from year 1 to 9999 expected: got {value} microseconds"
                )
            return value if made is None else made(value)

        return checked if low is None and made is None else checked_and_made


def guard_columns(metadata: MetaData, outer: frozenset[str]) -> None:
    """Let all columns look at their values.

    Parameters
    ----------
    outer
        tables that are read in outer joins, where any column may be NULL.
    """
    for table in metadata.tables.values():
        for column in table.columns:
            if type(column.type) in _KINDS and column.name != "id":  # which SQLite numbers itself
                column.type = GuardedType(
                    column.type,
                    f"table {table.name}, column {column.name}",
                    moment=(column.comment or "").endswith("; microseconds UTC"),
                    nullable=bool(column.nullable) or table.name in outer,
                )


def _type_name(value: object) -> str:
    names = {"NoneType": "NULL", "str": "text", "int": "a whole number", "float": "a number"}
    return names.get(type(value).__name__, type(value).__name__)
