"""What is found of incidents in dealt rows: by an alert about the thing touched, how late, and what else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from alert_gates.incidents import FAMILIES, Incident, strike
from alert_gates.logs import Counted, Log, counted, dealt, judged

from monitor.evidence.change_sizes import change_size
from monitor.evidence.day_values import day_values
from monitor.evidence.judging import AlertBudget
from monitor.evidence.watch import Watch, make_watch
from monitor.records.pane import PaneHalf
from monitor.windows.strata_folding import fold_strata

QUIET = 44  # days before the first incident
APART = 27  # days from one incident to the next
AFTER = 2  # days after an incident's last in which an alert is about it
BUDGET = AlertBudget()


@dataclass(frozen=True)
class Told:
    """An alert: the day, its subject."""

    day: int
    subject: str
    what: str
    part: PaneHalf = PaneHalf.RECORDS


@dataclass(frozen=True)
class Outcome:
    """An incident, its size in multiples of the smallest that is told, and the days until it was found."""

    incident: Incident
    size: float
    delay: int | None


@dataclass(frozen=True)
class Run:
    """A dealt log with incidents, one after the other, how large each was, and the days of the log."""

    dirty: Counted
    struck: list[Incident]
    sizes: list[float]
    days: int

    def outcomes(self, told: Sequence[Told]) -> list[Outcome]:
        """What alerts say of each incident."""
        age, sized = self.dirty.age, zip(self.struck, self.sizes, strict=True)
        return [Outcome(one, size, delay(one, told, age)) for one, size in sized]

    def false(self, told: Sequence[Told]) -> list[Told]:
        """Alerts about nothing that happened."""
        return [one for one in told if not any(about(one, each, self.dirty.age) for each in self.struck)]


def incidents(log: Log, seed: tuple[int, ...], kinds: Sequence[str]) -> Run:
    """Deal a log, and do incidents to it."""
    rng = np.random.default_rng(seed)
    days = QUIET + APART * len(kinds)
    made = dealt(log, days, rng)
    clean = counted(log, made, days)
    struck = []
    for number, kind in enumerate(kinds):
        made, one = strike(made, kind, QUIET + APART * number + int(rng.integers(0, 7)), rng)
        struck.append(one)
    dirty = counted(log, made, days)
    return Run(dirty, struck, [largest(clean, dirty, one) for one in struck], days)


def alerts(
    of: Counted, unusual: frozenset[int] = frozenset(), budget: AlertBudget = BUDGET
) -> Iterator[Told]:
    """Alerts of both parts, on the days on which they are told."""
    for part in PaneHalf:
        for day, _, _, said in judged(of, part, budget, unusual):
            yield from (Told(day, one.subject, one.change.kind, part) for one in said if one.begins)


def about(told: Told, incident: Incident, age: int) -> bool:
    """Whether an alert may be about an incident."""
    last = incident.first + incident.length + AFTER + (age if told.part is PaneHalf.LABELS else 0)
    return told.subject in incident.touched | incident.also and incident.first <= told.day < last


def delay(incident: Incident, told: Sequence[Told], age: int) -> int | None:
    """Days from the one on which an incident began to the first alert about the thing touched."""
    days = [
        one.day - incident.first
        for one in told
        if one.subject in incident.touched and about(one, incident, age)
    ]
    return min(days, default=None)


def largest(clean: Counted, dirty: Counted, incident: Incident) -> float:
    """Size of an incident's whole, of the subjects touched: largest multiple of the smallest size told."""
    parts = [part for part in PaneHalf for name in incident.touched if name in _watch(clean, part).subjects]
    return max((_multiple(clean, dirty, incident, part) for part in set(parts)), default=0.0)


def _multiple(clean: Counted, dirty: Counted, incident: Incident, part: PaneHalf) -> float:
    watch, at = _watch(clean, part), slice(incident.first, incident.first + incident.length)
    layout = clean.counting.layout_of(part)
    before, after = (
        day_values(
            watch, clean.counting, fold_strata(layout, [one.strata for one in _parts(each, part)[at]]), 0
        )
        for each in (clean, dirty)
    )
    touched = np.isin(np.asarray(watch.subjects), list(incident.touched))
    usual = before.values.astype(np.float64)
    size = change_size(watch.series_statistic, usual, after.values.astype(np.float64) - usual)
    size = np.where(watch.only_rises, size, np.abs(size)) / watch.smallest_size
    of_series = np.nan_to_num(size)[touched[watch.series_subject]].max(initial=0.0)
    shares = [one.hits / np.maximum(one.trials, 1) for one in (before, after)]
    enough = after.hits >= 3 * incident.length
    more = (
        np.minimum(shares[1] / watch.fault_smallest_share, shares[1] / np.maximum(2 * shares[0], 1e-9))
        * enough
    )
    return float(max(of_series, more[touched[watch.fault_subject]].max(initial=0.0)))


def _parts(of: Counted, part: PaneHalf) -> list:
    return of.records if part is PaneHalf.RECORDS else of.labels


def _watch(of: Counted, part: PaneHalf) -> Watch:
    layout = of.counting.layout_of(part)
    return make_watch(of.counting, part, fold_strata(layout, [one.strata for one in _parts(of, part)[:28]]))


def drawn(rng: np.random.Generator, runs: int, each: int) -> list[list[str]]:
    """Kinds of incidents of some runs: every family about as often."""
    names = list(FAMILIES)
    many = np.concatenate([rng.permutation(names) for _ in range(-(-runs * each // len(names)))])
    return [list(many[at * each : (at + 1) * each]) for at in range(runs)]


def twice(log: Log, seed: tuple[int, ...]) -> tuple[str, bool, bool]:
    """Break something, mend it for some days, break it again, less: what, and whether each was found."""
    rng = np.random.default_rng(seed)
    days, first, length = QUIET + 40, QUIET, int(rng.integers(2, 9))
    second = first + length + int(rng.integers(4, 11))
    made = dealt(log, days, rng)
    what = BROKEN[int(rng.integers(len(BROKEN)))]
    number = f"feature:{rng.choice(log.reading.numeric)}"
    spread = made[number].std()
    for start, lasts, share in ((first, length, 0.8), (second, 14, 0.35)):
        at = ((made["day"] >= start) & (made["day"] < start + lasts)).to_numpy()
        some = at & (rng.random(len(made)) < share)
        match what:
            case "level":
                made.loc[at, number] += 2 * share * spread
            case "missing":
                made.loc[some, number] = None
            case "class":
                made.loc[some & made["label"].notna().to_numpy(), "label"] = made["label"].dropna().iloc[0]
            case _:
                made.loc[some, ["label", "reported_at"]] = None
    found = counted(log, made, days)
    touched = {"class": {"label", "performance"}, "labels": {"labels"}}.get(what, {number})
    age = found.age if what in ("class", "labels") else 0
    told = [one.day for one in alerts(found) if one.subject in touched]
    return what, any(first <= day <= first + length + age for day in told), any(day >= second for day in told)


BROKEN = ("level", "missing", "class", "labels")
