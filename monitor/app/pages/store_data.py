"""What pages ask of a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.model_facts import ModelFacts
from monitor.app.alert_decisions import gather_model_facts, list_alerts, list_incidents
from monitor.app.alerts.alert_acceptance import list_withdrawable
from monitor.app.application import App
from monitor.app.pages.charted_days import KeptDays, read_charted_days, read_kept_days
from monitor.app.pages.window_counts import (
    KeptReferences,
    read_newest_counting,
    sum_span_panes,
    sum_window_panes,
)
from monitor.core.array_types import Ints
from monitor.core.change import Change
from monitor.core.clock import MINUTE
from monitor.exposition.alert_metrics import incident_addresses
from monitor.measures.measurement_row import StoredMeasurement
from monitor.pages.page_request import ChartedDay, CountedWindow, ModelPlace
from monitor.records.pane import PaneHalf
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import ShownIncident
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows, HistoryEvent, Provenance, SentNotice

_MOST_DAYS = 4  # parts of models whose judged days are held
_MOST_SEEN = 4  # models, some MB each


@dataclass(frozen=True, slots=True)
class StoreData:
    """The store of an application, as pages see it: each call reads in its own short transaction."""

    app: App
    clock: Callable[[], int]  # tells the time by which a model is stale
    probes: bool = True  # whether a daemon serves the pages, and with them /metrics
    _references: KeptReferences = field(default_factory=dict)
    _seen: dict[tuple[str, int | None], tuple[tuple[object, ...], list[ModelFacts]]] = field(
        default_factory=dict
    )
    # What was judged by a moment stays as it is.
    _days: dict[tuple[object, ...], KeptDays | None] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """History that is shown."""
        return self.app.store.run

    def page_moment(self) -> int:
        """The moment at which the page is made."""
        return self.clock()

    def list_specs(self) -> Sequence[ModelSpec]:
        """Models as they are configured."""
        return self.app.settings.models

    def read_model_facts(self, model: str | None, as_of: int | None) -> list[ModelFacts]:
        """What is known of one model or of all; of one it is kept until a cycle, a decision or a minute."""
        now = self.clock()
        if model is None:
            return gather_model_facts(self.app, model, now, as_of)
        store = self.app.store
        stands = (
            store.states.read_state(model).as_of,
            store.events.newest_event_number(),
            self.app.fingerprint,
            now // MINUTE,
        )
        before = self._seen.pop((model, as_of), None)
        model_facts = before[1] if before is not None and before[0] == stands else None
        if model_facts is None:
            model_facts = gather_model_facts(self.app, model, now, as_of)
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[model, as_of] = (stands, model_facts)
        return model_facts

    def read_model_place(self, model: str, as_of: int | None) -> ModelPlace:
        """What `seen` says first; of the past by what was kept then."""
        last, spec = self.app.store.states.read_state(model).as_of, self.app.find_spec(model)
        if as_of is not None and as_of < (last or 0):
            (facts,) = self.read_model_facts(model, as_of)
            last = facts.as_of
        return ModelPlace(last, spec.main_window, spec.main_measure)

    def read_revisions(self, model: str, which: ChartedRows) -> list[StoredMeasurement]:
        """Kept revisions of a window's ends, all of them or the newest alone."""
        return self.app.store.charts.read_charted_rows(model, which)

    def read_newest_values(
        self, model: str, which: ChartedRows
    ) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        """Newest values alone of the same rows."""
        return self.app.store.charts.read_charted_values(model, which)

    def read_window_counts(self, spec: ModelSpec, start: int, end: int, part: PaneHalf) -> CountedWindow:
        """Counts of a part of all panes between two moments, as they are now."""
        return sum_window_panes(self.app.store, spec, start, end, part, self._references)

    def read_span_counts(
        self, model: str, window_counts: CountedWindow, block: str, bounds: Sequence[int]
    ) -> list[Ints | None]:
        """Counts of a block of the records between each two of the bounds, as they are now."""
        return sum_span_panes(self.app.store, model, window_counts, block, bounds)

    def read_change_days(
        self, spec: ModelSpec, of: tuple[str, str], change: Change, span: tuple[int, int]
    ) -> list[ChartedDay]:
        """Days about a change, each as it was judged; none: it is not known any more."""
        counting = read_newest_counting(self.app.store, spec, self._references)
        return read_charted_days(self.app.store, spec.name, counting, of, change, span)

    def read_judged_days(self, spec: ModelSpec, part: PaneHalf, count: int, until: int) -> KeptDays | None:
        """The newest judged days of a part by a moment; None: too few, or they are watched otherwise now."""
        place = (spec.name, part, count, until, self.app.fingerprint)
        if place not in self._days:
            counting = read_newest_counting(self.app.store, spec, self._references)
            if len(self._days) >= _MOST_DAYS:
                self._days.clear()
            self._days[place] = read_kept_days(self.app.store, spec.name, counting, part, count, until)
        return self._days[place]

    def list_alerts(self, model: str | None, as_of: int | None) -> list[ShownAlert]:
        """Alerts that are pending or firing, and those that are over, each with its incident."""
        homes = {
            (name, *key): address
            for name, kept in self.app.store.incidents.read_incidents(model, ended=True, as_of=as_of)
            for key, address in incident_addresses([kept]).items()
        }
        shown = list_alerts(self.app, model=model, history=True, as_of=as_of)
        return [
            replace(one, incident=homes.get((one.model, one.alert.series, one.alert.since), ""))
            for one in shown
        ]

    def list_incidents(self, model: str | None, as_of: int | None) -> list[ShownIncident]:
        """Incidents that are open, and those that are over, of one model or of all."""
        return list_incidents(self.app, model=model, as_of=as_of)

    def list_withdrawable(self, model: str) -> set[tuple[AlertedSeries, int]]:
        """Alerts, by series and since, whose acceptance can be withdrawn."""
        return list_withdrawable(self.app, model)

    def read_sent_notices(self, model: str, incident: str) -> list[SentNotice]:
        """Notices of an incident, as far as they are kept."""
        return self.app.store.outbox.read_sent_notices(model, incident)

    def read_events(self, model: str) -> list[HistoryEvent]:
        """What happened to the history of a model."""
        return self.app.store.events.read_events(model)

    def read_provenance(self, model: str, as_of: int) -> Provenance | None:
        """What stood behind the measurements of a cycle."""
        return next((row for _, row in self.app.store.snapshots.read_provenance(model, last=as_of)), None)
