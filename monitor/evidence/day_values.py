"""A day in numbers: the values, sample sizes and faults of each watched subject, from its counters."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np

from monitor.core.array_types import Ints
from monitor.evidence.change_sizes import HALF_A_RECORD, arcsine_share
from monitor.evidence.day_record import DayValues
from monitor.evidence.score_residuals import measure_score_residuals
from monitor.evidence.watch import (
    NUMBER_STATISTICS,
    REST_CELL,
    DailyStatistic,
    SubjectGroup,
    Watch,
    known_moments,
    version_names,
)
from monitor.measures.catalogue.daily_measures import FEWEST_RECORDS
from monitor.records.counting import TALLY, VOLUME, Counting
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters, DenseCounters
from monitor.states.grids import EXTRA_CELLS, NumericGrid
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.states.views import ExactSums

SeriesValues: TypeAlias = dict[tuple[DailyStatistic, int], tuple[float, float]]
"""By statistic and cell: value and effective sample size."""
FaultCounts: TypeAlias = dict[str, tuple[int, int]]
"""By fault: k of n records."""
_UNKNOWN = (np.nan, 0.0)
_LARGEST_COUNT = 2**31 - 1
# Judged however few records there are: few are few of their own.
_ALWAYS = (
    DailyStatistic.RECORDS,
    DailyStatistic.RESIDUAL_LEVEL,
    DailyStatistic.RESIDUAL_SLOPE,
    DailyStatistic.RMSE,
)


def day_values(
    watch: Watch, counting: Counting, strata: Strata, day: int, known_versions: Collection[str] = ()
) -> DayValues:
    """Values of all that is watched, of the counters of one day.

    Parameters
    ----------
    strata
        counters of the part that the watch is of, of the day's panes; without any: a day without rows.
    day
        days since 1970-01-01 of the day's date in the model's time zone.
    known_versions
        those that had records before.
    """
    by_subject = _values_by_subject(watch, counting, strata, known_versions)
    values = np.full(len(watch.series), np.nan)
    samples = np.zeros(watch.sample_count)
    hits, trials = (np.zeros(len(watch.faults), np.int64) for _ in range(2))
    for at, one in enumerate(watch.series):
        series_values, _ = by_subject[one.subject]
        values[at], samples[one.sample] = series_values.get((one.statistic, one.cell), _UNKNOWN)
    for at, fault in enumerate(watch.faults):
        _, fault_counts = by_subject[fault.subject]
        hits[at], trials[at] = fault_counts.get(fault.name, (0, 0))
    few = samples[watch.series_sample] < FEWEST_RECORDS if len(values) else np.zeros(0, dtype=bool)
    always = np.asarray([one.statistic in _ALWAYS for one in watch.series], dtype=bool)
    return DayValues(
        day,
        np.where(few & ~always, np.nan, values).astype(np.float32),
        samples.astype(np.float32),
        np.minimum(hits, _LARGEST_COUNT).astype(np.int32),
        # A label that is corrected twice is two corrections.
        np.minimum(np.maximum(trials, hits), _LARGEST_COUNT).astype(np.int32),
    )


def measure_subject_values(
    watch: Watch, counting: Counting, strata: Strata, subject: int
) -> tuple[SeriesValues, FaultCounts]:
    """Values and faults of one subject of some days' counters."""
    counted_day = _CountedDay.from_strata(watch, counting, watch.subject_strata(strata, subject))
    return counted_day.subject_values(subject)


def new_versions(watch: Watch, strata: Strata, known: Collection[str]) -> list[str]:
    """Versions that neither the first days had nor later ones before this."""
    return [one for one in version_names(strata) if one not in watch.versions and one not in known]


def _values_by_subject(
    watch: Watch, counting: Counting, strata: Strata, known_versions: Collection[str]
) -> list[tuple[SeriesValues, FaultCounts]]:
    subjects = range(len(watch.subjects))
    if watch.segmented:
        return [measure_subject_values(watch, counting, strata, subject) for subject in subjects]
    counted_day = _CountedDay.from_strata(watch, counting, strata, known_versions)
    return [counted_day.subject_values(subject) for subject in subjects]


@dataclass(frozen=True, slots=True)
class _CountedDay:
    """The counters of a day, opened once, and how each group of subjects is read from them."""

    watch: Watch
    counting: Counting
    whole: DenseCounters
    strata: Strata
    known_versions: Collection[str]
    means: Mapping[str, float]

    @classmethod
    def from_strata(
        cls, watch: Watch, counting: Counting, strata: Strata, known_versions: Collection[str] = ()
    ) -> "_CountedDay":
        whole_counters = strata.get(WHOLE, Counters.make_empty(counting.layout_of(watch.part))).make_dense()
        moments = known_moments(counting, whole_counters) if watch.part is PaneHalf.RECORDS else {}
        means = {name: mean for name, (mean, _) in moments.items()}
        return cls(watch, counting, whole_counters, strata, known_versions, means)

    def subject_values(self, subject: int) -> tuple[SeriesValues, FaultCounts]:
        group = self.watch.groups[subject]
        match group:
            case SubjectGroup.RECORDS:
                records = self._volume_counts()["records"]
                value = float(np.log(records + HALF_A_RECORD)), float(records)
                return {(DailyStatistic.RECORDS, REST_CELL): value}, {}
            case SubjectGroup.LOG:
                return {}, self._log_faults()
            case SubjectGroup.FEATURE | SubjectGroup.SCORE | SubjectGroup.PREDICTION:
                return self._output_values(subject)
            case SubjectGroup.LABEL:
                return self._label_distribution_values(subject)
            case SubjectGroup.LABELS:
                return self._label_coverage_values()
            case SubjectGroup.PERFORMANCE:
                return self._performance_values(), {}
            case _:
                assert_never(group)

    def _volume_counts(self) -> dict[str, int]:
        return dict(zip(VOLUME, self.whole.dense_block("volume").tolist(), strict=True))

    def _tally_counts(self) -> dict[str, int]:
        return dict(zip(TALLY, self.whole.dense_block("tally").tolist(), strict=True))

    def _log_faults(self) -> FaultCounts:
        volume = self._volume_counts()
        records, repeated = volume["records"], volume["duplicates"]
        faults = {
            "duplicates": (repeated, records + repeated),
            "stale": (volume["stale"], records),
            "unlogged": (volume["no_logged_at"], records),
        }
        if self.watch.late_cell >= 0:
            delays = self.whole.dense_block("log_delays")
            n = int(delays.sum())
            late = int(delays[self.watch.late_cell :].sum())
            faults |= {"late": (late, n), "future": (int(delays[0]), n)}
        if self.counting.reading.versioned:
            new = new_versions(self.watch, self.strata, self.known_versions)
            count = sum(int(self.strata[Stratum(version=one)].dense_block("volume")[0]) for one in new)
            # A version that took over is a release and no fault: an event tells of it.
            faults["version"] = (0 if count >= records else count, records)
        return faults

    def _output_values(self, subject: int) -> tuple[SeriesValues, FaultCounts]:
        """Of a score, a prediction, a feature; and of the one that a segment is watched by."""
        name = self.watch.block_name(subject)
        counts, mean = self.whole.dense_block(name), self.means.get(name)
        n, missing = int(counts.sum()), int(counts[-2])
        values = _distribution_values(self.watch, subject, counts, DailyStatistic.SHARE, mean)
        values[DailyStatistic.MISSING, REST_CELL] = (arcsine_share(missing, n), float(n))
        faults = {"missing": missing, "invalid": int(counts[-1]), "unseen": int(counts[-3])}
        if name in self.watch.cells:
            faults["beyond"] = self.watch.cells[name].count_beyond_edges(counts[:-EXTRA_CELLS], mean)
        return values, {fault: (count, n) for fault, count in faults.items()}

    def _label_distribution_values(self, subject: int) -> tuple[SeriesValues, FaultCounts]:
        counts, tally = self.whole.dense_block("label"), self._tally_counts()
        labelled, invalid = tally["labelled"], tally["invalid"]
        faults = {"invalid": (invalid, labelled + invalid), "unseen": (int(counts[-3]), labelled)}
        if "label" in self.watch.cells:
            faults["beyond"] = (self._count_labels_beyond(counts[:-EXTRA_CELLS]), labelled)
        return _distribution_values(self.watch, subject, counts, DailyStatistic.BASE_RATE), faults

    def _count_labels_beyond(self, counts: Ints) -> int:
        """Labels that surely are far beyond the reference's: by their sum, where each has a prediction."""
        grid, errors = self.counting.label, self.counting.errors_view(self.whole)
        n = errors.count_of("label") - errors.count_out_of_range("label")
        if not isinstance(grid, NumericGrid) or n != int(counts.sum()):
            return 0
        mean = (float(errors.exact_mean("label")) - grid.centre) / grid.scale if n else 0.0
        return self.watch.cells["label"].count_beyond_edges(counts, mean)

    def _label_coverage_values(self) -> tuple[SeriesValues, FaultCounts]:
        tally = self._tally_counts()
        records, labelled = tally["records"], tally["labelled"]
        faults = {
            "early": (tally["early"], labelled),
            "corrected": (tally["corrections"], labelled),
            "retracted": (tally["retracted"], records),
            "stale": (tally["stale"], records),
        }
        return {
            (DailyStatistic.COVERAGE, REST_CELL): (arcsine_share(labelled, records), float(records))
        }, faults

    def _performance_values(self) -> SeriesValues:
        watched = {one.statistic for one in self.watch.series}
        values: SeriesValues = {}
        for at, found in measure_score_residuals(self.watch.score_maps, self.counting, self.whole).items():
            values[DailyStatistic.RESIDUAL_LEVEL, at] = found.level, found.level_sample
            values[DailyStatistic.RESIDUAL_SLOPE, at] = found.slope, found.slope_sample
        if DailyStatistic.ERROR_RATE in watched:
            counts = self.whole.dense_block("confusion")
            n, right = int(counts.sum()), int(np.trace(counts[:-1, :-1]))
            values[DailyStatistic.ERROR_RATE, REST_CELL] = (arcsine_share(n - right, n), float(n))
        if DailyStatistic.RMSE in watched:
            values[DailyStatistic.RMSE, REST_CELL] = _log_rmse(self.counting.errors_view(self.whole))
        return values


def _distribution_values(
    watch: Watch, subject: int, counts: Ints, category_statistic: DailyStatistic, mean: float | None = None
) -> SeriesValues:
    """Level, spread, skew and shape of a number, or the shares of its watched categories."""
    regular, name = counts[:-EXTRA_CELLS], watch.subjects[subject]
    if name in watch.cells:
        n = int(regular.sum())
        if n == 0:
            return {}
        powers, shape = watch.cells[name].day_statistics(regular, mean)
        values: SeriesValues = {
            (statistic, REST_CELL): (float(power), float(n))
            for statistic, power in zip(NUMBER_STATISTICS, powers, strict=False)
        }
        return values | {(DailyStatistic.SHAPE, REST_CELL): (shape, float(n))}
    n = int(regular.sum() + counts[-3])
    cells = [one.cell for one in watch.series_by_subject[subject] if one.statistic is category_statistic]
    hits = {cell: int(regular[cell]) for cell in cells if cell != REST_CELL}
    hits[REST_CELL] = n - sum(hits.values())
    return {(category_statistic, cell): (arcsine_share(hits[cell], n), float(n)) for cell in cells}


def _log_rmse(errors: ExactSums) -> tuple[float, float]:
    n = errors.count_of("squared_error")
    if (
        n < FEWEST_RECORDS
        or errors.count_out_of_range("squared_error")
        or errors.count_out_of_range("quartic_error")
    ):
        return _UNKNOWN
    square, fourth = float(errors.exact_mean("squared_error")), float(errors.exact_mean("quartic_error"))
    if square <= 0:
        return _UNKNOWN
    variance = max(fourth / square**2 - 1.0, 1e-6)
    # Delta method: ln RMSE is half the logarithm of a mean, and varies by a quarter of its relative variance.
    return float(np.log(square) / 2), 4 * n / variance
