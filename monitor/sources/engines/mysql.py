"""What MariaDB and MySQL do in their own way: types, settings of a session, errors."""

from collections.abc import Mapping

_TYPES = {  # of the wire protocol: the only ones that say what a query's columns are
    **dict.fromkeys((1, 2, 3, 8, 9), "integer"),
    13: "year",
    **dict.fromkeys((0, 246), "decimal"),
    4: "float",
    5: "double",
    7: "timestamp",
    **dict.fromkeys((10, 14), "date"),
    11: "time",
    12: "datetime",
    16: "bit",
    245: "json",
    247: "enum",
    248: "set",
    **dict.fromkeys((249, 250, 251, 252), "text"),
    **dict.fromkeys((15, 253), "varchar"),
    254: "char",
    255: "geometry",
}
_TINYINT = 1  # of length 1 it is what MariaDB makes of a boolean
WHOLE = ("boolean", "integer", "year")
NUMBERS = (*WHOLE, "decimal", "float", "double")
TEXTS = ("char", "varchar", "text", "enum", "set")

# client errors, and of the server: connections, access, no such database, shutdown, locks, limits of time
_CLIENT = range(2000, 3000)
_UNREACHABLE = (1021, 1037, 1040, 1041, 1044, 1045, 1049, 1053, 1129, 1130, 1135, 1152, 1205, 1213, 1226)
_INTERRUPTED = (1317, 1698, 1927, 1969, 3024)


def is_mysql(dialect: str) -> bool:
    """Whether a dialect is that of MariaDB or MySQL."""
    return dialect in ("mysql", "mariadb")


def types_of(described: Mapping[str, object]) -> dict[str, str]:
    """Types by column, of a driver's description: (code, …, length, …)."""
    return {name: _type_of(*one) for name, one in described.items() if isinstance(one, tuple)}


def _type_of(code: object, _size: object, length: object, *_: object) -> str:
    if code == _TINYINT and length == 1:
        return "boolean"
    return _TYPES.get(code, "") if isinstance(code, int) else ""


def settings(*, mariadb: bool, timeout_ms: int) -> tuple[str, ...]:
    """Statements that begin a read-only transaction of one snapshot, in UTC, with a limit of time."""
    limit = f"max_statement_time = {timeout_ms / 1000}" if mariadb else f"max_execution_time = {timeout_ms}"
    return (
        f"SET SESSION time_zone = '+00:00', SESSION {limit}",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )


def unreachable_code(code: int) -> bool:
    """Whether an error says that the database cannot serve us now."""
    return code in _CLIENT or code in _UNREACHABLE or code in _INTERRUPTED
