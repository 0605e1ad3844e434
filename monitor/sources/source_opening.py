"""Opening the source that a specification describes: which engine its URL asks for, and how rows are read."""

from sqlalchemy import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from monitor.core.errors import SourceError
from monitor.core.version import install_command
from monitor.sources.database_address import DatabaseAddress, FetchMethod, parse_database_url
from monitor.sources.engines.engine import RowReader
from monitor.sources.engines.readers.fetchmany import FetchmanyReader
from monitor.sources.engines.readers.spark_cluster import SparkReader
from monitor.sources.engines.schemes import arrow_engine_titles, counting_schemes, engine_of, scheme_of
from monitor.sources.engines.spark import CLUSTER
from monitor.sources.pushed_source import PushedSource
from monitor.sources.source_meter import UNUSED, SourceMeter, SourceUsage
from monitor.sources.spark_source import SparkSource
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import SourceSpec
from monitor.specs.urls import PLACES, has_files, same_file

_LAKES = {
    **dict.fromkeys(("s3a", "s3n", "minio"), "s3://bucket/folder"),
    **dict.fromkeys(("gcs", "google"), "gs://bucket/folder"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs", "adl"), "az://container/folder?account=NAME"),
}  # as other tools call such places


def open_source(
    spec: SourceSpec,
    *,
    store_url: str | None = None,
    reader: str | None = None,
    spent: SourceUsage = UNUSED,
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
    meter = SourceMeter(spec.max_rows_per_second, spent)
    if spec.engine == CLUSTER and spec.catalog is None:
        return SparkSource(SparkReader(spec), meter)
    if spec.url.partition("://")[0] in PLACES:
        return _open_lake(spec, meter)
    if spec.catalog is not None:
        places = ", ".join(f"{scheme}://" for scheme in PLACES)
        raise SourceError(f"a catalog names tables of files: url is then their place, of {places}")
    address = address_of(spec.url, store_url=store_url, reader=reader)
    if spec.engine != "sql":
        return SqlSource(_make_reader(spec, address), meter)
    engine = address.engine
    if engine.can_be_proven and not spec.proven:
        raise SourceError(
            f'{address.shown}: engine = "sql" is not proven for {engine.title}: run '
            "`monitor check --prove`, which says what to write"
        )
    if not (engine.counts or engine.can_be_proven):
        raise SourceError(
            f'{address.shown}: engine = "sql" is for {", ".join(counting_schemes())}: got {engine.name}'
        )
    return PushedSource(_make_reader(spec, address), meter)


def _open_lake(spec: SourceSpec, meter: SourceMeter) -> SqlSource:
    """Source of files; who reads none does without what reads them."""
    from monitor.sources.engines.readers.lake_tables import LakeReader
    from monitor.sources.lake_source import LakeSource

    return LakeSource(LakeReader(spec), meter)


def address_of(url: str, *, store_url: str | None = None, reader: str | None = None) -> DatabaseAddress:
    """Take a SQLAlchemy URL apart.

    Parameters
    ----------
    store_url
        our own database: a file that is also the store is read without ADBC, whose own library would drop
        the locks of the other one.
    reader
        "adbc" or "fetchmany" to choose; so does ``?reader=fetchmany`` in the URL.

    Raises
    ------
    SourceError
        if the text is no database URL, none of a source, or ADBC was asked for where it has no driver.
    """
    parsed = _parse_url(url)
    asked = reader or parsed.query.get("reader")
    parsed = parsed.difference_update_query(["reader"])
    shown = parsed.set(query={}).render_as_string(hide_password=True)
    engine = engine_of(parsed)
    if fault := engine.why_no_source(parsed):
        raise SourceError(f"{shown}: {fault}")
    file = engine.database_file(parsed)
    store = None if store_url is None else _parse_url(store_url)
    kept = None if store is None else engine_of(store).database_file(store)
    shared = file is not None and kept is not None and same_file(file, kept)
    if shared and asked == FetchMethod.ADBC:
        raise SourceError(
            f"{shown}: the file is also the store, whose locks ADBC would drop: take reader=adbc away"
        )
    if asked is None:
        asked = FetchMethod.ADBC if engine.has_arrow and not shared else FetchMethod.FETCHMANY
    if asked not in tuple(FetchMethod) or (asked == FetchMethod.ADBC and not engine.has_arrow):
        raise SourceError(
            f'{shown}: the reader is "adbc" ({", ".join(arrow_engine_titles())}) or "fetchmany": got '
            f'"{asked}"'
        )
    return DatabaseAddress(
        parsed, shown, FetchMethod(str(asked)), engine, file, url if has_files(url) else ""
    )


def _make_reader(spec: SourceSpec, address: DatabaseAddress) -> RowReader:
    if address.how is FetchMethod.ADBC:
        return address.engine.make_reader(spec, address)
    return FetchmanyReader(spec, address, scheme_of(address.url).extra)


def _parse_url(url: str) -> URL:
    try:
        parsed = parse_database_url(url)
    except ValueError as error:
        folder = "" if "://" in url else '; that of a folder of files as in "file:///srv/ml"'
        raise SourceError(f"the URL of a source: {error}{folder}") from None
    parsed = parsed.set(drivername=scheme_of(parsed).means or parsed.drivername)
    if scheme_of(parsed).quotes is not None:
        return parsed  # a warehouse, whose driver is asked for when it is connected
    try:
        parsed.get_dialect()
    except NoSuchModuleError:
        shown, extra = parsed.set(query={}).render_as_string(hide_password=True), scheme_of(parsed).extra
        hint = f": {install_command(extra)}" if extra else ""
        if meant := _LAKES.get(parsed.drivername):
            hint = f': a place of files is written "{meant}"'
        raise SourceError(f'{shown}: no kind of database is called "{parsed.drivername}"{hint}') from None
    except (ArgumentError, ValueError):
        raise SourceError("the URL of a source is no database URL: dialect://user@host/name") from None
    return parsed
