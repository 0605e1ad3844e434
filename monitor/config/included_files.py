"""Files that the configuration includes: their models and sources, as if they stood in it."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monitor.config.config_faults import ConfigFault
from monitor.config.file_places import Loc
from monitor.core.errors import ConfigurationError
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value

_HELD = ("models", "sources")
_DEEPEST = 32  # tables and lists within one another
_TOO_DEEP = f"at most {_DEEPEST} tables and lists may stand within one another"
_MODEL = re.compile(r"\bmodels\[(\d+)\]")


@dataclass(slots=True)
class IncludedFiles:
    """What has been read: the document with the included models and sources, where they come from, faults."""

    document: dict[str, Any]
    # (file, position in it) by position in the document.
    models: dict[int, tuple[str, int]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)  # file by name
    faults: list[ConfigFault] = field(default_factory=list)

    def name_included_file(self, line: str, loc: Loc) -> str:
        """A fault's line with the file of what it speaks of, where that is an included one."""
        if loc[:1] == ("sources",) and len(loc) > 1 and loc[1] in self.sources:
            return f"{self.sources[str(loc[1])]}: {line}"
        return _MODEL.sub(self._included_place, line)

    def _included_place(self, match: re.Match[str]) -> str:
        file, at = self.models.get(int(match[1]), ("", int(match[1])))
        return f"{file}: models[{at}]" if file else match[0]


def include_files(path: Path, document: Mapping[str, Any], patterns: object) -> IncludedFiles:
    """Take the files in that match the patterns, in the order of the patterns and of their names.

    Parameters
    ----------
    path
        of the configuration: a relative pattern starts in its directory.
    patterns
        value of `include`, its places filled.
    """
    included = IncludedFiles(dict(document))
    seen = {path.resolve()}
    for at, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
        if not isinstance(pattern, str) or not pattern:
            continue  # a fault of the schema
        files = _matching_files(path.parent, pattern)
        if not files:
            included.faults.append(
                ConfigFault(("include", at), f"no file matches: got {quote_value(pattern)}")
            )
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                shown = file.relative_to(path.parent) if file.is_relative_to(path.parent) else file
                _take_file(included, file, str(shown), at)
    return included


def document_of(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    ConfigurationError
        if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return _refuse_deep_nesting(tomllib.load(file))
    except OSError as error:
        first = "`monitor init` writes a first one, --config or MONITOR_CONFIG names another"
        how = f"; {first}" if isinstance(error, FileNotFoundError) else ""
        raise ConfigurationError([f"{path}: cannot be read: {error.strerror}{how}"]) from error
    except RecursionError as error:
        raise ConfigurationError([f"{path}: {_TOO_DEEP}"]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError([f"{path}: not valid TOML: {error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: not valid TOML: it is not UTF-8 text"]) from error
    except ValueError as error:  # of Python, not of TOML
        raise ConfigurationError([f"{path}: not valid TOML: a number has too many digits"]) from error


def _refuse_deep_nesting(document: dict[str, Any]) -> dict[str, Any]:
    """Refuse what functions that call themselves could not walk through: `RecursionError`."""
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        inner = [table.values() if isinstance(table, dict) else table for table in level]
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
    if level:
        raise RecursionError
    return document


def _matching_files(base: Path, pattern: str) -> list[Path]:
    anchor = Path(pattern).anchor
    start, rest = (Path(anchor), str(Path(pattern).relative_to(anchor))) if anchor else (base, pattern)
    try:
        return sorted(file for file in start.glob(rest) if file.is_file())
    except (ValueError, IndexError, OSError):  # no pattern at all: it matches nothing
        return []


def _take_file(included: IncludedFiles, file: Path, name: str, at: int) -> None:
    loc: Loc = ("include", at)
    try:
        document = document_of(file)
    except ConfigurationError as error:
        included.faults += [ConfigFault(loc, fault) for fault in error.faults]
        return
    for key in document:
        if key not in _HELD:
            rule = "an included file holds [[models]] and [sources.NAME] only"
            hint = did_you_mean(key, _HELD)
            included.faults.append(ConfigFault(loc, f"{name}: {rule}: got {quote_value(key)}{hint}"))
    included.faults += [ConfigFault(loc, f"{name}: {text}") for text in _misshapen_faults(document)]
    _take_models(included, document.get("models"), name)
    _take_sources(included, document.get("sources"), name, loc)


def _misshapen_faults(document: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(document.get("models", []), list):
        yield 'models: must be a list of tables: "[[models]]" instead of "[models]"'
    if not isinstance(document.get("sources", {}), dict):
        yield f"sources: must be a table: got {quote_value(document['sources'])}"


def _take_models(included: IncludedFiles, models: object, name: str) -> None:
    if not isinstance(models, list):
        return
    before = included.document.get("models", [])
    if not isinstance(before, list):
        return  # a fault of the schema
    included.models |= {len(before) + at: (name, at) for at in range(len(models))}
    included.document["models"] = [*before, *models]


def _take_sources(included: IncludedFiles, sources: object, name: str, loc: Loc) -> None:
    before = included.document.get("sources", {})
    if not isinstance(sources, dict) or not isinstance(before, dict):
        return
    twice: Sequence[str] = [name for name, table in sources.items() if before.get(name, table) != table]
    if twice:
        text = (
            f"{name}: every source has a name of its own: {quote_names(twice)} stood otherwise in a file "
            "before"
        )
        included.faults.append(ConfigFault(loc, text))
    new = {source: table for source, table in sources.items() if source not in before}
    included.sources |= dict.fromkeys(new, name)
    included.document["sources"] = {**before, **new}
