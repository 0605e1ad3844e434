"""How a column of times can be compared: from the database's type, or from a look at some values."""

from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise

from monitor.core.errors import SourceError
from monitor.records.reading import Reading
from monitor.records.times import of_most_frequent_format
from monitor.sources.engines import columnar, mysql, spark
from monitor.sources.sql.relations import Looked
from monitor.sources.sql.statements import Session
from monitor.sources.sql.time_ranges import Comparable, Range, Shape, text_zones

_SAMPLES = 100
_WHOLE = ("smallint", "integer", "bigint", "oid", "numeric", "real", "double precision")
_POSTGRES = {
    "timestamp with time zone": Shape.INSTANT,
    "timestamp without time zone": Shape.NAIVE,
    "date": Shape.NAIVE,
}


def comparable(
    session: Session,
    looked: Looked,
    column: str,
    role: str,
    reading: Reading,
    *,
    near: str | Range | None = None,
) -> Comparable:
    """Column of times, ready to be compared.

    Parameters
    ----------
    near
        where a server that does not know the type of its texts shall look at some: at times of a range, or
        at rows of a condition. Elsewhere only if there is none.

    Raises
    ------
    SourceError
        if the column is not there, or holds integers and no unit is configured.
    """
    ref, unit = looked.ref(column, role), reading.unit(role)
    found = Comparable(ref, Shape.UNKNOWN, unit=unit or "us", zone=reading.zone)
    kind = looked.types[column]
    if looked.dialect.name == "sqlite":
        return _sqlite(session, looked, found, epochs=unit is not None, title=(column, role))
    if looked.dialect.name == "postgresql":
        return _postgres(session, looked, found, unit, (column, role), near)
    if mysql.is_mysql(looked.dialect.name) and kind:
        return _mysql(session, looked, found, unit, (column, role), near)
    if spark.is_spark(looked.dialect.name):
        return _spark(session, looked, found, unit, (column, role), near)
    if columnar.is_columnar(looked.dialect.name):
        return _columnar(session, looked, found, unit, (column, role), near)
    return _by_value(session, looked, found, unit, (column, role))


def _utc(found: Comparable, *, zoned: bool) -> Comparable:
    """Times of a session in UTC; those without a zone are of the configured one."""
    return replace(found, shape=Shape.NAIVE, zone="UTC" if zoned else found.zone)


def _epoch(looked: Looked, found: Comparable, title: tuple[str, str], unit: str | None) -> Comparable:
    _require_unit(looked, *title, unit)
    return replace(found, shape=Shape.EPOCH)


def _postgres(
    session: Session,
    looked: Looked,
    found: Comparable,
    unit: str | None,
    title: tuple[str, str],
    near: str | Range | None,
) -> Comparable:
    kind = looked.types[title[0]]
    if kind in _POSTGRES:
        return replace(found, shape=_POSTGRES[kind])
    if kind in _WHOLE:
        return _epoch(looked, found, title, unit)
    return found if unit is not None else _postgres_text(session, looked, found, near)


def _mysql(
    session: Session,
    looked: Looked,
    found: Comparable,
    unit: str | None,
    title: tuple[str, str],
    near: str | Range | None,
) -> Comparable:
    """The session is in UTC: so are timestamps."""
    kind = looked.types[title[0]]
    if kind in ("timestamp", "datetime", "date"):
        return _utc(found, zoned=kind == "timestamp")
    if kind in mysql.NUMBERS:
        return _epoch(looked, found, title, unit)
    if unit is not None:
        return found
    if not _keeps_order(session, looked, found.sql):
        found = replace(found, sql=f"CONVERT({found.sql} USING utf8mb4) COLLATE utf8mb4_bin")
    samples = _texts_near(session, looked, found, near)
    return _text(found, samples, f"{found.sql} NOT REGEXP '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}'")


def _spark(
    session: Session,
    looked: Looked,
    found: Comparable,
    unit: str | None,
    title: tuple[str, str],
    near: str | Range | None,
) -> Comparable:
    """The session is in UTC: so are timestamps."""
    kind = spark.plain(looked.types[title[0]])
    if kind in spark.TIMES:
        return _utc(found, zoned=kind == "timestamp")
    if kind in spark.NUMBERS:
        return _epoch(looked, found, title, unit)
    if unit is not None or kind not in spark.TEXTS:
        return found
    samples = _texts_near(session, looked, found, near)
    return _text(found, samples, f"{found.sql} NOT RLIKE '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}'")


def _columnar(
    session: Session,
    looked: Looked,
    found: Comparable,
    unit: str | None,
    title: tuple[str, str],
    near: str | Range | None,
) -> Comparable:
    """The session is in UTC: so are times with a zone."""
    kind = looked.types[title[0]]
    if columnar.is_time(kind):
        return _utc(found, zoned=not columnar.is_naive(kind))
    if columnar.is_number(kind):
        return _epoch(looked, found, title, unit)
    return found if unit is not None else _text(found, _texts_near(session, looked, found, near), None)


def _keeps_order(session: Session, looked: Looked, ref: str) -> bool:
    """Whether a column's collation orders ISO times, and bounds of days, as bytes do."""
    one = f"(SELECT 1) AS one LEFT JOIN {looked.item} ON 1 = 0"
    charset, collation = session.rows(f"SELECT CHARSET({ref}), COLLATION({ref}) FROM {one}")[0]
    texts = ("2013-03-01", "2013-03-01 10:00:00.5Z", "2013-03-01!", "2013-03-01T10:00", "2013-03-01T10:01")
    literals = [f"CONVERT('{text}' USING {charset}) COLLATE {collation}" for text in texts]
    ordered = " AND ".join(f"{low} < {high}" for low, high in pairwise(literals))
    return bool(session.rows(f"SELECT {ordered} AS ordered")[0][0])


def _sqlite(
    session: Session, looked: Looked, found: Comparable, *, epochs: bool, title: tuple[str, str]
) -> Comparable:
    ref = found.sql
    rows = session.rows(
        f"SELECT typeof({ref}) AS kind, CAST({ref} AS TEXT) AS value FROM {looked.item} "
        f"WHERE {ref} IS NOT NULL LIMIT {_SAMPLES}"
    )
    kinds = {str(row[0]) for row in rows}
    if not rows:
        return replace(found, shape=Shape.NOTHING)
    if epochs:
        if kinds == {"text"} and not any(_is_number(str(value)) for _, value in rows):
            return found  # as on other engines: parsing decides
        if "text" not in kinds:
            return replace(found, shape=Shape.EPOCH, odd=f"{ref} >= ''")
        return replace(found, shape=Shape.EPOCH, sql=f"CAST({ref} AS INTEGER)")
    if kinds <= {"integer", "real"}:
        _require_unit(looked, *title, None)
    samples = [str(value) for kind, value in rows if kind == "text"]
    return _text(found, samples, f"{ref} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _postgres_text(
    session: Session, looked: Looked, found: Comparable, near: str | Range | None
) -> Comparable:
    """Text is compared by bytes, by which an index of another collation cannot be used."""
    ref = f"{found.sql}::text"
    rows = session.rows(
        f"SELECT pg_collation_for({ref}) AS name FROM (SELECT 1) AS one LEFT JOIN {looked.item} ON false"
    )
    by_bytes = session.rows(f"SELECT ('a' COLLATE {rows[0][0]} > 'B')::int AS by_bytes")[0][0] == 1
    found = replace(found, sql=ref if by_bytes else f'{ref} COLLATE "C"')
    odd = rf"{ref} !~ '^\d{{4}}-\d\d-\d\d'"
    return _text(found, _texts_near(session, looked, found, near), odd)


def _by_value(
    session: Session, looked: Looked, found: Comparable, unit: str | None, title: tuple[str, str]
) -> Comparable:
    samples = _samples(session, looked, found.sql)
    sample = samples[0] if samples else None
    if sample is None:
        return replace(found, shape=Shape.NOTHING)
    if isinstance(sample, date):
        zoned = isinstance(sample, datetime) and sample.tzinfo is not None
        return replace(found, shape=Shape.INSTANT if zoned else Shape.NAIVE)
    if isinstance(sample, str):
        return found if unit is not None else _text(found, samples, None)
    return _epoch(looked, found, title, unit)


def _texts_near(
    session: Session, looked: Looked, found: Comparable, near: str | Range | None
) -> list[object]:
    """Some texts of the rows that are asked for, to touch no others; of any, if these have none."""
    if isinstance(near, tuple):
        near = replace(found, shape=Shape.TEXT, offsets=True).condition(*near)
    some = _samples(session, looked, found.sql, near) if near else []
    return some or _samples(session, looked, found.sql)


def _samples(session: Session, looked: Looked, sql: str, where: str = "1 = 1") -> list[object]:
    there = f"WHERE {sql} IS NOT NULL AND ({where})"
    return [
        row[0] for row in session.rows(f"SELECT {sql} AS value FROM {looked.item} {there} LIMIT {_SAMPLES}")
    ]


def _text(found: Comparable, samples: list[str] | list[object], odd: str | None) -> Comparable:
    if not samples:
        return replace(found, shape=Shape.NOTHING)
    zones = text_zones(of_most_frequent_format([str(sample) for sample in samples]))
    if not zones:
        return replace(found, odd=odd)
    found = replace(found, shape=Shape.TEXT, odd=odd, offsets=not zones <= {"", "Z"})
    return found if zones == {""} else replace(found, zone="UTC")


def without_offsets(session: Session, looked: Looked, time: Comparable, lo: int, hi: int) -> Comparable:
    """Text whose offsets are all +00:00 in a range of time is not widened by them."""
    if not time.offsets:
        return time
    other = f"{time.sql} NOT LIKE '%+00:00' AND {time.sql} NOT LIKE '%Z'"
    sql = f"SELECT 1 AS one FROM {looked.item} WHERE ({time.condition(lo, hi)}) AND {other} LIMIT 1"
    return time if session.rows(sql) else replace(time, offsets=False)


def _require_unit(looked: Looked, column: str, role: str, unit: str | None) -> None:
    if unit is None:
        raise SourceError(
            f'{looked.title}: column "{column}" ({role}) holds integers: '
            f'say their unit, as in {role}_unit = "ms"'
        )
