"""What the monitor says beside what the oracle does, row by row."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oracle import Expected, How, Key

from monitor.core.measurement import Measurement
from monitor.measures.catalogue.daily_measures import DAILY
from monitor.measures.measurement_row import MeasurementRow

FEW = 10
NOT_RECOMPUTED = {
    **dict.fromkeys(
        (
            *("estimated_roc_auc", "estimated_accuracy", "estimated_precision", "estimated_recall"),
            *("estimated_roc_auc_error", "estimated_accuracy_error", "estimated_precision_error"),
            *("estimated_recall_error", "estimated_mean_absolute_error"),
            "estimated_mean_absolute_error_error",
            *("estimated_roc_auc_macro", "estimated_precision_macro", "estimated_recall_macro"),
            *("estimated_roc_auc_macro_error", "estimated_precision_macro_error"),
            "estimated_recall_macro_error",
        ),
        "an estimate by groups of our own making: simulations hold it to the truth that labels give",
    ),
    "version_first_seen_timestamp": "tells when a cycle ran, not what the log holds",
    **dict.fromkeys(
        (
            "late_visible_records",
            "late_visible_labels",
            "panes_waiting",
            "longest_wait",
            "labels_counted_whole",
            "settling_age",
            "next_settling",
        ),
        "tells what a cycle did and left to do, not what the log holds",
    ),
}


@dataclass(slots=True)
class Compared:
    """What has been compared.

    Parameters
    ----------
    pairs
        window, end, as of.
    measures, present
        measurements by measure; measures that were anything but 0.
    left
        measures that were not recomputed.
    worst
        largest difference by measure, of its value, n or bounds.
    faults
        what is not as expected.
    detailed
        measures whose tables were compared.
    """

    pairs: set[tuple[str, int, int]] = field(default_factory=set)
    measures: Counter[str] = field(default_factory=Counter)
    present: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    worst: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    detailed: set[str] = field(default_factory=set)

    def compare(self, where: str, rows: Iterable[MeasurementRow], expected: Mapping[Key, Expected]) -> None:
        """Note every row that is not as expected, and what is expected and not there."""
        rows = (row for row in rows if row.measure not in DAILY)  # simulations of their own hold these
        found = {(row.measure, row.subject): row.measurement for row in rows}
        left = {key for key in found if key[0] in NOT_RECOMPUTED}
        self.left |= {measure for measure, _ in left}
        found = {key: measurement for key, measurement in found.items() if key not in left}
        for key in sorted(expected.keys() ^ found.keys()):
            self.faults.append(f"{where} {key}: {'only expected' if key in expected else 'not expected'}")
        for key in expected.keys() & found.keys():
            self._one(f"{where} {key}", key[0], found[key], expected[key])

    def tables(self, where: str, found: Iterable[tuple[str, str]]) -> None:
        """Note the tables that were compared, and those that are not as expected."""
        for measure, wrong in found:
            self.detailed.add(measure)
            self.faults += [f"{where} {measure}, detail: {wrong}"] if wrong else []

    def _one(self, where: str, measure: str, found: Measurement, expected: Expected) -> None:
        self.measures[measure] += 1
        self.present |= {measure} if expected.value else set()
        if found.value is None or expected.value is None:
            if (found.value is None) != (expected.value is None):
                self.faults.append(f"{where}: {found}, expected {expected}")
            return
        off = {"value": _off(found.value, expected, found.resolution)}
        if expected.n is not None:
            off["n"] = float(abs(found.n - expected.n))
        if expected.bounds is not None and expected.how is not How.BETWEEN:
            off["bounds"] = math.inf
            if found.interval is not None:
                pairs = zip((found.interval.lower, found.interval.upper), expected.bounds, strict=True)
                off["bounds"] = max(_relative(one, other) for one, other in pairs)
        for what, distance in off.items():
            kind = f"{measure} {what}"
            self.worst[kind] = max(self.worst.get(kind, 0.0), distance)
            few = what == "bounds" and found.n < FEW  # a small variance of terms that are rounded to 2^-40
            if distance > (1e-8 if few else 1e-9):
                self.faults.append(f"{where} {what}: {found}, expected {expected}")


def _off(value: float, expected: Expected, resolution: float) -> float:
    """How far a value lies outside of where it may lie; relative where it is above 1."""
    assert expected.value is not None
    exact = expected.value
    match expected.how:
        case How.EXACT:
            lowest, highest = exact, exact
        case How.WITHIN:
            lowest, highest = exact - resolution, exact + resolution
        case How.BELOW:
            lowest, highest = exact - resolution, exact
        case How.ABOVE:
            lowest, highest = exact, exact + resolution
        case How.BETWEEN:
            assert expected.bounds is not None
            lowest, highest = expected.bounds
    return max(_relative(min(value, lowest), lowest), _relative(max(value, highest), highest))


def _relative(one: float, other: float) -> float:
    return abs(one - other) / max(1.0, abs(other))
