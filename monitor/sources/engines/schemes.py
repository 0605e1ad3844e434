"""Which engine a URL asks for. A new engine is a file beside this one, and a row of this table."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import URL, Dialect

from monitor.sources.engines.any_adbc import AdbcEngine
from monitor.sources.engines.bigquery import BigqueryEngine
from monitor.sources.engines.clickhouse import ClickhouseEngine
from monitor.sources.engines.databricks import DatabricksEngine
from monitor.sources.engines.duckdb import DuckdbEngine
from monitor.sources.engines.engine import Engine
from monitor.sources.engines.generic import GenericSql
from monitor.sources.engines.lake import LakeEngine
from monitor.sources.engines.mysql import MysqlEngine
from monitor.sources.engines.postgresql import PostgresqlEngine
from monitor.sources.engines.redshift import RedshiftEngine
from monitor.sources.engines.snowflake import SnowflakeEngine
from monitor.sources.engines.spark import CLUSTER, SparkEngine
from monitor.sources.engines.sqlite import SqliteEngine
from monitor.sources.engines.trino import TrinoEngine


@dataclass(frozen=True, slots=True)
class UrlScheme:
    """What a URL's scheme says: the engine, the extra of monitor to install, another scheme that it means.

    `quotes`: the database of SQLAlchemy that quotes names as this one does, of which it need not know.
    """

    engine: type[Engine]
    extra: str | None = None
    means: str | None = None
    quotes: str | None = None


SCHEMES = {
    "sqlite": UrlScheme(SqliteEngine),
    "postgresql": UrlScheme(PostgresqlEngine),
    "postgres": UrlScheme(PostgresqlEngine, means="postgresql"),
    "mysql": UrlScheme(MysqlEngine, "mariadb"),
    "mariadb": UrlScheme(MysqlEngine, "mariadb"),
    "duckdb": UrlScheme(DuckdbEngine, "duckdb"),
    "chdb": UrlScheme(ClickhouseEngine, "chdb"),
    "clickhousedb": UrlScheme(ClickhouseEngine, "clickhouse"),
    "snowflake": UrlScheme(SnowflakeEngine, "snowflake", quotes="postgresql"),
    "bigquery": UrlScheme(BigqueryEngine, "bigquery", quotes="mysql"),
    "redshift": UrlScheme(RedshiftEngine, "redshift", quotes="postgresql"),
    "trino": UrlScheme(TrinoEngine, "trino", quotes="postgresql"),
    "databricks": UrlScheme(DatabricksEngine, "databricks", quotes="mysql"),
    "adbc": UrlScheme(AdbcEngine, quotes="postgresql"),
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
    scheme, name = scheme_of(url), url.get_backend_name()
    make: Callable[..., Dialect] = URL.create(scheme.quotes or name).get_dialect()
    dialect = make(paramstyle="named")
    return scheme.engine(name if scheme.quotes else dialect.name, dialect.identifier_preparer)


def engine_of_cluster() -> Engine:
    """Spark, which quotes names as MySQL does."""
    return SparkEngine(CLUSTER, engine_of(URL.create("mysql")).preparer)


def engine_of_lake() -> Engine:
    """Files, which DuckDB's SQL reads. It quotes names as PostgreSQL does."""
    return LakeEngine("files", engine_of(URL.create("postgresql")).preparer)


def arrow_engine_titles() -> list[str]:
    """What messages call the engines that are read through ADBC, or not."""
    schemes = (scheme for scheme in SCHEMES.values() if scheme.means is None and scheme.quotes is None)
    return [scheme.engine.title for scheme in schemes if scheme.engine.has_arrow]


def counting_schemes() -> list[str]:
    """Schemes whose engines count panes by GROUP BY."""
    return [name for name, scheme in SCHEMES.items() if scheme.engine.counts and scheme.means is None]
