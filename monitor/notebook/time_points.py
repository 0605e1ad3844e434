"""Windows of a frame to points over time: each measure beside the reference's value, its limit and state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from monitor.alerts.alert_rules import Rule
from monitor.alerts.default_rules import fall_condition
from monitor.alerts.verdicts import Index, Outcome, group_rule_rows, judge_rule, leeway_of
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.estimate_measures import ESTIMATED
from monitor.measures.catalogue.measure import BetterDirection, Measure, MeasureFamily
from monitor.measures.measurement_comparison import FALL, FIGURES, REFERENCE
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.value_words import SIZES
from monitor.notebook.frame_periods import FramePeriod
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.known_measurements import FEATURE
from monitor.sentences.time_words import THE_FRAME
from monitor.windows.window_ends import Window

MOVED = "moved_features"  # how many features' stability index is at least 0.1, and beyond chance
COMING, FEW = "labels_still_coming", "few_labels"  # reasons of points that are not judged
_NEARLY_ALL = 0.9  # of the usual share of labels: newest windows that have less are still waited for
_MOSTLY = 0.5  # of the usual share of labels: what has less is not judged, wherever it lies
_CRITICAL = f"{INDEX}_critical"
_WITHOUT_LIMIT = frozenset({MeasureFamily.QUALITY, MeasureFamily.VALUES, MeasureFamily.LABELS})

PointKey: TypeAlias = tuple[str, str]
"""Measure, subject."""


class PointState(StrEnum):
    """What a point says beside its limit; NONE: its measure has none."""

    WORSE = "worse"
    WITHIN = "within"
    UNKNOWN = "unknown"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWindow:
    """One window of lines over time."""

    window: Window
    span: tuple[int, int] | None  # start, end; None: the whole reference, whose rows have no times
    of_reference: bool
    labels: str = ""  # `COMING` or `FEW`; empty: its labels are in, or there are none at all


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePoint:
    """A measure of one window."""

    measurement: Measurement
    reference: float | None = None  # value of the whole reference
    limit: float | None = None  # where worse begins
    state: PointState = PointState.NONE
    reason: str = ""  # why there is no value, or why it is not judged


@dataclass(frozen=True, slots=True)
class _WindowRows:
    """Measurements of one window by what they are of, and those against the reference."""

    plain: Mapping[PointKey, MeasurementRow]
    against: Mapping[PointKey, MeasurementRow]
    judged: Index

    @classmethod
    def of_rows(cls, rows: Iterable[MeasurementRow]) -> "_WindowRows":
        """Of all rows of a window's whole."""
        whole = [row for row in rows if row.is_of_whole]
        plain, against = (
            {(row.measure, row.subject): row for row in whole if row.against == moment}
            for moment in ("", REFERENCE)
        )
        return cls(plain, against, group_rule_rows(whole, frozenset(measure for measure, _ in against)))


def measure_points(
    periods: Sequence[FramePeriod], every: Window
) -> tuple[tuple[LineWindow, ...], dict[PointKey, tuple[TimePoint, ...]]]:
    """Windows, and the points of each measure and subject, one for each window.

    Cost: what `monitor.evaluate` measures of the rows of one window, for each.
    """
    measured = [_WindowRows.of_rows(period.measure_rows()) for period in periods]
    windows = _line_windows(periods, measured, every)
    keys = dict.fromkeys(key for rows in measured for key in rows.plain)
    references = _reference_values(measured) | _highest_indices(measured, windows)
    limits = {key: _fall_limit(key[0], references.get(key)) for key in keys}
    points = {
        key: tuple(
            _make_point(key, rows, window, references.get(key), limits[key])
            for rows, window in zip(measured, windows, strict=True)
        )
        for key in keys
    }
    moved = tuple(_count_moved(points, at) for at in range(len(windows)))
    if any(point.measurement.value is not None for point in moved):
        points[MOVED, ""] = moved
    return windows, points


def _line_windows(
    periods: Sequence[FramePeriod], measured: Sequence[_WindowRows], every: Window
) -> tuple[LineWindow, ...]:
    """Windows, with what is to be known of their labels."""
    shares = [_labelled_share(rows) for rows in measured]
    later = [at for at, period in enumerate(periods) if not period.of_reference]
    sizes = sorted(shares[at][1] for at in later)
    large = sizes[len(sizes) // 2] if sizes else 0
    usual = max((shares[at][0] for at in later if shares[at][1] >= large), default=0.0)
    said = {at: FEW for at in later if usual and shares[at][1] and shares[at][0] < _MOSTLY * usual}
    for at in reversed(later):
        if shares[at][1] and shares[at][0] >= _NEARLY_ALL * usual:
            break
        said[at] = COMING if usual else ""
    return tuple(
        LineWindow(window=every, span=period.span, of_reference=period.of_reference, labels=said.get(at, ""))
        for at, period in enumerate(periods)
    )


def _labelled_share(rows: _WindowRows) -> tuple[float, int]:
    """Share of a window's records that have a label, and how many records those are."""
    coverage = rows.plain.get(("coverage", ""))
    if coverage is None or coverage.measurement.value is None:
        return 0.0, 0
    return coverage.measurement.value, coverage.measurement.n


def _reference_values(measured: Iterable[_WindowRows]) -> dict[PointKey, float]:
    """What the whole reference has, as the differences from it tell; of an estimate what it estimates."""
    known: dict[PointKey, float] = {}
    for rows in measured:
        for key, row in rows.against.items():
            detail = row.measurement.detail
            if key not in known and detail is not None and detail.columns == FIGURES:
                value = detail.rows[0][0]
                if isinstance(value, int | float):
                    known[key] = float(value)
    estimated = {(name, ""): (BY_NAME[name].estimates, "") for name in ESTIMATED}
    return known | {name: known[key] for name, key in estimated.items() if key in known}


def _highest_indices(measured: Sequence[_WindowRows], windows: Sequence[LineWindow]) -> dict[PointKey, float]:
    """Highest stability index of the reference's own windows: of a season, each differs from the whole."""
    highest: dict[PointKey, float] = {}
    for rows, window in zip(measured, windows, strict=True):
        if window.of_reference and window.span is not None:
            for key, row in rows.plain.items():
                value = row.measurement.value
                if key[0] == INDEX and value is not None:
                    highest[key] = max(value, highest.get(key, 0.0))
    return highest


def _fall_limit(measure: str, reference: float | None) -> float | None:
    """Where a performance is worse than the default rule allows; None: it has no such limit."""
    judged = judged_measure(measure)
    if reference is None or judged.family in _WITHOUT_LIMIT or judged.direction is BetterDirection.NONE:
        return None
    if judged.direction is BetterDirection.HIGHER:
        return reference - FALL * leeway_of(reference)
    return reference + FALL * abs(reference)


def judged_measure(name: str) -> Measure:
    """A measure, of an estimate what it estimates: by that it is judged."""
    return BY_NAME[BY_NAME[name].estimates if name in ESTIMATED else name]


def _make_point(
    key: PointKey, rows: _WindowRows, window: LineWindow, reference: float | None, limit: float | None
) -> TimePoint:
    row = rows.plain.get(key)
    if row is None:
        return TimePoint(
            measurement=Measurement.without_value(Reason.NO_RECORDS, n=0), reference=reference, limit=limit
        )
    point = TimePoint(
        measurement=row.measurement,
        reference=reference,
        limit=limit,
        reason=str(row.measurement.reason or ""),
    )
    if key[0] == INDEX:
        point = _judge_index(point, rows.plain.get((_CRITICAL, key[1])))
    if window.of_reference:  # it is what the others are judged by
        return replace(point, state=PointState.NONE)
    if point.limit is None:
        return point
    if window.labels and row.truth is not LabelTruth.NONE:
        return replace(point, state=PointState.UNKNOWN, reason=window.labels)
    if key[0] == INDEX:
        return point
    return _judge_estimate(point, key[0]) if key[0] in ESTIMATED else _judge_fall(point, key, rows)


def _judge_index(point: TimePoint, critical: MeasurementRow | None) -> TimePoint:
    """A stability index is worse from 0.1 on, where chance alone does not give as much."""
    chance = 0.0 if critical is None else critical.measurement.value or 0.0
    limit, value = max(SIZES[0], chance), point.measurement.value
    if value is None:
        return replace(point, limit=limit, state=PointState.UNKNOWN)
    return replace(point, limit=limit, state=PointState.WORSE if value >= limit else PointState.WITHIN)


def _judge_estimate(point: TimePoint, measure: str) -> TimePoint:
    """An estimate is worse where its whole interval lies beyond the limit of what it estimates."""
    interval = point.measurement.interval
    if interval is None or point.limit is None:
        return replace(point, state=PointState.UNKNOWN, reason=point.reason or "no_interval")
    higher = judged_measure(measure).direction is BetterDirection.HIGHER
    worse = interval.upper < point.limit if higher else interval.lower > point.limit
    return replace(point, state=PointState.WORSE if worse else PointState.WITHIN)


def _judge_fall(point: TimePoint, key: PointKey, rows: _WindowRows) -> TimePoint:
    """A performance is worse where the default rule is in breach: by the interval of its difference."""
    measure, subject = key
    against = rows.against.get(key)
    if against is None or point.measurement.value is None:
        return replace(point, state=PointState.UNKNOWN, reason=point.reason or "no_interval")
    rule = Rule(
        name="over_time",
        measure=measure,
        condition=fall_condition(higher=BY_NAME[measure].direction is BetterDirection.HIGHER),
        subject=subject,
        window=THE_FRAME,
        truth=against.truth,
        against=REFERENCE,
    )
    verdict = next(iter(judge_rule(rule, rows.judged).values()))
    if verdict.outcome is Outcome.UNKNOWN:
        return replace(point, state=PointState.UNKNOWN, reason=verdict.reason)
    breach = verdict.outcome is Outcome.BREACH
    return replace(point, state=PointState.WORSE if breach else PointState.WITHIN)


def _count_moved(points: Mapping[PointKey, Sequence[TimePoint]], at: int) -> TimePoint:
    """How many features' index is at least 0.1 and beyond chance in a window, of those that have one."""
    of_features = [
        of_feature[at]
        for (measure, subject), of_feature in points.items()
        if measure == INDEX and subject.startswith(FEATURE)
    ]
    moved = [
        point.measurement.value >= point.limit
        for point in of_features
        if point.measurement.value is not None and point.limit is not None
    ]
    if not moved:
        lost = Measurement.without_value(Reason.NO_RECORDS, n=0)
        return TimePoint(measurement=lost, reason=str(lost.reason))
    return TimePoint(measurement=Measurement(float(sum(moved)), len(moved)))


def later_points(
    windows: Sequence[LineWindow], points: Sequence[TimePoint]
) -> Iterator[tuple[LineWindow, TimePoint]]:
    """Windows of the predictions, and their points."""
    pairs = zip(windows, points, strict=True)
    return ((window, point) for window, point in pairs if not window.of_reference)
