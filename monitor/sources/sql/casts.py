"""What a column must be cast to in the SELECT, by engine and by the database's type, and what comes of it."""

from enum import StrEnum

from monitor.core.errors import SourceError
from monitor.sources.engines import columnar, mysql, spark
from monitor.sources.sql.statements import Kind, Output


class Want(StrEnum):
    """What a role needs."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    VALUE = "value"


_NUMBERS = ("smallint", "integer", "bigint", "real", "double precision", "numeric", "oid")
_INTEGERS = ("smallint", "integer", "bigint")
_WHOLE = (*_INTEGERS, "oid")
_DATES = ("timestamp with time zone", "timestamp without time zone", "date")
_TEXTS = ("text", "character varying", "character", "citext", "name", "enum")
_TEXT_AFFINITY = ("char", "clob", "text", "blob")  # parts of SQLite's types
_REFUSED = ("money", "interval", "bytea")
_UNEQUAL = (  # no operator compares them, or one that compares areas
    *("json", "jsonpath", "xml", "refcursor"),
    *("point", "line", "lseg", "box", "path", "polygon", "circle"),
)
_FIRST, _LAST = (
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
)  # infinities and what Python has no year for


def output(dialect: str, want: Want, name: str, ref: str, kind: str, *, unit: str | None = None) -> Output:
    """Column of a SELECT that reads a role.

    Parameters
    ----------
    ref
        qualified column.
    kind
        the database's type of it.
    unit
        of integer epochs.

    Raises
    ------
    SourceError
        if the type cannot be read as what is wanted; the message names column and type.
    """
    if dialect == "postgresql":
        _refuse(want, name, ref, kind)
        return _POSTGRES[want](name, ref, kind)
    if mysql.is_mysql(dialect):
        _refuse_mysql(want, name, ref, kind)
        return _mysql(want, name, ref, kind, unit)
    if spark.is_spark(dialect):
        return _SPARK[want](name, ref, kind)
    if columnar.is_columnar(dialect):
        return _COLUMNAR[want](dialect, name, ref, kind)
    found = _PLAIN[want] if want is not Want.TIME else Kind.MOMENT if unit is None else Kind.EPOCH
    texts = any(part in kind for part in _TEXT_AFFINITY)
    return Output(name, ref, found, plain=not texts if found is Kind.NUMBER else "int" in kind)


def _refuse(want: Want, name: str, ref: str, kind: str) -> None:
    refused = kind in _REFUSED or kind.endswith("[]")
    if want is Want.TIME:
        refused = refused or kind not in (*_DATES, *_NUMBERS, *_TEXTS)
    if refused:
        raise _refusal(want, name, ref, kind)
    if name.partition(":")[0] == "id" and not has_equality(kind):
        raise SourceError(
            f"column {ref.partition('.')[2]} ({name}) has the type {kind}, which cannot be compared as an id "
            "is: cast it in a view or in `query`"
        )


def has_equality(kind: str) -> bool:
    """Whether values of a type are compared as wholes: no id and no index is of another."""
    return kind not in _UNEQUAL


_TIMELESS = ("boolean", "time", "year", "bit", "json", "enum", "set")


def _refuse_mysql(want: Want, name: str, ref: str, kind: str) -> None:
    if kind == "geometry" or (want is Want.TIME and kind in _TIMELESS):
        raise _refusal(want, name, ref, kind)


def _refusal(want: Want, name: str, ref: str, kind: str) -> SourceError:
    return SourceError(
        f"column {ref.partition('.')[2]} ({name}) has the type {kind}, which is not read as a {want}: "
        "cast it in a view or in `query`"
    )


def _mysql(want: Want, name: str, ref: str, kind: str, unit: str | None) -> Output:
    if want is Want.TIME:
        kinds = {"timestamp": Kind.INSTANT, "datetime": Kind.NAIVE, "date": Kind.NAIVE}
        return Output(name, ref, kinds.get(kind, Kind.MOMENT if unit is None else Kind.EPOCH))
    if kind == "bit":
        ref = f"{ref} + 0"
    elif kind == "float" and want is not Want.TEXT:  # else rounded to six digits
        ref = f"{ref} + 0e0"
    return Output(name, ref, _PLAIN[want])


def _postgres_text(name: str, ref: str, kind: str) -> Output:
    if kind in _INTEGERS:
        return Output(name, ref, Kind.TEXT, plain=True)
    return Output(name, f"{ref}::text", Kind.TEXT)


def _postgres_number(name: str, ref: str, kind: str) -> Output:
    if kind == "numeric":  # a cast out of range would end the query
        return Output(
            name,
            f"CASE WHEN {ref} = 0 OR abs({ref}) BETWEEN 1e-300 AND 1.7e308 THEN {ref}::double precision "
            f"WHEN abs({ref}) < 1e-300 THEN 0 WHEN {ref} IS NOT NULL THEN 'NaN'::double precision END",
            Kind.NUMBER,
        )
    if kind == "oid":  # no direct cast
        ref = f"{ref}::bigint"
    if kind in _NUMBERS:
        return Output(name, f"{ref}::double precision", Kind.NUMBER)
    if kind == "boolean":
        return Output(name, f"{ref}::int::double precision", Kind.NUMBER)
    return Output(name, f"{ref}::text", Kind.TEXT)


def _postgres_time(name: str, ref: str, kind: str) -> Output:
    if kind in _DATES:
        zoned = kind == _DATES[0]
        exact, zone = ("timestamptz", "+00") if zoned else ("timestamp", "")
        first, last = f"{exact} '{_FIRST}{zone}'", f"{exact} '{_LAST}{zone}'"
        if kind == "date":
            first, last = "date '0001-01-01'", "date '9999-12-31'"
        clamped = f"least(greatest({ref}, {first}), {last})::{exact}"
        return Output(
            name, f"CASE WHEN {ref} IS NOT NULL THEN {clamped} END", Kind.INSTANT if zoned else Kind.NAIVE
        )
    if kind in _WHOLE:
        return Output(name, f"{ref}::bigint", Kind.EPOCH)
    if kind in _NUMBERS:
        return Output(
            name,
            f"CASE WHEN abs({ref}) < 9.2e18 THEN trunc({ref})::bigint "
            f"WHEN {ref} IS NOT NULL THEN {2**63 - 1} END",
            Kind.EPOCH,
        )
    return Output(name, f"{ref}::text", Kind.TEXT)


def _postgres_value(name: str, ref: str, kind: str) -> Output:
    return _postgres_number(name, ref, kind) if kind in _NUMBERS else _postgres_text(name, ref, kind)


_POSTGRES = {
    Want.TEXT: _postgres_text,
    Want.NUMBER: _postgres_number,
    Want.TIME: _postgres_time,
    Want.VALUE: _postgres_value,
}
_SPARK = {
    Want.TEXT: spark.text,
    Want.NUMBER: spark.number,
    Want.TIME: spark.time,
    Want.VALUE: spark.value,
}
_COLUMNAR = {
    Want.TEXT: columnar.text,
    Want.NUMBER: columnar.number,
    Want.TIME: columnar.time,
    Want.VALUE: columnar.value,
}
_PLAIN = {Want.TEXT: Kind.TEXT, Want.NUMBER: Kind.NUMBER, Want.VALUE: Kind.VALUE}
