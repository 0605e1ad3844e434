"""What pages ask of a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from monitor.alerts.defaults import main_measure, main_window
from monitor.alerts.standing import Seen
from monitor.app.alert_decisions import listed, seen_models
from monitor.app.pages.counting import KeptReferences, counted, counting_of, spans
from monitor.app.pages.days import days_of_change
from monitor.app.wiring import App
from monitor.core.change import Change
from monitor.core.clock import MINUTE
from monitor.core.typing import Ints
from monitor.measures.rows import Revision
from monitor.pages.asked import ChartedDay, CountedWindow, Placed
from monitor.records.pane import Part
from monitor.show.alerts import ShownAlert
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn, Event, Provenance

_MOST_SEEN = 4  # models, some MB each


@dataclass(frozen=True, slots=True)
class StoreData:
    """The store of an application, as pages see it: each call reads in its own short transaction."""

    app: App
    clock: Callable[[], int]  # tells the time by which a model is stale
    probes: bool = True  # whether a daemon serves the pages, and with them /metrics
    _references: KeptReferences = field(default_factory=dict)
    _seen: dict[str, tuple[tuple[object, ...], list[Seen]]] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """History that is shown."""
        return self.app.store.run

    def now(self) -> int:
        """The moment at which the page is made."""
        return self.clock()

    def specs(self) -> Sequence[ModelSpec]:
        """Models as they are configured."""
        return self.app.settings.models

    def seen(self, model: str | None, as_of: int | None) -> list[Seen]:
        """What is known of one model or of all; of one it is kept until a cycle, a decision or a minute."""
        now = self.clock()
        if model is None or as_of is not None:
            return seen_models(self.app, model, now, as_of)
        store = self.app.store
        stands = (store.state(model).as_of, store.newest_event(), self.app.fingerprint, now // MINUTE)
        before = self._seen.pop(model, None)
        found = before[1] if before is not None and before[0] == stands else None
        if found is None:
            found = seen_models(self.app, model, now)
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[model] = (stands, found)
        return found

    def placed(self, model: str, as_of: int | None) -> Placed:
        """What `seen` says first; of the past by what was kept then."""
        last, spec = self.app.store.state(model).as_of, self.app.spec(model)
        if as_of is not None and as_of < (last or 0):
            (seen,) = self.seen(model, as_of)
            last = seen.as_of
        return Placed(
            last,
            main_window([window.name for window in spec.windows]),
            main_measure(spec.reading.task, scored=spec.reading.has_score),
        )

    def rows(self, model: str, which: Drawn) -> list[Revision]:
        """(as of, row) of all kept revisions of a window's ends."""
        return self.app.store.drawn(model, which)

    def values(self, model: str, which: Drawn) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        """Newest values alone of the same rows."""
        return self.app.store.drawn_values(model, which)

    def counted(self, spec: ModelSpec, start: int, end: int, part: Part) -> CountedWindow:
        """Counts of a part of all panes between two moments, as they are now."""
        return counted(self.app.store, spec, start, end, part, self._references)

    def spans(
        self, model: str, counted: CountedWindow, block: str, bounds: Sequence[int]
    ) -> list[Ints | None]:
        """Counts of a block of the records between each two of the bounds, as they are now."""
        return spans(self.app.store, model, counted, block, bounds)

    def days_of_change(
        self, spec: ModelSpec, of: tuple[str, str], change: Change, span: tuple[int, int]
    ) -> list[ChartedDay]:
        """Days about a change, each as it was judged; none: it is not known any more."""
        counting = counting_of(self.app.store, spec, self._references)
        return days_of_change(self.app.store, spec.name, counting, of, change, span)

    def alerts(self, model: str | None, as_of: int | None, *, ended: bool) -> list[ShownAlert]:
        """Alerts that are pending or firing, `ended`: those that are over too."""
        return listed(self.app, model=model, history=ended, as_of=as_of)

    def events(self, model: str) -> list[Event]:
        """What happened to the history of a model."""
        return self.app.store.events(model)

    def provenance(self, model: str, as_of: int) -> Provenance | None:
        """What stood behind the measurements of a cycle."""
        return next((row for _, row in self.app.store.provenance(model, last=as_of)), None)
