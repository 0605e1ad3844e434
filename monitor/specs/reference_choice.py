"""Which kept reference a model is compared with: frozen by what it is made of, a file by its content too."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.core.clock import to_iso
from monitor.core.errors import SourceError
from monitor.core.text import content_hash
from monitor.specs.model_spec import ModelSpec, ReferenceSpec, Relation

NO_SEGMENTS = "segments are the most frequent values in the reference: without a reference there are none"


@dataclass(frozen=True, slots=True)
class ChosenReference:
    """Key of a reference in the store; a warning where it is not what was kept last, or empty."""

    key: str
    warning: str = ""


def choose_reference(spec: ModelSpec, base: Path, kept: Sequence[str], grids: str = "") -> ChosenReference:
    """Choose the reference of a model: a file as it is now, or the one kept last where the file is gone.

    Parameters
    ----------
    base
        directory at which a relative path of the file starts.
    kept
        keys of the model's kept references, oldest first.
    grids
        hash of the grids that a version's reference is counted on; empty: the reference makes its own.

    Raises
    ------
    SourceError
        if the file cannot be read.
    """
    specified = reference_key(spec, grids)
    if spec.reference is None or spec.reference.file is None:
        return ChosenReference(specified)
    name, before = f'reference file "{spec.reference.file}"', [key for key in kept if key[:16] == specified]
    content = _content_hash(base / spec.reference.file)
    if content is None:
        last = before[-1] if before else specified
        return ChosenReference(
            last, f"{name} is gone: the kept one (content {last[17:]}) is used" if before else ""
        )
    key = f"{specified}-{content}"
    if not before or key == before[-1]:
        return ChosenReference(key)
    return ChosenReference(
        key,
        f"{name} has changed (content {before[-1][17:]} before, {content} now): each start takes "
        "the file as it is; where its grids differ, panes are counted again within the horizon",
    )


def made_of(reference_spec: ReferenceSpec, key: str = "") -> str:
    """What a reference was made of, in words.

    >>> made_of(ReferenceSpec(file="reference.parquet"), "5f0c-8d1e")
    'file "reference.parquet", content 8d1e'
    """
    match reference_spec:
        case ReferenceSpec(version=str(version)):
            return f"of version {version}: {made_of(replace(reference_spec, version=None), key)}"
        case ReferenceSpec(file=str(file)):
            content = key.partition("-")[2]
            return f'file "{file}", content {content}' if content else f'file "{file}"'
        case ReferenceSpec(relation=Relation(table=str(table))):
            return f'table "{table}"'
        case ReferenceSpec(relation=Relation(query=str(query))):
            return f"query {query}"
        case ReferenceSpec(start=int(start), end=int(end)):
            return f"the log from {to_iso(start)} to {to_iso(end)}"
    return ""


def why_reference_unfinished(spec: ModelSpec, at: int) -> str:
    """Why a time range of the log is no reference at a moment: it is not over; or empty."""
    reference_spec = spec.reference
    if (
        reference_spec is None
        or reference_spec.end is None
        or reference_spec.end <= at + spec.reading.tolerance
    ):
        return ""
    return (
        f"the reference ({made_of(reference_spec)}) is not over: "
        f"{_fallback_words(reference_spec)} before {to_iso(reference_spec.end)}"
    )


def empty_reference_sentence(reference_spec: ReferenceSpec) -> str:
    """What is said of a reference that has no rows yet."""
    return (
        f"the reference ({made_of(reference_spec)}) has no rows: "
        f"{_fallback_words(reference_spec)} until a cycle finds some"
    )


def _fallback_words(reference_spec: ReferenceSpec) -> str:
    own = reference_spec.version is not None
    return "the version is compared with the default one" if own else "nothing is compared with it"


def version_specs(spec: ModelSpec) -> Iterator[tuple[str, ModelSpec]]:
    """Versions that have a reference, each with the model as if it were the only one."""
    for version, reference_spec in () if spec.reference is None else spec.reference.versions:
        yield version, replace(spec, reference=reference_spec, find_features=False)


def reference_key(spec: ModelSpec, grids: str = "") -> str:
    """Hash of what a reference is made of: it is frozen as long as this stays the same."""
    reading, reference_spec = spec.reading, spec.reference
    further = {
        "segments": reading.segments,
        "serving": reading.serving and reading.serving.values,
        "words": reading.words,
        "only_for": reading.only_for,
        "version": reference_spec and reference_spec.version,
        "grids": grids,
    }
    return content_hash(
        {name: value for name, value in further.items() if value}
        | {
            "model": spec.name,
            "file": None if reference_spec is None else reference_spec.file,
            "relation": _plain_relation(None if reference_spec is None else reference_spec.relation),
            "span": None if reference_spec is None else [reference_spec.start, reference_spec.end],
            "exclude": spec.exclude,
            "predictions": spec.predictions.columns,
            "labels": _plain_relation(spec.labels),
            "task": reading.task.value,
            "classes": reading.classes,
            "score_range": reading.score_range,
            "threshold": reading.threshold,
            "probabilities": reading.probabilities,
            "numeric": reading.numeric,
            "categorical": reading.categorical,
        }
    )


def _plain_relation(relation: Relation | None) -> object:
    if relation is None:
        return None
    return [relation.table, relation.query, relation.where, relation.columns]


def _content_hash(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"reference file {path} cannot be read: {error.strerror}") from error
