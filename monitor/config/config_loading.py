"""The configuration file, read: secrets filled in, defaults merged, every fault at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from monitor.config.build_settings import build_settings
from monitor.config.config_faults import ConfigFault, correct_mistyped_keys, structural_faults
from monitor.config.file_places import Loc, place_origin, place_position, place_text, value_at
from monitor.config.included_files import IncludedFiles, document_of, include_files
from monitor.config.key_checks import CheckableModel, model_faults
from monitor.config.schema import Configuration
from monitor.config.secret_filling import PlaceFilling
from monitor.core.errors import ConfigurationError
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.specs.model_spec import ModelSpec
from monitor.specs.model_table import ModelTable
from monitor.specs.settings import Settings
from monitor.specs.urls import resolve_url

_MEMORY = "memory"  # name of a source that is none
_OUTSIDE, _NOWHERE = ("sources", "notify"), "sqlite:///nowhere"


class _UncheckedKeys(ModelTable):
    """Keys of a model that are set one by one, each checked by itself."""

    model_config = ConfigDict(frozen=False, validate_assignment=True)


@dataclass(frozen=True, slots=True)
class ExaminedFile:
    """What a configuration holds, or its faults."""

    configuration: Configuration | None  # None where there are faults
    filling: PlaceFilling
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
        settings = build_settings(
            self.configuration, hide=self.filling.hide_models, written=self.filling.written
        )
        return replace(
            settings,
            store=replace(settings.store, url=resolve_url(settings.store.url, self.directory)),
            sources=tuple(
                replace(
                    source,
                    url=resolve_url(source.url, self.directory),
                    catalog=None if source.catalog is None else resolve_url(source.catalog, self.directory),
                )
                for source in settings.sources
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
    return examine_file(path, environ, outside=outside).settings


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
    validated = _validate_configuration(document)
    faults = [] if isinstance(validated, Configuration) else validated
    faults = [*faults, *_semantic_faults(document, [])]
    if faults or not isinstance(validated, Configuration):
        lines = (f"{called(fault.loc[2:])}: {fault.text}" for fault in faults)
        raise ConfigurationError(list(dict.fromkeys(lines)))
    return build_settings(validated).models[0]


def examine_file(path: Path, environ: Mapping[str, str], *, outside: bool = True) -> ExaminedFile:
    """Read a TOML file, and those that it includes, and name every fault at once.

    Raises
    ------
    ConfigurationError
        if the file is not there, or is no TOML.
    """
    filling = PlaceFilling(environ)
    written = document_of(path)
    patterns = filling.fill_value(written.get("include"), ("include",))
    included = include_files(path, written, patterns)
    document = {
        key: patterns if key == "include" else filling.fill_value(value, (key,))
        for key, value in included.document.items()
    }
    if not outside:
        _leave_closed(document, filling)
    merged = _with_defaults(document)
    validated = _validate_configuration(merged)
    faults = [*included.faults, *_faults_of_defaults(document), *_semantic_faults(merged, filling.faults)]
    faults += _channel_faults(merged)
    if not isinstance(validated, Configuration):
        faults = [*validated, *faults]
    if isinstance(validated, Configuration) and not faults and not filling.faults:
        return ExaminedFile(validated, filling, path.parent)
    return ExaminedFile(None, filling, path.parent, _fault_lines(document, filling, faults, included))


def _leave_closed(document: Mapping[str, Any], filling: PlaceFilling) -> None:
    """Put a URL that leads nowhere in place of those of sources and channels that could not be filled."""
    for fault in [
        fault for fault in filling.faults if fault.loc[0] in _OUTSIDE and fault.loc[-1] in ("url", "catalog")
    ]:
        value_at(fault.loc[:-1], document)[fault.loc[-1]] = _NOWHERE
        filling.faults.remove(fault)


def _faults_of_defaults(document: Mapping[str, Any]) -> list[ConfigFault]:
    defaults = document.get("defaults")
    named = isinstance(defaults, dict) and "name" in defaults
    return [ConfigFault(("defaults", "name"), "each model has a name of its own")] if named else []


def _with_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `defaults` into every model; what a model itself says wins."""
    merged, defaults, models = dict(document), document.get("defaults"), document.get("models")
    if isinstance(defaults, dict) and isinstance(models, list):
        merged["models"] = [
            _merge_defaults(defaults, model) if isinstance(model, dict) else model for model in models
        ]
    return merged


def _merge_defaults(defaults: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of both; of a table in both, its keys of both. Deeper values (a matrix) are replaced whole."""
    both = {key for key in defaults if isinstance(defaults[key], dict) and isinstance(model.get(key), dict)}
    return {**defaults, **model, **{key: {**defaults[key], **model[key]} for key in both}}


def _validate_configuration(merged: Mapping[str, Any]) -> Configuration | list[ConfigFault]:
    try:
        return Configuration.model_validate(merged)
    except ValidationError as error:
        return structural_faults(error.errors(), merged)


def _semantic_faults(merged: Mapping[str, Any], unfilled: Sequence[ConfigFault]) -> list[ConfigFault]:
    sources = merged.get("sources")
    failed = [fault.loc for fault in unfilled]
    checked = [_make_checkable_model(at, model, failed) for at, model in _model_tables(merged.get("models"))]
    return model_faults(checked, list(sources) if isinstance(sources, dict) else [])


def _make_checkable_model(at: int, table: Mapping[str, Any], failed: Sequence[Loc]) -> CheckableModel:
    """Make a model of those keys that are well-formed by themselves, and name the others."""
    meant = correct_mistyped_keys(("models", at), table)
    own = (loc[2:3] for loc in failed if loc[:2] == ("models", at))
    inherited = (loc[1:2] for loc in failed if loc[0] == "defaults")
    unsound = {key for keys in (*own, *inherited) for key in keys}
    model = _UncheckedKeys.model_construct()
    for key, info in ModelTable.model_fields.items():
        if key not in meant:
            unsound |= {key} if info.is_required() else set()
            continue
        try:
            # Validated as it is set: a malformed key does not hide what the others say together.
            setattr(model, key, meant[key])
        except ValidationError:
            unsound.add(key)
    return CheckableModel(at, model, frozenset(unsound))


def _channel_faults(document: Mapping[str, Any]) -> Iterator[ConfigFault]:
    """Faults of channels: names that are there twice, models that are not there."""
    models = [str(model.get("name")) for _, model in _model_tables(document.get("models"))]
    first: dict[str, int] = {}
    for at, channel in _model_tables(document.get("notify")):
        name, named = channel.get("name"), channel.get("models")
        if isinstance(name, str) and (other := first.setdefault(name, at)) != at:
            text = f"every channel has a name of its own: notify[{other}] has the same"
            yield ConfigFault(("notify", at, "name"), text)
        for place, model in enumerate(named if isinstance(named, list) else []):
            if isinstance(model, str) and model not in models:
                rule = f"no such model (the models are {quote_names(models)})"
                text = f"{rule}: got {quote_value(model)}{did_you_mean(model, models)}"
                yield ConfigFault(("notify", at, "models", place), text)
    yield from _report_faults(document, list(first))


def _report_faults(document: Mapping[str, Any], channels: Sequence[str]) -> Iterator[ConfigFault]:
    """Faults of reports that are sent: channels that are not there, no address to which they could link."""
    http = document.get("http")
    has_address = isinstance(http, dict) and http.get("url")
    for at, model in _model_tables(document.get("models")):
        report = model.get("report")
        if not isinstance(report, dict):
            continue
        if not has_address:
            rule = "the message links to the report's page: [http] url gives the address of the pages"
            yield ConfigFault(("models", at, "report"), rule)
        named = report.get("to")
        for place, channel in enumerate(named if isinstance(named, list) else []):
            if isinstance(channel, str) and channel not in channels:
                there = f"the channels are {quote_names(channels)}" if channels else "there is no [[notify]]"
                text = (
                    f"no such channel ({there}): got {quote_value(channel)}{did_you_mean(channel, channels)}"
                )
                yield ConfigFault(("models", at, "report", "to", place), text)


def _model_tables(value: Any) -> list[tuple[int, dict[str, Any]]]:
    entries = enumerate(value) if isinstance(value, list) else ()
    return [(at, entry) for at, entry in entries if isinstance(entry, dict)]


def _fault_lines(
    document: Mapping[str, Any], filling: PlaceFilling, faults: Sequence[ConfigFault], included: IncludedFiles
) -> tuple[tuple[str | None, str], ...]:
    """Print faults in the order of the file; of what could not be filled nothing else is said."""
    unfilled = {place_text(fault.loc, document) for fault in filling.faults}
    said = [fault for fault in faults if place_text(fault.loc, document) not in unfilled]
    ordered = sorted([*filling.faults, *said], key=lambda fault: place_position(fault.loc, document))
    lines = [
        (
            _model_of(fault.loc, document),
            included.name_included_file(f"{place_text(fault.loc, document)}: {fault.text}", fault.loc),
        )
        for fault in ordered
    ]
    return tuple(
        dict.fromkeys(
            (model and filling.hide_values(model), filling.hide_values(line)) for model, line in lines
        )
    )


def _model_of(loc: Loc, document: Mapping[str, Any]) -> str | None:
    """Name of the model that a place belongs to; None in the defaults of all."""
    name = value_at((*loc[:2], "name"), document) if place_origin(loc, document)[0] == "models" else None
    return name if isinstance(name, str) else None
