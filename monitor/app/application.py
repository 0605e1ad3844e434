"""Wiring: settings to stores, sources, models, the daemon."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from monitor.app.clocks import system_clock
from monitor.app.kept_run import KeptRun
from monitor.app.provenance import running_code_version
from monitor.core.clock import SECOND, floor_to, format_duration, to_iso
from monitor.core.errors import LeaseLost, SourceError, StoreError
from monitor.core.secrets import hide_secrets
from monitor.core.text import brief_line, content_hash
from monitor.core.version import VERSION
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle_model import CycleModel
from monitor.records.counting import Counting
from monitor.records.effect_table import NO_EFFECTS
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import (
    Reference,
    count_on_grids,
    make_plain_counting,
    reference_of,
    with_effects,
)
from monitor.sentences.trouble_sentences import (
    empty_tables_sentence,
    is_same_trouble,
    is_trouble_over,
    missing_columns_sentence,
    other_labels_sentence,
)
from monitor.sources import SqlSource, open_source
from monitor.sources.reference_loading import load_reference
from monitor.sources.source_meter import UNUSED, SourceUsage
from monitor.specs.model_spec import ModelSpec, ReferenceSpec, SourceSpec
from monitor.specs.protocols import CycleReport, Lease, Source
from monitor.specs.reference_choice import (
    NO_SEGMENTS,
    choose_reference,
    empty_reference_sentence,
    made_of,
    version_specs,
    why_reference_unfinished,
)
from monitor.specs.settings import Settings
from monitor.store import LIVE
from monitor.store.coordination.daemons import WHOLE_RUN
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import open_store, open_to_read


@dataclass(slots=True)
class App(KeptRun):
    """What is kept, and the opened sources; models are made ready when they are asked for."""

    keeps: bool = True  # False: nothing is written, a reference that is read is not kept
    owner: str = field(default_factory=lambda: f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex[:8]}")
    _sources: dict[str, tuple[SourceSpec, SqlSource]] = field(default_factory=dict)
    _models: dict[str, tuple[tuple[ModelSpec, SourceSpec], CycleModel, ModelCaches]] = field(
        default_factory=dict
    )
    _tokens: dict[str, int] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _opening: threading.Lock = field(default_factory=threading.Lock)

    def open_source_once(self, name: str) -> SqlSource:
        """Source by name, opened once: its bounds hold for all of its models.

        One that is configured otherwise since is opened anew; what runs on the old one comes to its end.
        """
        return self._open_source(self.settings.find_source(name))

    def source_usage(self) -> dict[str, SourceUsage]:
        """What has been used of each source, and whether it answers."""
        with self._opening:
            return {name: source.usage for name, (_, source) in self._sources.items()}

    def source_silence_by_model(self) -> dict[str, str]:
        """Models whose source does not answer, each with a sentence that names it."""
        sentences = {
            name: f'source "{name}": no answer for {format_duration(int(usage.silent) * SECOND)}: {usage.why}'
            for name, usage in self.source_usage().items()
            if usage.why
        }
        return {
            model.name: sentences[model.source] for model in self.settings.models if model.source in sentences
        }

    def find_cycle_model(self, name: str, as_of: int | None = None) -> CycleModel:
        """A model with its engines, as it is configured now: see `prepare_model`."""
        return self.prepare_model(name, as_of)[0]

    def prepare_model(self, name: str, as_of: int | None = None) -> tuple[CycleModel, ModelCaches]:
        """A model, as it is configured now, and its caches; its reference is read on first use and kept.

        `as_of`: of the cycle, None: now. What is no reference yet, without rows or a range of the log that
        ends later, is looked at again each time.
        """
        configured = self._require_configured(name)
        (spec, source), at = configured, system_clock() if as_of is None else as_of
        before, model, caches = self._models.get(name, (None, None, None))
        if model is None or caches is None or before != configured:
            model = self._make_model(spec, source, at)
            caches = ModelCaches.from_model(model)
            if spec.reading.serving:
                from monitor.advice.model_checks import (
                    unserved_warnings,  # what looks at tables, for this alone
                )

                for warning in unserved_warnings(spec, self._open_source(source), at):
                    self._warn_once(name, warning)
        elif _lacks_reference(model):
            again = self._make_model(spec, source, at)
            if again.reference_key != model.reference_key:
                model, caches = again, ModelCaches.from_model(again)
        self._models[name] = configured, model, caches
        return model, caches

    def forget_caches(self, name: str) -> None:
        """Drop a model's caches, so that the next use starts from the store."""
        self._models.pop(name, None)

    def note_trouble(self, report: CycleReport) -> None:
        """Keep what stood in the way of a cycle, for `status` and the pages; or that nothing does any more.

        A cycle without new rows cannot say that columns are back, one without new labels not that these are.
        """
        sentence = hide_secrets(brief_line(report.error or next(iter(list_cycle_troubles(report)), "")))
        if not self.keeps:
            return
        troubles = self.store.troubles
        with suppress(StoreError):  # which is told of elsewhere, and why the cycle failed, if it did
            before = troubles.read_troubles().get(report.model)  # noted by any of the daemons
            if sentence:
                if before is not None and not before.failed and not is_same_trouble(before.told, sentence):
                    troubles.clear_trouble(report.model)  # the new one begins now
                troubles.note_trouble(
                    report.model, report.as_of, failed=report.error is not None, sentence=sentence
                )
            elif before is not None and is_trouble_over(
                before, rows=report.rows_read, labels_known=report.new_labels.are_known
            ):
                troubles.clear_trouble(report.model)

    def forget_removed(self) -> None:
        """Drop the models that are configured no more, and close such sources; what runs comes to its end."""
        for name in [*self._models]:
            if self.find_configured(name) is None:
                self.forget_caches(name)
        with self._opening:
            for name in {*self._sources}.difference(source.name for source in self.settings.sources):
                self._sources.pop(name)[1].close()

    @contextmanager
    def lease_model(self, name: str) -> Iterator[Lease]:
        """Hold the lease of a configured model: see `held`."""
        with self.hold_lease(name) as lease:
            self.find_spec(name)  # it may have been renamed or removed until now
            yield lease

    @contextmanager
    def hold_lease(self, name: str) -> Iterator[Lease]:
        """Hold a lease by name. What is cached is dropped if another process had it meanwhile.

        Raises
        ------
        LeaseLost
            if another process has it.
        """
        ttl = self.settings.daemon.lease_ttl
        token = self.store.leases.claim_lease(name, self.owner, ttl)
        if token is None:
            raise LeaseLost(
                f"another process runs a cycle of this model ({lease_owner_words(self.store, name)})"
            )
        if token != self._tokens.get(name, token - 1) + 1:
            self.forget_caches(name)
        self._tokens[name] = token
        try:
            yield Lease(token, ttl, time.monotonic, time.monotonic())
        finally:
            with suppress(StoreError):  # one that cannot be given back expires; what was done stays done
                self.store.leases.release_lease(name, token)

    @property
    def fingerprint(self) -> str:
        """Hash of all that is configured of the models, and of the program's version."""
        models = sorted((model.name, model.config_hash) for model in self.settings.models)
        return content_hash([VERSION, models])

    def close_all(self) -> None:
        """Close the sources and the store."""
        for _, source in self._sources.values():
            source.close()
        self.store.close()

    def _open_source(self, spec: SourceSpec) -> SqlSource:
        with self._opening:
            before, source = self._sources.get(spec.name, (None, None))
            if source is None or before != spec:
                spent = UNUSED if source is None else source.usage
                if source is not None:
                    source.close()
                source = open_source(spec, store_url=self.settings.store.url, spent=spent)
                self._sources[spec.name] = spec, source
            return source

    def _make_model(self, spec: ModelSpec, of_source: SourceSpec, at: int) -> CycleModel:
        if self.keeps:
            self.store.configurations.save_configuration(spec.config_hash, spec.name, spec.config)
        source = self._open_source(of_source)
        reference, key = None, ""
        if spec.reference is not None:
            reference, key = self._load_or_keep_reference(
                spec, lambda: _read_reference(spec, source, self.base), at
            )
            if reference is not None and reference.effects is None and spec.keys.effects and self.keeps:
                reference = self._learn_effects(spec, source, reference, key)
        counting = reference.counting if reference else make_plain_counting(spec.reading)
        counting = replace(counting, reading=resolve_reading(spec.reading, counting.reading))
        if reference is not None:
            reference = replace(reference, counting=counting)
        whole = replace(spec, reading=counting.reading)
        versions = [] if reference is None else list(version_specs(whole))
        own = {version: self._version_reference(part, source, counting, at) for version, part in versions}
        if spec.reading.segments and reference is None:
            self._warn_once(spec.name, NO_SEGMENTS)
        return CycleModel(
            spec=whole,
            counting=counting,
            reference=reference,
            version_references={version: part for version, (part, _) in own.items() if part is not None},
            reference_key=" ".join(part for part in (key, *(each for _, each in own.values())) if part),
            source=source,
            store=self.store,
            code=running_code_version(),
            at_once=source.at_once,
            audit_every=of_source.audit,
            retention=self.settings.store.retention,
            thin=self.settings.store.thin,
        )

    def _version_reference(
        self, spec: ModelSpec, source: Source, counting: Counting, at: int
    ) -> tuple[Reference | None, str]:
        """Reference of a version, on the grids of its model."""

        def read() -> Reference:
            return count_on_grids(load_reference(spec, source, self.base)[0], counting)

        reference, key = self._load_or_keep_reference(spec, read, at, counting.hash)
        return None if reference is None else replace(reference, counting=counting), key

    def _load_or_keep_reference(
        self, spec: ModelSpec, read: Callable[[], Reference], at: int, grids: str = ""
    ) -> tuple[Reference | None, str]:
        """The kept reference of a specification and its key; it is read and kept once it has rows."""
        reference_spec = spec.reference or ReferenceSpec()
        if warning := why_reference_unfinished(spec, at):
            return self._warn_no_reference(spec, warning)
        choice = choose_reference(
            spec, self.base, self.store.references.list_reference_keys(spec.name), grids
        )
        if choice.warning:
            self._warn_once(spec.name, choice.warning)
        reference = self.store.references.read_reference(choice.key)
        if reference is None:
            reference = read()
            if not reference.n:
                return self._warn_no_reference(spec, empty_reference_sentence(reference_spec))
            reference = self._keep_reference(spec, reference, choice.key)
        return reference, choice.key

    def _keep_reference(self, spec: ModelSpec, reference: Reference, key: str) -> Reference:
        """The reference as it is kept: effects that another process has learnt before are taken."""
        if not self.keeps:
            return reference
        made = hide_secrets(made_of(spec.reference or ReferenceSpec(), key))
        self.store.references.save_reference(key, spec.name, reference, made)
        return self.store.references.read_reference(key) or reference

    def _learn_effects(self, spec: ModelSpec, source: Source, kept: Reference, key: str) -> Reference:
        """A reference that was kept without looking at effects, with them if its rows are still the same."""
        try:
            again = _read_reference(spec, source, self.base)
        except SourceError:  # its file or its table is gone
            return kept
        same = again.counting.hash == kept.counting.hash and again.records == kept.records
        return self._keep_reference(spec, replace(kept, effects=again.effects if same else NO_EFFECTS), key)

    def _warn_no_reference(self, spec: ModelSpec, warning: str) -> tuple[None, str]:
        reading = spec.reading
        if reading.task is ModelTask.MULTICLASS and not (reading.classes or reading.probabilities):
            raise SourceError(
                f"its classes are those of the reference, and {warning}: name them in classes.values"
            )
        self._warn_once(spec.name, warning)
        return None, ""

    def _warn_once(self, name: str, warning: str) -> None:
        """Say it once."""
        text = f'model "{name}": {warning}'
        if text not in self._warned:
            logging.getLogger(__name__).warning("%s", text)
        self._warned.add(text)


@contextmanager
def open_application(settings: Settings, base: Path, run: str = LIVE, *, keeps: bool = True) -> Iterator[App]:
    """An application on its store, closed at the end."""
    app = App(settings, base, open_store(settings.store.url, run), keeps)
    try:
        yield app
    finally:
        app.close_all()


@contextmanager
def open_application_readonly(settings: Settings, base: Path, run: str = LIVE) -> Iterator[App]:
    """An application that writes nothing, on a store that is there; closed at the end."""
    app = App(settings, base, open_to_read(settings.store.url, run), keeps=False)
    try:
        yield app
    finally:
        app.close_all()


def list_cycle_troubles(report: CycleReport) -> list[str]:
    """What a cycle met that did not stop it, the worst first."""
    labels = report.new_labels
    other = ""
    if labels.are_other:
        other = other_labels_sentence(labels.n, labels.unknown, labels.words, numbers=labels.numbers)
    told = (
        empty_tables_sentence(report.empty_tables),
        missing_columns_sentence(report.missing_columns),
        other,
    )
    return [each for each in told if each]


def lease_owner_words(store: SqlStore, name: str) -> str:
    """Who has the lease of a model, or with no name the run, and until when if it was killed: in words."""
    owners = store.daemons.list_holders(name)
    if not owners:
        return "it has just ended"
    processes = [owner.rpartition("/")[0].rpartition("/") for owner, _ in owners]
    words = ", ".join(f"process {process} on {host}" for host, _, process in processes)
    if name == WHOLE_RUN and store.is_file_database:  # a file's lock dies with its process
        return words
    last = max(expires_at for _, expires_at in owners)
    return f"{words}; if it was killed, wait until {to_iso(floor_to(last, SECOND) + SECOND)}"


def _read_reference(spec: ModelSpec, source: Source, base: Path) -> Reference:
    """A reference, counted, and what its features do to the score."""
    table, reading = load_reference(spec, source, base)
    reference = reference_of(table, reading)
    return with_effects(reference, table) if spec.keys.effects else reference


def _lacks_reference(model: CycleModel) -> bool:
    reference_spec = model.spec.reference
    return reference_spec is not None and len(model.reference_key.split()) <= len(reference_spec.versions)


def resolve_reading(configured: ReadingOptions, reading: ReadingOptions) -> ReadingOptions:
    """Configured options with the features, classes and segments that the reference fixed."""
    return replace(
        configured,
        numeric=reading.numeric,
        categorical=reading.categorical,
        classes=reading.classes,
        segments=reading.segments,
    )
