"""The configuration file, read: secrets filled in, defaults merged, every fault at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from monitor.config.build import build
from monitor.config.checks import Checked, model_faults
from monitor.config.faults import Fault, structural_faults
from monitor.config.fill import Filling
from monitor.config.include import Included, document_of, with_included
from monitor.config.mend import as_meant, mended_model, mended_source, without_unknown
from monitor.config.places import Loc, origin, position, printed, value_at
from monitor.config.schema import Configuration, Model, Store
from monitor.core.errors import ConfigurationError
from monitor.specs.model import ModelSpec
from monitor.specs.settings import Settings


@dataclass(frozen=True, slots=True)
class Examined:
    """What a configuration holds, with faults or without.

    Parameters
    ----------
    configuration
        of the models and sources without a fault; None where no model is.
    faults
        each with the name of its model; None where it is no single model's.
    left
        of the other models, and of all sources, what can be read in spite of their faults.
    """

    configuration: Configuration | None
    filling: Filling
    faults: tuple[tuple[str | None, str], ...]
    left: Configuration | None = None

    @property
    def settings(self) -> Settings | None:
        """Plain settings of the models without a fault, and of every source that can be read."""
        sound, left = self._built(self.configuration), self._built(self.left)
        if sound is None or left is None:
            return sound or (left and replace(left, models=()))
        return replace(sound, sources=left.sources)

    @property
    def faulty(self) -> tuple[ModelSpec, ...]:
        """The other models as far as their tables can be looked at."""
        left = self._built(self.left)
        return () if left is None else tuple(without_unknown(model) for model in left.models)

    def _built(self, found: Configuration | None) -> Settings | None:
        return None if found is None else _build(found, self.filling)


def settings_of(path: Path, environ: Mapping[str, str]) -> Settings:
    """Read a TOML file into plain settings: see `load`."""
    examined = examine(path, environ)
    return _build(_without_faults(examined), examined.filling)


def load(path: Path, environ: Mapping[str, str]) -> Configuration:
    """Read a TOML file, and those that it includes.

    Parameters
    ----------
    environ
        environment for `${NAME}`.

    Raises
    ------
    ConfigurationError
        with every fault of the files, each with its path in its file; secrets are in none of them.
    """
    return _without_faults(examine(path, environ))


def examine(path: Path, environ: Mapping[str, str]) -> Examined:
    """Read as much of a TOML file, and of those that it includes, as has no fault.

    Raises
    ------
    ConfigurationError
        if the file is not there, or is no TOML.
    """
    filling = Filling(environ)
    written = document_of(path)
    patterns = filling.fill(written.get("include"), ("include",))
    included = with_included(path, written, patterns)
    document = {
        key: patterns if key == "include" else filling.fill(value, (key,))
        for key, value in included.document.items()
    }
    merged = _with_defaults(document)
    validated = _validated(merged)
    faults = [*included.faults, *_faults_of_defaults(document), *_semantic_faults(merged, filling.faults)]
    if not isinstance(validated, Configuration):
        faults = [*validated, *faults]
    if isinstance(validated, Configuration) and not faults and not filling.faults:
        return Examined(validated, filling, ())
    found = [*faults, *filling.faults]
    lines = _lines(document, filling, faults, included)
    return Examined(_sound_part(merged, found), filling, lines, _left(document, merged, found))


def _build(configuration: Configuration, filling: Filling) -> Settings:
    return build(configuration, hide=filling.hide_models, written=filling.written)


def _without_faults(examined: Examined) -> Configuration:
    if examined.configuration is None or examined.faults:
        raise ConfigurationError([text for _, text in examined.faults])
    return examined.configuration


def _faulty(faults: Sequence[Fault]) -> set[Loc]:
    """Models, sources and other tables that have faults."""
    return {fault.loc[: 2 if fault.loc[0] in ("models", "sources") else 1] for fault in faults}


def _is_sound(at: int, model: Mapping[str, Any], faulty: set[Loc]) -> bool:
    inherited = ("defaults",) in faulty  # what could not be filled there stands in every model
    return not inherited and ("models", at) not in faulty and ("sources", model["source"]) not in faulty


def _sound_part(merged: Mapping[str, Any], faults: Sequence[Fault]) -> Configuration | None:
    """Models and sources without a fault, and all else that has none."""
    faulty = _faulty(faults)
    models, sources = merged.get("models"), merged.get("sources", {})
    if not isinstance(models, list) or not isinstance(sources, dict):
        return None
    part = {key: value for key, value in merged.items() if (key,) not in faulty}
    part["sources"] = {name: table for name, table in sources.items() if ("sources", name) not in faulty}
    part["models"] = [model for at, model in enumerate(models) if _is_sound(at, model, faulty)]
    return Configuration.model_validate(part) if part["models"] else None


def _left(
    document: Mapping[str, Any], merged: Mapping[str, Any], faults: Sequence[Fault]
) -> Configuration | None:
    """Models with a fault, and of faulty sources, without it; the other sources too."""
    faulty = _faulty(faults)
    models, sources = merged.get("models"), merged.get("sources")
    if not isinstance(models, list) or not isinstance(sources, dict):
        return None
    known = {
        name: source
        for name, table in sources.items()
        if isinstance(table, dict)
        and (source := mended_source(name, table, _within(("sources", name), faults)))
    }
    found = [
        mended_model(at, model, _within(("models", at), faults) + _inherited(at, document, faults))
        for at, model in enumerate(models)
        if isinstance(model, dict) and not _is_sound(at, model, faulty)
    ]
    left = [model for model in found if model is not None and model.source in known]
    store = Store() if ("store",) in faulty else Store.model_validate(merged.get("store", {}))
    return Configuration.model_construct(store=store, sources=known, models=left) if left else None


def _within(place: Loc, faults: Sequence[Fault]) -> list[Loc]:
    """Where a model or source has faults."""
    return [fault.loc[2:] for fault in faults if fault.loc[:2] == place]


def _inherited(at: int, document: Mapping[str, Any], faults: Sequence[Fault]) -> list[Loc]:
    """Where a model has what could not be filled in the defaults."""
    places = [("models", at, *fault.loc[1:]) for fault in faults if fault.loc[0] == "defaults"]
    return [loc[2:] for loc in places if origin(loc, document)[0] == "defaults"]


def _faults_of_defaults(document: Mapping[str, Any]) -> list[Fault]:
    defaults = document.get("defaults")
    named = isinstance(defaults, dict) and "name" in defaults
    return [Fault(("defaults", "name"), "each model has a name of its own")] if named else []


def _with_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `defaults` into every model; what a model itself says wins."""
    merged, defaults, models = dict(document), document.get("defaults"), document.get("models")
    if isinstance(defaults, dict) and isinstance(models, list):
        merged["models"] = [_over(defaults, model) if isinstance(model, dict) else model for model in models]
    return merged


def _over(defaults: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of both; of a table in both, its keys of both. Deeper values (a matrix) are replaced whole."""
    both = {key for key in defaults if isinstance(defaults[key], dict) and isinstance(model.get(key), dict)}
    return {**defaults, **model, **{key: {**defaults[key], **model[key]} for key in both}}


def _validated(merged: Mapping[str, Any]) -> Configuration | list[Fault]:
    try:
        return Configuration.model_validate(merged)
    except ValidationError as error:
        return structural_faults(error.errors(), merged)


def _semantic_faults(merged: Mapping[str, Any], unfilled: Sequence[Fault]) -> list[Fault]:
    models, sources = merged.get("models"), merged.get("sources")
    failed = [fault.loc for fault in unfilled]
    tables = enumerate(models) if isinstance(models, list) else ()
    checked = [_sound(at, model, failed) for at, model in tables if isinstance(model, dict)]
    return model_faults(checked, list(sources) if isinstance(sources, dict) else [])


def _sound(at: int, table: Mapping[str, Any], failed: Sequence[Loc]) -> Checked:
    """Make a model of those keys that are well-formed by themselves, and name the others."""
    meant = as_meant(("models", at), table)
    own = (loc[2:3] for loc in failed if loc[:2] == ("models", at))
    inherited = (loc[1:2] for loc in failed if loc[0] == "defaults")
    unsound = {key for keys in (*own, *inherited) for key in keys}
    model = Model.model_construct()
    for key, info in Model.model_fields.items():
        if key not in meant:
            unsound |= {key} if info.is_required() else set()
            continue
        try:
            setattr(model, key, meant[key])
        except ValidationError:
            unsound.add(key)
    return Checked(at, model, frozenset(unsound))


def _lines(
    document: Mapping[str, Any], filling: Filling, faults: Sequence[Fault], included: Included
) -> tuple[tuple[str | None, str], ...]:
    """Print faults in the order of the file; of what could not be filled nothing else is said."""
    unfilled = {printed(fault.loc, document) for fault in filling.faults}
    said = [fault for fault in faults if printed(fault.loc, document) not in unfilled]
    ordered = sorted([*filling.faults, *said], key=lambda fault: position(fault.loc, document))
    lines = [
        (
            _model_of(fault.loc, document),
            included.traced(f"{printed(fault.loc, document)}: {fault.text}", fault.loc),
        )
        for fault in ordered
    ]
    return tuple(dict.fromkeys((model and filling.hide(model), filling.hide(line)) for model, line in lines))


def _model_of(loc: Loc, document: Mapping[str, Any]) -> str | None:
    """Name of the model that a place belongs to; None in the defaults of all."""
    name = value_at((*loc[:2], "name"), document) if origin(loc, document)[0] == "models" else None
    return name if isinstance(name, str) else None
