"""Lanes of alerts: a small picture that is stretched."""

from collections.abc import Iterable

from monitor.charts.plot import WIDTH, escape_chart_text


def draw_spans(pieces: Iterable[tuple[float, float, str]], label: str) -> str:
    """Spans of a lane: (start, end, class), 0 at its left end and 1 at its right; a short one is still seen.

    >>> draw_spans([(0.5, 0.75, "warning")], "b")
    '<svg class="lane" viewBox="0 0 1000 1" preserveAspectRatio="none" role="img" aria-label="b"><path class="warning" d="M500 0h250v1h-250z"/></svg>'
    """  # noqa: E501 -- the text of one picture
    drawn = []
    for start, end, look in pieces:
        left = min(max(round(WIDTH * start), 0), WIDTH - 2)
        width = max(min(round(WIDTH * end), WIDTH) - left, 2)
        drawn.append(f'<path class="{escape_chart_text(look)}" d="M{left} 0h{width}v1h-{width}z"/>')
    return _stretched_svg("lane", WIDTH, "".join(drawn), label)


def _stretched_svg(look: str, wide: int, drawn: str, label: str) -> str:
    box = f'viewBox="0 0 {wide} 1" preserveAspectRatio="none"'
    return f'<svg class="{look}" {box} role="img" aria-label="{escape_chart_text(label)}">{drawn}</svg>'
