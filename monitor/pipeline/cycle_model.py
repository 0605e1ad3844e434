"""A model as it is configured, with its engines: what a cycle works on. Nothing of it changes."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

from monitor.alerts.alert_rules import Acceptance
from monitor.core.clock import DAY, floor_to
from monitor.core.text import content_hash
from monitor.measures.shift.score_effects import ScoreEffects
from monitor.records.counting import Counting
from monitor.records.effect_table import effect_target, make_effect_cells
from monitor.records.labels.count_labels import find_rules_version
from monitor.records.reading import ReadingOptions
from monitor.records.reference import Reference
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import AtOnce, Source
from monitor.specs.read_ranges import oldest_pane
from monitor.specs.stored_rows import ModelState
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import comparison_reach


@dataclass(frozen=True, kw_only=True)
class CountedModel:
    """How one model is counted and measured: all that the arithmetic of a window asks of it."""

    spec: ModelSpec  # its reading is the resolved one of `counting`: features and classes are known
    counting: Counting
    reference: Reference | None
    # of the versions that have their own, on the grids of `reference`.
    version_references: Mapping[str, Reference] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.spec.name

    @property
    def reading(self) -> ReadingOptions:
        """How its rows are read."""
        return self.counting.reading

    @cached_property
    def score_effects(self) -> ScoreEffects | None:
        """What features do to the mean score; None: not learnt, or versions have their own references."""
        reference = self.reference
        if reference is None or reference.effects is None or not reference.effects.is_fitted:
            return None
        if self.version_references or not self.spec.keys.effects:
            return None
        counting, records = self.counting, reference.records
        target, cells = effect_target(counting, records), make_effect_cells(counting, records)
        return ScoreEffects(counting, target, reference.effects, cells, records)


@dataclass(frozen=True, kw_only=True)
class CycleModel(CountedModel):
    """One model in one run."""

    source: Source
    store: SqlStore
    code: str  # version of this program
    # under which the store keeps the reference; of several references their keys, separated by spaces.
    reference_key: str = ""
    # how much of it the source counts at once; None: what fits into memory here.
    at_once: AtOnce | None = None
    audit_every: int = DAY  # microseconds between audits
    retention: int | None = None  # microseconds for which all revisions are kept; None: for ever
    thin: bool = True  # see `select_kept_rows`

    @cached_property
    def label_mapping_hash(self) -> str:
        """Hash of what labels are read by, and of how they are counted: a difference has it in common."""
        predictions, labels = self.spec.predictions, self.spec.labels
        columns = [pair for pair in predictions.columns if not pair[0].startswith("feature:")]
        read = [predictions.table, predictions.query, predictions.where, columns]
        by_labels = None if labels is None else asdict(labels)
        rules = find_rules_version(self.counting)
        return content_hash([rules, read, by_labels, self.reading.horizon, self.reading.tolerance])

    @cached_property
    def whole_label_reason(self) -> str:
        """Why labels are never counted by difference, by a look at the source; empty: where that is exact."""
        return self.source.why_labels_counted_whole(self.spec)

    def find_horizon_start(self, as_of: int) -> int:
        """Start of the oldest pane within the horizon: the horizon is cut at a pane's start."""
        return oldest_pane(self.reading, as_of)

    def find_history_start(self, state: ModelState) -> int:
        """Windows that reach before this are partial: the log's first day, or the first horizon's cut."""
        cut = 0 if state.first_as_of is None else self.find_horizon_start(state.first_as_of)
        return max(floor_to(state.oldest or 0, DAY), cut)

    def longest_window_length(self) -> int:
        """Length of the longest window."""
        return max((window.length for window in self.spec.windows), default=0)

    def find_needed_start(
        self, as_of: int, settled: Mapping[str, int], accepted: Iterable[Acceptance]
    ) -> int:
        """Start of what is measured: windows that end within the horizon, and the newest settled ones.

        What they are compared with begins earlier.

        Parameters
        ----------
        settled
            end of the newest settled window of a name.
        accepted
            changes that are expected.
        """
        spec = self.spec
        starts = [window.start_of(settled[window.name]) for window in spec.windows if window.name in settled]
        starts += [change.start for change in accepted]
        oldest = min(self.find_horizon_start(as_of) - self.longest_window_length(), *starts, as_of)
        names = (*spec.keys.against, *filter(None, [spec.season]))
        against = (comparison_reach(window, name) for window in spec.windows for name in names)
        return oldest - max(against, default=0)
