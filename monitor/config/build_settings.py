"""From the configuration to specifications: what keys of a model say together is worked out once."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

from monitor.config.file_places import Loc
from monitor.config.resolve_keys import (
    classes_of,
    families_of,
    id_columns,
    only_for_of,
    probabilities_of,
    score_range_of,
    windows_of,
    words_of,
)
from monitor.config.rule_tables import budget_of, rules_of
from monitor.config.schema import Configuration
from monitor.core.text import content_hash
from monitor.records import reading as records
from monitor.records.reading import ComparedArms, ModelTask, ReadingOptions
from monitor.specs.model_spec import ModelSpec, ReferenceSpec, Relation
from monitor.specs.model_table import (
    LabelsTable,
    ModelTable,
    Predictions,
    ReferenceTable,
    VersionReference,
)
from monitor.specs.settings import Settings

Hide: TypeAlias = Callable[[str], str]

_NAMED = frozenset({"numeric", "categorical"})  # an empty list names none


def build_settings(
    configuration: Configuration, hide: Hide = str, written: Mapping[Loc, str] = MappingProxyType({})
) -> Settings:
    """Make settings of a configuration without faults; leave out models that are not enabled.

    Parameters
    ----------
    hide
        puts the places as written where a text holds what they were filled with.
    written
        texts whose files are read again for each connection, by their place: see `specs.urls`.
    """
    sources = configuration.sources
    return Settings(
        store=replace(configuration.store, url=written.get(("store", "url"), configuration.store.url)),
        http=configuration.http,
        log=configuration.log,
        daemon=configuration.daemon,
        sources=tuple(
            replace(
                source,
                name=name,
                url=written.get(("sources", name, "url"), source.url),
                catalog=written.get(("sources", name, "catalog"), source.catalog),
            )
            for name, source in sources.items()
        ),
        models=tuple(
            _build_model(model, sources[model.source].timezone, hide)
            for model in configuration.models
            if model.enabled
        ),
        channels=tuple(configuration.notify),
    )


def config_hash(model: ModelTable) -> str:
    """Hash what is configured of a model, defaults included; database URLs are no part of a model."""
    return content_hash(model.model_dump(mode="json", by_alias=True))


def config_content(model: ModelTable, hide: Hide) -> str:
    """What `config_hash` hashes, as JSON; what was filled in is hidden."""
    return json.dumps(_hide_values(model.model_dump(mode="json", by_alias=True), hide), sort_keys=True)


def _hide_values(value: Any, hide: Hide) -> Any:
    match value:
        case dict():
            return {hide(key): _hide_values(item, hide) for key, item in value.items()}
        case list():
            return [_hide_values(item, hide) for item in value]
        case str():
            return hide(value)
        case _:
            return value


def _build_model(model: ModelTable, zone: str, hide: Hide) -> ModelSpec:
    features, predictions = model.features, _predictions_relation(model)
    labels = None if model.labels is None else _labels_relation(model.labels, model.predictions)
    return ModelSpec(
        keys=model,
        reading=_build_reading(model, zone, predictions, labels),
        predictions=predictions,
        labels=labels,
        reference=None if model.reference is None else _build_reference(model, model.reference),
        find_features=model.reference is not None and _NAMED.isdisjoint(features.model_fields_set),
        exclude=features.exclude,
        windows=windows_of(model),
        profit=_profit_amounts(model),
        families=families_of(model),
        rules=rules_of(model),
        budget=budget_of(model),
        config=config_content(model, hide),
        config_hash=config_hash(model),
    )


def _build_reading(
    model: ModelTable, zone: str, predictions: Relation, labels: Relation | None
) -> ReadingOptions:
    columns, probabilities = model.predictions, probabilities_of(model)
    control, serving = model.control, model.serving
    return ReadingOptions(
        task=ModelTask(model.task),
        classes=classes_of(model),
        has_score=columns.score is not None or bool(probabilities),
        score_range=score_range_of(model),
        threshold=columns.threshold,
        probabilities=tuple(probabilities),
        numeric=tuple(sorted(model.features.numeric)),
        categorical=tuple(sorted(model.features.categorical)),
        versioned=columns.version is not None,
        arms=None
        if control is None
        else ComparedArms(
            column=control.arm_column, control=control.control_value, treatment=control.treatment_value
        ),
        segments=model.segments,
        words=_prediction_words(model),
        only_for=only_for_of(model),
        serving=None
        if serving is None
        else records.ServingRule(column=serving.column, values=tuple(serving.values)),
        challenger=_build_challenger(model),
        labelled=model.labels is not None,
        zone=zone,
        time_units=_time_units(columns, model.labels),
        names=tuple((dict(() if labels is None else labels.columns) | dict(predictions.columns)).items()),
        scale=model.scale,
        pane=model.pane,
        tolerance=model.reading.tolerance,
        horizon=model.horizon,
    )


def _prediction_words(model: ModelTable) -> tuple[tuple[str, str], ...]:
    """What a column of predictions means; classes that are made of scores mean themselves."""
    other = None if model.challenger is None else model.challenger.prediction
    written = model.predictions.prediction is not None or other is not None
    return tuple(words_of(model).items()) if written else ()


def _build_challenger(model: ModelTable) -> records.ChallengerOutput | None:
    challenger, own = model.challenger, model.predictions.threshold
    if challenger is None:
        return None
    if challenger.prediction is not None:
        return records.ChallengerOutput(column=challenger.prediction)
    if challenger.score is None:
        return None
    threshold = own if challenger.threshold is None else challenger.threshold
    return (
        None if threshold is None else records.ChallengerOutput(column=challenger.score, threshold=threshold)
    )


def _time_units(predictions: Predictions, labels: LabelsTable | None) -> tuple[tuple[str, str], ...]:
    first = predictions.event_time_unit
    units: list[tuple[str, str | None]] = [("event_time", first)]
    if predictions.logged_at is not None:
        units.append(("logged_at", predictions.logged_at_unit or first))
    if labels is not None and labels.reported_at is not None:
        units.append(("reported_at", labels.reported_at_unit or first))
    return tuple((role, unit) for role, unit in units if unit is not None and unit != "none")


def _predictions_relation(model: ModelTable) -> Relation:
    table, challenger = model.predictions, model.challenger
    return Relation(
        table=table.table,
        query=table.query,
        where=table.where,
        columns=_given_roles(
            *_id_roles(table.id),
            ("event_time", table.event_time),
            ("logged_at", table.logged_at),
            ("partition", table.partition),
            ("version", table.version),
            ("arm", None if model.control is None else model.control.arm_column),
            ("serving", None if model.serving is None else model.serving.column),
            ("challenger", None if challenger is None else challenger.score or challenger.prediction),
            *_output_roles(model),
        ),
    )


def _output_roles(model: ModelTable) -> tuple[tuple[str, str | None], ...]:
    probabilities = probabilities_of(model).items()
    return (
        ("score", model.predictions.score),
        ("prediction", model.predictions.prediction),
        *((f"probability:{name}", column) for name, column in probabilities),
    )


def _labels_relation(labels: LabelsTable, predictions: Predictions) -> Relation:
    return Relation(
        table=labels.table,
        query=labels.query,
        where=labels.where,
        columns=_given_roles(
            *_id_roles(labels.id or predictions.id),
            ("label", labels.label),
            ("reported_at", labels.reported_at),
            ("partition", labels.partition),
            ("revision", labels.revision),
        ),
    )


def _id_roles(configured: str | list[str]) -> tuple[tuple[str, str], ...]:
    columns = enumerate(id_columns(configured))
    return tuple((f"id:{at}" if at else "id", column) for at, column in columns)


def _build_reference(model: ModelTable, reference: ReferenceTable) -> ReferenceSpec:
    versions = reference.versions.items()
    own = tuple(
        (name, replace(_version_reference_spec(model, version), version=name))
        for name, version in sorted(versions)
    )
    return replace(_version_reference_spec(model, reference), versions=own)


def _version_reference_spec(model: ModelTable, reference: VersionReference) -> ReferenceSpec:
    relation = None
    if reference.table is not None or reference.query is not None:
        label = None if model.labels is None else model.labels.label
        columns = _given_roles(*_output_roles(model), ("label", label))
        relation = Relation(table=reference.table, query=reference.query, columns=columns)
    return ReferenceSpec(file=reference.file, relation=relation, start=reference.start, end=reference.end)


def _profit_amounts(model: ModelTable) -> tuple[tuple[str, str, float], ...]:
    matrix = {} if model.profit is None else model.profit.matrix
    return tuple(
        (actual, predicted, amount)
        for actual, row in sorted(matrix.items())
        for predicted, amount in sorted(row.items())
    )


def _given_roles(*columns: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((role, column) for role, column in columns if column is not None)
