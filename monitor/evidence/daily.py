"""A day in numbers: what is followed of a part, from its counters."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import scipy

from monitor.core.typing import Ints
from monitor.evidence.days import DayValues
from monitor.evidence.making import FEWEST_RECORDS as FEWEST
from monitor.evidence.making import OF_NUMBERS, REST, moments_of, versions_of
from monitor.evidence.sizes import HALF_A_RECORD, arcsine
from monitor.evidence.watched import Trait, Watch, WatchGroup
from monitor.records.counting import TALLY, VOLUME, Counting
from monitor.records.pane import Part
from monitor.states.counters import Counters, Opened
from monitor.states.grids import EXTRA_CELLS
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.states.views import Sums

_FEW = 10  # of a class
_Values: TypeAlias = dict[tuple[Trait, int], tuple[float, float]]  # trait and cell: value and n
_Hits: TypeAlias = dict[str, tuple[int, int]]
_NONE = (np.nan, 0.0)


def day_values(
    watch: Watch, counting: Counting, strata: Strata, day: int, known: Collection[str] = ()
) -> DayValues:
    """What is followed, of the counters of one day.

    Parameters
    ----------
    strata
        counters of the part that the watch is of, of the day's panes; without any: a day without rows.
    day
        days since 1970-01-01 of the day's date in the model's time zone.
    known
        versions that had records before.
    """
    values = np.full(len(watch.series), np.nan)
    samples = np.zeros(watch.samples)
    hits, trials = (np.zeros(len(watch.faults), np.int64) for _ in range(2))
    if watch.segmented:
        found = [values_of(watch, counting, strata, subject) for subject in range(len(watch.subjects))]
    else:
        counted = _counted(watch, counting, strata, known)
        found = [counted.of(subject, group) for subject, group in enumerate(watch.groups)]
    for at, one in enumerate(watch.series):
        values[at], samples[one.sample] = found[one.subject][0].get((one.trait, one.cell), _NONE)
    for at, fault in enumerate(watch.faults):
        hits[at], trials[at] = found[fault.subject][1].get(fault.fault, (0, 0))
    few = samples[watch.sample] < FEWEST if len(values) else np.zeros(0, dtype=bool)
    always = np.asarray([one.trait in _ALWAYS for one in watch.series], dtype=bool)
    return DayValues(
        day,
        np.where(few & ~always, np.nan, values).astype(np.float32),
        samples.astype(np.float32),
        np.minimum(hits, _LARGEST).astype(np.int32),
        # a label that is corrected twice is two corrections
        np.minimum(np.maximum(trials, hits), _LARGEST).astype(np.int32),
    )


def values_of(watch: Watch, counting: Counting, strata: Strata, subject: int) -> tuple[_Values, _Hits]:
    """Values and faults of one subject of some days' counters: each with its sample size, or k of n."""
    counted = _counted(watch, counting, watch.counters_of(strata, subject))
    return counted.of(subject, watch.groups[subject])


def new_versions(watch: Watch, strata: Strata, known: Collection[str]) -> list[str]:
    """Versions that neither the first days had nor later ones before this."""
    return [one for one in versions_of(strata) if one not in watch.versions and one not in known]


def _counted(watch: Watch, counting: Counting, strata: Strata, known: Collection[str] = ()) -> "_Day":
    whole = strata.get(WHOLE, Counters.empty(counting.layout(watch.part))).opened()
    moments = moments_of(counting, whole) if watch.part is Part.RECORDS else {}
    return _Day(watch, counting, whole, strata, known, {name: mean for name, (mean, _) in moments.items()})


_LARGEST = 2**31 - 1
_ALWAYS = (
    Trait.RECORDS,
    Trait.AUC,
    Trait.LOG_LOSS,
    Trait.RMSE,
)  # few are few of their own


@dataclass(frozen=True, slots=True)
class _Day:
    """The counters of a day, and how they are read."""

    watch: Watch
    counting: Counting
    whole: Opened
    strata: Strata
    known: Collection[str]
    means: Mapping[str, float]

    def of(self, subject: int, group: WatchGroup) -> tuple[_Values, _Hits]:
        """Values and faults of a subject."""
        match group:
            case WatchGroup.RECORDS:
                records = self._volume()["records"]
                return {(Trait.RECORDS, REST): (float(np.log(records + HALF_A_RECORD)), float(records))}, {}
            case WatchGroup.LOG:
                return {}, self._of_log()
            case WatchGroup.FEATURE | WatchGroup.SCORE | WatchGroup.PREDICTION:
                return self._of_output(subject)
            case WatchGroup.LABEL:
                return self._of_label(subject)
            case WatchGroup.LABELS:
                return self._of_labels()
            case WatchGroup.PERFORMANCE:
                return self._of_performance(), {}
            case _:
                assert_never(group)

    def _volume(self) -> dict[str, int]:
        return dict(zip(VOLUME, self.whole.block("volume").tolist(), strict=True))

    def _tally(self) -> dict[str, int]:
        return dict(zip(TALLY, self.whole.block("tally").tolist(), strict=True))

    def _of_log(self) -> _Hits:
        counted = self._volume()
        records, repeated = counted["records"], counted["duplicates"]
        hits = {
            "duplicates": (repeated, records + repeated),
            "stale": (counted["stale"], records),
            "unlogged": (counted["no_logged_at"], records),
        }
        if self.watch.late >= 0:
            delays = self.whole.block("log_delays")
            n = int(delays.sum())
            hits |= {"late": (int(delays[self.watch.late :].sum()), n), "future": (int(delays[0]), n)}
        if self.counting.reading.versioned:
            new = [Stratum(version=one) for one in new_versions(self.watch, self.strata, self.known)]
            count = sum(int(self.strata[one].block("volume")[0]) for one in new)
            released = count >= records  # it took over: no fault, an event tells of it
            hits["version"] = (0 if released else count, records)
        return hits

    def _of_output(self, subject: int) -> tuple[_Values, _Hits]:
        name = self.watch.counted_as(subject)
        counts = self.whole.block(name)
        n, missing = int(counts.sum()), int(counts[-2])
        values = _of_values(self.watch, subject, counts, Trait.SHARE, self.means.get(name))
        values[Trait.MISSING, REST] = (arcsine(missing, n), float(n))
        hits = {"missing": missing, "invalid": int(counts[-1]), "unseen": int(counts[-3])}
        if name in self.watch.cells:
            hits["beyond"] = self.watch.cells[name].beyond(counts[:-EXTRA_CELLS], self.means.get(name))
        return values, {fault: (count, n) for fault, count in hits.items()}

    def _of_label(self, subject: int) -> tuple[_Values, _Hits]:
        counts, tally = self.whole.block("label"), self._tally()
        labelled, invalid = tally["labelled"], tally["invalid"]
        hits = {"invalid": (invalid, labelled + invalid), "unseen": (int(counts[-3]), labelled)}
        return _of_values(self.watch, subject, counts, Trait.BASE_RATE), hits

    def _of_labels(self) -> tuple[_Values, _Hits]:
        tally = self._tally()
        records, labelled = tally["records"], tally["labelled"]
        hits = {
            "early": (tally["early"], labelled),
            "corrected": (tally["corrections"], labelled),
            "retracted": (tally["retracted"], records),
            "stale": (tally["stale"], records),
        }
        return {(Trait.COVERAGE, REST): (arcsine(labelled, records), float(records))}, hits

    def _of_performance(self) -> _Values:
        followed = {one.trait for many in self.watch.followed for one in many}
        values: _Values = {}
        if Trait.AUC in followed:
            values[Trait.AUC, REST] = area(*self.whole.block("scores"))
        if Trait.LOG_LOSS in followed:
            values[Trait.LOG_LOSS, REST] = _log_loss(self.counting.losses(self.whole))
        if Trait.ERROR_RATE in followed:
            counts = self.whole.block("confusion")
            n, right = int(counts.sum()), int(np.trace(counts[:-1, :-1]))
            values[Trait.ERROR_RATE, REST] = (arcsine(n - right, n), float(n))
        if Trait.RMSE in followed:
            values[Trait.RMSE, REST] = _log_rmse(self.counting.errors(self.whole))
        return values


def _of_values(watch: Watch, subject: int, counts: Ints, trait: Trait, mean: float | None = None) -> _Values:
    regular, name = counts[:-EXTRA_CELLS], watch.subjects[subject]
    if name in watch.cells:
        n = int(regular.sum())
        if n == 0:
            return {}
        powers, shape = watch.cells[name].statistics(regular, mean)
        values: _Values = {
            (each, REST): (float(power), float(n)) for each, power in zip(OF_NUMBERS, powers, strict=False)
        }
        return values | {(Trait.SHAPE, REST): (shape, float(n))}
    n = int(regular.sum() + counts[-3])
    cells = [one.cell for one in watch.followed[subject] if one.trait is trait]
    hits = {cell: int(regular[cell]) for cell in cells if cell != REST}
    hits[REST] = n - sum(hits.values())
    return {(trait, cell): (arcsine(hits[cell], n), float(n)) for cell in cells}


def area(negative: Ints, positive: Ints) -> tuple[float, float]:
    """-logit AUC of the scores' cells, and its effective sample size A(1 - A)·min(P, N).

    NaN where there are fewer than 10 of a class. The area is drawn half a pair away from 0 and 1.
    """
    positives, negatives = int(positive.sum()), int(negative.sum())
    if min(positives, negatives) < _FEW:
        return _NONE
    below = np.cumsum(negative) - negative
    won = float((positive * (below + negative / 2)).sum())
    auc = (won + 0.5) / (positives * negatives + 1.0)
    return float(-scipy.special.logit(auc)), auc * (1 - auc) * min(positives, negatives)


def _log_loss(losses: Sums) -> tuple[float, float]:
    n = losses.n("log_loss") - losses.out_of_range("log_loss")
    if n < FEWEST or losses.out_of_range("squared_log_loss"):
        return _NONE
    mean, square = float(losses.mean("log_loss")), float(losses.mean("squared_log_loss"))
    return mean, n / max(square - mean * mean, 1e-6)


def _log_rmse(errors: Sums) -> tuple[float, float]:
    n = errors.n("squared_error")
    if n < FEWEST or errors.out_of_range("squared_error") or errors.out_of_range("quartic_error"):
        return _NONE
    square, fourth = float(errors.mean("squared_error")), float(errors.mean("quartic_error"))
    if square <= 0:
        return _NONE
    variance = max(fourth / square**2 - 1.0, 1e-6)
    return float(np.log(square) / 2), 4 * n / variance
