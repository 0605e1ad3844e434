"""A measurement of a window, with all that identifies it: plain, flat, the columns of our tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from monitor.core.measurement import Measurement

CUMULATIVE = "cumulative"  # window of what has settled since a moment


class LabelTruth(StrEnum):
    """Which labels a performance measurement stands on; NONE for measures without labels."""

    NONE = ""
    PROVISIONAL = "provisional"
    NOWCAST = "nowcast"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRow:
    """One measurement of one window: a row of `current` and of `snapshots`."""

    # window, window_end: name and end (microseconds); the cycle's own figures (orphans, …) have the window
    # "", sequential tests `CUMULATIVE`.
    window: str
    window_end: int
    truth: LabelTruth
    # version, segment: None for the whole.
    version: str | None
    segment: str | None
    measure: str
    subject: str  # score, prediction, label, feature:NAME, class:NAME or empty
    measurement: Measurement
    coverage: float | None = None  # labelled share of the window's records, on performance rows
    # "partial", "low_coverage", "few_delays", "delay_by_score", …, or empty; several with a comma between
    # them.
    warning: str = ""
    # what the value is the difference from, or the shift against: reference, previous, 28d; empty: none, and
    # for a shift the reference.
    against: str = ""

    @property
    def is_of_whole(self) -> bool:
        """Whether it is of all of the window's records: of no version and no segment."""
        return self.version is None and self.segment is None

    @property
    def is_final(self) -> bool:
        """Whether labels will move it no more, or it stands on none."""
        return self.truth in (LabelTruth.SETTLED, LabelTruth.NONE)


@dataclass(frozen=True, slots=True)
class StoredMeasurement:
    """A row as the store has it, current or kept: of which model, and as of which of its cycles."""

    model: str
    as_of: int
    row: MeasurementRow


def newest_revisions(rows: Iterable[StoredMeasurement]) -> list[StoredMeasurement]:
    """Of each end, measure, … the newest revision; a nowcast stands beside until the window has settled."""
    kept: dict[tuple[object, ...], StoredMeasurement] = {}
    settled = set()
    for stored in rows:
        row = stored.row
        place = (row.window, row.window_end, row.version, row.segment, row.measure, row.subject, row.against)
        if row.truth is LabelTruth.SETTLED:
            settled.add(place)
        key = (*place, row.truth is LabelTruth.NOWCAST)
        before = kept.get(key)
        if before is None or before.as_of <= stored.as_of:
            kept[key] = stored
    return [stored for key, stored in kept.items() if not (key[-1] and key[:-1] in settled)]
