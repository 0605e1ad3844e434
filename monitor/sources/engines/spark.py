"""What Spark does in its own way: types, casts, names of tables, errors."""

from monitor.core.errors import SourceError
from monitor.sources.sql.statements import Kind, Output

WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double", "decimal")
TIMES = {"timestamp": Kind.INSTANT, "timestamp_ntz": Kind.NAIVE, "date": Kind.NAIVE}
TEXTS = ("string", "char", "varchar")
_FACTOR = {"s": 1_000_000, "ms": 1_000, "us": 1}
_INT64_MAX = 2**63 - 1


def is_spark(dialect: str) -> bool:
    """Whether a dialect is that of Spark."""
    return dialect == "spark"


def plain(kind: str) -> str:
    """Type without its arguments: decimal of decimal(10,2)."""
    return kind.partition("(")[0].partition("<")[0]


def text(name: str, ref: str, kind: str) -> Output:
    """Column of texts."""
    if plain(kind) not in (*NUMBERS, *TIMES, *TEXTS, "boolean", "binary"):
        raise _refusal(name, ref, kind, "text")
    return Output(name, f"CAST({ref} AS STRING)", Kind.TEXT)


def number(name: str, ref: str, kind: str) -> Output:
    """Column of doubles; texts are parsed later: a cast that fails would end the query."""
    if plain(kind) in (*NUMBERS, "boolean"):
        return Output(name, f"CAST({ref} AS DOUBLE)", Kind.NUMBER)
    if plain(kind) in TEXTS:
        return Output(name, f"CAST({ref} AS STRING)", Kind.TEXT)
    raise _refusal(name, ref, kind, "number")


def value(name: str, ref: str, kind: str) -> Output:
    """Column of doubles where it holds numbers, else of texts."""
    return number(name, ref, kind) if plain(kind) in NUMBERS else text(name, ref, kind)


def time(name: str, ref: str, kind: str) -> Output:
    """Column of timestamps, of int64 or of texts."""
    if plain(kind) in TIMES:
        cast = f"CAST({ref} AS TIMESTAMP_NTZ)" if kind == "date" else ref
        return Output(name, cast, TIMES[kind])
    if plain(kind) in WHOLE:
        return Output(name, f"CAST({ref} AS BIGINT)", Kind.EPOCH)
    if plain(kind) in NUMBERS:
        whole = f"WHEN abs({ref}) < 9.2e18D THEN CAST({ref} AS BIGINT)"
        return Output(name, f"CASE {whole} WHEN {ref} IS NOT NULL THEN {_INT64_MAX} END", Kind.EPOCH)
    if plain(kind) in TEXTS:
        return Output(name, f"CAST({ref} AS STRING)", Kind.TEXT)
    raise _refusal(name, ref, kind, "time")


def micros(column: str, kind: Kind, unit: str | None, zone: str) -> str | None:
    """SQL of the microseconds of a column of times; None where only parsing tells them."""
    if kind is Kind.EPOCH and unit is not None:
        return f"try_multiply({column}, {_FACTOR[unit]})"
    if kind is Kind.INSTANT or (kind is Kind.NAIVE and zone == "UTC"):
        return f"unix_micros(CAST({column} AS TIMESTAMP))"
    return None


def alike(one: str, other: str) -> bool:
    """Whether ids of two types are compared as they are; else as texts."""
    return one == other or {plain(one), plain(other)} <= {*NUMBERS} or {plain(one), plain(other)} <= {*TEXTS}


def _refusal(name: str, ref: str, kind: str, want: str) -> SourceError:
    return SourceError(
        f"column {ref.partition('.')[2]} ({name}) has the type {kind}, which is not read as a {want}: "
        "cast it in a view or in `query`"
    )
