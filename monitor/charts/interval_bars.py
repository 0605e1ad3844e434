"""Intervals that lie above one another on one scale, as wide as their column."""

from monitor.charts.marks import AlertZone, Kind
from monitor.charts.plot import escape_chart_text
from monitor.charts.scales import Axis

_TALL, _DOT = 20, 4


def draw_interval(
    axis: Axis,
    lower: float,
    value: float,
    upper: float,
    label: str,
    *,
    hollow: bool = False,
    kind: Kind = "main",
    reference: float | None = None,
    zone: AlertZone | None = None,
) -> str:
    """An interval and its value on an axis that many such pictures share.

    Parameters
    ----------
    axis
        its ticks are dotted lines: give it none where they are no references.
    label
        what it shows, in words; parts between " · ", the first one is the heading at the pointer.
    hollow
        whether the value is not final.
    kind
        "critical" or "warning" where the whole interval is worse; "muted": judged no longer.
    reference
        a dotted line.
    zone
        what a rule alerts on.
    """
    spots = [tick.at for tick in axis.ticks] + ([] if reference is None else [reference])
    middle = f"{_TALL / 2:g}"
    parts = [] if zone is None else [_draw_zone(axis, zone)]
    parts += [
        f'<line class="line reference" x1="{_share_of(axis, at)}" x2="{_share_of(axis, at)}" y1="0" '
        f'y2="{_TALL}"/>'
        for at in spots
    ]
    ends = f'x1="{_share_of(axis, lower)}" x2="{_share_of(axis, upper)}" y1="{middle}" y2="{middle}"'
    parts.append(f'<line class="whisker {kind}" {ends}/>')
    look = f"dot {kind}{' hollow' if hollow else ''}"
    parts.append(f'<circle class="{look}" cx="{_share_of(axis, value)}" cy="{middle}" r="{_DOT}"/>')
    said = escape_chart_text(label)
    # The rectangle that is not seen takes the pointer where nothing else is drawn.
    return (
        f'<svg class="ci" height="{_TALL}" role="img" aria-label="{said}"><g><title>{said}</title>'
        f'<rect class="all" x="0" y="0" width="100%" height="{_TALL}"/>{"".join(parts)}</g></svg>'
    )


def draw_scale(axis: Axis, label: str) -> str:
    """Ticks of an axis, for the heading of a column of intervals or of strips; the label names the column.

    >>> from monitor.charts.scales import linear_axis
    >>> draw_scale(linear_axis([0.0, 1.0], most=2), "a")
    '<svg class="ci" height="14" role="img" aria-label="a"><text class="first" x="0%" y="11">0</text><text class="end odd" x="100%" y="11">1</text></svg>'
    """  # noqa: E501 -- the text of one picture
    texts = []
    for at, tick in enumerate(axis.ticks):
        part = axis.axis_position(tick.at)
        look = "first" if part < 0.04 else "end" if part > 0.96 else "mid"
        odd = " odd" if at % 2 else ""
        place = f'x="{_share_of(axis, tick.at)}" y="11"'
        texts.append(f'<text class="{look}{odd}" {place}>{escape_chart_text(tick.label)}</text>')
    said = escape_chart_text(label)
    return f'<svg class="ci" height="14" role="img" aria-label="{said}">{"".join(texts)}</svg>'


def _draw_zone(axis: Axis, zone: AlertZone) -> str:
    at = 100 * axis.axis_position(zone.limit)
    left, wide = (0.0, at) if zone.side == "below" else (at, 100 - at)
    return (
        f'<rect class="zone limit" x="{left:.4g}%" y="0" width="{wide:.4g}%" height="{_TALL}"/>'
        f'<line class="line limit" x1="{at:.4g}%" x2="{at:.4g}%" y1="0" y2="{_TALL}"/>'
    )


def _share_of(axis: Axis, value: float) -> str:
    return f"{100 * axis.axis_position(value):.4g}%"
