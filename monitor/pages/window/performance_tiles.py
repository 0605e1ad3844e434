"""Measures of a window as tiles, each beside its reference and its limit, and all of them as a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.charts.marks import AlertZone, Kind
from monitor.charts.scales import Axis
from monitor.core.measurement import Interval, Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import BetterDirection
from monitor.measures.measurement_comparison import measurement_difference
from monitor.measures.measurement_row import LabelTruth, StoredMeasurement, newest_revisions
from monitor.measures.value_words import (
    CHANCE,
    approximate_text,
    certainty_words,
    difference_base,
    format_interval_bounds,
    format_measure_value,
)
from monitor.records.reading import ModelTask
from monitor.sentences.known_measurements import capitalize_first, spoken_measure

TILES = {
    ModelTask.BINARY: ("roc_auc", "accuracy", "recall", "precision", "brier_score", "profit"),
    ModelTask.MULTICLASS: ("accuracy", "average_class_accuracy", "f1_macro", "log_loss"),
    ModelTask.REGRESSION: (
        "root_mean_squared_error", "mean_absolute_error", "bias", "error_median", "r2_score",
    ),
}  # fmt: skip
LISTED = {
    ModelTask.BINARY: (
        *TILES[ModelTask.BINARY], "base_rate", "predicted_rate", "mean_predicted_probability",
        "average_precision", "ks_separation",
    ),
    ModelTask.MULTICLASS: (*TILES[ModelTask.MULTICLASS], "majority_accuracy"),
    ModelTask.REGRESSION: TILES[ModelTask.REGRESSION],
}  # fmt: skip
_NAMES = {
    "base_rate": "Positives",
    "predicted_rate": "Predicted positive",
    "mean_predicted_probability": "Mean probability",
    "ks_separation": "K-S separation",
}
_TRUTHS = tuple(LabelTruth)  # the best one last
_BESIDE = {
    CHANCE: ("", "as reference"),
    "surely better": ("▲", "better"),
    "surely worse": ("▼", "worse"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceTile:
    """A measure of the window in words, and where its interval lies."""

    measure: str  # code name
    what: str
    value: str
    sign: str = ""  # ▲ or ▼ where the whole interval of the difference is on one side
    beside: str = ""
    said: tuple[str, ...] = ()
    exact: str = ""  # interval and records: one step further
    interval: Interval | None = None
    at: float = 0.0
    axis: Axis | None = None
    reference: float | None = None
    zone: AlertZone | None = None

    @property
    def kind(self) -> Kind:
        """Colour of its interval: amber where it is clearly worse."""
        return "warning" if self.sign == "▼" else "main"


@dataclass(frozen=True, slots=True)
class ListedMeasure:
    """A measure in the table of all: of the window, of what it is compared with, and of the reference."""

    name: str
    exact: str
    now: str
    other: str
    sign: str  # of the difference from the other one
    reference: str


def pick_headline_rows(rows: Sequence[StoredMeasurement], against: str = "") -> dict[str, StoredMeasurement]:
    """Newest kept rows by measure, of each the best truth: settled before nowcast before provisional."""
    kept_revisions = newest_revisions(
        stored for stored in rows if not stored.row.subject and stored.row.against == against
    )
    return {
        stored.row.measure: stored
        for stored in sorted(kept_revisions, key=lambda stored: _TRUTHS.index(stored.row.truth))
    }


def make_performance_tiles(
    task: ModelTask,
    now: Mapping[str, Measurement],
    steps: Mapping[str, Measurement],
    limit_of: Callable[[str], float | None],
) -> Iterator[PerformanceTile]:
    """Tiles of the measures that are known.

    Parameters
    ----------
    steps
        differences from the reference.
    limit_of
        value of a measure beyond which a rule of this window fires; None: no rule limits it.
    """
    for measure in TILES[task]:
        result = now.get(measure)
        if result is None:
            continue
        what = capitalize_first(spoken_measure(measure))
        if result.value is None:
            yield PerformanceTile(measure=measure, what=what, value=f"({result.reason})")
            continue
        step = steps.get(measure)
        before = None if step is None else difference_base(step, result)
        sign, beside = ("", "") if step is None else _BESIDE.get(certainty_words(measure, step), ("", ""))
        limit, is_above = limit_of(measure), BY_NAME[measure].direction is BetterDirection.LOWER
        said = [] if before is None else [f"reference {format_measure_value(measure, before)}"]
        if limit is not None:
            side = "above" if is_above else "below"
            said.append(f"alert {side} {format_measure_value(measure, limit)}")
        constant = _constant_answer(measure, now)
        if constant is not None:
            said.append(f"a constant answer {format_measure_value(measure, constant)}")
            if (constant > result.value) is not is_above:  # better than then, and still worse than no model
                sign, beside = "", "no better than a constant answer"
        if measure == "profit":
            said += _profit_words(now, steps)
        bounds = format_interval_bounds(measure, result.interval)
        yield PerformanceTile(
            measure=measure,
            what=what,
            value=format_measure_value(measure, result.value),
            sign=sign,
            beside=beside,
            said=tuple(said) or tuple(_interval_words(measure, result.interval)),
            exact=" ".join(filter(None, (measure, bounds, f"of {result.n:,}"))),
            interval=result.interval,
            at=result.value,
            axis=_tile_axis(result, before, limit),
            reference=before,
            zone=None if limit is None else AlertZone(limit, "above" if is_above else "below"),
        )


def _constant_answer(measure: str, now: Mapping[str, Measurement]) -> float | None:
    """What one answer for all records reaches: the most frequent class, or the base rate; None: unknown."""
    always = now.get({"accuracy": "majority_accuracy", "brier_score": "base_rate"}.get(measure, ""))
    if always is None or always.value is None:
        return None
    return always.value if measure == "accuracy" else always.value * (1 - always.value)


def _profit_words(now: Mapping[str, Measurement], steps: Mapping[str, Measurement]) -> Iterator[str]:
    """A profit by record beside the reference's, in the amounts that are configured."""
    each, step = now.get("profit_per_record"), steps.get("profit_per_record")
    if each is None or each.value is None:
        return
    yield f"{approximate_text(each.value)} a record"
    before = None if step is None else difference_base(step, each)
    if before is not None:
        yield f"reference {approximate_text(before)} a record"


def _interval_words(measure: str, interval: Interval | None) -> Iterator[str]:
    """An interval as people say it: 175,430 to 195,754."""
    if interval is not None:
        bounds = format_interval_bounds(measure, interval).strip("[]").replace(", ", " to ")
        yield f"{bounds} ({100 * interval.level:g} %)"


def _tile_axis(result: Measurement, before: float | None, limit: float | None) -> Axis | None:
    """Axis that holds interval, reference and some of the alert's zone; None: nothing is beside it."""
    if result.interval is None or before is None:
        return None
    ends = [result.interval.lower, result.interval.upper, before, *([] if limit is None else [limit])]
    room = (max(ends) - min(ends)) / 4 or 1e-6
    return Axis(min(ends) - room, max(ends) + room)


def list_measures(
    task: ModelTask,
    now: Mapping[str, Measurement],
    other: Mapping[str, Measurement],
    steps: Mapping[str, Measurement],
) -> tuple[ListedMeasure, ...]:
    """All headline measures that have a value here."""
    listed = []
    for measure in LISTED[task]:
        result = now.get(measure)
        if result is None or result.value is None:
            continue
        beside, step = other.get(measure), steps.get(measure)
        before = None if step is None else difference_base(step, result)
        sign = ""
        if beside is not None and beside.value is not None:
            sign, _ = _BESIDE.get(certainty_words(measure, measurement_difference(result, beside)), ("", ""))
        bounds = format_interval_bounds(measure, result.interval)
        listed.append(
            ListedMeasure(
                name=_NAMES.get(measure, capitalize_first(spoken_measure(measure))),
                exact=f"{measure} {bounds} of {result.n:,}",
                now=format_measure_value(measure, result.value),
                other="" if beside is None else format_measure_value(measure, beside.value),
                sign=sign,
                reference="" if before is None else format_measure_value(measure, before),
            )
        )
    return tuple(listed)
