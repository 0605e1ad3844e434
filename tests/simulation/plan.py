"""The plan of a log: all changes of both tables in virtual time, and what is true in the end. Pure."""

from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Floats, Ints
from simulation.changes import Changes, standing
from simulation.faults import FAULTS, Draft
from simulation.mix import Mix
from simulation.traffic import labels, predictions


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes of both tables, ordered by the moment at which they become visible.

    Parameters
    ----------
    dropped
        the moments at which the feature column goes and comes back.
    """

    predictions: Changes
    labels: Changes
    dropped: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """What the log holds in the end: event time and winning label (NaN: none) of each id."""

    event_time: Ints
    label: Floats

    def base_rate(self, start: int, end: int) -> float:
        """Share of the class 1 among the labels of events in [start, end)."""
        inside = (self.event_time >= start) & (self.event_time < end) & ~np.isnan(self.label)
        return float(self.label[inside].mean())


def plan(mix: Mix, seed: int, span: tuple[int, int]) -> Plan:
    """Plan a log of predictions in [start, end); their labels may come later.

    The same mix, seed and span give the same plan; a fault more leaves what others do as it is.
    """
    first, second, *others = np.random.default_rng(seed).spawn(2 + len(FAULTS))
    rows = predictions(mix, span, first)
    draft = Draft(span[0], rows, labels(mix, span[0], rows, second))
    for fault, rng in zip(FAULTS, others, strict=True):
        draft = fault(draft, mix, rng)
    dropped = None if mix.dropped is None else (span[0] + mix.dropped[0], span[0] + mix.dropped[1])
    return Plan(draft.predictions.ordered(), draft.labels.ordered(), dropped)


def truth(planned: Plan, until: int) -> Truth:
    """What is true as of a moment, by the rules of reading: first row of an id, its highest revision."""
    rows, labelled = standing(planned.predictions, until), standing(planned.labels, until)
    rows = rows.take(np.lexsort((rows.columns["logged_at"], rows.columns["id"])))
    ids, first = np.unique(rows.columns["id"], return_index=True)
    keys = ("reported_at", "revision", "id")  # the last one counts most
    labelled = labelled.take(np.lexsort([labelled.columns[name] for name in keys]))
    labelled = labelled.take(np.isin(labelled.columns["id"], ids))
    label = np.full(len(ids), np.nan)
    label[np.searchsorted(ids, labelled.columns["id"])] = labelled.columns["label"]  # the last of an id stays
    return Truth(rows.columns["event_time"][first], label)
