"""Making a watch: what is followed of a model's part, from how it is counted and the first days' counters."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from monitor.core.clock import DAY, MINUTE, SECOND
from monitor.core.measurement import Reason
from monitor.core.typing import Ints
from monitor.evidence.cells import UsualCells
from monitor.evidence.expected import FEWEST
from monitor.evidence.watched import (
    FAULTS,
    LARGEST_SHARE,
    OF_SEGMENTS,
    SHARES,
    WITHIN,
    Followed,
    Impossible,
    Trait,
    Watch,
    WatchGroup,
)
from monitor.measures.statistics.delays import within
from monitor.records.counting import DELAY_EDGES, TALLY, Counting
from monitor.records.pane import Part
from monitor.records.reading import Task
from monitor.states.counters import Counters, Opened
from monitor.states.grids import EXTRA_CELLS, Grid, NumericGrid
from monitor.states.strata import OTHER, WHOLE, Strata, segments_of
from monitor.states.sums import HALF
from monitor.states.views import DelayTable

FEWEST_RECORDS = 20  # of a day, below which nothing is judged of them
SEGMENTS = 20  # that are followed, the largest ones
LEVELS = 10  # of a category that are followed each, the most frequent ones
REST = -1
USUALLY_MISSING = 0.005  # share of missing values above which they are no fault, unless all are
ALL = 1.0
OF_NUMBERS = (Trait.LEVEL, Trait.SPREAD, Trait.SKEW)
_HARDLY_ANY = 0.001
_LATER = 4  # times the delay that 95 % stay below: too late
_AT_ONCE = 0.1  # share of rows logged within a second above which a clock that runs ahead cannot be seen
_COMING = 0.6  # share of the labels that come that a day waits for


def watch_of(counting: Counting, part: Part, pooled: Strata) -> Watch:
    """What is watched of a part.

    Parameters
    ----------
    pooled
        counters by stratum of the first 28 days that entered; of the reference before there are any.
    """
    whole = pooled.get(WHOLE, Counters.empty(counting.layout(part))).opened()
    made = _Made()
    if part is Part.RECORDS:
        _watch_records(made, counting, whole)
    else:
        _watch_labels(made, counting, whole)
    share = dict.fromkeys((True, False), 0)
    for one in made.faults:
        share[made.groups[one.subject] in _OF_VALUES] += 1
    faults = tuple(
        Impossible(
            one.subject, one.fault, FAULTS / 2 / share[made.groups[one.subject] in _OF_VALUES], one.least
        )
        for one in made.faults
    )
    return Watch(
        part=part,
        subjects=tuple(made.subjects),
        groups=tuple(made.groups),
        series=tuple(made.series),
        faults=faults,
        samples=made.samples,
        cells=made.cells,
        versions=versions_of(pooled) if part is Part.RECORDS else (),
        late=_late(counting, whole) if part is Part.RECORDS and counting.reading.logged else -1,
        counted=counting.stored_as(counting.layout(part)),
    )


def watch_of_segments(counting: Counting, part: Part, pooled: Strata) -> Watch:
    """What is watched of the segments of a part: the level of their output, or their performance.

    The largest 20 are followed that had 20 records a day, of labels as many labelled ones. The others are
    subjects without series.

    Parameters
    ----------
    pooled
        as of `watch_of`.
    """
    block, at = ("volume", 0) if part is Part.RECORDS else ("tally", TALLY.index("labelled"))
    strata = segments_of(pooled, counting.segments)
    records = {stratum: int(pooled[stratum].block(block)[at]) for stratum in strata}
    largest = sorted(strata, key=lambda stratum: (-records[stratum], stratum))[:SEGMENTS]
    followed = [stratum for stratum in largest if records[stratum] >= FEWEST_RECORDS * FEWEST]
    scored = counting.score is not None and counting.reading.task is Task.BINARY
    output = WatchGroup.SCORE if scored else WatchGroup.PREDICTION
    made, share = _Made(), OF_SEGMENTS / max(1, len(followed))
    for stratum in strata if part is Part.RECORDS or counting.label is not None else ():
        name = stratum.segment or ""
        made.subject(name, output if part is Part.RECORDS else WatchGroup.PERFORMANCE)
        if stratum in followed and part is Part.LABELS:
            _watch_performance(made, counting, share)
        elif stratum in followed:
            _watch_level(made, name, counting.outputs[output], pooled[stratum].block(output), share)
    return Watch(
        part=part,
        subjects=tuple(made.subjects),
        groups=tuple(made.groups),
        series=tuple(made.series),
        faults=(),
        samples=made.samples,
        cells=made.cells,
        counted=counting.stored_as(counting.layout(part)),
        segmented=True,
    )


def versions_of(strata: Strata) -> tuple[str, ...]:
    """Versions that have records, by name."""
    return tuple(sorted({stratum.version for stratum in strata if stratum.version is not None} - {OTHER}))


def moments_of(counting: Counting, whole: Opened) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation by output and feature, in units of its grid; of those that are known."""
    if not counting.summed:
        return {}
    n, far, high, low = whole.block("moments")
    known = (n > far).reshape(-1, 2).all(axis=1) & (far == 0).reshape(-1, 2).all(axis=1)
    means = ((high + low / HALF) / np.maximum(n, 1)).reshape(-1, 2)
    deviations = np.sqrt(np.maximum(means[:, 1] - np.square(means[:, 0]), 0.0))
    every = zip(counting.summed, known, means[:, 0].tolist(), deviations.tolist(), strict=True)
    return {name: (mean, deviation) for name, there, mean, deviation in every if there}


def label_age(delays: DelayTable) -> int | None:
    """Days after which a day's labels are judged: 60 % of those that come had come. None without any.

    >>> label_age(DelayTable((86_400.0, 200_000.0), np.array([10, 90, 0])))
    3
    """
    delay = within(delays, _COMING, Reason.NO_LABELS)
    if delay.value is None:
        return None
    return max(1, int(np.ceil(delay.value * SECOND / DAY)))


_OF_VALUES = (WatchGroup.FEATURE, WatchGroup.SCORE, WatchGroup.PREDICTION)


@dataclass(slots=True)
class _Made:
    """A watch in the making."""

    subjects: list[str] = field(default_factory=list)
    groups: list[WatchGroup] = field(default_factory=list)
    series: list[Followed] = field(default_factory=list)
    faults: list[Impossible] = field(default_factory=list)
    cells: dict[str, UsualCells] = field(default_factory=dict)
    samples: int = 0

    def subject(self, name: str, group: WatchGroup) -> int:
        """Add a subject."""
        self.subjects.append(name)
        self.groups.append(group)
        return len(self.subjects) - 1

    def follow(self, trait: Trait, weight: float, cell: int = REST, level: str = "") -> None:
        """Follow a series of the last subject, with the last sample."""
        subject = len(self.subjects) - 1
        self.series.append(Followed(subject, trait, self.samples - 1, weight, cell, level))

    def fault(self, *names: str, least: float = 0.01) -> None:
        """Watch faults of the last subject."""
        self.faults += [Impossible(len(self.subjects) - 1, name, 0.0, least) for name in names]


def _watch_records(made: _Made, counting: Counting, whole: Opened) -> None:
    made.subject("records", WatchGroup.RECORDS)
    made.samples += 1
    made.follow(Trait.RECORDS, SHARES[WatchGroup.RECORDS])
    made.subject("log", WatchGroup.LOG)
    made.fault("duplicates", "stale")
    if counting.reading.logged:
        made.fault("unlogged", "late")
        delays = whole.block("log_delays")
        if delays[0] < _AT_ONCE * delays.sum():
            made.fault("future")
    if counting.reading.versioned:
        made.fault("version")
    features, moments = max(1, len(counting.features)), moments_of(counting, whole)
    for name, grid in counting.outputs.items():
        group = WatchGroup.FEATURE if name.startswith("feature:") else WatchGroup(name)
        share = SHARES[group] / (features if group is WatchGroup.FEATURE else 1)
        made.subject(name, group)
        counts = whole.block(name)
        _watch_values(made, name, grid, counts, share, moments=moments.get(name, (0.0, 0.0)))
        missing = int(counts[-2])
        if missing > USUALLY_MISSING * max(1, counts.sum()):
            made.samples += 1
            made.follow(Trait.MISSING, share * WITHIN[Trait.MISSING])
            made.fault("missing", least=ALL)
        else:
            made.fault("missing", least=LARGEST_SHARE)
        made.fault("invalid")
        if not isinstance(grid, NumericGrid):
            made.fault("unseen")
        elif group is WatchGroup.FEATURE and name in made.cells and name in counting.summed:
            made.fault("beyond")


def _watch_labels(made: _Made, counting: Counting, whole: Opened) -> None:
    made.subject("labels", WatchGroup.LABELS)
    made.samples += 1
    made.follow(Trait.COVERAGE, SHARES[WatchGroup.LABELS])
    made.fault("early", "corrected", "retracted", "stale")
    if counting.label is None:
        return
    made.subject("performance", WatchGroup.PERFORMANCE)
    _watch_performance(made, counting, SHARES[WatchGroup.PERFORMANCE])
    made.subject("label", WatchGroup.LABEL)
    counts = whole.block("label")
    _watch_values(made, "label", counting.label, counts, SHARES[WatchGroup.LABEL], Trait.BASE_RATE)
    made.fault("invalid")
    if not isinstance(counting.label, NumericGrid):
        made.fault("unseen")


def _watch_performance(made: _Made, counting: Counting, share: float) -> None:
    statistics = list(_performance(counting))
    for trait in statistics:
        made.samples += 1
        made.follow(trait, share / len(statistics))


def _watch_level(made: _Made, name: str, grid: Grid, counts: Ints, share: float) -> None:
    """Follow the level of a number; of classes what is followed of any."""
    made.samples += 1
    if not isinstance(grid, NumericGrid):
        levels = list(_levels(grid.levels, counts))
        for cell, level in levels:
            made.follow(Trait.SHARE, share / len(levels), cell, level)
    elif grid.regular > 1:
        made.cells[name] = UsualCells(counts[:-EXTRA_CELLS], 0.0, 0.0, grid.edges, grid.scale, grid.centre)
        if len(made.cells[name].bases):
            made.follow(Trait.LEVEL, share)


def _performance(counting: Counting) -> Iterator[Trait]:
    if counting.reading.task is Task.REGRESSION:
        yield Trait.RMSE
        return
    if counting.scored:
        yield Trait.AUC
    if counting.probabilistic or counting.probable:
        yield Trait.LOG_LOSS
    if not counting.scored:
        yield Trait.ERROR_RATE


def _watch_values(
    made: _Made,
    name: str,
    grid: Grid,
    counts: Ints,
    share: float,
    trait: Trait = Trait.SHARE,
    moments: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Follow the values of an output, a feature or a label."""
    made.samples += 1
    regular = counts[:-EXTRA_CELLS]
    if isinstance(grid, NumericGrid):
        if grid.regular > 1:
            made.cells[name] = UsualCells(regular, *moments, grid.edges, grid.scale, grid.centre)
            known = OF_NUMBERS[: len(made.cells[name].bases)]
            for each in (*known, Trait.SHAPE):
                made.follow(each, share * WITHIN[each])
        return
    levels = list(_levels(grid.levels, counts))
    whole = 1.0 if trait is Trait.BASE_RATE else WITHIN[Trait.SHARE]
    for cell, level in levels:
        made.follow(trait, share * whole / len(levels), cell, level)


def _levels(names: tuple[str, ...], counts: Ints) -> Iterator[tuple[int, str]]:
    """Cells of the most frequent levels, and of the rest; of two that are all, the last one alone.

    Without any value all may come yet: those that the grid names first.
    """
    named = counts[: len(names)]
    order = np.argsort(-named, kind="stable")[:LEVELS]
    frequent = [int(at) for at in order if named[at] > 0]
    total = int(counts[:-EXTRA_CELLS].sum() + counts[-3])
    rest = total - int(named[frequent].sum())
    if not total:
        yield from enumerate(names[:LEVELS])
        yield REST, "(rest)"
        return
    if rest <= _HARDLY_ANY * total and len(frequent) == 2:
        frequent = [max(frequent)]
    yield from ((at, names[at]) for at in frequent)
    if rest > _HARDLY_ANY * total:
        yield REST, "(rest)"


def _late(counting: Counting, whole: Opened) -> int:
    """First cell of the time from event to log that is too late."""
    usual = within(counting.log_delays(whole), 0.95, Reason.NO_RECORDS).value or 0.0
    least = max(_LATER * usual, MINUTE / SECOND)
    return int(np.searchsorted(DELAY_EDGES, least, side="right")) + 1
