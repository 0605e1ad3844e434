"""A small picture of each family of measures, for `docs/measures.md`, of made-up figures."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from concept_pictures import draw_svg, draw_text

from monitor.measures.catalogue.measure import MeasureFamily

_LEFT, _TOP, _WIDTH, _HEIGHT = 20, 34, 320, 96  # of the field that is drawn in
_SIZE = (_LEFT + _WIDTH + 20, _TOP + _HEIGHT + 34)
Points = Sequence[tuple[float, float]]  # shares of the field: from the left, from the bottom


def picture_title(family: MeasureFamily) -> str:
    """What a family's picture shows, in a sentence."""
    return _PICTURES[family][0]


def family_pictures() -> dict[str, str]:
    """Path and text of each picture."""
    return {
        f"docs/pictures/measures-{family}.svg": draw_svg(*_SIZE, title, list(draw()))
        for family, (title, draw) in _PICTURES.items()
    }


def _performance() -> Iterator[str]:
    values = (0.78, 0.8, 0.76, 0.79, 0.75, 0.55, 0.42, 0.38)
    points = [(at / 7, value) for at, value in enumerate(values)]
    yield _area([(x, y + 0.1) for x, y in points], [(x, y - 0.1) for x, y in points])
    yield from _rule(0.76, "reference")
    yield _line(points, 0)
    yield from _below("weeks", "settled")


def _averages() -> Iterator[str]:
    recalls = {"class a, 60 % of records": 0.9, "class b, 30 %": 0.85, "class c, 10 %": 0.2}
    for at, (name, recall) in enumerate(recalls.items()):
        y = 1 - at / 3
        yield _bar(0, y - 0.22, 0.55 * recall, y, "dirty" if recall < 0.5 else "box")
        yield draw_text(_x(0.55 * recall + 0.02), _y(y - 0.17), name, "soft")
    yield from _below("recall of each class", "weighted 0.82, macro 0.65")


def _gains() -> Iterator[str]:
    curve = [(x / 20, 1 - (1 - x / 20) ** 2.6) for x in range(21)]
    yield _area([point for point in curve if point[0] <= 0.1], [(0, 0), (0.1, 0)])
    yield _line([(0, 0), (1, 1)], 2)
    yield _line(curve, 0)
    yield from _upright(0.1, "the highest 10 %")
    yield from _below("records, highest scores first", "positives found")


def _calibration() -> Iterator[str]:
    yield _line([(0, 0), (1, 1)], 2)
    yield _line([(x / 10, (x / 10) ** 1.7) for x in range(11)], 1)
    yield draw_text(_x(0.3), _y(0.62), "as promised", "soft end")
    yield draw_text(_x(1), _y(0.12), "fewer positives than promised", "soft end")
    yield from _below("score", "share of positives")


def _estimate() -> Iterator[str]:
    known = [(0.0, 0.75), (0.15, 0.78), (0.3, 0.74), (0.45, 0.76)]
    expected = [(0.45, 0.76), (0.6, 0.7), (0.75, 0.6), (0.9, 0.57)]
    yield _area([(x, y + 0.12) for x, y in expected], [(x, y - 0.12) for x, y in expected])
    yield _line(known, 0)
    yield _line(expected, 1)
    yield from _upright(0.45, "labels until here")
    yield from _below("known", "estimated by the scores")


def _shift() -> Iterator[str]:
    cells = ((0.5, 0.25), (0.5, 0.35), (0.5, 0.5), (0.5, 0.62), (0.5, 0.95))
    for at, (before, now) in enumerate(cells):
        yield _bar(at / 5, 0, at / 5 + 0.08, before, "box")
        yield _bar(at / 5 + 0.08, 0, at / 5 + 0.16, now, "dirty" if abs(now - before) > 0.2 else "box")
    yield from _below("cells of the reference: then and now", "")


def _distances() -> Iterator[str]:
    curves = [[(x / 20, _logistic(x / 2 - middle)) for x in range(21)] for middle in (4, 6)]
    yield _line(curves[0], 0)
    yield _line(curves[1], 1)
    yield f'<path class="arrow" d="M{_x(0.5):.0f} {_y(curves[0][10][1]):.0f}V{_y(curves[1][10][1]):.0f}"/>'
    yield draw_text(_x(1), _y(0.3), "the largest difference", "soft end")
    yield from _below("values", "share at or below")


def _values() -> Iterator[str]:
    yield _bar(0.15, 0.35, 0.7, 0.65, "box")
    yield draw_text(_x(0.42), _y(0.92), "range of the reference", "soft middle")
    yield from _upright(0.4, "", 0.25, 0.75)
    yield _line([(0.55, 0.2), (0.55, 0.8)], 1)
    yield _dot(0.82, 0.5) + _dot(0.9, 0.5)
    yield from _below("mean: then, now", "two values beyond the range")


def _quality() -> Iterator[str]:
    for at, (missing, new) in enumerate(((0.04, 0.02), (0.04, 0.02), (0.05, 0.02), (0.6, 0.02), (0.62, 0.2))):
        left = at / 5 + 0.03
        yield _bar(left, 0, left + 0.13, 1 - missing - new, "box")
        yield _bar(left, 1 - missing - new, left + 0.13, 1, "dirty")
    yield from _below("days of a feature", "missing, invalid, new values on top")


def _comparison() -> Iterator[str]:
    days = [day / 10 for day in range(1, 11)]
    width = {day: 0.16 / math.sqrt(day) for day in days}
    yield _area([(x, 0.68 + width[x]) for x in days], [(x, 0.68 - width[x]) for x in days])
    yield from _rule(0.4, "no difference")
    yield _line([(x, 0.68) for x in days], 0)
    yield from _below("days since the start", "treatment less control")


def _labels() -> Iterator[str]:
    curve = [(day / 40, 1 - math.exp(-day / 8)) for day in range(41)]
    yield _line(curve, 0)
    for share, name in ((0.5, "half"), (0.9, "90 %")):
        age = -8 * math.log(1 - share) / 40
        yield from _upright(age, "", 0, share)
        yield draw_text(_x(age) + 6, _y(share) + 34, name, "soft")
    yield from _below("age of the records", "share of the labels that are in")


def _volume() -> Iterator[str]:
    for at, (before, now) in enumerate(((0.7, 0.72), (0.72, 0.7), (0.75, 0.77), (0.8, 0.3), (0.74, 0.28))):
        yield _bar(at / 5 + 0.02, 0, at / 5 + 0.15, now, "dirty" if now < before / 2 else "box")
        yield f'<path class="line1" d="M{_x(at / 5):.0f} {_y(before):.0f}H{_x(at / 5 + 0.17):.0f}"/>'
    yield from _below("records of each day", "line: the same weekdays before")


def _daily() -> Iterator[str]:
    values = (0.5, 0.55, 0.46, 0.52, 0.49, 0.53, 0.85, 0.88)
    yield _bar(0, 0.36, 1, 0.64, "sure")
    yield draw_text(_x(0.02), _y(0.7), "expected", "soft")
    yield from (_dot((at + 0.5) / 8, value, out=not 0.36 <= value <= 0.64) for at, value in enumerate(values))
    yield from _below("days", "evidence 1: an alert fires")


def _log() -> Iterator[str]:
    yield f'<path class="grid" d="M{_x(0)} {_y(0.5):.0f}H{_x(1)}"/>'
    for at, name in ((0.25, "newest label"), (0.72, "newest row"), (1.0, "now")):
        yield from _upright(at, "", 0.35, 0.65)
        yield draw_text(_x(at), _y(0.72), name, "soft middle" if at < 1 else "soft end")
    for first, y, name in ((0.25, 0.26, "label_age"), (0.72, 0.1, "log_age")):
        yield f'<path class="line1" d="M{_x(first):.0f} {_y(y):.0f}H{_x(1)}"/>'
        yield draw_text(_x(first) - 6, _y(y) + 4, name, "soft end")
    yield from _below("time", "")


_PICTURES: Mapping[MeasureFamily, tuple[str, Callable[[], Iterable[str]]]] = {
    MeasureFamily.PERFORMANCE: ("Performance by week, below that of the reference", _performance),
    MeasureFamily.AVERAGES: ("Recall of three classes, of which the rare one is lost", _averages),
    MeasureFamily.GAINS: ("Share of the positives among the highest scores", _gains),
    MeasureFamily.CALIBRATION: ("Share of positives by score, below what the scores promise", _calibration),
    MeasureFamily.ESTIMATE: ("Known performance, and its estimate where labels are still to come", _estimate),
    MeasureFamily.SHIFT: ("Records by cell, in the reference and now", _shift),
    MeasureFamily.DISTANCES: ("Two cumulative curves and their largest difference", _distances),
    MeasureFamily.VALUES: ("Range and mean of the reference, the mean now, and values beyond", _values),
    MeasureFamily.QUALITY: ("Faulty values of a feature on five days", _quality),
    MeasureFamily.COMPARISON: (
        "Difference of two arms, whose interval narrows and leaves 0 out",
        _comparison,
    ),
    MeasureFamily.LABELS: ("How late labels come", _labels),
    MeasureFamily.VOLUME: ("Records of five days beside the same weekdays before", _volume),
    MeasureFamily.DAILY: ("Days of a subject, the last two outside of what is expected", _daily),
    MeasureFamily.LOG: ("Ages of the newest row and of the newest label", _log),
}


def _x(share: float) -> float:
    return _LEFT + _WIDTH * share


def _y(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _places(points: Points) -> str:
    return "L".join(f"{_x(x):.1f} {_y(y):.1f}" for x, y in points)


def _line(points: Points, look: int) -> str:
    """A line of one of the colours; the third one is that of a grid."""
    return f'<path class="{("line0", "line1", "grid")[look]}" fill="none" d="M{_places(points)}"/>'


def _area(upper: Points, lower: Points) -> str:
    return f'<path class="sure" d="M{_places([*upper, *reversed(lower)])}Z"/>'


def _bar(left: float, bottom: float, right: float, top: float, look: str) -> str:
    size = f'width="{_WIDTH * (right - left):.1f}" height="{_HEIGHT * (top - bottom):.1f}"'
    return f'<rect class="{look}" x="{_x(left):.1f}" y="{_y(top):.1f}" {size}/>'


def _dot(x: float, y: float, *, out: bool = True) -> str:
    return f'<circle class="{"dirty" if out else "box"}" cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="5"/>'


def _rule(share: float, name: str) -> Iterator[str]:
    """A line across, with its name at the right."""
    yield f'<path class="line1" stroke-dasharray="5 4" d="M{_x(0)} {_y(share):.1f}H{_x(1)}"/>'
    yield draw_text(_x(1), _y(share) - 5, name, "soft end")


def _upright(share: float, name: str, bottom: float = 0, top: float = 1) -> Iterator[str]:
    """A line upwards, with its name above."""
    yield f'<path class="arrow" stroke-dasharray="3 3" d="M{_x(share):.1f} {_y(bottom):.1f}V{_y(top):.1f}"/>'
    if name:
        yield draw_text(_x(share) + 4, _y(top) - 6, name, "soft")


def _below(left: str, right: str) -> Iterator[str]:
    """The ground of the field, and what is said below it."""
    yield f'<path class="grid" d="M{_x(0)} {_y(0):.0f}H{_x(1)}"/>'
    yield draw_text(_x(0), _y(0) + 20, left, "soft")
    if right:
        yield draw_text(_x(1), _y(0) + 20, right, "soft end")
