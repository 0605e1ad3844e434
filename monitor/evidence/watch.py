"""What is watched of one part of a model, and how it is chosen from the first days' counters.

A watch has subjects (a feature, the score, the number of records); each has daily series (its level, its
missing share) and faults (records that should not be). All of them together share one budget of false alerts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import DAY, MINUTE, SECOND
from monitor.core.measurement import Reason
from monitor.core.text import content_hash
from monitor.evidence.score_residuals import ALONE, ScoreMaps, learn_score_maps
from monitor.evidence.usual_cells import UsualCells
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS, FEWEST_RECORDS
from monitor.measures.statistics.label_delays import delay_quantile
from monitor.records.counting import DELAY_EDGES, TALLY, Counting
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.states.counters import Counters, DenseCounters
from monitor.states.grids import EXTRA_CELLS, Grid, NumericGrid
from monitor.states.strata import OTHER, WHOLE, Strata, Stratum, isolate_stratum, select_segments
from monitor.states.sums import HALF
from monitor.states.views import DelayTable

MOST_SEGMENTS = 20  # that are watched, the largest ones
MOST_CATEGORIES = 10  # of a feature that are watched each, the most frequent ones
REST_CELL = -1
CORRECT = "(correct)"  # the outcome of several classes: the one with the largest probability is right
USUALLY_MISSING = 0.005  # share of missing values above which they are no fault, unless all are
NEWLY_MISSING = 0.05  # share of missing values that came where none were usual: what is a fault
ALL = 1.0
_HARDLY_ANY = 0.001
_LATER = 4  # times the delay that 95 % stay below: too late
_AT_ONCE = 0.1  # share of rows logged within a second above which a clock that runs ahead cannot be seen


class DailyStatistic(StrEnum):
    """What is watched of a subject from day to day. `LEVEL` to `SHAPE` are those of numbers."""

    LEVEL = "level"
    SPREAD = "spread"
    SKEW = "skew"
    SHAPE = "shape"
    SHARE = "share"
    MISSING = "missing"
    RECORDS = "records"
    COVERAGE = "coverage"
    RESIDUAL_LEVEL = "residual_level"
    RESIDUAL_SLOPE = "residual_slope"
    ERROR_RATE = "error_rate"
    RMSE = "root_mean_squared_error"
    BASE_RATE = "base_rate"


STATISTICS = tuple(DailyStatistic)
"""Their order: `Watch.series_statistic` holds positions in it."""
RESIDUALS = (DailyStatistic.RESIDUAL_LEVEL, DailyStatistic.RESIDUAL_SLOPE)
NUMBER_STATISTICS = (DailyStatistic.LEVEL, DailyStatistic.SPREAD, DailyStatistic.SKEW)


class SubjectGroup(StrEnum):
    """What a subject belongs to; each has its share of the budget."""

    FEATURE = "feature"
    SCORE = "score"
    PREDICTION = "prediction"
    RECORDS = "records"
    LOG = "log"
    PERFORMANCE = "performance"
    LABEL = "label"
    LABELS = "labels"


# Shares of the budget of false alerts; what is left over stays in reserve.
GROUP_SHARES: Mapping[SubjectGroup, float] = {
    SubjectGroup.FEATURE: 0.37,
    SubjectGroup.SCORE: 0.10,
    SubjectGroup.PREDICTION: 0.05,
    SubjectGroup.RECORDS: 0.05,
    SubjectGroup.PERFORMANCE: 0.15,
    SubjectGroup.LABEL: 0.05,
    SubjectGroup.LABELS: 0.03,
}
# Of labels that take five days or more, as they unfold: a third of the share of performance, and two thirds
# of that of the labels.
UNFOLDING_SHARE = 0.05
FEED_SHARE = 0.02
SLOW_AGE = 5  # days after which labels are taken, from which on they are judged as they unfold, too
_EARLY = 0.15  # share of the rarer class's labels
SEGMENTS_SHARE = 0.035  # of the outputs of all segments together, and as much of their performance
FAULTS_SHARE = 0.05  # of the faults of values, and as much of those of the log and of the labels
# Within one subject: of the statistics of a number, or of all categories or classes together; of others they
# are equal.
STATISTIC_SHARES: Mapping[DailyStatistic, float] = {
    DailyStatistic.LEVEL: 0.35,
    DailyStatistic.SPREAD: 0.20,
    DailyStatistic.SKEW: 0.10,
    DailyStatistic.SHAPE: 0.25,
    DailyStatistic.SHARE: 0.90,
    DailyStatistic.MISSING: 0.10,
    DailyStatistic.RESIDUAL_LEVEL: 0.60,
    DailyStatistic.RESIDUAL_SLOPE: 0.40,
}
# Smallest sizes that are told, in the unit of `change_size`.
SMALLEST_SIZES: Mapping[DailyStatistic, float] = {
    DailyStatistic.LEVEL: 0.3,
    DailyStatistic.SPREAD: 0.3,
    DailyStatistic.SKEW: 0.3,
    DailyStatistic.SHAPE: 0.1,
    DailyStatistic.SHARE: 0.25,
    DailyStatistic.MISSING: 0.05,
    DailyStatistic.RECORDS: float(np.log(2.0)),
    DailyStatistic.COVERAGE: 0.3,
    DailyStatistic.RESIDUAL_LEVEL: 0.1,
    DailyStatistic.RESIDUAL_SLOPE: 0.1,
    DailyStatistic.ERROR_RATE: 0.2,
    DailyStatistic.RMSE: 0.2,
    DailyStatistic.BASE_RATE: 0.15,
}
# Only a rise of these is told: all are the larger the worse.
ONLY_RISES = (
    DailyStatistic.SHAPE,
    DailyStatistic.ERROR_RATE,
    DailyStatistic.RMSE,
)
_OF_VALUES = (SubjectGroup.FEATURE, SubjectGroup.SCORE, SubjectGroup.PREDICTION)


@dataclass(frozen=True, slots=True)
class WatchedSeries:
    """A daily series."""

    # subject, sample: positions in `Watch.subjects`, and of its sample size among those of a day.
    subject: int
    statistic: DailyStatistic
    sample: int
    weight: float  # share of the whole budget
    # cell, category: of a share: position among the regular cells and name; of the rest -1 and "(rest)".
    cell: int = REST_CELL
    category: str = ""


@dataclass(frozen=True, slots=True)
class WatchedFault:
    """Records that should not be, counted as k of n: "missing", "invalid", "duplicates", "early", …."""

    subject: int
    name: str
    weight: float
    smallest_share: float = 0.01


@dataclass(frozen=True)
class Watch:
    """What is watched of one part: the records' and the labels' are two, with days of their own."""

    part: PaneHalf
    # names: "feature:NAME", "score", "prediction", "records", "log"; "performance", "label", "labels".
    subjects: tuple[str, ...]
    groups: tuple[SubjectGroup, ...]
    series: tuple[WatchedSeries, ...]
    faults: tuple[WatchedFault, ...]
    sample_count: int  # sample sizes that a day has
    cells: Mapping[str, UsualCells]  # of each numeric subject
    versions: tuple[str, ...] = ()  # those of the first days; another one is a fault
    # what scores usually mean, that labels are compared with; of segments that of all of them.
    score_maps: ScoreMaps = field(default_factory=dict)
    # days until the first labels of the rarer class are in, where labels are judged as they unfold; 0: they
    # are prompt.
    early_age: int = 0
    late_cell: int = -1  # first cell of the time from event to log that is too late; -1: not watched
    counting_key: str = ""  # hash of what the days are counted by
    # subjects are segments, "column=value": of each its output or performance, as its group says.
    segmented: bool = False

    def block_name(self, subject: int) -> str:
        """Name of the block of counters that holds the values of a subject."""
        return self.groups[subject].value if self.segmented else self.subjects[subject]

    def subject_strata(self, strata: Strata, subject: int) -> Strata:
        """Counters that a subject is watched in: those of its segment, as if it were the whole."""
        return isolate_stratum(strata, Stratum(segment=self.subjects[subject])) if self.segmented else strata

    @cached_property
    def key(self) -> str:
        """Content hash: days of another key are of another watch."""
        plain = [self.part.value, self.subjects, self.versions, self.late_cell, self.counting_key]
        plain += [self.early_age] if self.early_age else []
        series = [
            [one.subject, one.statistic.value, one.cell, one.category, one.weight] for one in self.series
        ]
        faults = [[one.subject, one.name, one.weight, one.smallest_share] for one in self.faults]
        cells = {
            name: [cells.counts.tolist(), cells.middle, cells.deviation] for name, cells in self.cells.items()
        }
        return content_hash([plain, series, faults, cells])

    # The same by series and by fault, as arrays.

    @cached_property
    def series_subject(self) -> Ints:
        """Subject of each series."""
        return np.asarray([one.subject for one in self.series], dtype=np.int64)

    @cached_property
    def series_statistic(self) -> Ints:
        """Position in `STATISTICS` of each series'."""
        return np.asarray([STATISTICS.index(one.statistic) for one in self.series], dtype=np.int64)

    @cached_property
    def series_sample(self) -> Ints:
        """Position of each series' sample size."""
        return np.asarray([one.sample for one in self.series], dtype=np.int64)

    @cached_property
    def series_weight(self) -> Floats:
        """Weight of each series."""
        return np.asarray([one.weight for one in self.series], dtype=np.float64)

    @cached_property
    def smallest_size(self) -> Floats:
        """Smallest size of each series that is told."""
        return np.asarray([SMALLEST_SIZES[one.statistic] for one in self.series], dtype=np.float64)

    @cached_property
    def only_rises(self) -> Bools:
        """Series of which only a rise is told."""
        return np.asarray([one.statistic in ONLY_RISES for one in self.series], dtype=np.bool_)

    @cached_property
    def is_residual(self) -> Bools:
        """Series of labels against what scores promise."""
        return np.asarray([one.statistic in RESIDUALS for one in self.series], dtype=np.bool_)

    @cached_property
    def has_sampling_variance(self) -> Floats:
        """1 where the sampling variance is 1/n; 0 where only days show how much it varies."""
        own = (DailyStatistic.SHAPE, DailyStatistic.RECORDS)
        return np.asarray([one.statistic not in own for one in self.series], dtype=np.float64)

    @cached_property
    def fault_subject(self) -> Ints:
        """Subject of each fault."""
        return np.asarray([one.subject for one in self.faults], dtype=np.int64)

    @cached_property
    def fault_weight(self) -> Floats:
        """Weight of each fault."""
        return np.asarray([one.weight for one in self.faults], dtype=np.float64)

    @cached_property
    def fault_smallest_share(self) -> Floats:
        """Smallest share of each fault that is told."""
        return np.asarray([one.smallest_share for one in self.faults], dtype=np.float64)

    @cached_property
    def series_by_subject(self) -> tuple[tuple[WatchedSeries, ...], ...]:
        """Series of each subject."""
        by_subject: list[list[WatchedSeries]] = [[] for _ in self.subjects]
        for one in self.series:
            by_subject[one.subject].append(one)
        return tuple(map(tuple, by_subject))

    @cached_property
    def subject_weight(self) -> Floats:
        """Weight of each subject's series together."""
        return np.bincount(self.series_subject, self.series_weight, minlength=len(self.subjects)).astype(
            np.float64
        )

    def position_of(self, subject: str, kind: str, category: str) -> int | None:
        """Series, or series + fault, of a change; None: it is not watched."""
        keys = [(self.subjects[one.subject], one.statistic.value, one.category) for one in self.series]
        keys += [(self.subjects[one.subject], one.name, "") for one in self.faults]
        return keys.index((subject, kind, category)) if (subject, kind, category) in keys else None


def make_watch(counting: Counting, part: PaneHalf, pooled: Strata, label_age: int = 0) -> Watch:
    """What is watched of a part.

    Parameters
    ----------
    pooled
        counters by stratum of the first days that entered; of the reference before there are any.
    label_age
        days after which labels are taken.
    """
    whole_counters = pooled.get(WHOLE, Counters.make_empty(counting.layout_of(part))).make_dense()
    builder, is_of_records = _WatchBuilder(counting), part is PaneHalf.RECORDS
    if is_of_records:
        builder.add_records(whole_counters)
    else:
        builder.early_age = _early_label_age(counting, whole_counters) if label_age >= SLOW_AGE else 0
        builder.add_labels(whole_counters)
    return builder.finish_watch(
        part,
        faults=builder.weigh_faults(),
        versions=version_names(pooled) if is_of_records else (),
        late_cell=_late_cell(counting, whole_counters)
        if is_of_records and counting.reading.has_logged_column
        else -1,
    )


def make_segment_watch(counting: Counting, part: PaneHalf, pooled: Strata) -> Watch:
    """What is watched of the segments of a part: the level of their output, or their performance.

    The largest 20 are watched that had 20 records a day, of labels as many labelled ones. The others are
    subjects without series.
    """
    block, at = ("volume", 0) if part is PaneHalf.RECORDS else ("tally", TALLY.index("labelled"))
    strata = select_segments(pooled, counting.segments)
    records = {stratum: int(pooled[stratum].dense_block(block)[at]) for stratum in strata}
    largest = sorted(strata, key=lambda stratum: (-records[stratum], stratum))[:MOST_SEGMENTS]
    chosen = [stratum for stratum in largest if records[stratum] >= FEWEST_RECORDS * FEWEST_DAYS]
    scored = counting.score is not None and counting.reading.task is ModelTask.BINARY
    output = SubjectGroup.SCORE if scored else SubjectGroup.PREDICTION
    builder, share = _WatchBuilder(counting), SEGMENTS_SHARE / max(1, len(chosen))
    # Without labels that are counted there is no performance to watch.
    watched = strata if part is PaneHalf.RECORDS or counting.label is not None else []
    if part is PaneHalf.LABELS:
        builder.learn_maps(_sum_largest_column(counting, pooled, records))
    for stratum in watched:
        name = stratum.segment or ""
        builder.add_subject(name, output if part is PaneHalf.RECORDS else SubjectGroup.PERFORMANCE)
        if stratum in chosen and part is PaneHalf.LABELS:
            builder.add_performance(share)
        elif stratum in chosen:
            builder.add_level(name, counting.output_grids[output], pooled[stratum].dense_block(output), share)
    return builder.finish_watch(part, segmented=True)


def _early_label_age(counting: Counting, counters: DenseCounters) -> int:
    """Days until a share of the rarer class's labels is in; 0 where no class has scores that promise it."""
    if not counting.counts_scores:
        return 0
    by_class = counters.dense_block("delays")
    rarer = by_class[int(np.argmin(by_class.sum(axis=1)))]
    table = DelayTable(DELAY_EDGES, rarer)
    delay = delay_quantile(table, _EARLY, Reason.NO_LABELS).value
    return 0 if delay is None else max(1, int(np.ceil(delay * SECOND / DAY)))


def _sum_largest_column(counting: Counting, pooled: Strata, records: Mapping[Stratum, int]) -> DenseCounters:
    """Counters of the segments of the column that has most records: nearly those of the whole."""
    columns = [
        [one for one in select_segments(pooled, ((column, ()),)) if records.get(one)]
        for column, _ in counting.segments
    ]
    largest = max(columns, key=lambda many: sum(records[one] for one in many), default=[])
    return Counters.merge_all(counting.labels_layout, [pooled[one] for one in largest]).make_dense()


def version_names(strata: Strata) -> tuple[str, ...]:
    """Versions that have records, by name."""
    return tuple(sorted({stratum.version for stratum in strata if stratum.version is not None} - {OTHER}))


def known_moments(counting: Counting, whole_counters: DenseCounters) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation by output and feature, in units of its grid; of those that are known."""
    if not counting.summed_names:
        return {}
    return moments_of_sums(counting.summed_names, whole_counters.dense_block("moments"))


def moments_of_sums(names: Sequence[str], sums: Ints) -> dict[str, tuple[float, float]]:
    """The same of the block of sums, or of several that are added up; `names`: `Counting.summed_names`."""
    n, far, high, low = sums
    # Two sums a name, of deviations and of their squares: where a number lay out of their range neither is
    # known.
    known = (n > far).reshape(-1, 2).all(axis=1) & (far == 0).reshape(-1, 2).all(axis=1)
    means = ((high + low / HALF) / np.maximum(n, 1)).reshape(-1, 2)
    deviations = np.sqrt(np.maximum(means[:, 1] - np.square(means[:, 0]), 0.0))
    every = zip(names, known, means[:, 0].tolist(), deviations.tolist(), strict=True)
    return {name: (mean, deviation) for name, there, mean, deviation in every if there}


@dataclass(slots=True)
class _WatchBuilder:
    """A watch in the making. What is added goes to the subject, and the sample, that came last."""

    counting: Counting
    subjects: list[str] = field(default_factory=list)
    groups: list[SubjectGroup] = field(default_factory=list)
    series: list[WatchedSeries] = field(default_factory=list)
    faults: list[WatchedFault] = field(default_factory=list)
    cells: dict[str, UsualCells] = field(default_factory=dict)
    score_maps: ScoreMaps = field(default_factory=dict)
    early_age: int = 0
    samples: int = 0

    def finish_watch(
        self,
        part: PaneHalf,
        *,
        faults: tuple[WatchedFault, ...] = (),
        versions: tuple[str, ...] = (),
        late_cell: int = -1,
        segmented: bool = False,
    ) -> Watch:
        return Watch(
            part=part,
            subjects=tuple(self.subjects),
            groups=tuple(self.groups),
            series=tuple(self.series),
            faults=faults,
            sample_count=self.samples,
            cells=self.cells,
            versions=versions,
            score_maps=self.score_maps,
            early_age=self.early_age,
            late_cell=late_cell,
            counting_key=self.counting.hash_stored_layout(self.counting.layout_of(part)),
            segmented=segmented,
        )

    def weigh_faults(self) -> tuple[WatchedFault, ...]:
        """Half of the faults' share goes to those of values, half to those of the log or the labels."""
        is_of_values = [self.groups[one.subject] in _OF_VALUES for one in self.faults]
        return tuple(
            WatchedFault(
                one.subject, one.name, FAULTS_SHARE / 2 / is_of_values.count(side), one.smallest_share
            )
            for one, side in zip(self.faults, is_of_values, strict=True)
        )

    def add_subject(self, name: str, group: SubjectGroup) -> None:
        self.subjects.append(name)
        self.groups.append(group)

    def add_series(
        self, statistic: DailyStatistic, weight: float, cell: int = REST_CELL, category: str = ""
    ) -> None:
        subject = len(self.subjects) - 1
        self.series.append(WatchedSeries(subject, statistic, self.samples - 1, weight, cell, category))

    def add_faults(self, *names: str, smallest_share: float = 0.01) -> None:
        subject = len(self.subjects) - 1
        self.faults += [WatchedFault(subject, name, 0.0, smallest_share) for name in names]

    def add_records(self, whole_counters: DenseCounters) -> None:
        """The number of records, faults of the log, then each output and feature."""
        counting = self.counting
        self.add_subject("records", SubjectGroup.RECORDS)
        self.samples += 1
        self.add_series(DailyStatistic.RECORDS, GROUP_SHARES[SubjectGroup.RECORDS])
        self.add_subject("log", SubjectGroup.LOG)
        self.add_faults("duplicates", "stale")
        if counting.reading.has_logged_column:
            self.add_faults("unlogged", "late")
            delays = whole_counters.dense_block("log_delays")
            if delays[0] < _AT_ONCE * delays.sum():
                self.add_faults("future")
        if counting.reading.versioned:
            self.add_faults("version")
        features, moments = max(1, len(counting.features)), known_moments(counting, whole_counters)
        for name, grid in counting.output_grids.items():
            group = SubjectGroup.FEATURE if name.startswith("feature:") else SubjectGroup(name)
            share = GROUP_SHARES[group] / (features if group is SubjectGroup.FEATURE else 1)
            self.add_output(
                name, group, grid, whole_counters.dense_block(name), share, moments.get(name, (0.0, 0.0))
            )

    def add_output(
        self,
        name: str,
        group: SubjectGroup,
        grid: Grid,
        counts: Ints,
        share: float,
        moments: tuple[float, float],
    ) -> None:
        """The values of an output or a feature, and its faults."""
        self.add_subject(name, group)
        self.add_values(name, grid, counts, share, moments=moments)
        # Missing values that are usual are a series; where none are usual, they are a fault.
        if int(counts[-2]) > USUALLY_MISSING * max(1, counts.sum()):
            self.samples += 1
            self.add_series(DailyStatistic.MISSING, share * STATISTIC_SHARES[DailyStatistic.MISSING])
            self.add_faults("missing", smallest_share=ALL)
        else:
            self.add_faults("missing", smallest_share=NEWLY_MISSING)
        self.add_faults("invalid")
        if not isinstance(grid, NumericGrid):
            self.add_faults("unseen")
        elif group is SubjectGroup.FEATURE and name in self.cells and name in self.counting.summed_names:
            self.add_faults("beyond")

    def add_labels(self, whole_counters: DenseCounters) -> None:
        """How many records have labels, their faults; where they are counted, performance and the label."""
        counting = self.counting
        self.add_subject("labels", SubjectGroup.LABELS)
        self.samples += 1
        unfolding = (FEED_SHARE, UNFOLDING_SHARE) if self.early_age else (0.0, 0.0)
        self.add_series(DailyStatistic.COVERAGE, GROUP_SHARES[SubjectGroup.LABELS] - unfolding[0])
        self.add_faults("early", "corrected", "retracted", "stale")
        if counting.label is None:
            return
        self.learn_maps(whole_counters)
        self.add_subject("performance", SubjectGroup.PERFORMANCE)
        self.add_performance(GROUP_SHARES[SubjectGroup.PERFORMANCE] - unfolding[1])
        self.add_subject("label", SubjectGroup.LABEL)
        share = GROUP_SHARES[SubjectGroup.LABEL]
        self.add_values(
            "label", counting.label, whole_counters.dense_block("label"), share, DailyStatistic.BASE_RATE
        )
        self.add_faults("invalid")
        if not isinstance(counting.label, NumericGrid):
            self.add_faults("unseen")
        elif "label" in self.cells and counting.label.scale:
            self.add_faults("beyond")

    def learn_maps(self, counters: DenseCounters) -> None:
        self.score_maps = learn_score_maps(self.counting, counters) if self.counting.label is not None else {}

    def add_performance(self, share: float) -> None:
        """Labels against what scores promise; of a model without scores its errors."""
        if not self.score_maps:
            is_number = self.counting.reading.task is ModelTask.REGRESSION
            self.samples += 1
            self.add_series(DailyStatistic.RMSE if is_number else DailyStatistic.ERROR_RATE, share)
        classes = len(self.score_maps) - 1
        for at in self.score_maps:
            # Of several classes half is of whether predictions are right, half of the classes together.
            part = share / (1 if not classes else 2 if at == ALONE else 2 * classes)
            for statistic in RESIDUALS:
                self.samples += 1
                self.add_series(statistic, part * STATISTIC_SHARES[statistic], at, self._outcome_name(at))

    def _outcome_name(self, at: int) -> str:
        """Name of a class; of a binary model the positive one, of numbers none."""
        if self.counting.probability_classes:
            return CORRECT if at == ALONE else self.counting.probability_classes[at]
        return self.counting.reading.classes[1] if self.counting.counts_scores else ""

    def add_level(self, name: str, grid: Grid, counts: Ints, share: float) -> None:
        """The level of a number; of a category all that is watched of any."""
        self.samples += 1
        if not isinstance(grid, NumericGrid):
            categories = list(_watched_categories(grid.levels, counts))
            for cell, category in categories:
                self.add_series(DailyStatistic.SHARE, share / len(categories), cell, category)
        elif grid.regular_size > 1:
            usual = UsualCells(counts[:-EXTRA_CELLS], 0.0, 0.0, grid.edges, grid.scale, grid.centre)
            self.cells[name] = usual
            if len(usual.bases):
                self.add_series(DailyStatistic.LEVEL, share)

    def add_values(
        self,
        name: str,
        grid: Grid,
        counts: Ints,
        share: float,
        category_statistic: DailyStatistic = DailyStatistic.SHARE,
        moments: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Level, spread, skew and shape of a number, or the shares of its categories."""
        self.samples += 1
        if isinstance(grid, NumericGrid):
            if grid.regular_size > 1:
                usual = UsualCells(counts[:-EXTRA_CELLS], *moments, grid.edges, grid.scale, grid.centre)
                self.cells[name] = usual
                for statistic in (*NUMBER_STATISTICS[: len(usual.bases)], DailyStatistic.SHAPE):
                    self.add_series(statistic, share * STATISTIC_SHARES[statistic])
            return
        categories = list(_watched_categories(grid.levels, counts))
        part = (
            1.0 if category_statistic is DailyStatistic.BASE_RATE else STATISTIC_SHARES[DailyStatistic.SHARE]
        )
        for cell, category in categories:
            self.add_series(category_statistic, share * part / len(categories), cell, category)


def _watched_categories(names: tuple[str, ...], counts: Ints) -> Iterator[tuple[int, str]]:
    """Cells of the most frequent categories, and of the rest; of two that are all, the last one alone.

    Without any value all may come yet: those that the grid names first.
    """
    by_name = counts[: len(names)]
    order = np.argsort(-by_name, kind="stable")[:MOST_CATEGORIES]
    frequent = [int(at) for at in order if by_name[at] > 0]
    total = int(counts[:-EXTRA_CELLS].sum() + counts[-3])
    rest = total - int(by_name[frequent].sum())
    if not total:
        yield from enumerate(names[:MOST_CATEGORIES])
        yield REST_CELL, "(rest)"
        return
    # The share of one is what the other leaves: to watch both would spend the budget twice on one change.
    if rest <= _HARDLY_ANY * total and len(frequent) == 2:
        frequent = [max(frequent)]
    yield from ((at, names[at]) for at in frequent)
    if rest > _HARDLY_ANY * total:
        yield REST_CELL, "(rest)"


def _late_cell(counting: Counting, whole_counters: DenseCounters) -> int:
    """First cell of the time from event to log that is too late."""
    usual = delay_quantile(counting.log_delays_view(whole_counters), 0.95, Reason.NO_RECORDS).value or 0.0
    least = max(_LATER * usual, MINUTE / SECOND)
    return int(np.searchsorted(DELAY_EDGES, least, side="right")) + 1
