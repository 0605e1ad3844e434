"""Any database that an ADBC driver reads: standard SQL, types as Arrow has them."""

from typing import ClassVar

from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.sources.engines.readers.adbc_connection import AdbcConnection
from monitor.sources.engines.warehouse import INSTANT, NAIVE, WarehouseEngine

_WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_TYPES = {
    **dict.fromkeys(("string", "large_string", "string_view"), "varchar"),
    **dict.fromkeys(_WHOLE, "bigint"),
    **dict.fromkeys(("float", "double", "halffloat"), "double"),
    **dict.fromkeys(("decimal32", "decimal64", "decimal128", "decimal256"), "decimal"),
    "bool": "boolean",
    "date32[day]": "date",
    "date64[ms]": "date",
}


class AdbcEngine(WarehouseEngine):
    """A database behind a driver: nothing is known of it but its SQL."""

    title: ClassVar[str] = "ADBC"

    def common_type(self, kind: str) -> str:
        """Name of one of Arrow's types among column stores."""
        return arrow_type_name(kind)

    def connect(self, url: URL, limit: float) -> AdbcConnection:  # noqa: ARG002 -- each driver has its own
        """A driver by its name, or by the path of its library; its own options follow the question mark."""
        driver = url.host or (f"/{url.database}" if url.database else "")
        if not driver:
            raise SourceError("a url of ADBC names its driver, as in adbc://flightsql?uri=grpc://host:32010")
        options = {name: str(value) for name, value in url.query.items()}
        entrypoint = options.pop("entrypoint", None)
        account = {"username": url.username, "password": url.password}
        options |= {name: str(value) for name, value in account.items() if value}
        return AdbcConnection(driver, options, entrypoint=entrypoint)


def arrow_type_name(kind: str) -> str:
    """Name of one of Arrow's types among column stores; its own where it is not read."""
    if kind.startswith("timestamp["):
        return INSTANT if "tz=" in kind else NAIVE
    return _TYPES.get(kind.partition("(")[0], kind)
