"""A bounded look at a table: columns and types, how many rows, some values, times, indexes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Floats
from monitor.core.clock import DAY, SECOND, floor_to
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.look.row_edges import RowEdge, TimedFiles
from monitor.records.column_values import CategoryValues, parse_categories, parse_numbers
from monitor.records.parsed_times import ParsedTimes, parse_times
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources.default_features import FeatureCandidate, feature_kind
from monitor.sources.engines.engine import Engine
from monitor.sources.indexes import MANY, RowCount, count_rows, declared_key
from monitor.sources.sql.relations import SurveyedRelation, make_comparable_time, survey_relation
from monitor.sources.sql.statements import ReadSession, Statement, WantedKind, has_equality
from monitor.sources.sql.table_files import TableFiles
from monitor.sources.sql.time_ranges import FACTORS, ComparableTime, TimeShape, TimesOfRows
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import Range
from monitor.specs.read_ranges import OLDEST_LOG

LOOKED_AT = 5_000  # rows of a table, at most
SORTED = 20 * MANY  # rows up to which sorting or searching them without an index is cheap
FROM_FILES = 5_000_000  # rows of files up to which a few columns of them are read whole
ENOUGH = 50  # values of a class or a feature, or delays, from which on something is said of them
NAMED_FROM = 10  # rows that hold a value before it is named
AT_ONCE = 500  # columns of a statement, each read twice: SQLite takes 2,000, PostgreSQL 1,600
TIMES = ("event_time", "logged_at")  # roles of a prediction
_DAYS_COUNTED = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the times looked at
EPOCH_ON = 0  # rows from before 1970 are no newest ones
_TIME_TYPE = re.compile(r"timestamp|datetime|^date\b")
_ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$"
FAR = 4_102_444_800 * SECOND  # 2100: a log's times lie before


@dataclass(frozen=True)
class ColumnLook:
    """A column and some of its values."""

    name: str
    type: str  # the database's, lower case; empty where it has none
    values: pa.ChunkedArray  # doubles or strings; `texts` the same as strings
    texts: pa.ChunkedArray
    indexed: bool = False  # an index finds rows by it
    day_files: int | None = None  # files of a lake that a day of these times lies in

    @cached_property
    def there(self) -> int:
        """Values that are not NULL."""
        return len(self.texts) - int(self.texts.null_count)

    @cached_property
    def levels(self) -> dict[str, int]:
        """Canonical values and how often they occur, the most frequent first."""
        return counts_of(parse_categories(self.texts))

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return len(self.levels)

    @property
    def unique(self) -> bool:
        """No value is NULL or there twice."""
        return 0 < self.there == len(self.texts) == int(pc.count_distinct(self.texts).as_py())

    @cached_property
    def numbers(self) -> Floats | None:
        """Values, if all of them are finite numbers; None else."""
        parsed = parse_numbers(self.values)
        present = parsed.values[~parsed.missing]
        return present if len(present) and np.isfinite(present).all() else None

    @property
    def whole(self) -> bool:
        """All values are whole numbers."""
        return self.numbers is not None and bool((self.numbers == np.rint(self.numbers)).all())

    @cached_property
    def unit(self) -> str | None:
        """Unit of the epoch that whole numbers may be: they lie between 1990 and 2100."""
        if self.numbers is None or not self.whole:
            return None
        middle = float(np.median(self.numbers))
        return next((unit for unit, factor in FACTORS.items() if OLDEST_LOG < middle * factor < FAR), None)

    @cached_property
    def is_time(self) -> bool:
        """The type is one of times, or the texts are."""
        if _TIME_TYPE.search(self.type):
            return True
        if self.there == 0 or self.numbers is not None:
            return False
        return float(pc.mean(pc.match_substring_regex(self.texts, _ISO).cast(pa.float64())).as_py()) > 0.95

    @property
    def naive(self) -> bool:
        """Times without a zone; of no values nobody knows."""
        with_zone = pc.match_substring_regex(self.texts, r"(Z|[+-]\d\d(:?\d\d)?)$")
        long = pc.match_substring_regex(self.texts, r":\d\d")
        return self.is_time and self.there > 0 and not bool(pc.any(pc.and_(with_zone, long)).as_py())

    def parse_moments(self, unit: str | None = None) -> ParsedTimes | None:
        """Values as times; None if they are none."""
        column = self.values if unit is not None else self.texts
        with suppress(SourceError, pa.ArrowInvalid):
            return parse_times(column, name=self.name, zone="UTC", unit=unit)
        return None

    @property
    def kind(self) -> str | None:
        """numeric, categorical, or None for what is no feature."""
        return feature_kind(FeatureCandidate(self.name, self.values, self.type))


@dataclass(frozen=True, slots=True)
class TableLook:
    """A table or view as it stands."""

    relation: Relation
    survey: SurveyedRelation  # its columns and their types
    rows: RowCount  # counted up to a million
    columns: tuple[ColumnLook, ...] = ()  # with some values, where nobody has said yet what they are
    refused: tuple[str, ...] = ()  # columns whose type is not read
    key: tuple[str, ...] = ()  # columns of the declared primary key
    files: TableFiles | None = None  # of a lake

    @property
    def looked(self) -> int:
        """Rows whose values were looked at."""
        return len(self.columns[0].texts) if self.columns else 0

    def find_column(self, name: str) -> ColumnLook:
        """Column of a name."""
        return {column.name: column for column in self.columns}[name]


@dataclass(frozen=True, slots=True)
class TimeLook:
    """A column of times: how it compares, and what its rows cost."""

    column: str
    reading: ReadingOptions  # its unit and zone
    time: ComparableTime
    sortable: bool  # its newest rows are found without reading a large table whole

    def part_of(self, session: ReadSession, table: TableLook, edge: RowEdge) -> Range:
        """Part of a span that has as many rows at its end as are wanted, where files tell; else the span."""
        files = files_by_time(table, self.column, self.time)
        return (None if files is None else files.find_edge(session, edge)) or edge.span

    def order_of(self, part: Range, *, newest: bool = True) -> str:
        """What chooses rows of a part of time, the newest or the oldest first; it stands before LIMIT."""
        order = " DESC" if newest else ""
        return f"WHERE ({self.time.range_condition(*part)}) ORDER BY {self.time.sql}{order}"

    def newest_up_to(self, session: ReadSession, table: TableLook, moment: int, most: int = LOOKED_AT) -> str:
        """What chooses rows since 1970 up to a moment, the newest first."""
        return self.order_of(self.part_of(session, table, RowEdge((EPOCH_ON, moment + 1), most)))

    def newest_first(self, session: ReadSession, table: TableLook, now: int) -> str:
        """What chooses rows up to tomorrow, the newest first: another zone's today is ahead."""
        return self.newest_up_to(session, table, now + DAY - 1)


@dataclass(frozen=True, slots=True)
class ModelLook:
    """The tables of a model, and their columns of times by role: those that can be read."""

    model: ModelSpec
    predictions: TableLook
    labels: TableLook | None  # `predictions` itself where labels stand there; None: there are none
    times: Mapping[str, TimeLook]
    finds_by_id: bool = False  # predictions are found by id without reading a large table

    def table_of(self, role: str) -> TableLook:
        """Table of a role of times."""
        return self.labels if role == "reported_at" and self.labels is not None else self.predictions


def look_at_table(session: ReadSession, engine: Engine, relation: Relation, alias: str) -> TableLook:
    """Columns, and how many rows."""
    survey = survey_relation(session, engine, relation, alias)
    return count_table(session, relation, survey)


def count_table(session: ReadSession, relation: Relation, survey: SurveyedRelation) -> TableLook:
    """A table with its rows, which files tell at once."""
    files = survey.engine.look_at_files(session, relation)
    rows = (
        count_rows(session, survey.item)
        if files is None
        else count_rows(session, survey.item, most=FROM_FILES)
    )
    return TableLook(relation, survey, rows, files=files)


def files_by_time(table: TableLook, column: str, time: ComparableTime) -> TimedFiles | None:
    """Files of a table by a column of times; None: it is of no files."""
    if table.files is None:
        return None
    return TimedFiles(table.relation, table.survey, table.files, column, time)


def look_at_time(
    session: ReadSession, table: TableLook, column: str, role: str, reading: ReadingOptions
) -> TimeLook:
    """A column of times.

    Raises
    ------
    SourceError
        if the column is not there, or holds integers and no unit is configured.
    """
    survey, time = table.survey, make_comparable_time(session, table.survey, column, role, reading)
    files, newest = files_by_time(table, column, time), RowEdge((EPOCH_ON, FAR), LOOKED_AT)
    sortable = time.shape not in (TimeShape.UNKNOWN, TimeShape.NOTHING) and (
        table.rows.n <= SORTED
        or (files is not None and files.find_edge(session, newest) is not None)
        or survey.engine.can_use_index(session, survey.item, time.range_condition(0, 1))
    )
    return TimeLook(column, reading, time, sortable)


def look_at_predictions(session: ReadSession, engine: Engine, model: ModelSpec) -> ModelLook:
    """The table of a model's predictions, which has no fault."""
    table = look_at_table(session, engine, model.predictions, "p")
    times = {
        role: look_at_time(session, table, column, role, model.reading)
        for role, column in model.predictions.columns
        if role in TIMES
    }
    return ModelLook(model, table, None, times)


def look_at_columns(source: SqlSource, relation: Relation, alias: str, now: int) -> TableLook:
    """Look at a table that nobody has described: the newest rows where an index on a time finds them.

    Other columns of times may be births or due dates: only an index says that rows are searched by one.

    Raises
    ------
    SourceError
        if there is no such table; the message names the nearest one.
    """
    with source.reader.open_session() as session:
        table = look_at_table(session, source.reader.engine, relation, alias)
        survey = table.survey
        read = dict(_readable_columns(survey))
        key, files = declared_key(session, survey, relation), table.files
        columns = _sample_columns(session, survey, read)
        indexed = {
            name
            for name, kind in read.items()
            if files is None and has_equality(kind) and _is_indexed(session, survey, name)
        }
        times = [one for one in columns if one.is_time and (files is not None or one.name in indexed)]
        for column in times if len(columns[0].texts) == LOOKED_AT else ():
            time = time_of_column(session, table, column)
            if time is not None and time.sortable:
                chosen = time.newest_first(session, table, now)
                newest = _sample_columns(session, survey, read, chosen)
                columns = newest if len(newest[0].texts) else columns
                break
        if files is not None:
            columns = [
                replace(one, day_files=_count_day_files(session, survey, relation, one)) for one in columns
            ]
    return replace(
        table,
        columns=tuple(replace(column, indexed=column.name in indexed) for column in columns),
        refused=tuple(f"{name} ({survey.types[name]})" for name in survey.types if name not in read),
        key=key if set(key) <= set(read) else (),
    )


def _count_day_files(
    session: ReadSession, survey: SurveyedRelation, relation: Relation, column: ColumnLook
) -> int | None:
    """Files that a day of a column's times lies in: the middle one of some days."""
    unit = None if column.is_time else column.unit
    times = column.parse_moments(unit) if column.is_time or unit is not None else None
    if times is None or not times.known.any():
        return None
    moments = np.quantile(times.us[times.known], _DAYS_COUNTED, method="nearest").astype(np.int64)
    kind = survey.types[column.name]
    days = (floor_to(int(moment), DAY) for moment in moments)
    wanted = (TimesOfRows(column.name, kind, unit, ((day, day + DAY),), undated=False) for day in days)
    counts = [survey.engine.count_files(session, relation, times) for times in wanted]
    known = [count for count in counts if count is not None]
    return int(np.median(known)) if known else None


def time_of_column(session: ReadSession, table: TableLook, column: ColumnLook) -> TimeLook | None:
    """A column of times before anything is configured: without a zone they are of UTC; None: it is none."""
    units = () if column.unit is None else (("event_time", column.unit),)
    reading = ReadingOptions(task=ModelTask.BINARY, time_units=units)
    try:
        return look_at_time(session, table, column.name, "event_time", reading)
    except SourceUnavailable:
        raise
    except SourceError:
        return None


def some_rows_sql(survey: SurveyedRelation, chosen: str = "", most: int = LOOKED_AT) -> str:
    """Some rows as an item of FROM: ORDER BY does not stand beside SQLite's row of literals."""
    return f"(SELECT {survey.alias}.* FROM {survey.item} {chosen} LIMIT {most}) AS {survey.alias}"


def counts_of(values: CategoryValues) -> dict[str, int]:
    """Levels that occur, the most frequent first."""
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    order = np.argsort(-counts, kind="stable")
    return {values.levels[at]: int(counts[at]) for at in order if counts[at]}


def _readable_columns(survey: SurveyedRelation) -> Iterator[tuple[str, str]]:
    for name, kind in survey.types.items():
        if not name:
            continue  # a configuration cannot name it
        with suppress(SourceError):
            survey.output_column(WantedKind.VALUE, name, name)
            yield name, kind


def _sample_columns(
    session: ReadSession, survey: SurveyedRelation, read: dict[str, str], chosen: str = ""
) -> Sequence[ColumnLook]:
    """Columns of the chosen rows; of a table with many columns a part of them at a time."""
    every = list(read.items())
    parts = (dict(every[first : first + AT_ONCE]) for first in range(0, len(every), AT_ONCE))
    return [column for part in parts for column in _sample_part(session, survey, part, chosen)]


def _sample_part(
    session: ReadSession, survey: SurveyedRelation, read: dict[str, str], chosen: str = ""
) -> Sequence[ColumnLook]:
    outputs = [
        survey.output_column(want, f"{want.value}:{name}", name)
        for name, kind in read.items()
        for want in (WantedKind.VALUE, WantedKind.TEXT)
    ]
    rows = session.read_table(Statement(tuple(outputs), f"FROM {some_rows_sql(survey, chosen)}"))
    return [
        ColumnLook(name, kind, rows[f"value:{name}"], rows[f"text:{name}"].cast(pa.string()))
        for name, kind in read.items()
    ]


def _is_indexed(session: ReadSession, survey: SurveyedRelation, name: str) -> bool:
    ref = survey.qualified_ref(name, "column")
    condition = f"{ref} = (SELECT {ref} FROM {survey.item} LIMIT 1)"
    try:
        return survey.engine.can_use_index(session, survey.item, condition)
    except SourceError:
        return False
