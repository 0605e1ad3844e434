"""Windows to rows: fold, measure, and say what stands behind it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from monitor.alerts.rules import Acceptance, Series
from monitor.core.typing import Ints
from monitor.measures.against import SEASON
from monitor.measures.catalogue import BY_NAME
from monitor.measures.evaluate import challenge, comparison, label_quality, performance, quality, shift
from monitor.measures.options import Options, Result
from monitor.measures.rows import MeasurementRow, Truth
from monitor.measures.volume import WEEKS, volume_ratio
from monitor.pipeline.caches import Caches, NewestSettled, RowsKey
from monitor.pipeline.model import Model
from monitor.pipeline.windows.against import (
    Earlier,
    accepted_spans,
    against_reference,
    not_counted,
    nowcast_against,
    performance_against,
    quality_against_accepted,
    quality_against_reference,
    season_against,
    shift_against,
)
from monitor.pipeline.windows.by_day import by_day, independent
from monitor.pipeline.windows.due import Truths, is_counted
from monitor.pipeline.windows.estimates import estimate_error_rows, estimate_rows
from monitor.pipeline.windows.label_shift import label_shift_against, label_shift_rows
from monitor.pipeline.windows.nowcast_rows import nowcast, nowcast_rows
from monitor.pipeline.windows.target import Target, folded_part
from monitor.pipeline.windows.window_references import window_references
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.days import without_days, zone_of_days
from monitor.windows.ends import Window, earlier_spans
from monitor.windows.fold import with_frequent_versions


def record_rows(target: Target, folded: Strata, *, strata: bool = True) -> list[MeasurementRow]:
    """Shift, data quality and volume of a window; of strata only the outputs' headlines."""
    counting, options = target.model.counting, target.options
    references = window_references(target.model, folded)
    rows: list[MeasurementRow] = []
    measured = (
        with_frequent_versions(counting.records, folded, "volume") if strata else {WHOLE: folded[WHOLE]}
    )
    for stratum, records in in_order(measured):
        features = stratum == WHOLE
        expected = references.expected(stratum, counting, target.caches)
        shifted = shift(counting, expected, records, replace(options, whole=features))
        checked = quality(counting, records, level=options.level, features=features)
        warned = replace(target, warning=target.warning or references.warning(stratum))
        rows += [warned.row(result, Truth.NONE, stratum, None) for result in _wanted(stratum, shifted)]
        rows += [target.row(result, Truth.NONE, stratum, None) for result in _wanted(stratum, checked)]
    rows = by_day(target, Part.RECORDS, folded, rows, lambda rest: quality(counting, rest[WHOLE]))
    return rows + independent(target, quality_against_reference(target, rows, references))


def label_rows(target: Target, folded: Strata, truth: Truth, *, strata: bool = True) -> list[MeasurementRow]:
    """Performance and labels of a window: the whole's with intervals, strata's headlines, the arms."""
    options, counting = target.options, target.model.counting
    whole = performance(counting, folded[WHOLE], options)
    rows = _of_stratum(target, truth, WHOLE, folded[WHOLE], whole)
    coverage = rows[0].coverage
    challenged = challenge(counting, folded[WHOLE], options)
    rows += [target.row(result, truth, WHOLE, coverage) for result in challenged]
    rows += label_shift_rows(target, folded[WHOLE], truth, coverage)
    if strata:
        everyone = counting.tally(folded[WHOLE]).records
        resampled = target.model.spec.resample_segments
        of_stratum = options if resampled else replace(options, resamples=0, whole=False)
        for stratum, counters in in_order(with_frequent_versions(counting.labels, folded, "tally")):
            if stratum == WHOLE:
                continue
            # if all rows serve, a stratum is a part of the whole: with as many records it is the whole
            same = counting.reading.serving is None and counting.tally(counters).records == everyone
            measured = whole if same else performance(counting, counters, of_stratum)
            rows += _of_stratum(target, truth, stratum, counters, measured)
        rows += [target.row(result, truth, WHOLE, coverage) for result in _arms(target, folded, options)]
    rows = by_day(
        target, Part.LABELS, folded, rows, lambda rest: _label_values(target, rest, options), _both(counting)
    )
    return rows + independent(target, against_reference(target, rows, folded))


def in_order(folded: Strata) -> list[tuple[Stratum, Counters]]:
    """Strata by version and segment, the whole first."""
    return sorted(folded.items(), key=lambda item: tuple(part or "" for part in item[0]))


def performance_values(target: Target) -> dict[tuple[str, str], Result]:
    """Performance of the whole without resampling: what a kept window is compared by."""
    counting = target.model.counting
    whole = folded_part(target, Part.LABELS, strata=False)[WHOLE]
    results = performance(counting, whole, replace(target.options, resamples=0, whole=False))
    return {(result.measure, result.subject): result for result in results}


def moved(results: Mapping[tuple[str, str], Result], kept: Iterable[MeasurementRow]) -> bool:
    """Whether a value moved by more than a quarter of the half width kept with it, or came, or went."""
    for row in kept:
        result = results.get((row.measure, row.subject))
        if result is None:
            continue
        now, before = result.measurement, row.measurement
        if now.reason != before.reason:
            return True
        if now.value is None or before.value is None or before.interval is None:
            continue
        if abs(now.value - before.value) > (before.interval.upper - before.interval.lower) / 8:
            return True
    return False


@dataclass(frozen=True, slots=True)
class WindowMeasures:
    """Windows of one kind, each measured once in a cycle."""

    model: Model
    caches: Caches
    window: Window
    first: int  # windows that start before this moment are partial
    lacking: Ints  # int64, ascending: starts of panes that are not counted; windows that hold one are partial
    oldest: int = 0  # earlier weeks that volumes are compared with begin here or later, as in `first`
    settled: NewestSettled | None = None  # newest settled window of this kind
    # changes that are expected, as of the cycle.
    accepted: Mapping[Series, Acceptance] = field(default_factory=dict)

    def records(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the window that ends at `end`."""
        target = self._target(end)
        rows = self._once(target, Part.RECORDS, Truth.NONE)
        rows += [self._volume(target), *estimate_rows(target, self._state(target, Truth.NONE))]
        now = self._state(target, Truth.NONE)[WHOLE]
        compared = self._against(target, Part.RECORDS, Truth.NONE, rows, now)
        return [*rows, *compared, *self._seasonal(target, now)]

    def revised_records(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the whole, for a revision."""
        target = self._target(end)
        folded = folded_part(target, Part.RECORDS)
        rows = record_rows(target, folded, strata=False)
        return [*rows, self._volume(target), *estimate_rows(target, folded, strata=False)]

    def labels(self, end: int, truth: Truth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the window that ends at `end`, and of its strata."""
        target = self._target(end, warning)
        rows = self._once(target, Part.LABELS, truth)
        state = self._state(target, truth)
        if truth is Truth.SETTLED:
            rows += estimate_error_rows(target, rows, state)
        return [*rows, *self._against(target, Part.LABELS, truth, rows, state[WHOLE])]

    def revised(self, end: int, truth: Truth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the whole, for a revision, also against other moments."""
        target = self._target(end, warning)
        folded = folded_part(target, Part.LABELS, strata=False)
        rows = label_rows(target, folded, truth, strata=False)
        rows += estimate_error_rows(target, rows, folded) if truth is Truth.SETTLED else []
        return [*rows, *self._against(target, Part.LABELS, truth, rows, folded[WHOLE])]

    def nowcasts(self, end: int, truths: Truths) -> list[MeasurementRow]:
        """Performance of the window that ends at `end` by the labels so far, weighed; also against others."""
        target = self._target(end, truths.breach)
        rows = nowcast_rows(target, truths)
        compared: list[MeasurementRow] = []
        for earlier, counted in self._earlier(target, Part.LABELS):
            if not counted:
                compared += not_counted(target, Part.LABELS, rows, earlier)
            elif earlier.spans:
                figures = nowcast(target, truths, earlier.spans)
                compared += nowcast_against(target, rows, figures, earlier.name)
        return independent(target, [*rows, *against_reference(target, rows, {}), *compared])

    def moved(self, end: int, kept: Iterable[MeasurementRow]) -> bool:
        """Whether the window's performance moved away from what was kept."""
        return moved(performance_values(self._target(end)), kept)

    def _volume(self, target: Target) -> MeasurementRow:
        """Records against the same hours of earlier weeks. Cost: sums over the panes' facts, no state."""
        panes, level = self.caches.panes, self.model.spec.level
        weeks = (self.window.earlier(target.end, back) for back in range(1, WEEKS + 1))
        earlier = [panes.records(*week) for week in weeks if self._counted(*week)]
        measurement = volume_ratio(panes.records(target.start, target.end), earlier, level)
        return target.row(Result("volume_ratio", "", measurement), Truth.NONE, WHOLE, None)

    def _counted(self, start: int, end: int, *, frozen: bool = False) -> bool:
        """Whether a span was counted whole: within the horizon, or also where it is no longer followed."""
        oldest = self.first if frozen else max(self.first, self.oldest)
        return start >= oldest and is_counted(self.lacking, start, end)

    def _against(
        self, target: Target, part: Part, truth: Truth, rows: list[MeasurementRow], now: Counters
    ) -> list[MeasurementRow]:
        """What a window has to say against each of the earlier spans that are configured."""
        compared: list[MeasurementRow] = []
        for earlier, counted in self._earlier(target, part):
            if not counted:
                compared += not_counted(target, part, rows, earlier)
            elif earlier.spans:
                compared += self._compared(target, part, truth, rows, now, earlier)
        return independent(target, compared)

    def _seasonal(self, target: Target, now: Counters) -> list[MeasurementRow]:
        """Shift against earlier periods of the season: those that were counted whole, less unusual days."""
        spec = self.model.spec
        if not spec.season:
            return []
        spans = earlier_spans(self.window, target.end, spec.season, self.model.reading.pane)
        zone = zone_of_days(self.window.zone, self.model.reading.pane)
        periods = [
            Earlier(SEASON, without_days(span, spec.unusual_days, zone))
            for span in spans
            if self._counted(*span, frozen=True)
        ]

        def fold() -> Strata:
            sums = (period.folded(target, Part.RECORDS)[WHOLE] for period in periods)
            return {WHOLE: now} | {Stratum(version=str(at)): each for at, each in enumerate(sums)}

        def measure(sides: Strata) -> list[MeasurementRow]:
            then = [sides[stratum] for stratum in sides if stratum != WHOLE]
            return season_against(target, now, then, self.first)

        return independent(target, self.caches.rows(self._key(target, Truth.NONE, SEASON), fold, measure))

    def _earlier(self, target: Target, part: Part) -> Iterator[tuple[Earlier, bool]]:
        """Earlier spans that a window is compared with, and whether they were counted whole."""
        pane = self.model.reading.pane
        spans = [
            Earlier(name, tuple(earlier_spans(self.window, target.end, name, pane)))
            for name in self.model.spec.against
        ]
        for earlier in (*spans, *accepted_spans(target, part)):
            yield earlier, all(self._counted(*span, frozen=True) for span in earlier.spans)

    def _compared(
        self,
        target: Target,
        part: Part,
        truth: Truth,
        rows: list[MeasurementRow],
        now: Counters,
        earlier: Earlier,
    ) -> list[MeasurementRow]:
        def fold() -> Strata:
            return {WHOLE: now, Stratum(version=earlier.name): earlier.folded(target, part)[WHOLE]}

        def measure(sides: Strata) -> list[MeasurementRow]:
            then = sides[Stratum(version=earlier.name)]
            if part is Part.RECORDS:
                shifted = shift_against(target, now, earlier, then)
                return shifted + quality_against_accepted(target, rows, earlier, then)
            differences = performance_against(target, rows, earlier, then)
            coverage = rows[0].coverage
            return differences + label_shift_against(target, (now, then), truth, coverage, earlier.name)

        return self.caches.rows(self._key(target, truth, earlier.name), fold, measure)

    def _once(self, target: Target, part: Part, truth: Truth) -> list[MeasurementRow]:
        """Measure a window, unless this cycle did so already, or the last one did and nothing changed."""

        def measure(folded: Strata) -> list[MeasurementRow]:
            if part is Part.RECORDS:
                return record_rows(target, folded)
            return label_rows(target, folded, truth)

        return self.caches.rows(self._key(target, truth), lambda: folded_part(target, part), measure)

    def _state(self, target: Target, truth: Truth) -> Strata:
        """State behind what was measured once."""
        return self.caches.state(self._key(target, truth))

    def _key(self, target: Target, truth: Truth, against: str = "") -> RowsKey:
        return (self.window.name, target.end, truth, target.warning, against)

    def _target(self, end: int, warning: str = "") -> Target:
        whole = self._counted(self.window.start(end), end, frozen=True)
        partial = "" if whole else "partial"
        return Target(
            self.model,
            self.caches,
            self.window,
            end,
            ", ".join(filter(None, (partial, warning))),
            self.settled,
            self.accepted,
        )


def _of_stratum(
    target: Target, truth: Truth, stratum: Stratum, counters: Counters, measured: list[Result]
) -> list[MeasurementRow]:
    counting = target.model.counting
    tally = counting.tally(counters)
    coverage = tally.labelled / tally.records if tally.records else None
    labels = label_quality(counting, counters, target.options, delays=stratum == WHOLE)
    return [target.row(result, truth, stratum, coverage) for result in _wanted(stratum, [*measured, *labels])]


def _wanted(stratum: Stratum, results: list[Result]) -> list[Result]:
    """All results of the whole, the headline measures of a stratum without detail: there may be many."""
    if stratum == WHOLE:
        return results
    return [
        result
        if result.measurement.detail is None
        else replace(result, measurement=replace(result.measurement, detail=None))
        for result in results
        if BY_NAME[result.measure].headline
    ]


def _arms(target: Target, folded: Strata, options: Options) -> list[Result]:
    counting = target.model.counting
    if counting.reading.arms is None:
        return []
    control, treatment = (folded.get(arm) for arm in _both(counting))
    return comparison(counting, control, treatment, options)


def _both(counting: Counting) -> tuple[Stratum, ...]:
    """Strata of control and treatment, if there are any."""
    arms = counting.reading.arms
    return () if arms is None else arms.strata


def _label_values(target: Target, folded: Strata, options: Options) -> list[Result]:
    """Everything that labels say of the whole: values without intervals."""
    counting, whole, options = target.model.counting, folded[WHOLE], replace(options, resamples=0)
    return [
        *performance(counting, whole, options),
        *label_quality(counting, whole, options),
        *challenge(counting, whole, options),
        *_arms(target, folded, options),
    ]
