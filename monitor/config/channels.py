"""What `[[notify]]` says about the models."""

from collections.abc import Iterator, Mapping
from typing import Any

from monitor.config.faults import Fault
from monitor.config.messages import did_you_mean, listed, quoted


def channel_faults(document: Mapping[str, Any]) -> list[Fault]:
    """Faults of channels: names that are there twice, models that are not there."""
    notify, models = document.get("notify"), document.get("models")
    names = [str(model.get("name")) for _, model in _tables(models)]
    return [*_repeated(_tables(notify)), *_unknown(_tables(notify), names)]


def _tables(found: Any) -> list[tuple[int, dict[str, Any]]]:
    entries = enumerate(found) if isinstance(found, list) else ()
    return [(at, entry) for at, entry in entries if isinstance(entry, dict)]


def _repeated(tables: list[tuple[int, dict[str, Any]]]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for at, channel in tables:
        name = channel.get("name")
        if isinstance(name, str) and (other := first.setdefault(name, at)) != at:
            text = f"every channel has a name of its own: notify[{other}] has the same"
            yield Fault(("notify", at, "name"), text)


def _unknown(tables: list[tuple[int, dict[str, Any]]], models: list[str]) -> Iterator[Fault]:
    for at, channel in tables:
        named = channel.get("models")
        for place, name in enumerate(named if isinstance(named, list) else []):
            if isinstance(name, str) and name not in models:
                known = f"no such model (the models are {listed(models)})"
                text = f"{known}: got {quoted(name)}{did_you_mean(name, models)}"
                yield Fault(("notify", at, "models", place), text)
