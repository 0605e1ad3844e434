"""Which engine a URL asks for. A new engine is a file beside this one, and a row of this table."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import URL, Dialect

from monitor.sources.engines.clickhouse import Clickhouse
from monitor.sources.engines.duckdb import Duckdb
from monitor.sources.engines.engine import Engine
from monitor.sources.engines.generic import GenericSql
from monitor.sources.engines.mysql import Mysql
from monitor.sources.engines.postgresql import Postgresql
from monitor.sources.engines.spark import CLUSTER, Spark
from monitor.sources.engines.sqlite import Sqlite


@dataclass(frozen=True, slots=True)
class Scheme:
    """What a URL's scheme says: the engine, the extra of monitor to install, another scheme that it means."""

    engine: type[Engine]
    extra: str | None = None
    means: str | None = None


SCHEMES = {
    "sqlite": Scheme(Sqlite),
    "postgresql": Scheme(Postgresql),
    "postgres": Scheme(Postgresql, means="postgresql"),
    "mysql": Scheme(Mysql, "mariadb"),
    "mariadb": Scheme(Mysql, "mariadb"),
    "duckdb": Scheme(Duckdb, "duckdb"),
    "chdb": Scheme(Clickhouse, "chdb"),
    "clickhousedb": Scheme(Clickhouse, "clickhouse"),
    **dict.fromkeys(("sc", "spark", "k8s", "yarn", "local"), Scheme(Spark, "spark")),
}
_OTHER = Scheme(GenericSql)


def scheme_of(url: URL) -> Scheme:
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
    return Spark(CLUSTER, engine_of(URL.create("mysql")).preparer)


def with_arrow() -> list[str]:
    """What messages call the engines that are read through ADBC."""
    schemes = (scheme for scheme in SCHEMES.values() if scheme.means is None)
    return [scheme.engine.title for scheme in schemes if scheme.engine.has_arrow]


def counting() -> list[str]:
    """Schemes whose engines count panes by GROUP BY."""
    return [name for name, scheme in SCHEMES.items() if scheme.engine.counts and scheme.means is None]
