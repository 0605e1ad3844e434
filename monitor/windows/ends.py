"""Which windows are there? Ends of sliding and calendar windows. Times are UTC microseconds."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.core.clock import DAY, HOUR, floor_to, parse_duration, to_datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Window:
    """A kind of window: a length and the step at which its ends fall, or a calendar month.

    Parameters
    ----------
    name
        as configured: "7d", "month".
    length
        microseconds; for months the longest, 31 days.
    step
        microseconds; 0 for months, whose ends are the months' ends.
    """

    name: str
    length: int
    step: int

    @property
    def calendar(self) -> bool:
        """Whether the windows are calendar units."""
        return self.step == 0

    def newest_end(self, moment: int) -> int:
        """Latest end at or before a moment."""
        if not self.calendar:
            return floor_to(moment, self.step)
        day = to_datetime(moment)
        return _us(datetime(day.year, day.month, 1, tzinfo=UTC))

    def start(self, end: int) -> int:
        """Start of the window that ends at `end`."""
        if not self.calendar:
            return end - self.length
        day = to_datetime(end) - timedelta(days=1)
        return end - monthrange(day.year, day.month)[1] * DAY

    def previous_end(self, end: int) -> int:
        """Return the end before `end`."""
        return self.start(end) if self.calendar else end - self.step

    def kept_ends(self, after: int, until: int) -> list[int]:
        """Ends in (after, until] that are kept, newest first: the first of each day, every month."""
        if self.calendar:
            ends, end = [], self.newest_end(until)
            while end > after:
                ends.append(end)
                end = self.start(end)
            return ends
        width = max(DAY, self.step)
        firsts = (
            -(-at // self.step) * self.step for at in range(floor_to(until, width), after - width, -width)
        )
        return [end for end in firsts if after < end <= until]


def window_of(name: str, pane: int, step: int | None = None) -> Window:
    """Window of its configured name.

    Raises
    ------
    ValueError
        if the name is neither a duration nor "month", length or step are no multiples of the pane, or the
        pane of calendar windows does not divide a day.

    >>> window_of("7d", HOUR).step // HOUR
    6
    """
    if name == "month":
        if DAY % pane:
            raise ValueError(f'window "{name}": a day must be a multiple of the pane')
        return Window(name, 31 * DAY, 0)
    length = parse_duration(name)
    default = HOUR if length <= DAY else 6 * HOUR if length <= 7 * DAY else DAY
    step = -(-default // pane) * pane if step is None else step
    if length == 0 or length % pane or step == 0 or step % pane:
        raise ValueError(f'window "{name}": length and step must be multiples of the pane')
    return Window(name, length, step)


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
