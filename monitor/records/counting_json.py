"""How a model is counted, as JSON: for the store, and for workers elsewhere that count."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from monitor.core.errors import DAMAGE, CodecError
from monitor.records.counting import Counting
from monitor.records.reading import Arms, Challenger, Reading, Serving, Task
from monitor.states import grids
from monitor.states.grids import Grid, NumericGrid

_FORMAT = 1


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
    except DAMAGE as error:
        raise CodecError(f"reference: damaged: {type(error).__name__}") from error


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
        "challenger": None if plain.get("challenger") is None else Challenger(**plain["challenger"]),
    }
    return Reading(**(options | special))


def _serving_of(plain: dict[str, Any]) -> Serving:
    return Serving(column=plain["column"], values=tuple(plain["values"]))


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def _finite(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None
