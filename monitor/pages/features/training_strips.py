"""How far each feature is from training: its stability index by window, as cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.alerts.incident_headlines import count_words
from monitor.alerts.model_facts import ModelFacts
from monitor.charts.scales import Axis, AxisTick
from monitor.charts.strips import StripCell, StripLook
from monitor.core.clock import DAY, to_iso
from monitor.measures.measurement_comparison import SEASON
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import (
    SIZES,
    approximate_text,
    difference_base,
    format_factor,
    format_measure_value,
)
from monitor.pages.figures import percent_tick
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import make_choice_links
from monitor.pages.page_request import PageData, PageLink, PageRequest
from monitor.pages.period_words import day_and_month_words
from monitor.sentences.effect_sentences import score_move_sentences
from monitor.sentences.input_sentences import INDEX, OUT_OF_RANGE, is_moved_by_few
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    end_sentence,
)
from monitor.sentences.reason_words import why_absent
from monitor.sentences.time_words import end_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

TRAINING_QUERY = ("window",)
FAR_FROM_TRAINING, LARGE = SIZES
SLIGHT = 0.02
TOO_FEW = "cannot be checked: too few records"
_MOST_CELLS, _MOST_TICKS = 26, 5
_HATCHED = StripCell("hatched")
Values = Mapping[int, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRow:
    """A feature: its windows, and the index of the newest."""

    name: str
    href: str
    cells: tuple[StripCell | None, ...]
    now: str
    is_far: bool
    sort_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStrips:
    """All features against training."""

    headline: str
    about: str
    said: tuple[str, ...]  # how the mean score moved
    windows: tuple[PageLink, ...]
    rows: tuple[TrainingRow, ...]
    axis: Axis | None


def read_training_strips(
    data: PageData, request: PageRequest, spec: ModelSpec, facts: ModelFacts
) -> TrainingStrips:
    """The features of a model against training, those that are farthest first; `q` filters them."""
    names = [each.name for each in spec.windows]
    window = find_named_window(spec, request.parse_choice("window", names, facts.window))
    ends, values, critical = _read_index(data, spec, facts, window)
    today = facts.as_of or 0
    rows = [
        _training_row(request, spec.name, name, window, ends, known, critical.get(name, {}), today)
        for name, known in values.items()
    ]
    far, wanted = sum(row.is_far for row in rows), request.query.get("q", "").casefold()
    plural = "" if len(rows) == 1 else "s"
    many = "None" if not far else capitalize_first(count_words(far))
    headline = f"{many} of {len(rows)} input{plural} {'is' if far == 1 else 'are'} far from training"
    limit = moved_share_limit(spec, window)
    told = "No rule checks this." if limit is None else f"An alert fires above {percent_tick(limit)} of them."
    newest = end_words(window.name, ends[-1], today) if ends else ""
    about = f"Far is a PSI of {FAR_FROM_TRAINING} or more {newest}. {told}"
    measurements = KnownMeasurements(facts.rows, window.name, facts.main)
    return TrainingStrips(
        headline=headline if rows else "No input is compared with training",
        about=about.strip() if rows else "Add a reference to compare.",
        said=tuple(map(end_sentence, score_move_sentences(measurements))),
        windows=make_choice_links(request, "window", names, window.name),
        rows=tuple(
            sorted(
                (row for row in rows if wanted in row.name.casefold()),
                key=lambda row: (-row.sort_value, row.name),
            )
        ),
        axis=_windows_axis(ends) if ends else None,
    )


def moved_share_limit(spec: ModelSpec, window: Window) -> float | None:
    """Share of the features that a rule allows to have moved in such windows; None: there is none."""
    shares = (
        rule.share
        for rule in spec.rules
        if rule.features == "share" and rule.measure == INDEX and rule.window == window.name
    )
    return next(shares, None)


def is_beyond_chance(value: float, critical: float | None) -> bool:
    """Whether an index is above what 5 of 100 windows exceed by chance."""
    return critical is None or value > critical


def has_too_few(value: float, critical: float | None) -> bool:
    """Whether chance alone would be called far: nothing below can be judged.

    >>> has_too_few(0.05, 0.3), has_too_few(0.4, 0.3), has_too_few(0.05, 0.01)
    (True, False, False)
    """
    return critical is not None and critical >= FAR_FROM_TRAINING and not is_beyond_chance(value, critical)


def _read_index(
    data: PageData, spec: ModelSpec, facts: ModelFacts, window: Window
) -> tuple[list[int], dict[str, Values], dict[str, Values]]:
    """Ends of windows; index and critical value by feature and end."""
    until = facts.as_of or 0
    which = ChartedRows(
        window=window.name,
        after=until - _MOST_CELLS * max(window.step, DAY),
        until=until,
        measures=(INDEX, f"{INDEX}_critical"),
        as_of=facts.as_of,
        newest=True,
    )
    values: dict[str, Values] = {}
    critical: dict[str, Values] = {}
    ends: set[int] = set()
    for (measure, subject), by_end in data.read_newest_values(spec.name, which).items():
        if subject.startswith(FEATURE):
            ends.update(by_end)
            (values if measure == INDEX else critical)[subject.removeprefix(FEATURE)] = by_end
    return sorted(ends)[-_MOST_CELLS:], values, critical


def _training_row(
    request: PageRequest,
    model: str,
    name: str,
    window: Window,
    ends: Sequence[int],
    values: Values,
    critical: Values,
    today: int,
) -> TrainingRow:
    href = request.link_to("models", model, "feature", name=name, window=window.name)
    cells: list[StripCell | None] = []
    for end in ends:
        value = values.get(end)
        look = None if value is None else _look_of_index(value, critical.get(end))
        if value is None or look == "hatched":
            cells.append(_HATCHED)
        elif look is None:
            cells.append(None)
        else:
            text = f"PSI {format_measure_value(INDEX, value)} against training"
            words = f"{name} · {capitalize_first(end_words(window.name, end, today))} · {text}"
            cells.append(StripCell(look, words, f"{href}&end={to_iso(end).replace(':', '%3A')}"))
    now, limit = (values.get(ends[-1]), critical.get(ends[-1])) if ends else (None, None)
    is_far = now is not None and now >= FAR_FROM_TRAINING and is_beyond_chance(now, limit)
    text = "–" if now is None else TOO_FEW if has_too_few(now, limit) else format_measure_value(INDEX, now)
    return TrainingRow(
        name=name, href=href, cells=tuple(cells), now=text, is_far=is_far,
        sort_value=-1.0 if now is None or has_too_few(now, limit) else now,
    )  # fmt: skip


def _look_of_index(value: float, critical: float | None) -> StripLook | None:
    """Blue by size, beyond chance; hatched where nothing can be judged; None: near training."""
    if has_too_few(value, critical):
        return "hatched"
    if value < SLIGHT or not is_beyond_chance(value, critical):
        return None
    return "slight" if value < FAR_FROM_TRAINING else "moderate" if value < LARGE else "large"


def _windows_axis(ends: Sequence[int]) -> Axis:
    """Last days of some windows, the newest among them, at the middle of their cells."""
    each = -(-len(ends) // _MOST_TICKS)
    ticks = [AxisTick(at + 0.5, day_and_month_words(ends[at] - 1)) for at in range(len(ends))][::-1][::each]
    return Axis(0.0, float(len(ends)), tuple(ticks[::-1]))


def training_sentences(spec: ModelSpec, facts: ModelFacts, feature: str) -> Iterator[str]:
    """The newest window against training, and against its season."""
    rows = [row for row in facts.rows if row.subject == f"{FEATURE}{feature}" and row.window == facts.window]
    known = {(row.measure, row.against): row for row in rows if row.is_of_whole or not row.segment}
    index, critical = known.get((INDEX, "")), known.get((f"{INDEX}_critical", ""))
    if index is None:
        yield (
            "There is no reference." if spec.reference is None else "No window has been compared with it yet."
        )
        return
    when, value = end_words(facts.window, index.window_end, facts.as_of or 0), index.measurement.value
    if value is None:
        yield f"No PSI {when}: {why_absent(index.measurement)}."
        return
    limit = None if critical is None else critical.measurement.value
    yield f"PSI {format_measure_value(INDEX, value)} {when}{_index_words(value, limit)}."
    yield from _mean_sentence(known)
    season = known.get((INDEX, SEASON))
    if spec.season:
        part = f"the same phase of earlier {spec.season}s"
        if season is not None and season.measurement.value is not None:
            limit_row = known.get((f"{INDEX}_critical", SEASON))
            limit = None if limit_row is None else limit_row.measurement.value
            value = season.measurement.value
            yield f"PSI {format_measure_value(INDEX, value)} against {part}{_index_words(value, limit)}."
        elif season is not None:
            yield f"Against {part} it is not known: {why_absent(season.measurement)}."


def _index_words(value: float, limit: float | None) -> str:
    """What an index says."""
    if has_too_few(value, limit):
        return f" {TOO_FEW}"
    if not is_beyond_chance(value, limit):
        return ": no detectable change"
    return ": far from it" if value >= FAR_FROM_TRAINING else f": a slight change, below {FAR_FROM_TRAINING}"


def _mean_sentence(known: Mapping[tuple[str, str], MeasurementRow]) -> Iterator[str]:
    """Mean now and in training, and what lies beyond all of its values."""
    mean = known.get(("mean", ""))
    usual = None if mean is None else difference_base(mean.measurement, None)
    if mean is None or mean.measurement.value is None or usual is None:
        return
    values = [
        None if row is None else row.measurement.value
        for row in (known.get((INDEX, "")), known.get((OUT_OF_RANGE, "")))
    ]
    factor = format_factor(mean.measurement.value, usual, of_few=is_moved_by_few(*values))
    yield (
        f"Mean {approximate_text(mean.measurement.value)}, in training {approximate_text(usual)}"
        f"{f' ({factor})' if factor else ''}."
    )
    if values[1]:
        yield f"{format_measure_value(OUT_OF_RANGE, values[1])} of its numbers lie beyond all of training's."
