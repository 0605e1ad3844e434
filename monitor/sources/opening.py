"""Opening the source that a specification describes."""

from monitor.core.errors import SourceError
from monitor.sources.address import Address, How, address_of
from monitor.sources.engines.adbc import PostgresReader, SqliteReader
from monitor.sources.engines.fetchmany import FetchmanyReader
from monitor.sources.engines.spark_cluster import SparkReader
from monitor.sources.meter import UNUSED, Meter, Usage
from monitor.sources.pushed_source import PushedSource
from monitor.sources.source import SqlSource
from monitor.sources.spark_source import SparkSource
from monitor.sources.sql.pushed import ENGINES
from monitor.sources.sql.statements import Reader
from monitor.specs.model import SourceSpec


def open_source(
    spec: SourceSpec,
    *,
    store_url: str | None = None,
    reader: str | None = None,
    spent: Usage = UNUSED,
) -> SqlSource:
    """Source of a specification; nothing is connected yet.

    Parameters
    ----------
    store_url
        our own database: a SQLite file that is also the store is read by `fetchmany`.
    reader
        "adbc" or "fetchmany"; None: ADBC where it fits. ``?reader=fetchmany`` in the URL says the same.
    spent
        what the source of an older configuration has used: counters go on from there.

    Raises
    ------
    SourceError
        if the URL cannot be used, or not with this engine.
    """
    meter = Meter(spec.max_rows_per_second, spent)
    if spec.engine == "spark":
        return SparkSource(SparkReader(spec), meter)
    address = address_of(spec.url, store_url=store_url, reader=reader)
    if spec.engine != "sql":
        return SqlSource(_reader(spec, address), meter)
    if address.dialect not in ENGINES:
        raise SourceError(
            f'{address.shown}: engine = "sql" is for {", ".join(ENGINES)}: got {address.dialect}'
        )
    return PushedSource(_reader(spec, address), meter)


def _reader(spec: SourceSpec, address: Address) -> Reader:
    if address.how is How.FETCHMANY:
        return FetchmanyReader(spec, address)
    return (
        SqliteReader(spec, address, address.file)
        if address.file is not None
        else PostgresReader(spec, address)
    )
