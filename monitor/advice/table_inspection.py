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
    look_at_partitions,
    look_at_records,
    look_at_times,
    misdated_warning,
    newest_event,
    well_dated,
)
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.look.row_samples import (
    RowSample,
    count_far_off,
    find_log_span,
    odd_times,
    sample_alike,
    sample_labels,
    sample_partitions,
    sample_records,
    sample_times,
)
from monitor.look.table_look import LOOKED_AT, ModelLook, TableLook, TimeLook, count_table, look_at_time
from monitor.records.column_values import parse_numbers
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources.indexes import (
    MANY,
    RowCount,
    advise_id_index,
    advise_time_index,
    count_partition_rows,
)
from monitor.sources.reference_loading import load_reference
from monitor.sources.sql.relations import SurveyedRelation, survey_relation
from monitor.sources.sql.scan import feature_column, has_own_table, wanted_challenger, wanted_outcome
from monitor.sources.sql.sql_names import suggest_name
from monitor.sources.sql.statements import OutputColumn, ReadSession, Statement, WantedKind
from monitor.sources.sql.time_ranges import TimeShape
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.read_ranges import OLDEST_LOG

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
    look: ModelLook | None = None  # its tables; None: that of the predictions cannot be read
    findings: RowFindings = field(default_factory=RowFindings)  # what some rows tell
    # indexes on ids that are missing, however few rows there are, each as what to do.
    index_remedies: tuple[str, ...] = ()
    # the reference's table, and the reading with the features that it settles.
    reference: tuple[pa.Table, ReadingOptions] | None = None

    @property
    def rows(self) -> RowCount | None:
        """Predictions, counted up to a million; None where they cannot be read."""
        return None if self.look is None else self.look.predictions.rows

    @property
    def labels(self) -> RowCount | None:
        """Labels; None where they have no table of their own, or cannot be read."""
        look = self.look
        if look is None or look.labels is None or look.labels is look.predictions:
            return None
        return look.labels.rows


@dataclass(slots=True)
class _ModelInspection:
    """What is known of one model so far; a fault of a column does not keep others from being found."""

    model: ModelSpec
    source: SqlSource
    tables: Mapping[str, TableLook]  # that were looked at before, by alias
    findings: RowFindings = field(default_factory=RowFindings)
    predictions: TableLook | None = None
    labels: TableLook | None = None
    times: dict[str, TimeLook] = field(default_factory=dict)
    finds_by_id: bool = False
    index_remedies: tuple[str, ...] = ()
    reference: tuple[pa.Table, ReadingOptions] | None = None

    @property
    def look(self) -> ModelLook | None:
        """What is known of the tables."""
        if self.predictions is None:
            return None
        return ModelLook(self.model, self.predictions, self.labels, self.times, self.finds_by_id)

    def run_step(self, step: Callable[[ReadSession], None], notes: list[str] | None = None) -> None:
        """Take a step in a session of its own; note what it refuses, and go on.

        `notes`: of a step that may fail: what it refuses is noted here, be it a limit of time.
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

    def survey(self, session: ReadSession, relation: Relation, alias: str) -> SurveyedRelation:
        """Columns of a table."""
        if alias in self.tables:
            return self.tables[alias].survey
        return survey_relation(session, self.source.reader.engine, relation, alias)

    def count(self, session: ReadSession, relation: Relation, survey: SurveyedRelation) -> TableLook:
        """A table with its rows; a word on one without any."""
        table = self.tables.get(survey.alias)
        if table is None:
            table = count_table(session, relation, survey)
        if table.rows.n == 0:
            holds = f"has no row where {relation.where}" if relation.where else "is empty"
            self.findings.warnings.append(f"{survey.title} {holds}")
        return table


def inspect_model(
    model: ModelSpec,
    source: SqlSource,
    base_dir: Path,
    now: int,
    tables: Mapping[str, TableLook] | None = None,
) -> TableInspection:
    """Every fault of a model's tables and reference at once.

    Parameters
    ----------
    now
        event times after it lie in the future.
    tables
        looks at them by alias, `p` of the predictions and `l` of the labels; None: there was none before.

    Raises
    ------
    SourceUnavailable
        if the database does not answer.
    """
    looking = _ModelInspection(model, source, tables or {})
    findings = looking.findings
    looking.run_step(lambda session: _inspect_predictions(session, looking))
    looking.run_step(lambda session: _inspect_labels(session, looking))
    look = looking.look
    if look is not None and "event_time" in look.times:
        if findings.faults:
            looking.run_step(lambda session: _times_sample(session, look, findings, now), findings.warnings)
        else:
            looking.run_step(lambda session: _records_sample(session, look, findings, now), findings.warnings)
            looking.run_step(lambda session: _labels_sample(session, look, findings, now), findings.warnings)
            of_labels = None if look.labels is None else look.labels.survey.title
            title = look.predictions.survey.title
            look_at_outputs(findings, model.reading, title, of_labels)
            about = f"{title}: in the rows looked at"
            findings.warnings += output_features(findings.records, model.reading, about)
    _inspect_reference(looking, base_dir)
    return TableInspection(
        faults=tuple(dict.fromkeys(findings.faults)),
        warnings=tuple(
            dict.fromkeys(warning for warning in findings.warnings if warning not in findings.faults)
        ),
        look=look,
        findings=findings,
        index_remedies=looking.index_remedies,
        reference=looking.reference,
    )


def _inspect_predictions(session: ReadSession, looking: _ModelInspection) -> None:
    model = looking.model
    reading, relation = model.reading, model.predictions
    survey = looking.survey(session, relation, "p")
    wanted_kinds = {role: WantedKind.TEXT for role, _ in relation.id_columns}
    wanted_kinds |= {"event_time": WantedKind.TIME, "logged_at": WantedKind.TIME, "version": WantedKind.TEXT}
    wanted_kinds |= {
        "score": WantedKind.NUMBER,
        "prediction": wanted_outcome(reading),
        "arm": WantedKind.TEXT,
        "serving": WantedKind.TEXT,
    }
    wanted_kinds |= {"challenger": wanted_challenger(reading)}
    wanted_kinds |= {f"probability:{name}": WantedKind.NUMBER for name in reading.probabilities}
    columns = dict(relation.columns)
    if reading.serving is not None:
        columns["serving"] = reading.serving.column
    outputs = _output_columns(survey, columns, wanted_kinds, looking)
    outputs += _feature_columns(survey, looking)
    table = looking.predictions = looking.count(session, relation, survey)
    _inspect_times(session, table, relation, looking)
    _inspect_values(session, survey, outputs, looking)


def _inspect_labels(session: ReadSession, looking: _ModelInspection) -> None:
    relation, reading = looking.model.labels, looking.model.reading
    if relation is None:
        return
    wanted_kinds = {
        "label": wanted_outcome(reading),
        "reported_at": WantedKind.TIME,
        "revision": WantedKind.NUMBER,
    }
    own = has_own_table(relation)
    if own:
        wanted_kinds |= {role: WantedKind.TEXT for role, _ in relation.id_columns}
        survey = looking.survey(session, relation, "l")
    elif looking.predictions is not None:
        survey = looking.predictions.survey
    else:
        return
    outputs = _output_columns(survey, dict(relation.columns), wanted_kinds, looking)
    table = looking.count(session, relation, survey) if own else looking.predictions
    if table is None:
        return
    looking.labels = table
    _inspect_times(session, table, relation, looking)
    _inspect_values(session, survey, outputs, looking)
    if own and looking.predictions is not None:
        _inspect_ids(session, looking, looking.predictions, table, relation)


def _inspect_ids(
    session: ReadSession,
    looking: _ModelInspection,
    predictions: TableLook,
    labels: TableLook,
    relation: Relation,
) -> None:
    """Labels are joined to the predictions of changed panes, predictions to new labels: both by id."""
    own, remedies = looking.model.predictions, list[str | None]()
    sides = (
        (labels, relation, predictions, own, "joining labels reads"),
        (predictions, own, labels, relation, "finding the predictions of new labels reads"),
    )
    for table, mine, other, theirs, cost in sides:
        if looking.findings.faults and table.rows.n < MANY:
            continue  # one of them may be that these ids cannot be compared
        remedy = advise_id_index(session, table.survey, mine, other.survey, theirs)
        remedies.append(remedy)
        if remedy is not None and table.rows.n >= MANY:
            name = ", ".join(f'"{column}"' for _, column in mine.id_columns)
            looking.findings.warnings.append(_no_index(table, f"{name} (id)", cost, table.rows, remedy))
    served = predictions.survey.engine.has_indexes and remedies[-1:] == [None]
    looking.finds_by_id = served or not predictions.rows.more
    looking.index_remedies = tuple(remedy for remedy in remedies if remedy is not None)


def _no_index(table: TableLook, name: str, cost: str, rows: RowCount, remedy: str) -> str:
    return f"{table.survey.title}: no index on {name} is used: {cost} all {rows} rows; {remedy}"


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
    session: ReadSession, table: TableLook, relation: Relation, looking: _ModelInspection
) -> None:
    for role in ("event_time", "logged_at", "reported_at"):
        column, survey = relation.column_of(role), table.survey
        rows = 0 if role == "reported_at" and table is looking.predictions else table.rows.n
        if column is None or column not in survey.types:
            continue
        name, findings = f'"{column}" ({role})', looking.findings
        try:
            time = look_at_time(session, table, column, role, looking.model.reading)
        except SourceError as error:
            findings.faults.append(str(error))
            continue
        looking.times[role] = time
        if time.time.shape is TimeShape.UNKNOWN:
            findings.warnings.append(
                f"{survey.title}: {name} holds no time that is understood: every row is read"
                f"{_unit_hint(role, looking)}"
            )
        elif time.time.shape is TimeShape.NOTHING and rows:
            findings.warnings.append(f"{survey.title}: {name} has no value in any row")
        elif rows >= MANY:
            findings.warnings += _time_index(session, table, relation, role, time)


def _unit_hint(role: str, looking: _ModelInspection) -> str:
    unit = looking.model.reading.unit_of(role)
    if unit is None:
        return ""
    other = "leave event_time_unit out" if role == "event_time" else f'say {role}_unit = "none"'
    return f'; whole numbers in "{unit}" are looked for: of other times {other}'


def _time_index(
    session: ReadSession, table: TableLook, relation: Relation, role: str, time: TimeLook
) -> Iterator[str]:
    part = count_partition_rows(session, table.survey, relation, time.column)
    if part is not None and part.n < MANY:
        return
    remedy = advise_time_index(session, table.survey, relation, time.column, time.time, leading=part is None)
    if remedy is not None:
        cost = _COST[role] if part is None else f"{_COST[role]} whole partitions, the largest with"
        yield _no_index(table, f'"{time.column}" ({role})', cost, part or table.rows, remedy)


def _inspect_values(
    session: ReadSession, survey: SurveyedRelation, outputs: Iterable[_Asked], looking: _ModelInspection
) -> None:
    """Columns of numbers that hold none, looked at in some rows."""
    output_columns = tuple(output for output, want in outputs if want is WantedKind.NUMBER)
    if not output_columns:
        return
    table = session.read_table(Statement(output_columns, f"FROM {survey.item} LIMIT {LOOKED_AT}"))
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


def _records_sample(session: ReadSession, look: ModelLook, findings: RowFindings, now: int) -> None:
    sample, title = sample_records(session, look, now), look.predictions.survey.title
    _expected_times(session, look, findings, sample, now)
    look_at_records(sample, look.model, now, title, findings)
    odd = odd_times(session, look, "event_time", now) if sample.newest else None
    look_at_odd_times(sample, odd, look.model, title, findings)
    days = sample_partitions(session, look, "event_time", now)
    look_at_partitions(days, "event_time", look.model, title, findings)


def _expected_times(
    session: ReadSession, look: ModelLook, findings: RowFindings, sample: RowSample, now: int
) -> None:
    """Since when there are rows, up to when there may be some, and how many lie outside of that."""
    model, table = look.model, look.predictions
    newest = newest_event(sample, model.reading, now)
    span = None if newest is None else find_log_span(session, table, look.times["event_time"], now, newest)
    if span is not None:
        findings.oldest, findings.has_older = span.oldest, span.has_older
    first = OLDEST_LOG if span is None else span.oldest
    findings.expected = (first, now + model.reading.horizon)
    ever = (min(first, OLDEST_LOG), now + model.reading.horizon)
    findings.misdated = count_far_off(session, look, ever)
    if findings.misdated is not None:
        warning = misdated_warning(findings.misdated, table.rows, model, table.survey.title, ever)
        findings.warnings += [warning] if warning else []


def _times_sample(session: ReadSession, look: ModelLook, findings: RowFindings, now: int) -> None:
    """Whatever else is wrong: event times that nobody understands are a fault of their own."""
    sample = sample_times(session, look, now)
    look_at_times(sample, look.model, now, look.predictions.survey.title, findings)


def _labels_sample(session: ReadSession, look: ModelLook, findings: RowFindings, now: int) -> None:
    if look.labels is None or look.predictions.rows.n == 0:
        return
    model, title, sample = look.model, look.labels.survey.title, sample_labels(session, look, now)
    if sample is None:
        findings.warnings.append(
            f"{title}: delays and stale labels were not looked at: without an index on the "
            "predictions' id that would read them all"
        )
        return
    look_at_labels(sample, model, title, findings)
    if sample.newest and sample.n == LOOKED_AT and model.reading.task is ModelTask.BINARY:
        first = sample_labels(session, look, now, oldest=True)
        if first is not None:
            findings.first = joined_of(well_dated(first.rows, model.reading, findings))
    findings.alike = sample_alike(session, look, findings.joined)
    dated = sample.newest and "reported_at" in sample.rows.column_names
    odd = odd_times(session, look, "reported_at", now) if dated else None
    look_at_odd_times(sample, odd, model, title, findings)
    days = sample_partitions(session, look, "reported_at", now)
    look_at_partitions(days, "reported_at", model, title, findings)


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
