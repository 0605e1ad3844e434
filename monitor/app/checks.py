"""What `monitor check` looks at beyond the file: the store, the tables, the references."""

from pathlib import Path

from monitor.app.references import choose
from monitor.app.wiring import LIVE
from monitor.core.errors import MonitorError, SourceError, StoreError
from monitor.sources import open_source
from monitor.sources.inspect import inspect_model
from monitor.sources.reference import load_reference
from monitor.specs.model import ModelSpec, SourceSpec
from monitor.specs.settings import Settings
from monitor.store.engine import is_newest, open_store


def check_tables(settings: Settings, base: Path) -> tuple[list[str], list[str]]:
    """Faults and warnings of the store and of every model's tables, each with where it was found.

    Parameters
    ----------
    base
        directory of the configuration file.
    """
    faults, warnings = _store(settings), list[str]()
    for model in settings.models:
        found, odd = _model(settings, model, base)
        faults += [f'model "{model.name}": {text}' for text in found]
        warnings += [f'model "{model.name}": {text}' for text in odd]
    return faults, warnings


def found_features(settings: Settings, base: Path) -> list[str]:
    """Of each model whose features are found by themselves: which they are."""
    lines = []
    for model in settings.models:
        if not model.find_features:
            continue
        source = open_source(_source(settings, model), store_url=settings.store_url)
        try:
            _, reading = load_reference(model, source, base)
        finally:
            source.close()
        numeric, categorical = (
            ", ".join(names) or "none" for names in (reading.numeric, reading.categorical)
        )
        lines.append(f'model "{model.name}": numeric features: {numeric}; categorical: {categorical}')
    return lines


def _store(settings: Settings) -> list[str]:
    if settings.store_url.startswith("sqlite"):
        return []  # made and migrated by the first command that writes
    try:
        open_store(settings.store_url, LIVE).close()
    except StoreError as error:
        return [str(error)]
    return []


def _model(settings: Settings, model: ModelSpec, base: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        source = open_source(_source(settings, model), store_url=settings.store_url)
    except SourceError as error:
        return (str(error),), ()
    try:
        found = inspect_model(model, source, base)
    except MonitorError as error:
        return (str(error),), ()
    finally:
        source.close()
    return found.faults, (*found.warnings, *_reference(settings, model, base))


def _reference(settings: Settings, model: ModelSpec, base: Path) -> list[str]:
    """Warn of a reference file that is not the one kept last."""
    if model.reference is None or model.reference.file is None:
        return []
    try:
        if not is_newest(settings.store_url):
            return []
        store = open_store(settings.store_url, LIVE)
        try:
            chosen = choose(model, base, store.reference_keys(model.name))
        finally:
            store.close()
    except MonitorError:
        return []  # said of the store, or of the reference, already
    return [chosen.warning] if chosen.warning else []


def _source(settings: Settings, model: ModelSpec) -> SourceSpec:
    return settings.source(model.source)
