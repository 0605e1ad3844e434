"""Names and relations in the SQL of each engine: nothing reaches a statement unquoted from elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import URL
from sqlalchemy.sql.compiler import IdentifierPreparer

from monitor.specs.model import Relation

_ONE_SNAPSHOT = ("sqlite", "postgresql", "mysql", "mariadb", "duckdb")  # not ClickHouse, Spark, others


@dataclass(frozen=True, slots=True)
class Dialect:
    """An engine's way to write names.

    Parameters
    ----------
    name
        sqlite, postgresql, mysql, mariadb, …
    one_snapshot
        what a session reads by several statements is one state of the tables; else it is compared.
    """

    name: str
    preparer: IdentifierPreparer
    one_snapshot: bool = False

    def quote(self, name: str) -> str:
        """A name of one part, always quoted."""
        return self.preparer.quote_identifier(name)

    def table(self, name: str) -> str:
        """A table's name, split at dots; of Spark the path of Parquet files, too."""
        if self.is_path(name):
            return f"parquet.{self.quote(name)}"
        return ".".join(self.quote(part) for part in name.split("."))

    def is_path(self, name: str) -> bool:
        """Whether a table's name is the path of Parquet files, which Spark reads."""
        return self.name == "spark" and "/" in name

    def relation(self, relation: Relation, alias: str) -> str:
        """A relation as an item of FROM; the owner's own SQL stands alone on its lines."""
        if relation.query is not None:
            item = f"(\n{relation.query.rstrip().rstrip(';')}\n)"
        else:
            item = self.table(relation.table or "")
        if relation.where is not None:
            item = f"(SELECT * FROM {item} AS t WHERE (\n{relation.where}\n))"
        return f"{item} AS {alias}"


def dialect_of(url: URL) -> Dialect:
    """Dialect of a database URL; its driver need not be there.

    No statement of ours has parameters: a percent sign in a name stands for itself.
    """
    make: Callable[..., sa.Dialect] = url.set(drivername=url.get_backend_name()).get_dialect()
    dialect = make(paramstyle="named")
    return Dialect(dialect.name, dialect.identifier_preparer, dialect.name in _ONE_SNAPSHOT)


def dialect_of_spark() -> Dialect:
    """Dialect of Spark, which quotes names as MySQL does."""
    return Dialect("spark", dialect_of(URL.create("mysql")).preparer)


def text(value: str) -> str:
    """Literal of a text that is ours: a name looked up in a catalogue."""
    return "'" + value.replace("'", "''") + "'"
