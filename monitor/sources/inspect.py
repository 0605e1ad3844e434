"""What `check` looks at: tables, columns and their types, times, rows, indexes, the reference."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from monitor.core.errors import SourceError, SourceUnavailable
from monitor.records.values import numbers
from monitor.sources import casts
from monitor.sources.bounds import Shape
from monitor.sources.casts import Want
from monitor.sources.catalogue import Looked, has_index, look, nearest
from monitor.sources.moments import comparable
from monitor.sources.reference import load_reference
from monitor.sources.scan import feature_column, has_own_table, outcome
from monitor.sources.source import SqlSource
from monitor.sources.statements import Output, Session, Statement
from monitor.specs.model import ModelSpec, Relation

_SAMPLE = 1_000
_Asked: TypeAlias = tuple[Output, Want]
_MANY = 10_000  # rows from which on an index matters


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found of a model's tables.

    Parameters
    ----------
    faults
        why the model cannot be read, each a sentence.
    warnings
        what is read otherwise than may be meant.
    columns
        database types of the prediction table's columns.
    rows
        of the prediction table; None where it cannot be read.
    """

    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None


@dataclass(slots=True)
class _Found:
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what a step refuses, and go on."""
        try:
            yield
        except SourceUnavailable:
            raise
        except SourceError as error:
            self.faults.append(str(error))


def inspect_model(model: ModelSpec, source: SqlSource, base_dir: Path) -> Inspection:
    """Every fault of a model's tables and reference at once."""
    found = _Found()
    predictions: Looked | None = None
    rows: int | None = None
    try:
        with source.reader.session() as session:
            predictions, rows = _predictions(session, source, model, found)
            _labels(session, source, model, predictions, found)
        if not found.faults and model.reference is not None:
            with found.noting():
                load_reference(model, source, base_dir)
    except SourceError as error:
        found.faults.append(str(error))
    columns = {} if predictions is None else predictions.types
    return Inspection(tuple(found.faults), tuple(found.warnings), columns, rows)


def _predictions(
    session: Session, source: SqlSource, model: ModelSpec, found: _Found
) -> tuple[Looked | None, int | None]:
    reading, relation = model.reading, model.predictions
    looked: Looked | None = None
    with found.noting():
        looked = look(session, source.reader.dialect, relation, "p")
    if looked is None:
        return None, None
    wanted = {"id": Want.TEXT, "event_time": Want.TIME, "logged_at": Want.TIME, "version": Want.TEXT}
    wanted |= {"score": Want.NUMBER, "prediction": outcome(reading), "arm": Want.TEXT}
    wanted |= {f"probability:{name}": Want.NUMBER for name in reading.probabilities}
    outputs = _outputs(looked, relation, wanted, model, found)
    outputs += _features(looked, model, found)
    rows = int(session.rows(f"SELECT count(*) AS n FROM {looked.item}")[0][0])
    if rows == 0:
        found.warnings.append(f"{looked.title} is empty")
    _times(session, looked, relation, model, found, rows)
    _values(session, looked, outputs, found)
    return looked, rows


def _labels(
    session: Session, source: SqlSource, model: ModelSpec, predictions: Looked | None, found: _Found
) -> None:
    relation = model.labels
    if relation is None:
        return
    wanted = {"label": outcome(model.reading), "reported_at": Want.TIME, "revision": Want.NUMBER}
    looked = predictions
    if has_own_table(relation):
        looked = None
        wanted["id"] = Want.TEXT
        with found.noting():
            looked = look(session, source.reader.dialect, relation, "l")
    if looked is None:
        return
    outputs = _outputs(looked, relation, wanted, model, found)
    if looked is not predictions and not session.rows(f"SELECT 1 AS one FROM {looked.item} LIMIT 1"):
        found.warnings.append(f"{looked.title} is empty")
    _times(session, looked, relation, model, found, 0)
    _values(session, looked, outputs, found)


def _outputs(
    looked: Looked, relation: Relation, wanted: Mapping[str, Want], model: ModelSpec, found: _Found
) -> list[_Asked]:
    outputs: list[_Asked] = []
    for role, want in wanted.items():
        if (column := relation.column(role)) is not None:
            with found.noting():
                ref, unit = looked.ref(column, role), model.reading.unit(role)
                kind = looked.types[column]
                outputs.append((casts.output(looked.dialect.name, want, role, ref, kind, unit=unit), want))
    return outputs


def _features(looked: Looked, model: ModelSpec, found: _Found) -> list[_Asked]:
    outputs: list[_Asked] = []
    for names, want in ((model.reading.numeric, Want.NUMBER), (model.reading.categorical, Want.TEXT)):
        for name in names:
            column = feature_column(model, name)
            if column not in looked.types:
                hint = nearest(column, looked.types)
                found.warnings.append(f'{looked.title} has no column "{column}" (feature){hint}')
                continue
            with found.noting():
                ref, kind = looked.ref(column, "feature"), looked.types[column]
                outputs.append((casts.output(looked.dialect.name, want, f"feature:{name}", ref, kind), want))
    return outputs


def _times(
    session: Session, looked: Looked, relation: Relation, model: ModelSpec, found: _Found, rows: int
) -> None:
    for role in ("event_time", "logged_at", "reported_at"):
        column = relation.column(role)
        if column is None or column not in looked.types:
            continue
        with found.noting():
            time = comparable(session, looked, column, role, model.reading)
            if time.shape is Shape.UNKNOWN:
                found.warnings.append(
                    f'{looked.title}: "{column}" ({role}) holds no time that is understood: every row is read'
                )
            elif time.shape is Shape.NOTHING and rows:
                found.warnings.append(f'{looked.title}: "{column}" ({role}) has no value in any row')
            elif role == "event_time" and rows >= _MANY:
                condition = time.condition(0, 1)
                if not has_index(session, looked.dialect, looked.item, condition):
                    found.warnings.append(
                        f'{looked.title}: no index on "{column}" is used: each cycle reads all {rows} rows'
                    )


def _values(session: Session, looked: Looked, outputs: Iterable[_Asked], found: _Found) -> None:
    """Columns of numbers that hold none, looked at in some rows."""
    chosen = tuple(output for output, want in outputs if want is Want.NUMBER)
    if not chosen:
        return
    with found.noting():
        table = session.read(Statement(chosen, f"FROM {looked.item} LIMIT {_SAMPLE}"))
        for output in chosen:
            text = _text_in(table[output.name])
            if text is not None:
                notes = found.warnings if output.name.startswith("feature:") else found.faults
                notes.append(f"{looked.title}: {output.name} is configured as a number, but {text}")


def _text_in(column: pa.ChunkedArray) -> str | None:
    values = numbers(column)
    there = int(np.sum(~values.missing))
    return f"none of {there} values looked at is one" if there and not values.finite.any() else None
