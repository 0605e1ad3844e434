"""The configuration file, read: secrets filled in, defaults merged, every fault at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from monitor.config.build import build
from monitor.config.checks import CheckableModel, model_faults
from monitor.config.faults import Fault, as_meant, structural_faults
from monitor.config.fill import Filling
from monitor.config.include import Included, document_of, with_included
from monitor.config.messages import did_you_mean, listed, quoted
from monitor.config.places import Loc, origin, position, printed, value_at
from monitor.config.schema import Configuration, ModelTable
from monitor.core.errors import ConfigurationError
from monitor.specs.model import ModelSpec
from monitor.specs.settings import Settings
from monitor.specs.urls import beside

_MEMORY = "memory"  # name of a source that is none
_OUTSIDE, _NOWHERE = ("sources", "notify"), "sqlite:///nowhere"


@dataclass(frozen=True, slots=True)
class Examined:
    """What a configuration holds, or its faults."""

    configuration: Configuration | None  # None where there are faults
    filling: Filling
    directory: Path  # of the file: relative paths of the files that are the store and sources start there
    # each with the name of its model; None where it is no single model's.
    faults: tuple[tuple[str | None, str], ...] = ()

    @property
    def settings(self) -> Settings:
        """Plain settings.

        Raises
        ------
        ConfigurationError
            with every fault.
        """
        if self.configuration is None:
            raise ConfigurationError([text for _, text in self.faults])
        settings = build(self.configuration, hide=self.filling.hide_models, written=self.filling.written)
        return replace(
            settings,
            store_url=beside(settings.store_url, self.directory),
            sources=tuple(
                replace(source, url=beside(source.url, self.directory)) for source in settings.sources
            ),
        )


def settings_of(path: Path, environ: Mapping[str, str], *, outside: bool = True) -> Settings:
    """Read a TOML file, and those that it includes, into plain settings.

    Parameters
    ----------
    environ
        environment for `${NAME}`.
    outside
        False: neither sources nor channels will be opened, so the places in their URLs need not be filled.

    Raises
    ------
    ConfigurationError
        with every fault of the files, each with its path in its file; secrets are in none of them.
    """
    return examine(path, environ, outside=outside).settings


def model_of(table: Mapping[str, Any], called: Callable[[Loc], str]) -> ModelSpec:
    """One model that stands in no file: its keys are those of `[[models]]`, its source is in memory.

    Parameters
    ----------
    called
        how messages name the place of a key below the model.

    Raises
    ------
    ConfigurationError
        with every fault.
    """
    document = {"sources": {_MEMORY: {"url": "sqlite://"}}, "models": [{**table, "source": _MEMORY}]}
    validated = _validated(document)
    faults = [] if isinstance(validated, Configuration) else validated
    faults = [*faults, *_semantic_faults(document, [])]
    if faults or not isinstance(validated, Configuration):
        lines = (f"{called(fault.loc[2:])}: {fault.text}" for fault in faults)
        raise ConfigurationError(list(dict.fromkeys(lines)))
    return build(validated).models[0]


def examine(path: Path, environ: Mapping[str, str], *, outside: bool = True) -> Examined:
    """Read a TOML file, and those that it includes, and name every fault at once.

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
    if not outside:
        _leave_closed(document, filling)
    merged = _with_defaults(document)
    validated = _validated(merged)
    faults = [*included.faults, *_faults_of_defaults(document), *_semantic_faults(merged, filling.faults)]
    faults += _channel_faults(merged)
    if not isinstance(validated, Configuration):
        faults = [*validated, *faults]
    if isinstance(validated, Configuration) and not faults and not filling.faults:
        return Examined(validated, filling, path.parent)
    return Examined(None, filling, path.parent, _lines(document, filling, faults, included))


def _leave_closed(document: Mapping[str, Any], filling: Filling) -> None:
    """Put a URL that leads nowhere in place of those of sources and channels that could not be filled."""
    for fault in [fault for fault in filling.faults if fault.loc[0] in _OUTSIDE and fault.loc[-1] == "url"]:
        value_at(fault.loc[:-1], document)["url"] = _NOWHERE
        filling.faults.remove(fault)


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
    sources = merged.get("sources")
    failed = [fault.loc for fault in unfilled]
    checked = [_sound(at, model, failed) for at, model in _tables(merged.get("models"))]
    return model_faults(checked, list(sources) if isinstance(sources, dict) else [])


def _sound(at: int, table: Mapping[str, Any], failed: Sequence[Loc]) -> CheckableModel:
    """Make a model of those keys that are well-formed by themselves, and name the others."""
    meant = as_meant(("models", at), table)
    own = (loc[2:3] for loc in failed if loc[:2] == ("models", at))
    inherited = (loc[1:2] for loc in failed if loc[0] == "defaults")
    unsound = {key for keys in (*own, *inherited) for key in keys}
    model = ModelTable.model_construct()
    for key, info in ModelTable.model_fields.items():
        if key not in meant:
            unsound |= {key} if info.is_required() else set()
            continue
        try:
            setattr(model, key, meant[key])
        except ValidationError:
            unsound.add(key)
    return CheckableModel(at, model, frozenset(unsound))


def _channel_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of channels: names that are there twice, models that are not there."""
    models = [str(model.get("name")) for _, model in _tables(document.get("models"))]
    first: dict[str, int] = {}
    for at, channel in _tables(document.get("notify")):
        name, named = channel.get("name"), channel.get("models")
        if isinstance(name, str) and (other := first.setdefault(name, at)) != at:
            text = f"every channel has a name of its own: notify[{other}] has the same"
            yield Fault(("notify", at, "name"), text)
        for place, model in enumerate(named if isinstance(named, list) else []):
            if isinstance(model, str) and model not in models:
                rule = f"no such model (the models are {listed(models)})"
                text = f"{rule}: got {quoted(model)}{did_you_mean(model, models)}"
                yield Fault(("notify", at, "models", place), text)


def _tables(value: Any) -> list[tuple[int, dict[str, Any]]]:
    entries = enumerate(value) if isinstance(value, list) else ()
    return [(at, entry) for at, entry in entries if isinstance(entry, dict)]


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
