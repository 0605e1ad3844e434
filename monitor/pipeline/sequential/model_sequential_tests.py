"""Sequential tests of a model: of the arms' outcomes, of their shares of the predictions, of a challenger."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from monitor.core.clock import to_iso
from monitor.core.text import content_hash
from monitor.measures.comparison import challenger, sequential_tests
from monitor.measures.comparison.arm_outcomes import (
    ArmMean,
    ArmRate,
    compared_classes,
    label_sums,
    mean_of_sums,
    rates_of,
    weekly_table,
)
from monitor.measures.measure_options import MeasureResult
from monitor.pipeline.sequential.ledger import Ledger, LedgerCounts
from monitor.records.counting import VOLUME, Counting
from monitor.records.labels import paired_scores
from monitor.records.pane import PaneHalf
from monitor.records.reading import ComparedArms, ModelTask
from monitor.specs.model_spec import ModelSpec
from monitor.states.counters import Counters
from monitor.states.pairs import PairedAgreement
from monitor.states.strata import WHOLE, Strata, Stratum


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A sequential test of what has settled since a moment: it may be looked at as often as one likes."""

    # name, key: the hash of what is compared, and how: where it changes, the test begins anew.
    name: str
    key: str
    part: PaneHalf
    since: int | None  # microseconds; None: with the oldest pane that is counted
    nothing: LedgerCounts  # counts of no record
    counts: Callable[[Strata], LedgerCounts]  # of a pane by stratum
    evidence: Callable[[LedgerCounts], float]  # its logarithm, of the sum of the counts
    results: Callable[[Ledger], Iterator[MeasureResult]]  # measures of everything that has entered


def make_sequential_tests(spec: ModelSpec, counting: Counting) -> list[SequentialTest]:
    """Sequential tests of a model."""
    tests: list[SequentialTest] = []
    arms = counting.reading.arms
    if arms is not None and counting.label is not None:
        reading = counting.reading
        of = [(0, "")] if reading.task is ModelTask.REGRESSION else compared_classes(reading.classes)
        tests += [_outcome_test(spec, counting, arms, at, subject) for at, subject in of]
    if arms is not None and spec.control_share is not None:
        tests.append(_sample_ratio_test(spec, arms, spec.control_share))
    if counting.counts_challenger and counting.label is not None:
        tests.append(_challenger_test(spec, counting))
    return tests


@dataclass(frozen=True, slots=True)
class _ArmOutcomes:
    """Outcomes of both arms as counts: of each (positive, n), or (n, lost, first, second sum)."""

    counting: Counting
    # at, subject: position of the class that is positive, and what its measures are of.
    at: int
    subject: str
    arms: tuple[Stratum, Stratum]
    detect: float | None
    level: float

    @property
    def size(self) -> int:
        """Counts of an arm."""
        return 4 if self.counting.reading.task is ModelTask.REGRESSION else 2

    def count_outcomes(self, strata: Strata) -> LedgerCounts:
        """Of a pane."""
        return tuple(count for arm in self.arms for count in self._arm_counts(strata.get(arm)))

    def arm_outcomes(self, counts: LedgerCounts) -> tuple[ArmRate | ArmMean, ArmRate | ArmMean]:
        """Of control and treatment."""
        return self._arm_outcome(counts[: self.size]), self._arm_outcome(counts[self.size :])

    def difference_evidence(self, counts: LedgerCounts) -> float:
        """That they differ."""
        if self.detect is None:
            return 0.0
        control, treatment = (
            sequential_tests.convert_to_mean(outcome) for outcome in self.arm_outcomes(counts)
        )
        return sequential_tests.outcome_evidence(control, treatment, self.detect)

    def test_results(self, ledger: Ledger) -> Iterator[MeasureResult]:
        """Measures, the difference with the weeks behind it."""
        table = weekly_table(
            [(to_iso(week)[:10], *self.arm_outcomes(counts)) for week, counts in ledger.weeks]
        )
        control, treatment = self.arm_outcomes(ledger.total)
        difference, p_value = sequential_tests.outcome_results(
            control, treatment, detect=self.detect, most=ledger.most, level=self.level, subject=self.subject
        )
        weeks = table if ledger.weeks else None
        yield replace(difference, measurement=replace(difference.measurement, detail=weeks))
        yield p_value

    def _arm_counts(self, counters: Counters | None) -> LedgerCounts:
        if counters is None:
            return (0,) * self.size
        if self.size == 2:
            label = self.counting.histogram_view(counters, "label")
            rate = rates_of(label, len(self.counting.reading.classes))[self.at]
            return rate.positive, rate.n
        return label_sums(self.counting.errors_view(counters))

    def _arm_outcome(self, counts: LedgerCounts) -> ArmRate | ArmMean:
        if self.size == 2:
            positive, n = counts
            return ArmRate(positive, n)
        n, lost, first, second = counts
        return mean_of_sums(n, lost, first, second, self.counting.scale)


def _outcome_test(
    spec: ModelSpec, counting: Counting, arms: ComparedArms, at: int, subject: str
) -> SequentialTest:
    outcomes = _ArmOutcomes(counting, at, subject, arms.arm_strata, spec.detect, spec.keys.level)
    return SequentialTest(
        name=" of ".join(filter(None, ("outcome", subject))),
        key=_test_key(spec, arms, [spec.detect, counting.reading.classes, counting.scale]),
        part=PaneHalf.LABELS,
        since=_arms_since(spec),
        nothing=(0,) * (2 * outcomes.size),
        counts=outcomes.count_outcomes,
        evidence=outcomes.difference_evidence,
        results=outcomes.test_results,
    )


def _sample_ratio_test(spec: ModelSpec, arms: ComparedArms, planned: float) -> SequentialTest:
    at, level = VOLUME.index("records"), spec.keys.level

    def records(counters: Counters | None) -> int:
        return 0 if counters is None else int(counters.dense_block("volume")[at])

    return SequentialTest(
        name="sample_ratio",
        key=_test_key(spec, arms, [planned]),
        part=PaneHalf.RECORDS,
        since=_arms_since(spec),
        nothing=(0, 0),
        counts=lambda strata: tuple(records(strata.get(arm)) for arm in arms.arm_strata),
        evidence=lambda counts: sequential_tests.log_share_evidence(counts[0], counts[1], planned, planned),
        results=lambda ledger: sequential_tests.measure_arm_shares(
            ledger.total[0], ledger.total[1], planned=planned, most=ledger.most, level=level
        ),
    )


def _challenger_test(spec: ModelSpec, counting: Counting) -> SequentialTest:
    since = None if spec.keys.challenger is None else spec.keys.challenger.since
    other = counting.reading.challenger

    def counts(strata: Strata) -> LedgerCounts:
        if WHOLE not in strata:
            return (0, 0, 0, 0)
        agreement = paired_scores.agreement_view(strata[WHOLE])
        return (agreement.both, agreement.champion_only, agreement.challenger_only, agreement.neither)

    return SequentialTest(
        name="challenger",
        key=content_hash([since, other and other.identity, counting.reading.threshold]),
        part=PaneHalf.LABELS,
        since=since,
        nothing=(0, 0, 0, 0),
        counts=counts,
        evidence=lambda counts: challenger.discordant_evidence(counts[1], counts[2]),
        results=lambda ledger: challenger.evidence_results(PairedAgreement(*ledger.total), ledger.most),
    )


def _arms_since(spec: ModelSpec) -> int | None:
    """When the comparison of the arms begins; None: at the oldest pane that is counted."""
    return None if spec.keys.control is None else spec.keys.control.since


def _test_key(spec: ModelSpec, arms: ComparedArms, other: list[object]) -> str:
    return content_hash([_arms_since(spec), arms.column, arms.control, arms.treatment, other])
