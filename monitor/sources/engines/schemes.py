"""Which engine a URL asks for. A new engine is a file beside this one, and a row of this table."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import URL, Dialect

from monitor.sources.engines.clickhouse import ClickhouseEngine
from monitor.sources.engines.duckdb import DuckdbEngine
from monitor.sources.engines.engine import Engine
from monitor.sources.engines.generic import GenericSql
from monitor.sources.engines.lake import LakeEngine
from monitor.sources.engines.mysql import MysqlEngine
from monitor.sources.engines.postgresql import PostgresqlEngine
from monitor.sources.engines.spark import CLUSTER, SparkEngine
from monitor.sources.engines.sqlite import SqliteEngine


@dataclass(frozen=True, slots=True)
class UrlScheme:
    """What a URL's scheme says: the engine, the extra of monitor to install, another scheme that it means."""

    engine: type[Engine]
    extra: str | None = None
    means: str | None = None


SCHEMES = {
    "sqlite": UrlScheme(SqliteEngine),
    "postgresql": UrlScheme(PostgresqlEngine),
    "postgres": UrlScheme(PostgresqlEngine, means="postgresql"),
    "mysql": UrlScheme(MysqlEngine, "mariadb"),
    "mariadb": UrlScheme(MysqlEngine, "mariadb"),
    "duckdb": UrlScheme(DuckdbEngine, "duckdb"),
    "chdb": UrlScheme(ClickhouseEngine, "chdb"),
    "clickhousedb": UrlScheme(ClickhouseEngine, "clickhouse"),
    **dict.fromkeys(("sc", "spark", "k8s", "yarn", "local"), UrlScheme(SparkEngine, "spark")),
}
_OTHER = UrlScheme(GenericSql)


def scheme_of(url: URL) -> UrlScheme:
    """The row of a URL; any that SQLAlchemy knows has one."""
    return SCHEMES.get(url.get_backend_name(), _OTHER)


def engine_of(url: URL) -> Engine:
    """Engine of a database URL; its driver need not be there.

    No statement of ours has parameters: a percent sign in a name stands for itself.
    """
    make: Callable[..., Dialect] = url.set(drivername=url.get_backend_name()).get_dialect()
    dialect = make(paramstyle="named")
    return scheme_of(url).engine(dialect.name, dialect.identifier_preparer)


def engine_of_cluster() -> Engine:
    """Spark, which quotes names as MySQL does."""
    return SparkEngine(CLUSTER, engine_of(URL.create("mysql")).preparer)


def engine_of_lake() -> Engine:
    """Files, which DuckDB's SQL reads. It quotes names as PostgreSQL does."""
    return LakeEngine("files", engine_of(URL.create("postgresql")).preparer)


def arrow_engine_titles() -> list[str]:
    """What messages call the engines that are read through ADBC."""
    schemes = (scheme for scheme in SCHEMES.values() if scheme.means is None)
    return [scheme.engine.title for scheme in schemes if scheme.engine.has_arrow]


def counting_schemes() -> list[str]:
    """Schemes whose engines count panes by GROUP BY."""
    return [name for name, scheme in SCHEMES.items() if scheme.engine.counts and scheme.means is None]
