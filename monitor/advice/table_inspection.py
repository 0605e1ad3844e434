"""What `check` looks at: tables, columns and their types, times, rows, indexes, the reference."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from monitor.advice.output_features import output_features
from monitor.advice.output_findings import look_at_outputs, look_at_reference
from monitor.advice.row_findings import (
    RowFindings,
    joined_of,
    look_at_labels,
    look_at_odd_times,
    look_at_records,
    look_at_times,
    misdated_warning,
    newest_event,
    well_dated,
)
from monitor.advice.row_samples import (
    LOOKED_AT,
    RowSample,
    count_far_off,
    log_start,
    odd_times,
    sample_alike,
    sample_labels,
    sample_records,
    sample_times,
)
from monitor.core.array_types import Ints
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.records.column_values import parse_numbers
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources.indexes import (
    MANY,
    RowCount,
    count_rows,
    missing_id_index,
    missing_time_index,
    rows_of_partition,
)
from monitor.sources.reference_loading import load_reference
from monitor.sources.sql.relations import SurveyedRelation, survey_relation
from monitor.sources.sql.scan import feature_column, has_own_table, of_challenger, wanted_outcome
from monitor.sources.sql.sql_names import suggest_name
from monitor.sources.sql.statements import OutputColumn, ReadSession, Statement, WantedKind
from monitor.sources.sql.time_columns import make_comparable_time
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.read_ranges import OLDEST_LOG

_SAMPLE = 1_000
_Asked: TypeAlias = tuple[OutputColumn, WantedKind]
_COST = {
    "event_time": "each cycle reads",
    "logged_at": "finding new rows reads",
    "reported_at": "finding new labels reads",
}


@dataclass(frozen=True, slots=True)
class TableInspection:
    """What was found of a model's tables."""

    faults: tuple[str, ...] = ()  # why the model cannot be read, each a sentence
    warnings: tuple[str, ...] = ()  # what is read otherwise than may be meant
    # database types of the prediction table's columns.
    columns: Mapping[str, str] = field(default_factory=dict)
    # rows, labels: of the tables, counted up to a million; None where one cannot be read, or there is none.
    rows: RowCount | None = None
    labels: RowCount | None = None
    # newest, oldest, has_older: newest and oldest event time, neither in the future nor before 1970; None:
    # not known. Whether older ones lie before a pause of half a year.
    newest: int | None = None
    oldest: int | None = None
    has_older: bool = False
    # misdated, misdated_labels: predictions whose event times are far off, None: not known; share of the
    # labels looked at that are theirs.
    misdated: RowCount | None = None
    misdated_labels: float = 0.0
    # versions and arms that occur, by role.
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # delays, settling: microseconds: delays of some labels, ascending; the age at which most are in, None if
    # not known.
    delays: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    settling: int | None = None
    # the reference's table, and the reading with the features that it settles.
    reference: tuple[pa.Table, ReadingOptions] | None = None
    # records, joined, first, alike: predictions that were looked at; labels that have a prediction, with its
    # outputs: the newest, and of two classes the oldest; predictions that were made when the newest were.
    records: pa.Table | None = None
    joined: pa.Table | None = None
    first: pa.Table | None = None
    alike: pa.Table | None = None


@dataclass(slots=True)
class _ModelInspection:
    """A look at one model: what it is, and what was found so far."""

    model: ModelSpec
    source: SqlSource
    findings: RowFindings = field(default_factory=RowFindings)
    predictions: SurveyedRelation | None = None
    labels: SurveyedRelation | None = None
    rows: RowCount | None = None
    label_rows: RowCount | None = None
    reference: tuple[pa.Table, ReadingOptions] | None = None

    def run_step(self, step: Callable[[ReadSession], None], notes: list[str] | None = None) -> None:
        """Take a step in a session of its own; note what it refuses, and go on.

        Parameters
        ----------
        notes
            of a step that may fail: what it refuses is noted here, be it a limit of time.
        """
        try:
            with self.source.reader.open_session() as session:
                step(session)
        except SourceUnavailable as error:
            if notes is None:
                raise
            notes.append(f"not all was looked at: {error}")
        except SourceError as error:
            (self.findings.faults if notes is None else notes).append(str(error))


def inspect_model(model: ModelSpec, source: SqlSource, base_dir: Path, now: int) -> TableInspection:
    """Every fault of a model's tables and reference at once.

    Parameters
    ----------
    now
        event times after it lie in the future.

    Raises
    ------
    SourceUnavailable
        if the database does not answer.
    """
    looking = _ModelInspection(model, source)
    findings = looking.findings
    looking.run_step(lambda session: _inspect_predictions(session, looking))
    looking.run_step(lambda session: _inspect_labels(session, looking))
    if findings.faults:
        looking.run_step(lambda session: _times_sample(session, looking, now), findings.warnings)
    else:
        looking.run_step(lambda session: _records_sample(session, looking, now), findings.warnings)
        looking.run_step(lambda session: _labels_sample(session, looking, now), findings.warnings)
        if looking.predictions is not None:
            of_labels = None if looking.labels is None else looking.labels.title
            look_at_outputs(findings, model.reading, looking.predictions.title, of_labels)
            about = f"{looking.predictions.title}: in the rows looked at"
            findings.warnings += output_features(findings.records, model.reading, about)
    _inspect_reference(looking, base_dir)
    return TableInspection(
        faults=tuple(dict.fromkeys(findings.faults)),
        warnings=tuple(
            dict.fromkeys(warning for warning in findings.warnings if warning not in findings.faults)
        ),
        columns={} if looking.predictions is None else looking.predictions.types,
        rows=looking.rows,
        labels=looking.label_rows,
        newest=findings.newest,
        oldest=findings.oldest,
        has_older=findings.has_older,
        misdated=findings.misdated,
        misdated_labels=findings.misdated_labels,
        strata=findings.strata,
        delays=findings.delays,
        settling=findings.settling,
        reference=looking.reference,
        records=findings.records,
        joined=findings.joined,
        first=findings.first,
        alike=findings.alike,
    )


def _inspect_predictions(session: ReadSession, looking: _ModelInspection) -> None:
    model, findings = looking.model, looking.findings
    reading, relation = model.reading, model.predictions
    survey = looking.predictions = survey_relation(session, looking.source.reader.engine, relation, "p")
    wanted_kinds = {role: WantedKind.TEXT for role, _ in relation.id_columns}
    wanted_kinds |= {"event_time": WantedKind.TIME, "logged_at": WantedKind.TIME, "version": WantedKind.TEXT}
    wanted_kinds |= {
        "score": WantedKind.NUMBER,
        "prediction": wanted_outcome(reading),
        "arm": WantedKind.TEXT,
        "serving": WantedKind.TEXT,
    }
    wanted_kinds |= {"challenger": of_challenger(reading)}
    wanted_kinds |= {f"probability:{name}": WantedKind.NUMBER for name in reading.probabilities}
    columns = dict(relation.columns)
    if reading.serving is not None:
        columns["serving"] = reading.serving.column
    outputs = _output_columns(survey, columns, wanted_kinds, looking)
    outputs += _feature_columns(survey, looking)
    looking.rows = count_rows(session, survey.item)
    if looking.rows.n == 0:
        findings.warnings.append(_empty_words(survey, relation))
    _inspect_times(session, survey, relation, looking, looking.rows)
    _inspect_values(session, survey, outputs, looking)


def _inspect_labels(session: ReadSession, looking: _ModelInspection) -> None:
    relation, findings, reading = looking.model.labels, looking.findings, looking.model.reading
    if relation is None:
        return
    wanted_kinds = {
        "label": wanted_outcome(reading),
        "reported_at": WantedKind.TIME,
        "revision": WantedKind.NUMBER,
    }
    survey = looking.predictions
    if has_own_table(relation):
        wanted_kinds |= {role: WantedKind.TEXT for role, _ in relation.id_columns}
        survey = survey_relation(session, looking.source.reader.engine, relation, "l")
    if survey is None:
        return
    looking.labels = survey
    outputs = _output_columns(survey, dict(relation.columns), wanted_kinds, looking)
    own = survey is not looking.predictions
    rows = looking.label_rows = count_rows(session, survey.item) if own else None
    if rows is not None and rows.n == 0:
        findings.warnings.append(_empty_words(survey, relation))
    _inspect_times(session, survey, relation, looking, rows or RowCount(0))
    _inspect_values(session, survey, outputs, looking)
    if own and looking.predictions is not None:
        _inspect_ids(session, looking, looking.predictions, survey, relation)


def _empty_words(survey: SurveyedRelation, relation: Relation) -> str:
    return f"{survey.title} {f'has no row where {relation.where}' if relation.where else 'is empty'}"


def _inspect_ids(
    session: ReadSession,
    looking: _ModelInspection,
    predictions: SurveyedRelation,
    labels: SurveyedRelation,
    relation: Relation,
) -> None:
    """Labels are joined to the predictions of changed panes, predictions to new labels: both by id."""
    own = looking.model.predictions
    sides = (
        (labels, relation, predictions, own, looking.label_rows, "joining labels reads"),
        (predictions, own, labels, relation, looking.rows, "finding the predictions of new labels reads"),
    )
    for survey, mine, other, theirs, rows, cost in sides:
        if rows is None or rows.n < MANY:
            continue
        remedy = missing_id_index(session, survey, mine, other, theirs)
        if remedy is not None:
            name = ", ".join(f'"{column}"' for _, column in mine.id_columns)
            looking.findings.warnings.append(_no_index(survey, f"{name} (id)", cost, rows, remedy))


def _no_index(survey: SurveyedRelation, name: str, cost: str, rows: RowCount, remedy: str) -> str:
    return f"{survey.title}: no index on {name} is used: {cost} all {rows} rows; {remedy}"


def _output_columns(
    survey: SurveyedRelation,
    columns: Mapping[str, str],
    wanted: Mapping[str, WantedKind],
    looking: _ModelInspection,
) -> list[_Asked]:
    outputs: list[_Asked] = []
    for role, want in wanted.items():
        if (column := columns.get(role)) is not None:
            try:
                unit = looking.model.reading.unit_of(role)
                outputs.append((survey.output_column(want, role, column, unit=unit), want))
            except SourceError as error:
                looking.findings.faults.append(str(error))
    return outputs


def _feature_columns(survey: SurveyedRelation, looking: _ModelInspection) -> list[_Asked]:
    outputs: list[_Asked] = []
    reading, findings = looking.model.reading, looking.findings
    for column in reading.segments:
        if column not in survey.types:
            hint = suggest_name(column, survey.types)
            findings.warnings.append(f'{survey.title} has no column "{column}" (segment){hint}')
    for names, want in ((reading.numeric, WantedKind.NUMBER), (reading.categorical, WantedKind.TEXT)):
        for name in names:
            column = feature_column(looking.model, name)
            if column not in survey.types:
                hint = suggest_name(column, survey.types)
                findings.warnings.append(f'{survey.title} has no column "{column}" (feature){hint}')
                continue
            try:
                outputs.append((survey.output_column(want, f"feature:{name}", column), want))
            except SourceError as error:
                findings.faults.append(str(error))
    return outputs


def _inspect_times(
    session: ReadSession,
    survey: SurveyedRelation,
    relation: Relation,
    looking: _ModelInspection,
    rows: RowCount,
) -> None:
    for role in ("event_time", "logged_at", "reported_at"):
        column = relation.column_of(role)
        if column is None or column not in survey.types:
            continue
        name, findings = f'"{column}" ({role})', looking.findings
        try:
            time = make_comparable_time(session, survey, column, role, looking.model.reading)
        except SourceError as error:
            findings.faults.append(str(error))
            continue
        if time.shape is TimeShape.UNKNOWN:
            findings.warnings.append(
                f"{survey.title}: {name} holds no time that is understood: every row is read"
                f"{_unit_hint(role, looking)}"
            )
        elif time.shape is TimeShape.NOTHING and rows.n:
            findings.warnings.append(f"{survey.title}: {name} has no value in any row")
        elif rows.n >= MANY:
            findings.warnings += _time_index(session, survey, relation, (column, role), time, rows)


def _unit_hint(role: str, looking: _ModelInspection) -> str:
    unit = looking.model.reading.unit_of(role)
    if unit is None:
        return ""
    other = "leave event_time_unit out" if role == "event_time" else f'say {role}_unit = "none"'
    return f'; whole numbers in "{unit}" are looked for: of other times {other}'


def _time_index(
    session: ReadSession,
    survey: SurveyedRelation,
    relation: Relation,
    named: tuple[str, str],
    time: ComparableTime,
    rows: RowCount,
) -> Iterator[str]:
    column, role = named
    part = rows_of_partition(session, survey, relation, column)
    if part is not None and part.n < MANY:
        return
    remedy = missing_time_index(session, survey, relation, column, time, leading=part is None)
    if remedy is not None:
        cost = _COST[role] if part is None else f"{_COST[role]} whole partitions, the largest with"
        yield _no_index(survey, f'"{column}" ({role})', cost, part or rows, remedy)


def _inspect_values(
    session: ReadSession, survey: SurveyedRelation, outputs: Iterable[_Asked], looking: _ModelInspection
) -> None:
    """Columns of numbers that hold none, looked at in some rows."""
    output_columns = tuple(output for output, want in outputs if want is WantedKind.NUMBER)
    if not output_columns:
        return
    table = session.read_table(Statement(output_columns, f"FROM {survey.item} LIMIT {_SAMPLE}"))
    for output in output_columns:
        values = parse_numbers(table[output.name])
        there = int(np.sum(~values.missing))
        if there and not values.finite.any():
            is_feature = output.name.startswith("feature:")
            notes = looking.findings.warnings if is_feature else looking.findings.faults
            name = looking.model.reading.column_name(output.name).removeprefix("feature:")
            role = "feature" if is_feature else output.name
            notes.append(
                f'{survey.title}: "{name}" ({role}) is configured as a number, but none of {there} values '
                "looked at is one"
            )


def _records_sample(session: ReadSession, looking: _ModelInspection, now: int) -> None:
    engine, survey = looking.source.reader.engine, looking.predictions
    if survey is not None:
        sample = sample_records(session, engine, looking.model, now)
        _expected_times(session, looking, sample, now)
        look_at_records(sample, looking.model, now, survey.title, looking.findings)
        odd = odd_times(session, engine, looking.model, "event_time", now) if sample.newest else None
        look_at_odd_times(sample, odd, looking.model, survey.title, looking.findings)


def _expected_times(session: ReadSession, looking: _ModelInspection, sample: RowSample, now: int) -> None:
    """Since when there are rows, up to when there may be some, and how many lie outside of that."""
    engine, findings, model = looking.source.reader.engine, looking.findings, looking.model
    newest = newest_event(sample, model.reading, now)
    start = None if newest is None else log_start(session, engine, model, newest)
    if start is not None:
        findings.oldest, findings.has_older = start.oldest, start.has_older
    first = OLDEST_LOG if start is None else start.oldest
    findings.expected = (first, now + model.reading.horizon)
    ever = (min(first, OLDEST_LOG), now + model.reading.horizon)
    findings.misdated = count_far_off(session, engine, model, ever)
    if findings.misdated is not None and looking.rows is not None and looking.predictions is not None:
        title = looking.predictions.title
        warning = misdated_warning(findings.misdated, looking.rows, model, title, ever)
        findings.warnings += [warning] if warning else []


def _times_sample(session: ReadSession, looking: _ModelInspection, now: int) -> None:
    """Whatever else is wrong: event times that nobody understands are a fault of their own."""
    survey, engine = looking.predictions, looking.source.reader.engine
    if survey is not None and (sample := sample_times(session, engine, looking.model, now)) is not None:
        look_at_times(sample, looking.model, now, survey.title, looking.findings)


def _labels_sample(session: ReadSession, looking: _ModelInspection, now: int) -> None:
    if looking.labels is None or (looking.rows is not None and looking.rows.n == 0):
        return
    engine = looking.source.reader.engine
    sample = sample_labels(session, engine, looking.model, now)
    if sample is None:
        looking.findings.warnings.append(
            f"{looking.labels.title}: delays and stale labels were not looked at: without an index on the "
            "predictions' id that would read them all"
        )
    else:
        look_at_labels(sample, looking.model, looking.labels.title, looking.findings)
        if sample.newest and sample.n == LOOKED_AT and looking.model.reading.task is ModelTask.BINARY:
            first = sample_labels(session, engine, looking.model, now, oldest=True)
            if first is not None:
                rows = well_dated(first.rows, looking.model.reading, looking.findings)
                looking.findings.first = joined_of(rows)
        looking.findings.alike = sample_alike(session, engine, looking.model, looking.findings.joined)
        dated = sample.newest and "reported_at" in sample.rows.column_names
        odd = odd_times(session, engine, looking.model, "reported_at", now) if dated else None
        look_at_odd_times(sample, odd, looking.model, looking.labels.title, looking.findings)


def _inspect_reference(looking: _ModelInspection, base_dir: Path) -> None:
    reference_spec = looking.model.reference
    of_the_log = (
        reference_spec is not None and reference_spec.file is None and reference_spec.relation is None
    )
    if reference_spec is None or (of_the_log and looking.findings.faults):  # whose faults are known
        return
    try:
        looking.reference = load_reference(looking.model, looking.source, base_dir)
        look_at_reference(*looking.reference, looking.findings)
        if looking.model.find_features:  # what was looked at of the log has none of them
            looking.findings.warnings += output_features(*looking.reference, "in the reference")
    except SourceUnavailable:
        raise
    except SourceError as error:
        looking.findings.faults.append(str(error))
