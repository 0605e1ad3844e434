"""Default features: columns of both reference and table that look like ones."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.errors import SourceError
from monitor.records.column_values import parse_numbers
from monitor.specs.model_spec import ModelSpec

_NO_FEATURE = re.compile(
    r"time|date|json|blob|bytea|binary|uuid|money|interval|\[\]|<|variant|xml|inet|vector"
)
_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$"
_FEW = 50  # so many distinct texts never make a column mostly unique
_SAMPLE = 1_000


@dataclass(frozen=True, slots=True)
class FeatureCandidate:
    """A column of the reference: its values, and the database's type of it."""

    name: str
    values: pa.ChunkedArray
    declared: str = ""


def may_be_feature(declared: str) -> bool:
    """Whether a column of a database's type may be a feature: no times, JSON, binary, ids."""
    return _NO_FEATURE.search(declared.lower()) is None


def possible_features(model: ModelSpec, table: Mapping[str, str]) -> set[str]:
    """Columns of the prediction table that may be features: they have no role and are not left out."""
    roles = set(dict(model.predictions.columns).values()) | set(model.exclude)
    if model.labels is not None:
        roles |= set(dict(model.labels.columns).values())
    if model.reading.arms is not None:
        roles.add(model.reading.arms.column)
    return {name for name, declared in table.items() if name not in roles and may_be_feature(declared)}


def find_features(
    model: ModelSpec, candidates: Sequence[FeatureCandidate], table: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the numeric and of the categorical features, sorted.

    Parameters
    ----------
    candidates
        the reference's columns.
    table
        database types of the prediction table's columns.

    Raises
    ------
    SourceError
        if no column is left.
    """
    possible = possible_features(model, table)
    kinds = {
        candidate.name: feature_kind(candidate) for candidate in candidates if candidate.name in possible
    }
    numeric = tuple(sorted(name for name, kind in kinds.items() if kind == "numeric"))
    categorical = tuple(sorted(name for name, kind in kinds.items() if kind == "categorical"))
    if not numeric and not categorical:
        raise SourceError(
            "no feature was found among the columns of both reference and table: "
            "name them (numeric, categorical in [models.features]), or say that there are none: numeric = []"
        )
    return numeric, categorical


def feature_kind(candidate: FeatureCandidate) -> str | None:
    """numeric, categorical, or None for what is no feature."""
    column = candidate.values
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count == len(column) or not may_be_feature(candidate.declared):
        return None
    if pa.types.is_boolean(column.type) or "bool" in candidate.declared.lower():
        return "categorical"
    if (
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_decimal(column.type)
    ):
        return "numeric"
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _kind_of_text(column.drop_null(), candidate.declared)
    return None


def _kind_of_text(texts: pa.ChunkedArray, declared: str) -> str | None:
    mostly_numbers = pc.mean(pa.array(parse_numbers(texts).finite).cast(pa.float64())).as_py() > 0.5
    if mostly_numbers and not re.search("char|text|string|enum", declared.lower()):
        return "numeric"
    distinct = pc.count_distinct(texts).as_py()
    if distinct > _FEW and distinct > len(texts) / 2:
        return None
    sample = texts.slice(0, _SAMPLE)
    is_time = pc.all(pc.match_substring_regex(sample, _TIME)).as_py()
    return None if is_time or all(_is_json(text) for text in sample.to_pylist()) else "categorical"


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
