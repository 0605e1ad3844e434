"""Labels against scores in made worlds and in real rows: what fires, how soon, and what does not.

    python benchmarks/sim_verdict.py [--runs 16] [--page docs/evidence.md]

Every world is judged by the engine's own functions, day by day; its first 14 days make the map.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy
from alert_gates.logs import FLIGHTS, rows

from monitor.core.array_types import Bools, Floats, Ints
from monitor.evidence.day_record import DayRecord, DayValues
from monitor.evidence.early_labels import (
    BASELINE_DAYS,
    BEYOND_EARLY,
    LEAST_SPAN,
    UnfoldingDays,
    judge_unfolding_days,
)
from monitor.evidence.judging import AlertBudget, judge_day
from monitor.evidence.score_residuals import (
    ALONE,
    OutcomeMap,
    Residuals,
    cell_log_odds,
    learn_error_map,
    learn_outcome_map,
    measure_error_residuals,
    measure_outcome_residuals,
)
from monitor.evidence.watch import (
    FEED_SHARE,
    GROUP_SHARES,
    RESIDUALS,
    STATISTIC_SHARES,
    UNFOLDING_SHARE,
    SubjectGroup,
    Watch,
    WatchedSeries,
)
from monitor.records.pane import PaneHalf
from monitor.states.error_tables import PredictionErrors
from monitor.states.sums import HALF

CELLS, FIRST, QUIET, AFTER = 500, 14, 60, 31

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs" / "generators"))
from page_parts import write_part  # noqa: E402

NEED = AlertBudget().evidence_needed
ODDS = cell_log_odds(np.linspace(0, 1, CELLS + 1), np.zeros(0, np.int64), is_probability=True)
expit, log = scipy.special.expit, np.log


@dataclass(frozen=True)
class Drift:
    """What is another on the days of a change."""

    name: str
    odds: float = 0.0  # log odds, or usual errors of a number
    slope: float = 1.0
    mix: float = 0.0  # standard deviations of the scores
    widen: float = 1.0


RELATIONS = (
    Drift("odds × 1.4", odds=log(1.4)),
    Drift("odds × 1.2", odds=log(1.2)),
    Drift("slope × 0.7", slope=0.7),
)
MIXES = (
    Drift("higher scores", mix=0.5),
    Drift("lower scores", mix=-0.5),
    Drift("wider", widen=1.4),
    Drift("narrower", widen=0.6),
)
NONE = Drift("nothing")


def residual_watch() -> Watch:
    """A watch of labels against scores alone, with the shares of a model."""
    share = GROUP_SHARES[SubjectGroup.PERFORMANCE]
    series = tuple(
        WatchedSeries(0, statistic, at, share * STATISTIC_SHARES[statistic], ALONE)
        for at, statistic in enumerate(RESIDUALS)
    )
    return Watch(PaneHalf.LABELS, ("performance",), (SubjectGroup.PERFORMANCE,), series, (), 2, {})


def first_told(days: Iterator[Residuals]) -> int | None:
    """Number of the first day on which a change is told; None: none is."""
    watch, history, empty = residual_watch(), list[DayRecord](), np.zeros(0, np.int32)
    for number, one in enumerate(days):
        values = np.asarray([one.level, one.slope], np.float32)
        samples = np.asarray([one.level_sample, one.slope_sample], np.float32)
        day = DayValues(1_000 + number, values, samples, empty, empty)
        history.append(judge_day(watch, history[-56:], day, budget=AlertBudget()).record)
        if history[-1].since[0] > 0:
            return number
    return None


@dataclass(frozen=True)
class Binary:
    """A made model: scores that mean what they say, and effects of days on the labels' odds."""

    records: int = 1_000
    effects: float = 0.0
    base: float = -1.0

    def told(self, drift: Drift, seed: int, quiet: int = QUIET) -> int | None:
        """Day after the change on which it is told; below 1: before it."""
        rng, effect = np.random.default_rng([seed, self.records, 11]), 0.0

        def day(change: Drift) -> tuple[Ints, Ints]:
            nonlocal effect
            effect = 0.3 * effect + np.sqrt(0.91) * self.effects * rng.normal()
            score = self.base + change.mix + change.widen * rng.normal(size=self.records)
            chance = expit(self.base + (score - self.base) * change.slope + change.odds + effect)
            return count_cells(score, rng.random(self.records) < chance)

        return _told_of_tables(day, drift, quiet)


@dataclass(frozen=True)
class DealtFlights:
    """Rows of real flights at random, weighted so that their scores have another mix; their own labels."""

    records: int = 550

    def told(self, drift: Drift, seed: int, quiet: int = QUIET) -> int | None:
        """As of `Binary`."""
        rng = np.random.default_rng([seed, 12])
        score, outcome = flights()
        z = (score - score.mean()) / score.std()

        def day(change: Drift) -> tuple[Ints, Ints]:
            weight = np.exp(0.5 * np.square(z) - 0.5 * np.square((z - change.mix) / change.widen))
            weight = np.minimum(weight, np.quantile(weight, 0.999))
            at = rng.choice(len(z), self.records, p=weight / weight.sum())
            return count_cells(score[at], outcome[at])

        return _told_of_tables(day, drift, quiet)


@dataclass(frozen=True)
class Numbers:
    """A made model of a number, with usual errors of 0.5 and effects of days."""

    records: int = 1_000
    effects: float = 0.0

    def told(self, drift: Drift, seed: int, quiet: int = QUIET) -> int | None:
        """As of `Binary`."""
        rng, effect = np.random.default_rng([seed, 13]), 0.0

        def day(change: Drift) -> PredictionErrors:
            nonlocal effect
            effect = 0.3 * effect + np.sqrt(0.91) * self.effects * rng.normal()
            prediction = change.mix + change.widen * rng.normal(size=self.records)
            usual = prediction + 0.1 * np.square(prediction)
            label = change.slope * usual + 0.5 * (change.odds + effect + rng.normal(size=self.records))
            return count_errors(prediction, label)

        first = [day(NONE) for _ in range(FIRST)]
        usual = learn_error_map(sum_errors(first))
        assert usual is not None
        every = (*first, *(day(NONE) for _ in range(quiet - FIRST)), *(day(drift) for _ in range(AFTER)))
        found = first_told(measure_error_residuals(usual, one) for one in every)
        return None if found is None else found - quiet + 1


def _told_of_tables(day: Callable[[Drift], tuple[Ints, Ints]], drift: Drift, quiet: int) -> int | None:
    first = [day(NONE) for _ in range(FIRST)]
    usual = learn_outcome_map(sum(one[0] for one in first), sum(one[1] for one in first), ODDS)
    every = (*first, *(day(NONE) for _ in range(quiet - FIRST)), *(day(drift) for _ in range(AFTER)))
    found = first_told(measure_outcome_residuals(usual, *one) for one in every)
    return None if found is None else found - quiet + 1


def count_cells(score: Floats, outcome: Bools) -> tuple[Ints, Ints]:
    """Labels by cell of the score, without and with the outcome."""
    cell = np.minimum((expit(score) * CELLS).astype(np.int64), CELLS - 1)
    without, with_it = (np.bincount(cell[at], minlength=CELLS) for at in (~outcome, outcome))
    return without, with_it


def count_errors(prediction: Floats, label: Floats) -> PredictionErrors:
    """Sums of errors by 25 groups of a standard normal prediction."""
    group = np.searchsorted(scipy.stats.norm.ppf(np.arange(1, 25) / 25), prediction)
    off = prediction - label
    total = np.concatenate(
        [np.bincount(group, term, minlength=25) for term in (np.abs(off), off * off, off, prediction)]
    )
    high = np.floor(total)
    n = np.tile(np.bincount(group, minlength=25), 4)
    low = np.round((total - high) * HALF)
    return PredictionErrors(np.stack([n, n * 0, high.astype(np.int64), low.astype(np.int64)]), 1.0, 0.0)


def sum_errors(many: Sequence[PredictionErrors]) -> PredictionErrors:
    """Sums of some days."""
    return replace(many[0], counts=np.sum([one.counts for one in many], axis=0))


def flights() -> tuple[Floats, Bools]:
    """Log odds of the scores of real flights, and whether they were late."""
    every = rows(FLIGHTS)
    known = every[every["label"].notna() & every["score"].notna()]
    score = np.clip(known["score"].to_numpy(float), 1e-6, 1 - 1e-6)
    return scipy.special.logit(score), known["label"].to_numpy() == "1"


def flights_as_they_are() -> tuple[list[str], int]:
    """Days on which ten months of flights tell a change, and how many days there are."""
    every = rows(FLIGHTS)
    known = every[every["label"].notna() & every["score"].notna()]
    number = known["event_time"].to_numpy() // 86_400_000_000
    score, outcome = flights()
    days = [count_cells(score[number == day], outcome[number == day]) for day in np.unique(number)]
    usual = learn_outcome_map(sum(one[0] for one in days[:FIRST]), sum(one[1] for one in days[:FIRST]), ODDS)
    watch, history, told, empty = residual_watch(), list[DayRecord](), list[str](), np.zeros(0, np.int32)
    for day, table in zip(np.unique(number), days, strict=True):
        one = measure_outcome_residuals(usual, *table)
        values = np.asarray([one.level, one.slope], np.float32)
        samples = np.asarray([one.level_sample, one.slope_sample], np.float32)
        before = history[-1].since[0] if history else 0
        counted = DayValues(int(day), values, samples, empty, empty)
        history.append(judge_day(watch, history[-56:], counted, budget=AlertBudget()).record)
        if history[-1].since[0] and not before:
            told.append(str(np.datetime64(int(day), "D")))
    return told, len(days)


@dataclass(frozen=True)
class Delays:
    """Days from event to label: even between two ages, or lognormal; reported at once or weekly."""

    first: float = 0.0
    last: float = 0.0
    median: float = 0.0
    positives: float = 1.0  # factor of those of positives
    weekly: bool = False

    def draw(self, rng: np.random.Generator, outcome: Bools, at: Floats) -> Floats:
        """Delays of records with an outcome, at moments in days."""
        n = len(outcome)
        lognormal = self.median * np.exp(0.5 * rng.normal(size=n))
        delays = (lognormal if self.median else rng.uniform(self.first, self.last, n)) * np.where(
            outcome, self.positives, 1.0
        )
        return np.ceil((at + delays) / 7) * 7 - at if self.weekly else delays


@dataclass(frozen=True, kw_only=True)
class Slow:
    """A made model whose labels take days or weeks."""

    name: str
    delays: Delays
    early: int  # days by which the first labels of the rarer class are in
    later: Delays | None = None  # delays on the days of the change
    declined: float = 1.0  # share of scores of 0.3 and more that get a label
    effects: float = 0.05
    records: int = 1_000
    base: float = -2.0
    cells: int = field(default=64)

    def told(self, drift: Drift, seed: int, days: int = 80, before: int = 40) -> tuple[str, int] | None:
        """What is told, and on which day after the change: below 1 before it; None: nothing is."""
        span = max(LEAST_SPAN, self.early + BEYOND_EARLY)
        begins = span + FIRST + before
        total = begins + days
        records, known, group, usual = self._draw(drift, seed, begins, total)
        for newest in range(span + FIRST, total):
            many = np.arange(max(0, newest + 1 - span - BASELINE_DAYS), newest + 1)
            member = np.eye(int(group.max()) + 1, dtype=np.int64)[group]
            at_age = known[many, :span] @ member
            at_age[many[:, None] + np.arange(span) > newest] = -1
            now = known[many, np.minimum(newest - many, known.shape[1] - 1)]
            found = judge_unfolding_days(usual, UnfoldingDays(span, records[many], now, group, at_age))
            if found is None:
                continue
            relation, feed = found.relation * UNFOLDING_SHARE / NEED, found.feed * FEED_SHARE / NEED
            if max(relation, feed) > 1:
                return ("relation" if relation >= feed else "labels"), newest - begins + 1
        return None

    def _draw(self, drift: Drift, seed: int, begins: int, total: int) -> tuple[Ints, Ints, Ints, OutcomeMap]:
        rng, effect, cells, oldest = np.random.default_rng([seed, 14]), 0.0, self.cells, 130
        odds = cell_log_odds(np.linspace(0, 1, cells + 1), np.zeros(0, np.int64), is_probability=True)
        records = np.zeros((total, cells), np.int64)
        known = np.zeros((total, oldest + 1, 2, cells), np.int32)
        for day in range(total):
            on = drift if day >= begins else NONE
            effect = 0.3 * effect + np.sqrt(0.91) * self.effects * rng.normal()
            score = self.base + on.mix + rng.normal(size=self.records)
            chance = expit(self.base + (score - self.base) * on.slope + on.odds + effect)
            outcome, at = rng.random(self.records) < chance, day + rng.random(self.records)
            delays = self.later if day >= begins and self.later else self.delays
            age = np.ceil(at + delays.draw(rng, outcome, at)) - 1 - day
            promised = expit(score)
            labelled = ((promised < 0.3) | (rng.random(self.records) < self.declined)) & (age <= oldest)
            cell = np.minimum((promised * cells).astype(np.int64), cells - 1)
            records[day] = np.bincount(cell, minlength=cells)
            place = (np.maximum(age, 0).astype(np.int64), outcome.astype(np.int64), cell)
            np.add.at(known[day], tuple(one[labelled] for one in place), 1)
        known = known.cumsum(axis=1, dtype=np.int32)
        settled = known[:FIRST, -1].sum(axis=0)
        group = (np.arange(cells) / cells >= 0.3).astype(np.int64) * (self.declined < 1)
        return records, known, group, learn_outcome_map(settled[0], settled[1], odds)


SLOW = (
    Slow(name="exactly 8 days", delays=Delays(8, 8), early=9),
    Slow(name="exactly 14 days", delays=Delays(14, 14), early=15),
    Slow(name="exactly 20 days", delays=Delays(20, 20), early=21),
    Slow(name="exactly 40 days", delays=Delays(40, 40), early=41),
    Slow(name="lognormal, median 9", delays=Delays(median=9), early=6),
    Slow(name="lognormal, median 20", delays=Delays(median=20), early=13),
    Slow(name="positives 1.5 times as slow", delays=Delays(median=9, positives=1.5), early=9),
    Slow(name="weekly, median 9", delays=Delays(median=9, weekly=True), early=8),
    Slow(name="5 to 40 days, of approved ones", delays=Delays(5, 40), early=11, declined=0.125),
)
SIXTH = Drift("odds × 1.6", odds=log(1.6))
SEPARATES_LESS = Drift("slope × 0.6", slope=0.6)


def _job(work: tuple[Callable[..., object], tuple[object, ...]]) -> object:
    call, arguments = work
    return call(*arguments)


def main() -> None:
    """Run all, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--page", type=Path, default=None)
    options = parser.parse_args()
    began = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:

        def every(call: Callable[..., object], *arguments: object, first: int = 0) -> list[object]:
            seeds = range(first, first + options.runs)
            return list(pool.map(_job, [(call, (*arguments, seed)) for seed in seeds]))

        lines = list(_lines(every, options.runs))
    text = "\n".join(lines) + "\n"
    print(text, flush=True)
    print(f"{time.perf_counter() - began:.0f} s", flush=True)
    if options.page is not None:
        write_part(options.page, "make sim-verdict", text)


def _lines(every: Callable[..., list[object]], runs: int) -> Iterator[str]:
    yield _HEAD.format(runs=runs)
    yield "| records a day | effects of days | " + " | ".join(one.name for one in RELATIONS) + " |"
    yield "|---|---|" + "---|" * len(RELATIONS)
    for records, effects in ((300, 0.0), (1_000, 0.0), (1_000, 0.08), (4_000, 0.0)):
        world = Binary(records, effects)
        cells = (_days_text(every(world.told, drift)) for drift in RELATIONS)
        yield f"| {records:,} | {effects:g} | {' | '.join(cells)} |"
    yield _MIXES
    yield "| | " + " | ".join(one.name for one in MIXES) + " |"
    yield "|---|" + "---|" * len(MIXES)
    for name, world in (
        ("made scores", Binary()),
        ("rows of flights", DealtFlights()),
        ("numbers", Numbers()),
    ):
        cells = (_wrong_text(every(world.told, drift)) for drift in MIXES)
        yield f"| {name} | {' | '.join(cells)} |"
    found, days = flights_as_they_are()
    yield _AS_THEY_ARE.format(many=len(found), days=days, when=", ".join(found) or "none")
    yield "| | labels + 0.15 sd | slope × 0.9 |"
    yield "|---|---|---|"
    for effects in (0.0, 0.05):
        world = Numbers(effects=effects)
        cells = (
            _days_text(every(world.told, drift))
            for drift in (Drift("", odds=0.3 * np.sqrt(1.02)), Drift("", slope=0.9))
        )
        yield f"| effects of days {effects:g} | {' | '.join(cells)} |"
    yield _SLOW
    yield "| delays | odds × 1.6 | slope × 0.6 | higher scores, false alerts | nothing, false alerts |"
    yield "|---|---|---|---|---|"
    for one in SLOW:
        drifts = [every(one.told, drift) for drift in (SIXTH, SEPARATES_LESS)]
        wrong = every(one.told, MIXES[0])
        quiet = [found for effects in (0.0, 0.3) for found in every(replace(one, effects=effects).told, NONE)]
        yield (
            f"| {one.name} | {' | '.join(_days_text([_day(found) for found in each]) for each in drifts)} "
            f"| {sum(_is_relation(found) for found in wrong)} of {runs} | {_false_text(quiet)} |"
        )
    yield _FEEDS
    yield "| delays | alert of the labels | of the relation | mean days |"
    yield "|---|---|---|---|"
    for name, later in (
        ("both classes 1.4 times as slow", Delays(median=12.6)),
        ("positives alone", Delays(median=9, positives=1.4)),
    ):
        world = Slow(name=name, delays=Delays(median=9), early=6, later=later)
        found = every(world.told, NONE)
        kinds = [one[0] for one in found if one is not None]  # type: ignore[index]
        yield (
            f"| {name} | {kinds.count('labels')} of {runs} | {kinds.count('relation')} of {runs} "
            f"| {_days_text([_day(one) for one in found])} |"
        )


def _day(found: object) -> object:
    return None if found is None else found[1]  # type: ignore[index]


def _is_relation(found: object) -> bool:
    return found is not None and found[0] == "relation" and found[1] > 0  # type: ignore[index]


def _days_text(found: Sequence[object]) -> str:
    """Mean of the days until an alert; one before the change is false, what is not found is named."""
    days = [one for one in found if isinstance(one, int) and one > 0]
    false = sum(isinstance(one, int) and one <= 0 for one in found)
    mean = f"{np.mean(days):.1f}" if days else "–"
    missed = sum(one is None for one in found)
    notes = [f"{missed} not found"] if missed else []
    notes += [f"{false} before"] if false else []
    return f"{mean} ({', '.join(notes)})" if notes else mean


def _wrong_text(found: Sequence[object]) -> str:
    return f"{sum(isinstance(one, int) and one > 0 for one in found)} of {len(found)}"


def _false_text(found: Sequence[object]) -> str:
    """How often something was told, in 30 days."""
    days = sum(120.0 if one is None else 40.0 + one[1] for one in found)  # type: ignore[index]
    return f"{30 * sum(one is not None for one in found) / days:.3f} in 30 days"


_HEAD = (
    "## Labels against scores: what fires, how soon\n\n"
    "Made worlds and real rows, checked by the monitor's own functions, day by day "
    "([0064](adr/0064-labels-against-scores.md)). `make sim-verdict` writes this part. {runs} runs a cell; "
    "worlds are quiet for 60 days, then something changes. A number is the mean of days until an alert "
    "fires, the first day of the change being 1.\n\n"
    "### Prompt labels: odds and slope\n\n"
    "Scores are log odds with a mean of −1 and a standard deviation of 1. An *effect of days* moves the log "
    "odds of all labels of a day by so much, at random.\n"
)
_MIXES = (
    "\n### Another mix alone\n\n"
    "The scores move by half a standard deviation, or spread by another factor; what they mean stays. How "
    "often an alert of the relation fires in 31 days:\n"
)
_AS_THEY_ARE = (
    "\nTen months of real flights as they are ({days} days) have {many}: {when}.\n\n"
    "### Numbers\n\n1,000 predictions a day with usual errors of half a standard deviation:\n"
)
_SLOW = (
    "\n### Slow labels, as they unfold\n\n"
    "1,000 records a day, effects of days of 0.05. Of exactly k days nothing can be known before day k + 1. "
    "The last column is of quiet worlds with effects of 0 and 0.3; a share of 0.07 of the budget allows 0.07 "
    "in 30 days.\n"
)
_FEEDS = (
    "\n### Feeds that slow down\n\n"
    "Labels with a median of 9 days; nothing else changes. Slower positives alone and fewer positives are "
    "the same until all are in: the alert says so.\n"
)

if __name__ == "__main__":
    main()
