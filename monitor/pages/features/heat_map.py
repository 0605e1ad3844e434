"""Features over time: never a chart a feature, but a row of cells each; which moved, since when, how far."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from monitor.charts.marks import LinePath, Mark, RuleLine
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, linear_axis
from monitor.core.clock import DAY, to_iso
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import SIZES, format_measure_value
from monitor.pages.figures import critical_measure_name, percent_tick
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import RANGES, make_choice_links, season_words, spec_of
from monitor.pages.page_request import ModelPlace, PageData, PageLink, PageRequest
from monitor.pages.period_words import period_words, time_axis
from monitor.sentences.effect_sentences import effects_by_feature, score_move_sentences, signed_text
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.known_measurements import FEATURE, KnownMeasurements, end_sentence
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

SORTS = ("now", "largest", "lasting", "began", "name")
MEASURES = ("stability_index", "missing_rate", "unseen_rate", "invalid_rate", "ks_distance")
_SIZES = (*SIZES, 1.0)  # bounds of the classes of stability indexes: at the last nothing is where it was
_RATES = (0.001, 0.01, 0.1, 0.5)  # bounds of the classes of rates and distances
_LOOKS = ("h0", "h1", "h2", "h3", "h4")
_LARGE = _LOOKS[2:]  # beyond chance, and 0.1 or more
_OF_INDEX = ("within chance", "real, below 0.1", "0.1 to 0.25", "0.25 to 1", "above 1")
_OF_RATES = ("below 0.1 %", "0.1 to 1 %", "1 to 10 %", "10 to 50 %", "above 50 %")


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A feature: a class of each window, None: nothing is known; its newest and largest value in words.

    `effect`: on the mean score of the newest window, in words; empty: it is not known, or none beyond chance.
    """

    name: str
    href: str
    looks: tuple[str | None, ...]
    now: str
    largest: str
    look: str
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesPage:
    """Page of the features of a model; `legend`: (class, what it means, features in it now).

    `moved_score`: how the mean score moved, and what moved it. `limit`: share of the features that a rule
    allows to have moved, in words; empty: there is none. `season`: what it is; empty: there is none.
    """

    model: str
    measure: str
    windows: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    sorts: tuple[PageLink, ...]
    measures: tuple[PageLink, ...]
    legend: tuple[tuple[str, str, int], ...]
    rows: tuple[HeatRow, ...]
    moved_score: tuple[str, ...]
    moved: Plot | None
    limit: str
    season: str
    axis: Plot | None
    newest: str


def features_page(data: PageData, request: PageRequest, name: str) -> FeaturesPage:
    """Page of the features of a model."""
    request.refuse_unknown_parameters("window", "range", "sort", "by")
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    names = [each.name for each in spec.windows]
    window = find_named_window(spec, request.parse_choice("window", names, place.window))
    by = request.parse_choice("by", MEASURES, INDEX)
    (facts,) = data.read_model_facts(name, request.as_of)
    measurements = KnownMeasurements(facts.rows, window.name, facts.main)
    effects = effects_by_feature(measurements) if by == INDEX else {}
    sort = request.parse_choice("sort", SORTS, "now")
    span = request.parse_choice(
        "range", list(RANGES), "90d" if window.length <= DAY and window.step <= DAY else "all"
    )
    ends, values, limits = _read_heat_values(data, spec, place, window, by, RANGES[span])
    found = [
        _heat_row_and_order(
            by, one, _feature_link(request, name, one, window, ends), ends, values[one], limits.get(one, {})
        )
        for one in values
    ]
    rows = _sort_heat_rows(found, sort, effects)
    axis = _column_axis(window, ends)
    moved_plot, limit = None, moved_share_limit(spec, window) if by == INDEX else None
    if axis is not None and by == INDEX:
        moved_plot = _moved_share_plot(axis, [row.looks for row, _ in rows], limit)
    return FeaturesPage(
        model=name,
        measure=by,
        windows=make_choice_links(request, "window", names, window.name),
        ranges=make_choice_links(request, "range", list(RANGES), span),
        sorts=make_choice_links(request, "sort", SORTS, sort),
        measures=make_choice_links(request, "by", MEASURES, by),
        legend=_heat_legend(by, rows),
        rows=tuple(replace(row, effect=_effect_text(row.name, effects)) for row, _ in rows),
        moved_score=tuple(map(end_sentence, score_move_sentences(measurements))),
        moved=moved_plot,
        limit="" if limit is None else percent_tick(limit),
        season=season_words(spec),
        axis=None if axis is None else Plot(x=axis, y=Axis(0.0, 1.0), marks=(), label="windows", height=1),
        newest=period_words(window, ends[-1]) if ends else "",
    )


def read_features_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows behind the page, the newest revision of each."""
    request.refuse_unknown_parameters("window", "range", "sort", "by")
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    window = find_named_window(
        spec, request.parse_choice("window", [each.name for each in spec.windows], place.window)
    )
    by = request.parse_choice("by", MEASURES, INDEX)
    span = request.parse_choice(
        "range", list(RANGES), "90d" if window.length <= DAY and window.step <= DAY else "all"
    )
    rows = data.read_revisions(spec.name, _heat_map_selection(place, window, by, RANGES[span]))
    return [stored for stored in rows if stored.row.subject.startswith(FEATURE) and not stored.row.against]


_HeatOrder: TypeAlias = tuple[float, float, int, int]
"""What rows are sorted by: value now, largest value, how long it lasts, its begin."""
Values = Mapping[str, Mapping[int, float | None]]


def _heat_map_selection(place: ModelPlace, window: Window, by: str, span: int) -> ChartedRows:
    """What is asked of the store."""
    until = place.as_of or 0
    critical = critical_measure_name(by)
    return ChartedRows(
        window=window.name,
        after=until - span if span else 0,
        until=until,
        measures=(by,) if critical is None else (by, critical),
        as_of=place.as_of,
        newest=True,
    )


def _read_heat_values(
    data: PageData, spec: ModelSpec, place: ModelPlace, window: Window, by: str, span: int
) -> tuple[list[int], Values, Values]:
    """Ends of windows; value and critical value by feature and end."""
    values: dict[str, Mapping[int, float | None]] = {}
    limits: dict[str, Mapping[int, float | None]] = {}
    ends: set[int] = set()
    for (measure, subject), by_end in data.read_newest_values(
        spec.name, _heat_map_selection(place, window, by, span)
    ).items():
        if subject.startswith(FEATURE):
            ends.update(by_end)
            into = values if measure == by else limits
            into[subject.removeprefix(FEATURE)] = by_end
    return sorted(ends), values, limits


def moved_share_limit(spec: ModelSpec, window: Window) -> float | None:
    """Share of the features that a rule allows to have moved in such windows; None: there is none."""
    shares = (
        rule.share
        for rule in spec.rules
        if rule.features == "share" and rule.measure == INDEX and rule.window == window.name
    )
    return next(shares, None)


def classify_moved_value(by: str, value: float | None, limit: float | None) -> str | None:
    """Class of a value: within chance, then by size; None: nothing is known.

    >>> [classify_moved_value("stability_index", value, 0.01) for value in (0.005, 0.05, 0.1, 0.25,
    ... 1.5, None)]
    ['h0', 'h1', 'h2', 'h3', 'h4', None]
    """
    if value is None:
        return None
    if by == INDEX:
        if limit is not None and value <= limit:
            return "h0"
        return _LOOKS[1 + bisect_right(_SIZES, value)]
    return _LOOKS[bisect_right(_RATES, value)]


def _heat_row_and_order(
    by: str,
    name: str,
    href: str,
    ends: Sequence[int],
    values: Mapping[int, float | None],
    limits: Mapping[int, float | None],
) -> tuple[HeatRow, _HeatOrder]:
    """A feature's row, and by what it is ordered: now, largest, how long it lasts, when it began."""
    looks = tuple(classify_moved_value(by, values.get(end), limits.get(end)) for end in ends)
    known = [value for value in values.values() if value is not None]
    now = values.get(ends[-1]) if ends else None
    largest = max(known, default=None)
    large = [look in _LARGE for look in looks]
    lasting = next((at for at, is_large in enumerate(reversed(large)) if not is_large), len(large))
    began = large.index(True) if True in large else len(large)
    sentences = ["" if value is None else format_measure_value(by, value) for value in (now, largest)]
    row = HeatRow(name, href, looks, sentences[0], sentences[1], (looks[-1] if looks else None) or "")
    return row, (now or 0.0, largest or 0.0, lasting, began)


def _effect_text(name: str, effects: Mapping[str, float]) -> str:
    if name not in effects:
        return ""
    return signed_text(effects[name], max(map(abs, effects.values())))


def _feature_link(request: PageRequest, model: str, feature: str, window: Window, ends: Sequence[int]) -> str:
    end = to_iso(ends[-1]) if ends else None
    return request.link_to("models", model, "feature", name=feature, window=window.name, end=end)


def _sort_heat_rows(
    rows: Sequence[tuple[HeatRow, _HeatOrder]], sort: str, effects: Mapping[str, float]
) -> list[tuple[HeatRow, _HeatOrder]]:
    """Rows in an order; by what is now: what moves the mean score most stands first."""
    if sort == "name":
        return sorted(rows, key=lambda pair: pair[0].name)
    at = SORTS.index(sort)
    sign = 1 if sort == "began" else -1
    now = effects if sort == "now" else {}
    return sorted(
        rows,
        key=lambda pair: (
            -abs(now.get(pair[0].name, 0.0)),
            sign * pair[1][at],
            -pair[1][0],
            pair[0].name,
        ),
    )


def _heat_legend(by: str, rows: Sequence[tuple[HeatRow, object]]) -> tuple[tuple[str, str, int], ...]:
    words = _OF_INDEX if by == INDEX else _OF_RATES
    return tuple(
        (look, word, sum(row.look == look for row, _ in rows))
        for look, word in zip(_LOOKS, words, strict=True)
    )


def _column_axis(window: Window, ends: Sequence[int]) -> Axis | None:
    """Axis of columns of equal width, a tick where a month, a week, … begins; None: there is no window."""
    if not ends:
        return None
    starts = [window.start_of(end) for end in ends]
    time = time_axis(starts[0], max(ends[-1], starts[0] + DAY), window.zone)
    ticks = [replace(tick, at=float(bisect_left(starts, tick.at))) for tick in time.ticks]
    return Axis(0.0, float(len(ends)), tuple(ticks))


def _moved_share_plot(axis: Axis, rows: Sequence[Sequence[str | None]], limit: float | None) -> Plot:
    """Share of the features that moved beyond chance and by 0.1 or more, and the limit of the rule."""
    points: list[tuple[float, float | None]] = []
    for at, looks in enumerate(zip(*rows, strict=True)):
        known = len(looks) - looks.count(None)
        large = sum(map(looks.count, _LARGE))
        points.append((at + 0.5, large / known if known else None))
    marks: list[Mark] = [LinePath(points)]
    if limit is not None:
        marks.append(RuleLine(limit, "y", "limit"))
    shares = [share for _, share in points if share is not None]
    y = linear_axis([*shares, *([] if limit is None else [limit])], zero=True, most=3, label=percent_tick)
    return Plot(
        x=replace(axis, ticks=()), y=y, marks=marks, label="share of the features that moved", height=56
    )
