"""Windows and moments in words."""

from monitor.core.clock import to_iso
from monitor.measures.measurement_row import MeasurementRow

THE_FRAME = "the frame"  # window of all rows of a data frame


def utc_moment_words(us: int) -> str:
    """Moment in words, UTC; of a midnight its day alone.

    >>> utc_moment_words(0), utc_moment_words(60_000_000)
    ('1970-01-01', '1970-01-01 00:01')
    """
    text = to_iso(us)
    day, _, time = text.rstrip("Z").partition("T")
    return day if time == "00:00:00" else f"{day} {time[:5]}"


def window_end_words(row: MeasurementRow) -> str:
    """Window of a row: its name and its end; of a data frame, which has none, its name."""
    if row.window == THE_FRAME:
        return row.window
    return f"{row.window} to {utc_moment_words(row.window_end)}" if row.window else "the log"
