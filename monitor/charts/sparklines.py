"""Pictures of the height of a line of text: how a value went, how large a share is."""

from collections.abc import Sequence

from monitor.charts.marks import Kind
from monitor.charts.plot import escape_chart_text
from monitor.charts.scales import Axis

_WIDE, _TALL, _EDGE = 128, 28, 3


def draw_sparkline(
    values: Sequence[float | None],
    label: str,
    reference: float | None = None,
    *,
    expected: Sequence[tuple[float, float] | None] = (),
    limit: float | None = None,
    axis: Axis | None = None,
    last: Kind = "main",
) -> str:
    """How a value went, with a dot at the last one; empty: nothing is known.

    Parameters
    ----------
    values
        in the order of time; None: a gap of the line.
    label
        what it shows, in words.
    reference
        a dotted line.
    expected
        (low, high) of what was expected, a pair for each value or None; empty: of none.
    limit
        what a rule alerts beyond: a line.
    axis
        what several pictures share; None: from the least to the largest of what is drawn.
    last
        kind of the dot: "critical" or "warning" where the last value has an alert.
    """
    known = [value for value in values if value is not None]
    if not known:
        return ""
    bands = list(expected) or [None] * len(values)
    y = axis or _own_axis([*known, *(end for band in bands if band for end in band),
                           *(at for at in (reference, limit) if at is not None)])  # fmt: skip
    x = Axis(0.0, float(max(len(values) - 1, 1)))
    parts = [f'<path class="band expected" d="{path}"/>' for path in _band_paths(bands, x, y)]
    for at, look in ((reference, "reference"), (limit, "limit")):
        if at is not None:
            parts.append(f'<path class="line {look}" d="M0 {_spark_y(y, at)}H{_WIDE}"/>')
    parts.append(f'<path class="line main" d="{_line_path(values, x, y)}"/>')
    end = max(at for at, value in enumerate(values) if value is not None)
    place = f'cx="{_spark_x(x, end)}" cy="{_spark_y(y, values[end] or 0.0)}"'
    size = "2.5" if last == "main" else "3.5"
    parts.append(f'<circle class="dot {last}" {place} r="{size}"/>')
    return _small_svg(parts, label)


def draw_share(value: float, reference: float | None, most: float, label: str, *, kind: Kind = "main") -> str:
    """A share as a bar, and that of the reference, if it is known, as a line across it; both end at `most`.

    >>> (draw_share(0.2, 0.1, 0.4, "a").count("<rect"),
    ... 'x="3.0" width="61.0"' in draw_share(0.2, 0.1, 0.4, "a"))
    (1, True)
    >>> draw_share(0.2, 0.1, 0.4, "a").count("<path"), draw_share(0.2, None, 0.4, "a").count("<path")
    (1, 0)
    """
    axis = Axis(0.0, most)
    wide = (_WIDE - 2 * _EDGE) * axis.axis_position(value)
    bar = f'<rect class="bar {kind}" x="{_EDGE}.0" width="{wide:.1f}" y="8" height="12"/>'
    if reference is None:
        return _small_svg([bar], label)
    line = f'<path class="line now" d="M{_spark_x(axis, reference)} {_EDGE}v{_TALL - 2 * _EDGE}"/>'
    return _small_svg([bar, line], label)


def _own_axis(levels: Sequence[float]) -> Axis:
    low, high = min(levels), max(levels)
    return Axis(low, high) if low < high else Axis(low - 1, low + 1)


def _line_path(values: Sequence[float | None], x: Axis, y: Axis) -> str:
    pen, steps = "M", []
    for at, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        steps.append(f"{pen}{_spark_x(x, at)} {_spark_y(y, value)}")
        pen = "L"
    return "".join(steps)


def _band_paths(bands: Sequence[tuple[float, float] | None], x: Axis, y: Axis) -> list[str]:
    """Paths about what was expected, one for each run of it; of a single value a step wide."""
    paths, run = [], list[tuple[float, float, float]]()
    for at, band in enumerate([*bands, None]):
        if band is not None:
            run.append((float(at), *band))
        elif run:
            if len(run) == 1:
                (only, low, high), half = run[0], 0.5
                run = [(only - half, low, high), (only + half, low, high)]
            ends = [(at, high) for at, _, high in run] + [(at, low) for at, low, _ in reversed(run)]
            paths.append("M" + "L".join(f"{_spark_x(x, at)} {_spark_y(y, end)}" for at, end in ends) + "Z")
            run = []
    return paths


def _spark_x(axis: Axis, value: float) -> str:
    return f"{_EDGE + (_WIDE - 2 * _EDGE) * axis.axis_position(value):.1f}"


def _spark_y(axis: Axis, value: float) -> str:
    return f"{_EDGE + (_TALL - 2 * _EDGE) * (1 - axis.axis_position(value)):.1f}"


def _small_svg(parts: Sequence[str], label: str) -> str:
    box = f'width="{_WIDE}" height="{_TALL}" viewBox="0 0 {_WIDE} {_TALL}"'
    return (
        f'<svg class="spark" {box} role="img" aria-label="{escape_chart_text(label)}">{"".join(parts)}</svg>'
    )
