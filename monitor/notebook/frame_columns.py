"""What columns of frames look like: features that one frame lacks, answers that were taken for features."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from monitor.core.errors import ConfigurationError
from monitor.records.column_values import parse_numbers
from monitor.sentences.known_measurements import join_few_names, readable_name
from monitor.sources.default_features import FeatureCandidate, feature_kind, possible_features
from monitor.sources.reference_loading import normalize_column
from monitor.sources.sql.sql_names import suggest_name
from monitor.sources.sql.statements import WantedKind
from monitor.specs.model_spec import ModelSpec

_FEW = 0.01  # share of rows that may differ in what is the same column


def require_column(frame: pa.Table, role: str, name: str, title: str = "frame") -> None:
    """Refuse a column that a frame lacks, with the one that was probably meant."""
    if name not in frame.column_names:
        verb = "have" if title.endswith("s") else "has"
        raise ConfigurationError(
            [f'{role}: the {title} {verb} no column "{name}"{suggest_name(name, frame.column_names)}']
        )


def without_answers(spec: ModelSpec, predictions: pa.Table) -> tuple[ModelSpec, list[str]]:
    """Specification without columns that the threshold makes of the score, and what is said of them."""
    score, threshold = spec.predictions.column_of("score"), spec.reading.threshold
    if not spec.find_features or score is None or threshold is None:
        return spec, []
    numbers = parse_numbers(normalize_column(predictions[score], WantedKind.NUMBER))
    positive = numbers.values[numbers.finite] >= threshold
    most = _FEW * min(np.count_nonzero(positive), np.count_nonzero(~positive))
    same = [
        name
        for name in _frame_features(spec, predictions)
        if most and _is_whole(predictions, name)
        if np.count_nonzero(parse_numbers(predictions[name]).values[numbers.finite] != positive) <= most
    ]
    if not same:
        return spec, []
    sentence = (
        f"{join_few_names(map(readable_name, same))} is true where {score} is at least {threshold:g}: taken "
        "for the prediction"
    )
    more = len(same) < len(_frame_features(spec, predictions))
    return replace(spec, exclude=(*spec.exclude, *same), find_features=more), [
        f"{sentence}, not for a feature."
    ]


def one_sided_sentences(spec: ModelSpec, predictions: pa.Table, reference: pa.Table) -> Iterator[str]:
    """What is said of columns that look like features, and that one of the frames lacks."""
    if not spec.find_features:
        return
    here, there = _frame_features(spec, predictions), _frame_features(spec, reference)
    lost = [readable_name(name) for name in there if name not in predictions.column_names]
    new = [readable_name(name) for name in here if name not in reference.column_names]
    sentences = [f"{join_few_names(lost)} only in the reference"] if lost else []
    sentences += [f"{join_few_names(new)} only in the predictions"] if new else []
    if sentences:
        renamed = " Was one renamed?" if lost and new else ""
        yield f"Not compared, because one frame lacks it: {', '.join(sentences)}.{renamed}"


def probability_feature_sentences(
    spec: ModelSpec, classes: Sequence[str], predictions: pa.Table
) -> Iterator[str]:
    """What is said of features that are named as the classes are: they may be their probabilities."""
    if spec.reading.probabilities or len(classes) < 3:
        return
    names = _frame_features(spec, predictions) if spec.find_features else list(spec.reading.numeric)
    for first in names:
        start = first.removesuffix(classes[0])
        if start != first and all(start + name in names for name in classes):
            columns = ", ".join(f'"{name}": "{start}{name}"' for name in classes[:3])
            more = ", …" if len(classes) > 3 else ""
            yield (
                f"{join_few_names(readable_name(start + name) for name in classes)} are counted as "
                "features: if "
                "they are the "
                f"probabilities of the classes, give probabilities={{{columns}{more}}}."
            )
            return


def _frame_features(spec: ModelSpec, frame: pa.Table) -> list[str]:
    possible = possible_features(
        spec, {name: str(frame.schema.field(name).type) for name in frame.column_names}
    )
    return [
        name
        for name in frame.column_names
        if name in possible and feature_kind(FeatureCandidate(name, frame[name]))
    ]


def _is_whole(frame: pa.Table, name: str) -> bool:
    kind = frame.schema.field(name).type
    return bool(pa.types.is_boolean(kind) or pa.types.is_integer(kind))
