"""What `monitor check` looks at of our own database: that it opens, is sound, and can be read."""

from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter

from monitor.alerts.alert_rules import ACCEPTED
from monitor.core.clock import LAST
from monitor.core.errors import CodecError, StoreError
from monitor.specs.settings import Settings
from monitor.store import LIVE
from monitor.store.integrity import require_sound
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import is_newest, open_store, require_usable


@dataclass(frozen=True, slots=True)
class StoreFindings:
    """What is wrong with the store, what may be, and what could not be looked at."""

    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check_store(settings: Settings) -> StoreFindings:
    """Look at the store; nothing is made or upgraded."""
    try:
        require_usable(settings.store.url)
        integrity = require_sound(settings.store.url)
        if not is_newest(settings.store.url):
            return StoreFindings((), integrity.warnings, integrity.notes)
        with closing(open_store(settings.store.url, LIVE)) as store:
            faults = [_fault_of_model(store, model.name) for model in settings.models]
    except (StoreError, CodecError) as error:
        return StoreFindings((str(error),))
    return StoreFindings(tuple(dict.fromkeys(filter(None, faults))), integrity.warnings, integrity.notes)


def _fault_of_model(store: SqlStore, model: str) -> str | None:
    """Read what commands read of a model: values may be of their column's type and yet mean nothing."""
    try:
        store.states.read_state(model)
        store.current.read_current(model)
        store.panes.read_waiting_panes(model)
        store.ledger.read_entries(model)
        store.panes.read_pane_facts(model, 0)
        store.alerts.read_alerts(model, ended=True)
        store.incidents.read_incidents(model, ended=True)
        list(map(attrgetter("acceptance"), store.events.read_events(model, ACCEPTED)))
        for _, provenance in store.snapshots.read_provenance(model, LAST):
            store.configurations.read_configuration(provenance.config)
            for key in provenance.reference.split():
                store.references.read_reference(key)
    except (StoreError, CodecError) as error:
        return str(error)
    return None
