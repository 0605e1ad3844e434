"""A bounded look at a table that nobody has described yet: columns, types, values, indexes."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import SECOND
from monitor.core.errors import SourceError
from monitor.records.column_values import parse_numbers
from monitor.records.parsed_times import ParsedTimes, parse_times
from monitor.records.reading import canonical_name
from monitor.sources.default_features import FeatureCandidate, kind_of
from monitor.sources.indexes import RowCount, count_rows, declared_key
from monitor.sources.sql.relations import SurveyedRelation, same_id, survey_relation
from monitor.sources.sql.statements import ReadSession, Statement, WantedKind, has_equality
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import Relation

LOOKED_AT = 5_000
_AT_ONCE = 500  # columns of a statement, each read twice: SQLite takes 2,000, PostgreSQL 1,600
_FOUND_OF = 200  # ids that are looked for in the other table
_SMALL = 200_000  # rows up to which they are, without an index
_TIME_TYPE = re.compile(r"timestamp|datetime|^date\b")
_ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$"
_UNITS = {"s": SECOND, "ms": 1_000, "us": 1}
IdColumns: TypeAlias = tuple[Sequence[str], Sequence[str]]
_FIRST, _LAST = 631_152_000 * SECOND, 4_102_444_800 * SECOND  # 1990 to 2100: times of a log


@dataclass(frozen=True)
class SurveyedColumn:
    """A column and some of its values."""

    name: str
    type: str  # the database's, lower case; empty where it has none
    values: pa.ChunkedArray  # doubles or strings; `texts` the same as strings
    texts: pa.ChunkedArray
    indexed: bool = False  # an index finds rows by it

    @cached_property
    def there(self) -> int:
        """Values that are not NULL."""
        return len(self.texts) - int(self.texts.null_count)

    @cached_property
    def levels(self) -> dict[str, int]:
        """Canonical values and how often they occur, the most frequent first."""
        counts: dict[str, int] = {}
        for row in pc.value_counts(self.texts.drop_null()).to_pylist():
            name = canonical_name(row["values"])
            counts[name] = counts.get(name, 0) + int(row["counts"])
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

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
        return next((unit for unit, factor in _UNITS.items() if _FIRST < middle * factor < _LAST), None)

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
        """Times without a zone."""
        with_zone = pc.match_substring_regex(self.texts, r"(Z|[+-]\d\d(:?\d\d)?)$")
        long = pc.match_substring_regex(self.texts, r":\d\d")
        return self.is_time and not bool(pc.any(pc.and_(with_zone, long)).as_py())

    def parse_moments(self, unit: str | None = None) -> ParsedTimes | None:
        """Values as times; None if they are none."""
        column = self.values if unit is not None else self.texts
        with suppress(SourceError, pa.ArrowInvalid):
            return parse_times(column, name=self.name, zone="UTC", unit=unit)
        return None

    @property
    def kind(self) -> str | None:
        """numeric, categorical, or None for what is no feature."""
        return kind_of(FeatureCandidate(self.name, self.values, self.type))


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """A table and some of its rows."""

    relation: Relation
    rows: RowCount
    looked: int  # rows looked at
    columns: tuple[SurveyedColumn, ...]
    refused: tuple[str, ...] = ()  # columns whose type is not read
    key: tuple[str, ...] = ()  # columns of the declared primary key

    def find_column(self, name: str) -> SurveyedColumn:
        """Column of a name."""
        return {column.name: column for column in self.columns}[name]


def survey_table(source: SqlSource, relation: Relation) -> TableSurvey:
    """Look at a table or view: at most some thousand rows, the newest where an index on a time finds them.

    Raises
    ------
    SourceError
        if there is no such table; the message names the nearest one.
    """
    with source.reader.open_session() as session:
        survey = survey_relation(session, source.reader.engine, relation, "t")
        read = dict(_readable_columns(survey))
        rows = count_rows(session, survey.item)
        key = declared_key(session, survey, relation)
        columns = _sample_columns(session, survey, read, f"LIMIT {LOOKED_AT}")
        indexed = {
            name for name, kind in read.items() if has_equality(kind) and _is_indexed(session, survey, name)
        }
        times = [column for column in columns if column.is_time and column.name in indexed]
        if times and len(columns[0].texts) == LOOKED_AT:
            ref = survey.qualified_ref(times[0].name, "time")
            newest = f"WHERE {ref} IS NOT NULL ORDER BY {ref} DESC LIMIT {LOOKED_AT}"
            columns = _sample_columns(session, survey, read, newest)
    return TableSurvey(
        relation=relation,
        rows=rows,
        looked=len(columns[0].texts) if columns else 0,
        columns=tuple(replace(column, indexed=column.name in indexed) for column in columns),
        refused=tuple(f"{name} ({survey.types[name]})" for name in survey.types if name not in read),
        key=key if set(key) <= set(read) else (),
    )


def found_ids(
    source: SqlSource, predictions: TableSurvey, labels: TableSurvey, own: str, theirs: str
) -> tuple[int, int] | None:
    """How many of some labels' ids are predictions'; None where finding out would read a large table."""
    if not predictions.find_column(own).indexed and predictions.rows.n > _SMALL:
        return None
    first = replace(predictions.relation, columns=(("id", own),))
    second = replace(labels.relation, columns=(("id", theirs),))
    with source.reader.open_session() as session:
        there = survey_relation(session, source.reader.engine, first, "p")
        here = survey_relation(session, source.reader.engine, second, "l")
        ref = here.qualified_ref(theirs, "id")
        some = f"(SELECT DISTINCT {ref} FROM {here.item} WHERE {ref} IS NOT NULL LIMIT {_FOUND_OF}) AS l"
        of = int(session.read_rows(f"SELECT count(*) AS n FROM {some}")[0][0])
        exists = f"EXISTS (SELECT 1 FROM {there.item} WHERE {same_id(first, second, there, here)})"
        matched = int(session.read_rows(f"SELECT count(*) AS n FROM {some} WHERE {exists}")[0][0])
    return matched, of


def labelled_values(
    source: SqlSource,
    predictions: TableSurvey,
    labels: TableSurvey | None,
    ids: IdColumns,
    label: str,
    columns: Sequence[str],
) -> pa.Table | None:
    """Numbers of some labels, as column `label`, and of their predictions' columns, by one statement.

    None where finding the predictions would read a large table.

    Parameters
    ----------
    labels
        None: the label stands in the prediction table.
    ids
        columns of the predictions' id, and of the labels'.
    """
    if labels is not None and not predictions.find_column(ids[0][0]).indexed and predictions.rows.n > _SMALL:
        return None
    with source.reader.open_session() as session:
        engine = source.reader.engine
        first = replace(predictions.relation, columns=_id_columns(ids[0]))
        there = here = survey_relation(session, engine, first, "p")
        if labels is not None:
            second = replace(labels.relation, columns=_id_columns(ids[1]))
            here = survey_relation(session, engine, second, "l")
        some = f"WHERE {here.qualified_ref(label, 'label')} IS NOT NULL LIMIT {LOOKED_AT}"
        body = f"FROM (SELECT {here.alias}.* FROM {here.item} {some}) AS {here.alias}"
        if labels is not None:  # a prediction may stand there more than once
            joined = f"JOIN {there.item} ON {same_id(first, second, there, here)}"
            body = f"{body} {joined} LIMIT {LOOKED_AT}"
        outputs = [here.output_column(WantedKind.VALUE, "label", label)]
        outputs += [
            there.output_column(WantedKind.VALUE, f"column:{name}", name) for name in columns[:_AT_ONCE]
        ]
        return session.read_table(Statement(tuple(outputs), body))


def _id_columns(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"id:{at}" if at else "id", name) for at, name in enumerate(names))


def span_of(
    source: SqlSource, predictions: TableSurvey, column: SurveyedColumn, unit: str | None
) -> Ints | None:
    """First and last time of the log; of the rows looked at, where no index tells."""
    ends = [column]
    if column.indexed:
        with source.reader.open_session() as session:
            survey = survey_relation(session, source.reader.engine, predictions.relation, "t")
            ref = survey.qualified_ref(column.name, "time")
            read = {column.name: survey.types[column.name]}
            for order in ("ASC", "DESC"):
                last = f"WHERE {ref} IS NOT NULL ORDER BY {ref} {order} LIMIT 1"
                ends += _sample_columns(session, survey, read, last)
    parsed = [times for end in ends if (times := end.parse_moments(unit)) is not None]
    moments = np.concatenate([np.zeros(0, np.int64), *(times.us[times.known] for times in parsed)])
    return np.asarray([moments.min(), moments.max()]) if len(moments) else None


def _readable_columns(survey: SurveyedRelation) -> Iterator[tuple[str, str]]:
    for name, kind in survey.types.items():
        if not name:
            continue  # a configuration cannot name it
        with suppress(SourceError):
            survey.output_column(WantedKind.VALUE, name, name)
            yield name, kind


def _sample_columns(
    session: ReadSession, survey: SurveyedRelation, read: dict[str, str], chosen: str
) -> Sequence[SurveyedColumn]:
    """Columns of the chosen rows; of a table with many columns a part of them at a time."""
    every = list(read.items())
    parts = (dict(every[first : first + _AT_ONCE]) for first in range(0, len(every), _AT_ONCE))
    return [column for part in parts for column in _sample_part(session, survey, part, chosen)]


def _sample_part(
    session: ReadSession, survey: SurveyedRelation, read: dict[str, str], chosen: str
) -> Sequence[SurveyedColumn]:
    outputs = [
        survey.output_column(want, f"{want.value}:{name}", name)
        for name, kind in read.items()
        for want in (WantedKind.VALUE, WantedKind.TEXT)
    ]
    rows = session.read_table(
        Statement(tuple(outputs), f"FROM (SELECT t.* FROM {survey.item} {chosen}) AS t")
    )
    return [
        SurveyedColumn(name, kind, rows[f"value:{name}"], rows[f"text:{name}"].cast(pa.string()))
        for name, kind in read.items()
    ]


def _is_indexed(session: ReadSession, survey: SurveyedRelation, name: str) -> bool:
    ref = survey.qualified_ref(name, "column")
    condition = f"{ref} = (SELECT {ref} FROM {survey.item} LIMIT 1)"
    try:
        return survey.engine.has_index(session, survey.item, condition)
    except SourceError:
        return False
