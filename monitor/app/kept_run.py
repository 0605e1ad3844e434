"""What the store keeps of the configured models, to be read: no source is opened, nothing is counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from monitor.core.clock import LAST
from monitor.core.errors import ConfigurationError
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_row import StoredMeasurement
from monitor.sentences.label_sentences import add_settling_moments
from monitor.sentences.reason_words import OF_THE_PAST
from monitor.show.measurement_tables import ALIASES
from monitor.specs.fault_words import did_you_mean, quote_names, suggest_word
from monitor.specs.model_spec import ModelSpec, SourceSpec
from monitor.specs.settings import Settings
from monitor.store import LIVE
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import open_to_read

_LISTED = 8  # names of a message


@dataclass(slots=True)
class KeptRun:
    """Opened store of a configuration."""

    settings: Settings
    base: Path  # directory of the configuration file: relative paths of reference files start there
    store: SqlStore

    def find_spec(self, name: str) -> ModelSpec:
        """Specification of a model.

        Raises
        ------
        ConfigurationError
            if there is no such model.
        """
        return self._require_configured(name)[0]

    def _require_configured(self, name: str) -> tuple[ModelSpec, SourceSpec]:
        configured = self.find_configured(name)
        if configured is not None:
            return configured
        if self.is_history_only(name):
            kept = "its history is kept, but it is not configured, or enabled = false"
            raise ConfigurationError([f'model "{name}": {kept}: it cannot be counted'])
        names = [model.name for model in self.settings.models]
        others = f"the configuration has {quote_names(names)}{did_you_mean(name, names)}"
        raise ConfigurationError([f'there is no model "{name}": {others}'])

    def find_configured(self, name: str) -> tuple[ModelSpec, SourceSpec] | None:
        """What is configured of a model and of its source now; None: there is no such model."""
        settings = self.settings  # one and the same, should another be put in use meanwhile
        specs = (model for model in settings.models if model.name == name)
        return next(((model, settings.find_source(model.source)) for model in specs), None)

    def is_history_only(self, name: str | None) -> bool:
        """Whether there is nothing but a history of a model: it was removed, or is disabled."""
        return (
            name is not None
            and self.find_configured(name) is None
            and bool(self.store.histories.list_runs(name))
        )

    def model_names(self, chosen: str | None = None) -> list[str]:
        """Names of all models, or the chosen one."""
        return (
            [model.name for model in self.settings.models]
            if chosen is None
            else [self.find_spec(chosen).name]
        )


@contextmanager
def open_kept_run(settings: Settings, base: Path, run: str = LIVE) -> Iterator[KeptRun]:
    """What is kept of a run, closed at the end."""
    kept_run = KeptRun(settings, base, open_to_read(settings.store.url, run))
    try:
        yield kept_run
    finally:
        kept_run.store.close()


def refuse_unknown_names(
    kept_run: KeptRun, model: str | None, window: str | None, measure: str | None
) -> None:
    """Refuse names that no row can have; a model that is configured no more, but kept, has rows.

    Raises
    ------
    ConfigurationError
        with a suggestion.
    """
    gone = kept_run.is_history_only(model)
    specs = [] if gone else [kept_run.find_spec(name) for name in kept_run.model_names(model)]
    windows = list(dict.fromkeys(window.name for spec in specs for window in spec.windows))
    faults = []
    if window and window not in windows and not gone:
        faults.append(
            f'there is no window "{window}": the configuration has {quote_names(windows)}'
            f"{did_you_mean(window, windows)}"
        )
    if measure and measure not in BY_NAME:
        meant = did_you_mean(ALIASES.get(measure.lower(), measure), BY_NAME)
        faults.append(f'there is no measure "{measure}"{meant}; docs/measures.md has them all')
    if faults:
        raise ConfigurationError(faults)


def read_chosen_rows(
    kept_run: KeptRun,
    *,
    model: str | None,
    as_of: int | None = None,
    history: bool = False,
    end: int | None = None,
    **named: str | None,
) -> list[StoredMeasurement]:
    """Current rows, or kept ones where a history, a moment or an end is asked for.

    Parameters
    ----------
    as_of
        of each window, measure, … the newest kept row at or before it; with `history` all of them.
    end
        of windows that end then alone.
    named
        window, measure, subject, segment, version; the last three empty: the whole model; None: any.
    """
    if history or as_of is not None or end is not None:
        known = LAST if as_of is None else as_of
        rows = kept_run.store.snapshots.read_snapshot_rows(
            model=model,
            ends=(None, None) if end is None else (end - 1, end),
            as_of=None if history else known,
            **named,
        )
        return [stored for stored in rows if stored.as_of <= known]
    return [
        stored
        for stored in add_settling_moments(kept_run.store.current.read_current(model))
        if all(value is None or (getattr(stored.row, field) or "") == value for field, value in named.items())
    ]


def refuse_absent_names(
    kept_run: KeptRun,
    model: str | None,
    window: str | None,
    *,
    subject: str | None,
    segment: str | None,
    version: str | None,
) -> None:
    """Refuse names that no current measurement bears; before the first cycle any but those of windows.

    Raises
    ------
    ConfigurationError
        with a suggestion.
    """
    rows = [stored.row for stored in kept_run.store.current.read_current(model)]
    asked = {"subject": subject, "segment": segment, "version": version}
    faults = []
    if rows and window and all(row.window != window for row in rows):
        faults.append(
            f"of the window {window} nothing has been measured yet: {OF_THE_PAST}, under a name of its own"
        )
    for field_name, value in asked.items():
        names = sorted({getattr(row, field_name) or "" for row in rows} - {""})
        if value and not rows:
            faults.append(f'whether there is a {field_name} "{value}" is known after the first cycle')
        elif value and value not in names:
            there = f"there are {quote_names(names[:_LISTED])}" if names else f"no {field_name} is measured"
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            meant = _suggestion_words(value, names)
            faults.append(f'there is no {field_name} "{value}": {there}{more}{meant}')
    if rows and not faults and any(asked.values()):
        of = ", ".join(f'{name} "{value}"' for name, value in asked.items() if value)
        faults.append(f"no measurement is of {of} and of all else that was asked for: ask for less at once")
    if faults:
        raise ConfigurationError(faults)


def _suggestion_words(value: str, names: list[str]) -> str:
    """End of a message that names what was meant: a feature or class may lack its kind, or its end.

    >>> (_suggestion_words("AnnualInc", ["feature:AnnualIncome", "feature:Age"]),
    ... _suggestion_words("hum", ["feature:humid_pct"]))
    ('; did you mean "feature:AnnualIncome"?', '; did you mean "feature:humid_pct"?')
    """
    known = {name.lower(): name for name in names}
    ends = {name: name.partition(":")[2] or name.partition("=")[2] or name for name in names}
    known = {end.lower(): name for name, end in ends.items()} | known
    begun = (option for option in known if option.startswith(value.lower()))
    found = suggest_word(value, known) or next(begun, None)
    return "" if found is None else f'; did you mean "{known[found]}"?'
