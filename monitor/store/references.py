"""Kept references: grids and reading options as JSON, counters as blobs."""

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from monitor.core.errors import CodecError
from monitor.records.counting import Counting
from monitor.records.reading import Arms, Reading, Serving, Task
from monitor.records.reference import Reference
from monitor.specs.rows import KeptReference
from monitor.states import grids
from monitor.states.counters import Counters, Layout
from monitor.states.grids import Grid, NumericGrid
from monitor.states.strata import WHOLE, Strata
from monitor.store.codec import decode, encode_strata
from monitor.store.statements import add, database_now
from monitor.store.tables import references

_FORMAT = 1


def read(connection: Connection, key: str) -> Reference | None:
    """Reference of a key.

    Raises
    ------
    CodecError
        if it cannot be read by this version.
    """
    columns = (references.c.hash, references.c.counting, references.c.records, references.c.labels)
    found = connection.execute(select(*columns).where(references.c.key == key)).first()
    if found is None:
        return None
    counting = counting_of(found.counting)
    records, segments = _parted(found.records, counting.records)
    # A version that counted labels otherwise kept it: what it counted of them is not known here.
    same = found.hash == counting.hash
    labels, labelled = (
        _parted(found.labels, counting.labels) if same else (Counters.empty(counting.labels), {})
    )
    return Reference(counting, records, labels, segments, labelled)


def _parted(blob: bytes, layout: Layout) -> tuple[Counters, Strata]:
    """Counters of the whole, and those by segment."""
    strata = dict(decode(blob, layout))
    if WHOLE not in strata:
        raise CodecError("a state of the whole expected: got none")
    return strata.pop(WHOLE), strata


def keys(connection: Connection, model: str) -> list[str]:
    """Keys of a model's references, oldest first."""
    chosen = select(references.c.key).where(references.c.model == model)
    return list(connection.execute(chosen.order_by(references.c.created, references.c.key)).scalars())


def countings(connection: Connection, model: str) -> list[Counting]:
    """Grids and reading options of a model's references, each once; what cannot be read is left out."""
    chosen = select(references.c.counting).where(references.c.model == model).distinct()
    found = []
    for text in connection.execute(chosen).scalars():
        with suppress(CodecError):
            found.append(counting_of(text))
    return found


def described(connection: Connection, key: str) -> KeptReference | None:
    """What is known of a kept reference beside its counters.

    Raises
    ------
    CodecError
        if it cannot be read by this version.
    """
    columns = (references.c.model, references.c.made_of, references.c.created)
    found = connection.execute(select(*columns).where(references.c.key == key)).first()
    reference = read(connection, key)
    if found is None or reference is None:
        return None
    return KeptReference(
        key=key,
        model=found.model,
        grid=reference.counting.hash,
        made_of=found.made_of,
        rows=reference.n,
        created=found.created,
    )


def write(connection: Connection, key: str, model: str, reference: Reference, made_of: str = "") -> None:
    """Keep a reference; one that is kept under this key already stays as it is."""
    now = connection.execute(select(database_now(connection))).scalar_one()
    row = {
        "key": key,
        "model": model,
        "hash": reference.counting.hash,
        "counting": counting_text(reference.counting),
        "records": encode_strata({WHOLE: reference.records, **reference.segments}),
        "labels": encode_strata({WHOLE: reference.labels, **reference.label_segments}),
        "created": now,
        "made_of": made_of,
    }
    add(connection, references, [row])


def counting_text(counting: Counting) -> str:
    """JSON of grids and reading options; `counting_of` reads it back, equal."""
    plain = {
        "format": _FORMAT,
        "reading": _reading_json(counting.reading),
        "features": [[name, grids.to_json(grid)] for name, grid in counting.features],
        "score": None if counting.score is None else grids.to_json(counting.score),
        "prediction": grids.to_json(counting.prediction),
        "label": None if counting.label is None else grids.to_json(counting.label),
        "scale": float(counting.scale),
        "segments": counting.segments,
    }
    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


def counting_of(text: str) -> Counting:
    """Grids and reading options of their JSON.

    Raises
    ------
    CodecError
        if the format is not known or a part is missing.
    """
    try:
        plain = json.loads(text)
        if plain["format"] != _FORMAT:
            raise CodecError(f"reference: format {_FORMAT} expected: got {plain['format']}")
        return Counting(
            reading=_reading_of(plain["reading"]),
            features=tuple((name, grids.from_json(grid)) for name, grid in plain["features"]),
            score=_score(plain["score"]),
            prediction=grids.from_json(plain["prediction"]),
            label=None if plain["label"] is None else grids.from_json(plain["label"]),
            scale=plain["scale"],
            segments=_tuples(plain.get("segments", [])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(f"reference: damaged: {error!r}") from error


def _score(plain: dict[str, object] | None) -> NumericGrid | None:
    grid: Grid | None = None if plain is None else grids.from_json(plain)
    if grid is not None and not isinstance(grid, NumericGrid):
        raise CodecError("reference: a score's grid is numeric: got a category grid")
    return grid


def _reading_json(reading: Reading) -> dict[str, Any]:
    return asdict(reading) | {"score_range": [_finite(bound) for bound in reading.score_range]}


def _reading_of(plain: dict[str, Any]) -> Reading:
    lower, upper = plain["score_range"]
    options = {name: _tuples(value) for name, value in plain.items()}
    special = {
        "task": Task(plain["task"]),
        "score_range": (-np.inf if lower is None else lower, np.inf if upper is None else upper),
        "arms": None if plain["arms"] is None else Arms(**plain["arms"]),
        "serving": None if plain.get("serving") is None else _serving_of(plain["serving"]),
    }
    return Reading(**(options | special))


def _serving_of(plain: dict[str, Any]) -> Serving:
    return Serving(column=plain["column"], values=tuple(plain["values"]))


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def _finite(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None
