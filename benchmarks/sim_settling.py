"""Settling in logs whose truth is known: how far settled values are off, and how soon windows settle.

Panes are simulated, no database. Each world is a log from its first day on, whose accuracy and pace differ by
class; the rule is asked in each of its cycles. Two bars. |settled - final| of base rate and accuracy is at
most 0.075 in 95 % of the settled windows, 0.0075 in the plain worlds. And 90 % of the windows settle by 1.3
times the age that the truth asks for: at which each class has 95 % of the labels that will come, of the
horizon before the window's end. Of those count the windows that ended in time, whose labels were in by then.
Prints a table; ends with 1 where a bar is missed. Half a minute on one core.
python benchmarks/sim_settling.py [NAME ...]
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import DAY
from monitor.records.counting import DELAY_EDGES
from monitor.windows.settling import (
    LabelledPanes,
    ObservableDelays,
    SettledState,
    SettlingAges,
    SettlingRule,
    forecast_settling,
    judge_settled,
    settling_ages,
    usual_coverage,
)

SHARE = 0.95
LATE = 1.3
EDGES: Floats = np.asarray(DELAY_EDGES)
CELLS = len(EDGES) + 1
Draw = Callable[[np.random.Generator, int], Floats]  # delays in days


def log_normal(median: float, spread: float = 0.6) -> Draw:
    return lambda rng, n: rng.lognormal(np.log(median), spread, n)


def uniform(least: float, most: float) -> Draw:
    return lambda rng, n: rng.uniform(least, most, n)


def mixed(first: Draw, second: Draw, share: float) -> Draw:
    """The second one for a share of the labels."""
    return lambda rng, n: np.where(rng.random(n) < share, second(rng, n), first(rng, n))


def pareto(median: float) -> Draw:
    return lambda rng, n: median * (1.0 + rng.pareto(1.2, n))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A log; times in days.

    Parameters
    ----------
    negatives, positives
        delays of the labels of both classes.
    comes
        share of each class that is ever labelled.
    right
        share of each class that was predicted rightly.
    batch
        labels come at multiples of this alone, three hours later.
    outage
        (start, end): labels of that time come at its end; one without an end: the feed has stopped.
    lost
        share of the labels of the days of `outage` that are lost instead, while the feed goes on.
    slower
        (moment, factor): delays of later events are so many times as long.
    corrected
        share of the labels that are wrong at first, and put right after as long again.
    base_bar
        how far off settled values may be.
    """

    negatives: Draw
    positives: Draw
    days: int
    horizon: int
    per_day: int = 300
    base_rate: float = 0.3
    comes: tuple[float, float] = (0.97, 0.97)
    right: tuple[float, float] = (0.9, 0.6)
    batch: float = 0.0
    outage: tuple[float, float] | None = None
    lost: float = 0.0
    slower: tuple[float, float] | None = None
    corrected: float = 0.0
    window: int = 7
    step: float = 1.0
    pane: float = 1.0
    after: float | None = None
    bar: float = 0.075


@dataclass(frozen=True, slots=True)
class Events:
    """The log's records in the order of their events; moments in days, infinite where a label never comes.

    `counts` are those that will come within the horizon, or would but for a feed that has stopped. Until
    `put_right` a label is of the other class.
    """

    at: Floats
    positive: Bools
    put_right: Floats
    right: Bools
    reported: Floats
    counts: Bools

    def told(self, as_of: float) -> tuple[Bools, Bools]:
        """Whether labels are positive, and predictions right, as is known by then."""
        wrong = self.put_right > as_of
        return self.positive ^ wrong, self.right ^ wrong


@dataclass(slots=True)
class Found:
    """What the rule said of a world: one position a window that settled.

    Parameters
    ----------
    ends, settled_at, errors, warnings
        days; the larger of base rate's and accuracy's; empty where there is none.
    in_time
        of windows that could settle by 1.3 times the age that the truth asks for: whether they did.
    asked
        that age of each of these, days.
    """

    asked: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    settled_at: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    in_time: list[bool] = field(default_factory=list)


def drawn(world: World, rng: np.random.Generator) -> Events:
    n = world.days * world.per_day
    at = np.sort(rng.uniform(0.0, world.days, n))
    positive = rng.random(n) < world.base_rate
    right = rng.random(n) < np.where(positive, world.right[1], world.right[0])
    delay = np.where(positive, world.positives(rng, n), world.negatives(rng, n))
    if world.slower is not None:
        delay = np.where(at >= world.slower[0], delay * world.slower[1], delay)
    reported = at + delay
    if world.batch:
        reported = np.ceil(reported / world.batch) * world.batch + 0.125
    comes = rng.random(n) < np.where(positive, world.comes[1], world.comes[0])
    would = comes & (reported - at <= world.horizon)
    if world.outage is not None:
        first, last = world.outage
        held = (reported >= first) & (reported < last)
        comes &= ~(held & (rng.random(n) < world.lost))
        reported = np.where(held & (world.lost == 0.0), last, reported)
    reported = np.where(comes, reported, np.inf)
    stopped = world.outage is not None and np.isinf(world.outage[1])
    counts = would if stopped else comes & (reported - at <= world.horizon)
    wrong = np.zeros(n, dtype=np.bool_)
    if world.corrected:
        wrong = rng.random(n) < world.corrected
    put_right = np.where(wrong, reported + (reported - at), -np.inf)
    return Events(at, positive, put_right, right, reported, counts)


def simulated(world: World, seed: int = 1) -> Found:
    """Ask the rule in each cycle of a log."""
    events = drawn(world, np.random.default_rng(seed))
    found = Found()
    waiting = list(np.arange(world.window, world.days + 1.0))
    for as_of in np.arange(world.step, world.days + world.step / 2, world.step):
        first = max(0.0, as_of - world.horizon - world.window)
        panes, ages, rule, usual = _known(world, events, as_of, first)
        for end in [end for end in waiting if end <= as_of]:
            span = round((end - world.window) * DAY), round(end * DAY)
            said = judge_settled(span, round(as_of * DAY), panes, ages, rule, usual)
            if said is not SettledState.NO:
                waiting.remove(end)
                found.ends.append(end)
                found.settled_at.append(as_of)
                found.warnings.append(said.warning)
                found.errors.append(_error(world, events, as_of, end))
    _judge_pace(world, events, found)
    return found


def foretold(world: World, as_of: float, seed: int = 1) -> float:
    """When the first window is expected to settle, in days."""
    end = round(world.window * DAY)
    known = _known(world, drawn(world, np.random.default_rng(seed)), as_of, 0.0)
    at = forecast_settling((0, end), round(as_of * DAY), *known).at
    return np.inf if at is None else at / DAY


def _known(
    world: World, events: Events, as_of: float, first: float
) -> tuple[LabelledPanes, SettlingAges, SettlingRule, float]:
    start: Ints = np.arange(round(first * DAY), round(as_of * DAY), round(world.pane * DAY))
    start = start - start % round(world.pane * DAY)
    known = (events.at >= start[0] / DAY) & (events.at < as_of)
    seen = known & events.counts & (events.reported <= as_of)
    ever = events.reported[(events.reported <= as_of) & events.counts]
    heard = round(float(ever.max(initial=0.0)) * DAY)
    pane = ((events.at * DAY - start[0]) // round(world.pane * DAY)).astype(np.int64)
    moment = np.full(len(start), round(as_of * DAY))
    panes = LabelledPanes(
        start=start,
        counted_as_of=moment,
        whole_as_of=moment,
        records=np.bincount(pane[known], minlength=len(start)),
        labelled=np.bincount(pane[seen], minlength=len(start)),
    )
    last = np.searchsorted(EDGES, (heard - start - round(world.pane * DAY)) / 1e6, side="right") - 1
    cell = np.searchsorted(EDGES, (events.reported[seen] - events.at[seen]) * 86_400, side="right")
    can = np.maximum(last[pane[seen]], 0)
    told = cell <= last[pane[seen]]
    place = events.told(as_of)[0][seen] * CELLS
    count, shown = (
        np.bincount((place + many)[told], minlength=2 * CELLS).reshape(2, CELLS) for many in (cell, can)
    )
    rule = SettlingRule(
        share=SHARE,
        after=None if world.after is None else round(world.after * DAY),
        horizon=world.horizon * DAY,
        pane=round(world.pane * DAY),
        heard=heard,
    )
    ages = settling_ages(ObservableDelays(count, shown), EDGES, horizon=rule.horizon, share=SHARE)
    return panes, ages, rule, usual_coverage(panes, ages, rule)


def _error(world: World, events: Events, as_of: float, end: float) -> float:
    final = (events.at >= end - world.window) & (events.at < end) & events.counts
    now = final & (events.reported <= as_of)
    if not now.any():
        return float(final.any())
    sides = zip(events.told(as_of), events.told(np.inf), strict=True)
    return max(abs(float(then[now].mean() - last[final].mean())) for then, last in sides)


def _asked(world: World, events: Events, end: float) -> float:
    """Age at which each class has the share of the labels that will come, of the horizon before an end."""
    if world.after is not None:
        return world.after
    there = events.counts & np.isfinite(events.reported) & (events.at < end)
    there &= events.at >= end - max(world.window, world.horizon)
    delay = events.reported - events.at
    kinds = (there & (events.positive == kind) for kind in (False, True))
    ages = (float(np.quantile(delay[kind], SHARE, method="inverted_cdf")) for kind in kinds if kind.any())
    return max(ages, default=np.inf)


def _judge_pace(world: World, events: Events, found: Found) -> None:
    """Of the windows that ended in time, and of each of whose classes the labels were in by then."""
    settled_at = dict(zip(found.ends, found.settled_at, strict=True))
    for end in np.arange(world.window, world.days + 1.0):
        by = LATE * _asked(world, events, end)
        if end + by + world.step > world.days:
            break
        final = (events.at >= end - world.window) & (events.at < end) & events.counts
        kinds = (final & (events.positive == kind) for kind in (False, True))
        if all(np.mean(events.reported[kind] <= end + by) >= SHARE for kind in kinds if kind.any()):
            found.asked.append(by / LATE)
            found.in_time.append(settled_at.get(end, np.inf) <= end + by + world.step)


QUICK = {"step": 0.25, "pane": 0.25, "window": 2, "per_day": 1_000}
HALF_A_DAY = log_normal(0.5)
LOAN = {"negatives": uniform(5, 30), "positives": uniform(15, 40), "days": 220, "per_day": 300}
WORLDS = {
    "log-normal, 12 h": World(
        negatives=HALF_A_DAY, positives=HALF_A_DAY, days=40, horizon=20, bar=0.0075, **QUICK
    ),
    "3 % never, horizon 40 d": World(
        negatives=HALF_A_DAY, positives=HALF_A_DAY, days=40, horizon=40, bar=0.0075, **QUICK
    ),
    "heavy tail of one class": World(
        negatives=HALF_A_DAY,
        positives=mixed(HALF_A_DAY, pareto(0.5), 0.2),
        days=60,
        horizon=30,
        base_rate=0.1,
        bar=0.0075,
        **QUICK,
    ),
    "one class eight times as slow": World(
        negatives=HALF_A_DAY,
        positives=log_normal(4.0),
        days=100,
        horizon=36,
        base_rate=0.1,
        bar=0.0075,
        **QUICK,
    ),
    "nightly batches": World(
        negatives=HALF_A_DAY, positives=HALF_A_DAY, days=40, horizon=16, batch=1.0, bar=0.0075, **QUICK
    ),
    "outage and flood": World(
        negatives=HALF_A_DAY,
        positives=HALF_A_DAY,
        days=40,
        horizon=20,
        outage=(10.0, 15.0),
        bar=0.0075,
        **QUICK,
    ),
    "3 % corrected after as long again": World(
        negatives=HALF_A_DAY, positives=HALF_A_DAY, days=40, horizon=20, corrected=0.03, bar=0.0075, **QUICK
    ),
    "four times as slow from day 10": World(
        negatives=HALF_A_DAY,
        positives=HALF_A_DAY,
        days=60,
        horizon=24,
        slower=(10.0, 4.0),
        bar=0.0075,
        **QUICK,
    ),
    "one class thirty times as slow, 1 %": World(
        negatives=log_normal(1.0),
        positives=log_normal(30.0),
        days=500,
        horizon=180,
        base_rate=0.01,
        per_day=700,
        window=30,
        step=4.0,
        bar=0.0075,
    ),
    "weekly batches": World(
        per_day=1_000,
        negatives=uniform(0, 0.1),
        positives=uniform(0, 0.1),
        days=80,
        horizon=28,
        batch=7.0,
        window=1,
        bar=0.0075,
    ),
    "weekly batches of slow labels": World(**LOAN, horizon=107, batch=7.0),
    "the feed stops on day 30": World(
        negatives=HALF_A_DAY, positives=log_normal(2.0), days=60, horizon=20, outage=(30.0, np.inf), **QUICK
    ),
    "5 to 40 d": World(negatives=uniform(5, 40), positives=uniform(5, 40), days=220, horizon=107, bar=0.075),
    **{
        f"5 to 40 d by class, plateau {comes:g}": World(**LOAN, horizon=107, comes=(comes, comes))
        for comes in (0.1, 0.3, 0.6, 0.76, 0.97)
    },
    **{f"5 to 40 d by class, horizon {horizon} d": World(**LOAN, horizon=horizon) for horizon in (45, 72)},
    "5 to 40 d by class, chosen labels": World(**LOAN, horizon=107, comes=(0.9, 0.4)),
    "5 to 40 d, outage days 90 to 120": World(**LOAN, horizon=107, outage=(90.0, 120.0)),
    "5 to 40 d, 60 % lost of days 90 to 120": World(**LOAN, horizon=107, outage=(90.0, 120.0), lost=0.6),
    "5 to 40 d, plateau 0.1, the feed stops": World(
        **{**LOAN, "days": 160}, horizon=107, comes=(0.1, 0.1), outage=(90.0, np.inf)
    ),
    "30 to 180 d": World(
        negatives=uniform(30, 150), positives=uniform(60, 180), days=800, horizon=365, step=3.0, per_day=150
    ),
    "two humps within a class": World(
        negatives=uniform(1, 5),
        positives=mixed(uniform(1, 5), uniform(30, 40), 0.3),
        days=220,
        horizon=90,
    ),
    "two humps within both": World(
        negatives=mixed(uniform(1, 5), uniform(15, 20), 0.2),
        positives=mixed(uniform(1, 8), uniform(30, 40), 0.5),
        days=260,
        horizon=107,
    ),
    "settle_after 40 d, plateau 0.76": World(**LOAN, horizon=107, comes=(0.76, 0.76), after=40.0),
    "settle_after 40 d, 60 % lost of days 90 to 120": World(
        **LOAN, horizon=107, after=40.0, outage=(90.0, 120.0), lost=0.6
    ),
    "settle_after 40 d, outage days 90 to 120": World(**LOAN, horizon=107, after=40.0, outage=(90.0, 120.0)),
}


def line(name: str, world: World, found: Found) -> tuple[str, bool]:
    """A line of the table, and whether both bars were reached."""
    errors = np.asarray(found.errors or [0.0])
    close, pace = float(np.mean(errors <= world.bar)), float(np.mean(found.in_time or [1.0]))
    first = min(found.settled_at, default=np.nan)
    warned = {what: found.warnings.count(what) for what in sorted(set(found.warnings)) if what}
    reached = close >= 0.95 and pace >= 0.9
    cells = [
        f"{name:48} {np.median(found.asked):7.1f} {first:7.1f} {len(found.ends):5}",
        f"{np.quantile(errors, 0.95):8.4f} {errors.max():8.4f} {world.bar:7.4f} {close:7.1%} {pace:7.1%}",
        "" if reached else "MISSED",
        ", ".join(f"{what} {many}" for what, many in warned.items()),
    ]
    text = " ".join(cells).rstrip()
    return text, reached


def main(names: Sequence[str]) -> int:
    chosen = {name: world for name, world in WORLDS.items() if not names or name in names}
    print(
        f"{'world':48} {'asked':>7} {'first':>7} {'n':>5} {'95 %':>8} {'most':>8} {'bar':>7} {'close':>7} "
        f"{'in time':>7}"
    )
    failed = 0
    for name, world in chosen.items():
        text, reached = line(name, world, simulated(world))
        failed += not reached
        print(text, flush=True)
    print(f"{failed} of {len(chosen)} worlds miss a bar" if failed else "all bars are reached")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
