"""What `monitor check` looks at beyond the file: the store, the tables, the references, what it will cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from monitor.advice.counting_proof import CountingProof, prove_counting
from monitor.advice.expected_cost import ExpectedReads, ExpectedSeries, expected_reads, expected_series
from monitor.advice.label_counting import LabelCounting, label_counting, wrong_differences
from monitor.advice.log_habits import far_off
from monitor.advice.log_silence import silence_warnings, stopped_warnings
from monitor.advice.output_findings import selective_label_words
from monitor.advice.query_plans import ExplainedQuery, bill_line, explain_model
from monitor.advice.relation_forecast import RelationForecast, forecast_relation
from monitor.advice.row_findings import RowFindings, serving_warnings
from monitor.advice.store import check_store
from monitor.advice.table_inspection import TableInspection, inspect_model
from monitor.advice.watch_forecast import WatchForecast, forecast_watch
from monitor.alerts.alert_rules import ACCEPTED, select_standing_acceptances
from monitor.alerts.model_standing import describe_acceptances
from monitor.core.clock import DAY, HOUR, LAST, floor_to
from monitor.core.errors import MonitorError, SourceError, SourceUnavailable
from monitor.look.row_samples import count_recent_rows, sample_records
from monitor.look.table_look import ModelLook, look_at_predictions
from monitor.measures.classification.discrimination import roc_auc
from monitor.measures.measure_options import LABEL
from monitor.measures.measurement_comparison import REFERENCE
from monitor.measures.value_words import value_with_interval
from monitor.records.counting import Counting
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import Reference, count_on_grids, make_plain_counting, reference_of
from monitor.records.winning_rows import parse_scores
from monitor.sentences.known_measurements import join_few_names
from monitor.sources import PushedSource, SqlSource, open_source
from monitor.sources.reference_loading import load_reference
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec
from monitor.specs.reference_choice import (
    NO_SEGMENTS,
    choose_reference,
    empty_reference_sentence,
    version_specs,
    why_reference_unfinished,
)
from monitor.specs.settings import Settings
from monitor.states.strata import OTHER, Stratum, make_rest_stratum, make_segment_stratum
from monitor.store import LIVE
from monitor.store.store_database import is_newest, open_store

_MOST_VERSIONS = 20
_RECENT = 7 * DAY
_FITTED = (
    0.1  # by so much a reference's roc_auc is surely above that of the log's labels: a fall is rarely so deep
)
_OUTPUTS = ("score", "prediction", "label")


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A fault or a warning."""

    model: str | None  # None for what no single model has
    text: str
    placed: bool = False  # the text names its place in the file, and so the model

    def __str__(self) -> str:
        return self.text if self.model is None or self.placed else f'model "{self.model}": {self.text}'


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedModel:
    """What was looked at of a model without faults."""

    name: str
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    find_features: bool  # the features were found by themselves
    inspection: TableInspection  # rows, labels, and what some of them tell
    series: ExpectedSeries
    max_series: int
    watching: WatchForecast  # what will be watched of it
    label_counting: LabelCounting | None = None  # how its labels are counted; None: it has none
    accepted: tuple[str, ...] = ()  # what people have accepted, a sentence each
    reads: ExpectedReads | None = None  # None: nothing tells how many rows come
    relation: RelationForecast | None = None  # by when labels that differ are told; None: not known
    queries: tuple[ExplainedQuery, ...] = ()  # what a cycle and an audit run; only if it was asked for
    bill: str = ""  # what they are billed by, where it is by bytes
    proof: CountingProof | None = None  # a pane counted by GROUP BY, too; only if it was asked for


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Everything that `check` found."""

    faults: tuple[CheckFinding, ...] = ()
    warnings: tuple[CheckFinding, ...] = ()
    models: tuple[CheckedModel, ...] = ()
    # what will be watched of models, by name, whose tables were not looked at.
    unseen: tuple[tuple[str, WatchForecast], ...] = ()
    notes: tuple[str, ...] = ()  # what could not be looked at, and why


SayOfModel = Callable[[str, str], None]  # name, text


def _say_nothing(model: str, text: str) -> None:
    del model, text


def check_tables(
    settings: Settings,
    base: Path,
    now: int,
    *,
    explain: bool = False,
    prove: bool = False,
    say: SayOfModel = _say_nothing,
) -> CheckResult:
    """Look at the store and at every model's tables: all faults at once.

    Parameters
    ----------
    base
        directory of the configuration file.
    now
        what lies after it is in the future.
    explain
        ask for the plans of all queries.
    prove
        count a pane of each model by GROUP BY, too.
    say
        is told of a model what this will read, before it does.
    """
    of_store = check_store(settings)
    faults = [CheckFinding(None, text) for text in of_store.faults]
    warnings = [CheckFinding(None, text) for text in of_store.warnings]
    models: list[CheckedModel] = []
    notes = list(of_store.notes)
    for name in dict.fromkeys(model.source for model in settings.models):
        own = [model for model in settings.models if model.source == name]
        try:
            spec = settings.find_source(name)
            # What is to be proven is not asked for its proof.
            source = open_source(replace(spec, proven=spec.proven or prove), store_url=settings.store.url)
        except SourceError as error:
            faults.append(_source_fault(name, own, error))
            continue
        notes += [f'source "{name}": {text}' for text in [source.reader.engine.untested] if text]
        try:
            for model in own:
                inspection, checked = _check_model(
                    settings, model, source, base, now, explain=explain, prove=prove, say=say
                )
                faults += [CheckFinding(model.name, text) for text in inspection.faults]
                warnings += [CheckFinding(model.name, text) for text in inspection.warnings]
                models += [] if checked is None else [checked]
        except SourceUnavailable as error:
            faults.append(_source_fault(name, own, error))
        finally:
            source.close()
    return CheckResult(
        tuple(dict.fromkeys(faults)), tuple(dict.fromkeys(warnings)), tuple(models), notes=tuple(notes)
    )


def unserved_warnings(model: ModelSpec, source: SqlSource, now: int) -> tuple[str, ...]:
    """Warn of a configured value of rows that serve that does not occur, as far as can be read."""
    try:
        with source.reader.open_session() as session:
            look = look_at_predictions(session, source.reader.engine, model)
            sample = sample_records(session, look, now)
    except SourceError:
        return ()
    return tuple(serving_warnings(sample, model.reading, look.predictions.survey.title))


def _source_fault(name: str, models: Sequence[ModelSpec], error: SourceError) -> CheckFinding:
    """One fault, however many models it stops."""
    return CheckFinding(None, f'source "{name}" (of {quote_names(model.name for model in models)}): {error}')


def _check_model(
    settings: Settings,
    model: ModelSpec,
    source: SqlSource,
    base: Path,
    now: int,
    *,
    explain: bool,
    prove: bool,
    say: SayOfModel,
) -> tuple[TableInspection, CheckedModel | None]:
    inspection = inspect_model(model, source, base, now)
    if inspection.faults:
        return inspection, None
    try:
        return _check_sound_model(
            settings, model, source, base, inspection, now, explain=explain, prove=prove, say=say
        )
    except SourceUnavailable:
        raise
    except MonitorError as error:
        return replace(inspection, faults=(*inspection.faults, str(error))), None


def _check_sound_model(
    settings: Settings,
    model: ModelSpec,
    source: SqlSource,
    base: Path,
    inspection: TableInspection,
    now: int,
    *,
    explain: bool,
    prove: bool,
    say: SayOfModel,
) -> tuple[TableInspection, CheckedModel]:
    if inspection.reference is None or not inspection.reference[0].num_rows:
        counting, of_reference = make_plain_counting(model.reading), list[str]()
        then = None
    else:
        reference = reference_of(*inspection.reference)
        counting, of_reference = reference.counting, list(_reference_warnings(model, reference, inspection))
        then = None if list(version_specs(model)) else reference.labels
    resolved = replace(model, reading=counting.reading)
    series = expected_series(model, counting, _measured_strata(counting, inspection.findings.strata), then)
    warnings = [
        *inspection.warnings,
        *of_reference,
        *_pending_reference_warnings(model, inspection.reference, now),
    ]
    findings, look = inspection.findings, inspection.look
    if findings.records is not None and inspection.reference is not None:
        warnings += far_off(findings.records, inspection.reference[0], resolved)
    warnings += [] if look is None else silence_warnings(look, source, findings.newest)
    warnings += stopped_warnings(model, findings.newest, now)
    for _, version in version_specs(resolved):
        warnings += _pending_reference_warnings(version, load_reference(version, source, base), now)
    odd, accepted = _compare_with_store(settings, model, base)
    warnings += [*_too_many(model, series), *odd]
    warnings += _reading_notes(model, source, counting)
    warnings += [NO_SEGMENTS] if model.reading.segments and model.reference is None else []
    oldest, newest = findings.oldest, findings.newest
    reach = None if oldest is None or newest is None else newest - oldest
    labelling = label_counting(model, source, inspection.index_remedies, warnings)
    checked = CheckedModel(
        name=model.name,
        numeric=counting.reading.numeric,
        categorical=counting.reading.categorical,
        find_features=model.find_features,
        inspection=inspection,
        series=series,
        max_series=model.keys.max_series,
        watching=forecast_watch(resolved, findings.settling, reach),
        label_counting=labelling,
        reads=None if look is None else _expected_reads(look, source, findings, labelling),
        accepted=tuple(accepted),
    )
    checked = replace(checked, relation=_forecast_relation(resolved, findings, checked.reads))
    if explain:
        as_of = floor_to(min(now, (newest or now) + model.keys.every), model.keys.every)
        queries = tuple(explain_model(resolved, source, counting, as_of))
        audit, price = settings.find_source(model.source).audit, source.reader.engine.dollars_per_tib
        bill = bill_line(queries, model.keys.every, audit, price)
        checked = replace(checked, queries=queries, bill=bill)
    faults = inspection.faults
    if prove:
        spec = settings.find_source(model.source)
        proof = prove_counting(
            spec, resolved, source, counting, look, newest=newest, now=now, say=partial(say, model.name)
        )
        checked = replace(checked, proof=proof)
        faults = (*faults, *([proof.text] if proof.failed else []))
    return replace(inspection, faults=faults, warnings=tuple(warnings)), checked


def _reading_notes(model: ModelSpec, source: SqlSource, counting: Counting) -> Iterator[str]:
    """What is read here though engine = "sql"."""
    if isinstance(source, PushedSource):
        if (reason := source.why_no_pushdown(model, counting)) is not None:
            yield f'engine = "sql": records are read and counted here: {reason}'
        if (reason := source.label_reading_note(model)) is not None:
            yield f'engine = "sql": {reason}'


def _reference_warnings(model: ModelSpec, reference: Reference, inspection: TableInspection) -> Iterator[str]:
    """Warn of a reference without labels where rules need them, and of one that the model was fitted on."""
    counting, joined = reference.counting, inspection.findings.joined
    if model.labels is None or inspection.reference is None:
        return
    if "label" not in inspection.reference[0].column_names:
        asked_names = [
            rule.name
            for rule in model.rules
            if rule.truth and (rule.against == REFERENCE or rule.subject == LABEL)
        ]
        if asked_names:
            need = "needs" if len(asked_names) == 1 else "need"
            column = model.labels.column_of("label")
            yield (
                f"the reference has no labels: {join_few_names(asked_names)} {need} them; give it a "
                f'column "{column}"'
            )
        return
    if (
        joined is None
        or not joined.num_rows
        or not counting.counts_scores
        or _is_selective(model, inspection)
    ):
        return
    log = count_on_grids(joined.select([name for name in _OUTPUTS if name in joined.column_names]), counting)
    then, now = (roc_auc(counting.score_table(each.labels), model.keys.level) for each in (reference, log))
    if then.interval is None or now.interval is None or then.interval.lower - now.interval.upper < _FITTED:
        return
    yield (
        f"the reference's roc_auc is {value_with_interval('roc_auc', then)}, that of {now.n:,} labels of "
        "the log "
        f"{value_with_interval('roc_auc', now)}: if the model was fitted on it, every window looks like a "
        "fall; "
        "take your test set, or the out-of-fold scores"
    )


def _is_selective(model: ModelSpec, inspection: TableInspection) -> bool:
    """Whether labels come for some predictions only: among these alone scores rank worse than among all."""
    reading, findings = model.reading, inspection.findings
    alike = findings.alike or findings.records
    return (
        bool(reading.only_for)
        or alike is None
        or selective_label_words(alike, findings.joined, reading) is not None
    )


def _pending_reference_warnings(
    model: ModelSpec, loaded: tuple[pa.Table, ReadingOptions] | None, now: int
) -> list[str]:
    """Warn of what is no reference yet."""
    if model.reference is None or loaded is None:
        return []
    warning = why_reference_unfinished(model, now)
    if not warning and not loaded[0].num_rows:
        warning = empty_reference_sentence(model.reference)
    return [warning] if warning else []


def _measured_strata(counting: Counting, found: Mapping[str, Sequence[str]]) -> list[Stratum]:
    """Strata that will be measured, as far as some rows tell."""
    versions = found.get("version", ())
    names = [*versions[:_MOST_VERSIONS], *([OTHER] if len(versions) > _MOST_VERSIONS else [])]
    strata = [Stratum(version=name) for name in names]
    arms = counting.reading.arms
    if arms is not None:
        known = [arms.control, arms.treatment]
        strata += [make_segment_stratum(arms.column, value) for value in known]
        strata += [make_rest_stratum(arms.column)] if set(found.get("arm", ())).difference(known) else []
    for column, values in counting.segments:
        strata += [*(make_segment_stratum(column, value) for value in values), make_rest_stratum(column)]
    return strata


def _too_many(model: ModelSpec, series: ExpectedSeries) -> list[str]:
    if series.total <= model.keys.max_series:
        return []
    held = ", ".join(f"{name} {count:,}" for name, count in series.by_group.items() if count)
    text = (
        f"about {series.total:,} series ({held}), more than max_series = {model.keys.max_series:,}: "
        "features are given up first, then strata, then bounds; fewer windows, segments or features help"
    )
    return [text]


def _expected_reads(
    look: ModelLook, source: SqlSource, findings: RowFindings, labelling: LabelCounting | None
) -> ExpectedReads | None:
    """Expected reads, by the traffic of the last week; of the last hour, where that is too much to count."""
    newest = findings.newest
    if newest is None:
        return None
    counted: list[float] = []
    for role in ("event_time", "reported_at"):
        with source.reader.open_session() as session:
            rows, span = count_recent_rows(session, look, role, newest, _RECENT), _RECENT
            if rows is not None and rows.more:
                rows, span = count_recent_rows(session, look, role, newest, HOUR), HOUR
        counted.append(0.0 if rows is None else rows.n * HOUR / span)
    per_hour, labels = counted[0], counted[1] * (1.0 - findings.misdated_labels)
    if per_hour == 0:
        return None
    labelled = min(1.0, labels / per_hour) if labels else 1.0
    whole = labelling is not None and bool(labelling.whole_because)
    reads = expected_reads(look.model, per_hour, labelled, findings.delays, findings.settling, whole=whole)
    return replace(reads, searched=_searched_rows(look, reads))


def _searched_rows(look: ModelLook, reads: ExpectedReads) -> tuple[int, int] | None:
    """Predictions of a horizon and labels of two: nothing but their times finds rows of files."""
    if look.predictions.files is None or look.labels is None or look.labels is look.predictions:
        return None
    of_horizon = reads.per_hour * look.model.reading.horizon / HOUR
    return (
        round(min(of_horizon, look.predictions.rows.n)),
        round(min(2 * of_horizon * reads.labelled, look.labels.rows.n)),
    )


def _forecast_relation(
    model: ModelSpec, findings: RowFindings, reads: ExpectedReads | None
) -> RelationForecast | None:
    """Of a binary model whose scores are probabilities, and that has a budget of false alerts."""
    reading, records = model.reading, findings.records
    probability = reading.task is ModelTask.BINARY and reading.score_range == (0.0, 1.0)
    if not probability or model.budget is None or records is None or reads is None or model.labels is None:
        return None
    scores = parse_scores(records, reading)
    if scores is None:
        return None
    known = scores.values[np.isfinite(scores.values)]
    labels_a_day = 24 * reads.per_hour * reads.labelled
    return forecast_relation(known, findings.delays, labels_a_day, reading.horizon)


def _compare_with_store(settings: Settings, model: ModelSpec, base: Path) -> tuple[list[str], list[str]]:
    """Warn of wrong differences of labels, and of another reference file than the last; what is accepted."""
    warnings: list[str] = []
    sentences: list[str] = []
    with suppress(MonitorError):  # said of the store, or of the reference, already
        if not is_newest(settings.store.url):
            return warnings, sentences
        with closing(open_store(settings.store.url, LIVE)) as store:
            events, seen = (
                store.events.read_events(model.name),
                store.states.read_state(model.name).as_of or 0,
            )
            warnings += wrong_differences(model, events)
            decisions = [one.acceptance for one in events if one.kind == ACCEPTED]
            accepted = select_standing_acceptances(decisions, seen, seen=LAST)
            sentences += describe_acceptances(accepted, model.rules, seen).values()
            if model.reference is not None and model.reference.file is not None:
                warnings += filter(
                    None,
                    [choose_reference(model, base, store.references.list_reference_keys(model.name)).warning],
                )
    return warnings, sentences
