"""Frames, counted as a log and its reference are: the same rows, the same counters."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, floor_to
from monitor.core.errors import ConfigurationError, SourceError
from monitor.notebook.frame_columns import (
    one_sided_sentences,
    probability_feature_sentences,
    require_column,
    without_answers,
)
from monitor.notebook.frame_periods import (
    FramePeriod,
    count_frame_halves,
    keep_halves,
    make_periods,
    merge_pane_halves,
    reference_model,
    whole_reference_period,
)
from monitor.notebook.frame_times import parse_frame_times, require_windows, window_bounds
from monitor.notebook.model_keys import ANY, NO_ID, NO_TIME
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle_model import CountedModel
from monitor.records.column_values import join_id_columns, parse_categories
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions, canonical_name
from monitor.records.reference import (
    SEGMENTS,
    Reference,
    make_plain_counting,
    reference_of,
    with_effects,
)
from monitor.records.winning_rows import parse_role_times, predicted_classes
from monitor.sentences.known_measurements import join_few_names, readable_name
from monitor.sentences.time_words import THE_FRAME
from monitor.sources.reference_loading import normalize_column, take_reference_columns
from monitor.sources.sql.scan import feature_column, wanted_challenger, wanted_outcome
from monitor.sources.sql.statements import WantedKind
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec
from monitor.states.counters import Counters
from monitor.states.grids import NAMED_FROM
from monitor.states.strata import OTHER, WHOLE, Strata
from monitor.windows.window_ends import Window

_TIMES = ("event_time", "logged_at", "reported_at")
_NUMBERS = ("score", "revision")
_EXAMPLES = 3  # values that a message names
_NAMED_BY = {
    ModelTask.BINARY: "; name them: positive, negative",
    ModelTask.MULTICLASS: "; name them: classes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFrames:
    """What was counted of predictions and labels."""

    model: CountedModel
    caches: ModelCaches
    window: Window
    end: int
    period: tuple[int, int] | None  # first and last event time; None: the frame has none
    notes: tuple[str, ...]  # sentences on rows that no measure stands on
    every: Window | None = None  # of lines over time; None: none were asked for
    periods: tuple[FramePeriod, ...] = ()  # its windows in order of time, those of the reference first

    def strata_of_part(self, part: PaneHalf) -> Strata:
        """Counters by stratum; those of the whole are always there."""
        whole = {WHOLE: Counters.make_empty(self.model.counting.layout_of(part))}
        return whole | self.caches.panes.sum_window(part, self.window.start_of(self.end), self.end)


def count_frames(
    spec: ModelSpec,
    predictions: pa.Table,
    labels: pa.Table | None,
    reference: pa.Table | None,
    every: Window | None = None,
) -> CountedFrames:
    """Count frames by the specification of their model.

    Parameters
    ----------
    labels
        None: they are in the predictions.
    every
        what the windows of lines over time are; None: there are no lines.

    Raises
    ------
    SourceError
        if a column is missing or cannot be read, or no label belongs to a prediction.
    """
    _require_columns(spec, predictions)
    counted_reference, reference_rows, early = None, None, list[str]()
    if reference is not None:
        spec, early = without_answers(spec, predictions)
        reference, without_segments = _with_segments(spec, reference)
        early += without_segments
        counted_reference, reference_rows = _count_reference(spec, predictions, reference)
        early += one_sided_sentences(spec, predictions, reference)
        early += probability_feature_sentences(spec, counted_reference.counting.reading.classes, predictions)
        if labels is None:
            predictions, unlabelled = _add_missing_labels(spec, predictions, reference)
            early += unlabelled
    reading = spec.reading if counted_reference is None else counted_reference.counting.reading
    if counted_reference is None:
        reading = replace(reading, numeric=(), categorical=())
    spec = replace(spec, reading=reading)
    records = _record_columns(spec, predictions)
    _require_classes(records, reading)
    with_labels, notes = _join_labels(spec, records, predictions if labels is None else labels)
    counting = (
        make_plain_counting(reading, with_labels) if counted_reference is None else counted_reference.counting
    )
    event = parse_role_times(records, "event_time", spec.reading)
    known = event.us[event.known]
    panes = _choose_frame_panes(spec, records, known, every)
    counting = replace(counting, reading=replace(counting.reading, pane=panes.width))
    if counted_reference is not None:
        counted_reference = replace(counted_reference, counting=counting)
    window = Window(THE_FRAME, panes.end - panes.first, panes.width, spec.reading.zone)
    rules = tuple(replace(rule, window=THE_FRAME) for rule in spec.rules if rule.window == ANY)
    spec = replace(spec, reading=counting.reading, windows=(window,), rules=rules)
    halves = count_frame_halves(records, with_labels, counting, panes.starts)
    whole = halves if panes.are_kept else merge_pane_halves(counting, halves, panes.first)
    model = CountedModel(spec=spec, counting=counting, reference=counted_reference)
    caches = ModelCaches(keep_halves(spec.name, counting, whole))
    periods: tuple[FramePeriod, ...] = ()
    if panes.bounds is not None and every is not None:
        periods = make_periods(model, caches, halves, panes.bounds)
        if reference is not None and reference_rows is not None:
            own = _reference_periods(model, caches, reference, reference_rows, every, panes.first)
            periods = (*own, *periods)
    return CountedFrames(
        model=model,
        caches=caches,
        window=window,
        end=panes.end,
        period=None
        if spec.predictions.column_of("event_time") == NO_TIME
        else (int(known.min()), int(known.max())),
        notes=(
            *early,
            *notes,
            *_uncounted_sentences(records, spec.reading),
            *_other_segments(records, counting),
            *_invalid_label_sentences(counting, caches, (panes.first, panes.end), with_labels),
        ),
        every=every,
        periods=periods,
    )


def _reference_periods(
    model: CountedModel, caches: ModelCaches, reference: pa.Table, rows: pa.Table, every: Window, before: int
) -> tuple[FramePeriod, ...]:
    """Windows of the reference's own rows; one point of all where these have no times.

    Parameters
    ----------
    before
        where the windows of the predictions begin.
    """
    name, reading = model.spec.predictions.column_of("event_time"), model.spec.reading
    if name is None or name not in reference.column_names or reference[name].null_count == reference.num_rows:
        return (whole_reference_period(model, caches),)
    times = parse_frame_times(
        reference, name, zone=reading.zone, unit=reading.unit_of("event_time"), title="reference"
    )
    known = times.us[times.known]
    if not len(known):
        return (whole_reference_period(model, caches),)
    bounds = window_bounds(every, int(known.min()), int(known.max()), before)
    own = reference_model(model)
    own = replace(own, counting=replace(own.counting, reading=replace(own.reading, pane=every.length)))
    dated = rows.append_column("id", pa.array(np.arange(rows.num_rows)))
    dated = dated.append_column("event_time", pa.array(times.us, pa.timestamp("us"), mask=~times.known))
    if own.counting.label is not None and "label" not in dated.column_names:
        kind = pa.float64() if reading.task is ModelTask.REGRESSION else pa.string()
        dated = dated.append_column("label", pa.nulls(dated.num_rows, kind))
    own_reading = replace(own.reading, zone="UTC", time_units=())
    counting = replace(own.counting, reading=own_reading)
    halves = count_frame_halves(dated, dated, counting, bounds[:-1])
    return make_periods(own, caches, halves, bounds, of_reference=True)


def _require_columns(spec: ModelSpec, predictions: pa.Table) -> None:
    for role, name in spec.predictions.columns:
        if name not in (NO_ID, NO_TIME):
            require_column(predictions, role, name)
    for name in spec.reading.segments:
        require_column(predictions, "segments", name)
    if not predictions.num_rows:
        raise SourceError("predictions: there is no row")


def _count_reference(
    spec: ModelSpec, predictions: pa.Table, reference: pa.Table
) -> tuple[Reference, pa.Table]:
    """What is compared with, and its rows, role-named.

    Refused are classes without a probability: no sum of theirs would be 1.
    """
    if not reference.num_rows:
        raise SourceError("reference: there is no row")
    types = {name: str(predictions.schema.field(name).type) for name in predictions.column_names}
    beside = {}
    for name in spec.reading.segments:
        require_column(predictions, "segments", name)
        beside[f"segment:{name}"] = normalize_column(predictions[name], WantedKind.TEXT)
    rows, reading = take_reference_columns(spec, types, reference, "frame")
    counted_reference = reference_of(rows, reading, pa.table(beside))
    if spec.keys.effects:
        counted_reference = with_effects(counted_reference, rows)
    given = set(map(canonical_name, spec.reading.probabilities))
    if lacking := [
        name for name in counted_reference.counting.reading.classes if given and name not in given
    ]:
        lacks = f"there is none of {quote_names(lacking)}, a class of the reference"
        raise ConfigurationError([f"probabilities: every class has its column: {lacks}"])
    return counted_reference, rows


def _with_segments(spec: ModelSpec, reference: pa.Table) -> tuple[pa.Table, list[str]]:
    """The reference with a column for each of the segments, and what is said of those that it lacks."""
    lacking = [name for name in spec.reading.segments if name not in reference.column_names]
    for name in lacking:
        reference = reference.append_column(name, pa.nulls(reference.num_rows, pa.string()))
    sentence = (
        f"Segments of {join_few_names(map(readable_name, lacking))} are compared with nothing: the reference "
        "has no such column."
    )
    return reference, [sentence] if lacking else []


def _other_segments(records: pa.Table, counting: Counting) -> Iterable[str]:
    """What is said of values that have no segment of their own."""
    for column, values in counting.segments:
        categories = parse_categories(records[f"segment:{column}"])
        rows = np.bincount(categories.codes[categories.codes >= 0], minlength=len(categories.levels)).tolist()
        there = zip(categories.levels, rows, strict=True)
        others = [count for level, count in there if count and level and level not in values]
        if others:
            name, which = readable_name(column), "values" if len(others) > 1 else "value"
            yield (
                f"{len(others):,} {which} of {name} with {sum(others):,} predictions are one segment, "
                f"{name}={OTHER}: the {SEGMENTS} most frequent values of at least {NAMED_FROM} rows have "
                "their own."
            )


def _record_columns(spec: ModelSpec, frame: pa.Table) -> pa.Table:
    """Role-named columns of the predictions."""
    reading, columns = spec.reading, dict(spec.predictions.columns)
    columns |= {f"segment:{name}": name for name in reading.segments}
    columns |= {f"feature:{name}": feature_column(spec, name) for name in reading.numeric}
    columns |= {f"feature:{name}": feature_column(spec, name) for name in reading.categorical}
    made = {
        "id": pa.chunked_array([pa.array(np.arange(frame.num_rows))]),
        "event_time": pa.chunked_array([pa.array(np.zeros(frame.num_rows, "datetime64[us]"))]),
    }
    absent = {role for role, name in (("id", NO_ID), ("event_time", NO_TIME)) if columns[role] == name}
    given = {
        role: _role_column(frame, role, name, reading) for role, name in columns.items() if role not in absent
    }
    records = join_id_columns(pa.table(given | {role: made[role] for role in absent}))
    if "id" in absent or "logged_at" in columns:
        return records
    # of an id that is repeated the first row counts: it is taken to be logged before those below it
    event = parse_role_times(records, "event_time", reading)
    logged = pa.array(event.us + np.arange(frame.num_rows), pa.timestamp("us"), mask=~event.known)
    return records.append_column("logged_at", logged)


def _role_column(
    frame: pa.Table, role: str, name: str, reading: ReadingOptions, title: str = "frame"
) -> pa.ChunkedArray:
    require_column(frame, role, name, title)
    if role in _TIMES:
        return frame[name].cast(pa.timestamp("us")) if pa.types.is_null(frame[name].type) else frame[name]
    try:
        return normalize_column(frame[name], _wanted_kind(role, reading))
    except pa.ArrowException as error:
        raise SourceError(f'{role}: column "{name}" cannot be read: {str(error).splitlines()[0]}') from error


def _wanted_kind(role: str, reading: ReadingOptions) -> WantedKind:
    kind, _, name = role.partition(":")
    if role in _NUMBERS or kind == "probability" or (kind == "feature" and name in reading.numeric):
        return WantedKind.NUMBER
    if role == "challenger":
        return wanted_challenger(reading)
    return wanted_outcome(reading) if role in ("prediction", "label") else WantedKind.TEXT


def _join_labels(spec: ModelSpec, records: pa.Table, frame: pa.Table) -> tuple[pa.Table, list[str]]:
    """Predictions joined (outer) with their labels, and what is said of labels without a prediction."""
    narrow = records.select([name for name in records.column_names if not name.startswith("feature:")])
    if spec.labels is None:
        return narrow, []
    roles = {role: name for role, name in spec.labels.columns if role not in dict(spec.labels.id_columns)}
    title = "frame" if spec.labels.table is None else "labels"
    columns = {role: _role_column(frame, role, name, spec.reading, title) for role, name in roles.items()}
    if spec.labels.table is None:
        for role, column in columns.items():
            narrow = narrow.append_column(role, column)
        return narrow, []
    ids = spec.labels.id_columns or spec.predictions.id_columns
    columns |= {role: _role_column(frame, role, name, spec.reading, title) for role, name in ids}
    labels = join_id_columns(pa.table(columns))
    known = pc.is_in(labels["id"], value_set=narrow["id"].combine_chunks())
    orphans = labels.num_rows - (pc.sum(known).as_py() or 0)
    if orphans == labels.num_rows > 0:
        first = labels["id"][0].as_py(), narrow["id"][0].as_py()
        raise SourceError(
            f'labels: none of the {orphans:,} ids is one of the predictions: got "{first[0]}" there, '
            f'"{first[1]}" here'
        )
    sentences = [f"{orphans:,} of {labels.num_rows:,} labels have no prediction."] if orphans else []
    return narrow.join(labels, "id", join_type="left outer"), sentences


def _add_missing_labels(
    spec: ModelSpec, predictions: pa.Table, reference: pa.Table
) -> tuple[pa.Table, list[str]]:
    """Predictions whose labels are still to come: the reference alone has the column."""
    label = None if spec.labels is None else spec.labels.column_of("label")
    if label is None or label in predictions.column_names or label not in reference.column_names:
        return predictions, []
    none = pa.nulls(predictions.num_rows, reference.schema.field(label).type)
    return predictions.append_column(label, none), [
        f'There are no labels yet: only the reference has "{label}".'
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FramePanes:
    """Panes that a frame is counted in."""

    first: int  # first, end: of all of them
    end: int
    width: int  # of the panes that are kept
    starts: Ints
    bounds: Ints | None = None  # of the windows of lines over time
    are_kept: bool = True  # whether panes are kept as they are counted; else as one


def _choose_frame_panes(spec: ModelSpec, records: pa.Table, known: Ints, every: Window | None) -> _FramePanes:
    """Panes of a frame: one that holds everything, so that an id counts once, or one a window.

    Where days are looked at they are as narrow as in the service.

    Parameters
    ----------
    known
        event times.
    """
    if not len(known):
        raise SourceError("predictions: there is no row" + (" with a time" if records.num_rows else ""))
    oldest, newest = int(known.min()), int(known.max())
    bounds = None if every is None else require_windows(every, oldest, newest)
    if spec.keys.dependence == "day":
        width = spec.reading.pane
        if every is not None and every.length < DAY:
            raise ConfigurationError(['every: at least a day where dependence="day": days are compared'])
        starts = np.unique(known // width) * width
        return _FramePanes(
            first=int(starts[0]), end=int(starts[-1]) + width, width=width, starts=starts, bounds=bounds
        )
    if bounds is None:
        first, end = floor_to(oldest, DAY), floor_to(newest, DAY) + DAY
        return _FramePanes(first=first, end=end, width=end - first, starts=np.asarray([first]))
    first, end = int(bounds[0]), int(bounds[-1])
    return _FramePanes(
        first=first, end=end, width=end - first, starts=bounds[:-1], bounds=bounds, are_kept=False
    )


def _uncounted_sentences(records: pa.Table, reading: ReadingOptions) -> Iterable[str]:
    """What is said of rows without an id or a time."""
    lost = {"id": records["id"].null_count}
    lost["time"] = int((~parse_role_times(records, "event_time", reading).known).sum())
    for name, rows in lost.items():
        if rows:
            yield f"{rows:,} of {records.num_rows:,} predictions have no {name}: they are not counted."


def _invalid_label_sentences(
    counting: Counting, caches: ModelCaches, span: tuple[int, int], table: pa.Table
) -> Iterable[str]:
    """What is said of labels that are no value; refused where all are."""
    labels = caches.panes.sum_window(PaneHalf.LABELS, *span, strata=False).get(WHOLE)
    if labels is None or not (tally := counting.tally_view(labels)).invalid:
        return
    classes = quote_names(counting.reading.classes) or "numbers"
    if not tally.labelled:
        keys, got = _NAMED_BY.get(counting.reading.task, ""), _example_values(table["label"])
        raise SourceError(f"label: all {tally.invalid:,} labels are none of {classes}: got {got}{keys}")
    there = parse_categories(table["label"]).levels if counting.reading.classes else ()
    others = [name for name in there if name not in counting.reading.classes][:_EXAMPLES]
    got = f", but {quote_names(others)}" if others else ""
    yield f"{tally.invalid:,} labels are none of {classes}{got}: no measure of performance stands on them."


def _require_classes(records: pa.Table, reading: ReadingOptions) -> None:
    """Refuse predictions of which none is a class: each would count as a wrong answer."""
    if "prediction" not in records.column_names or not reading.classes:
        return
    levels = predicted_classes(records["prediction"], reading).levels
    if levels and not set(levels) & set(reading.classes):
        got = _example_values(records["prediction"])
        meant = f'say which words mean a class: names={{"{reading.classes[-1]}": ["…"]}}'
        if reading.task is ModelTask.BINARY and not reading.has_score:
            meant = f"{meant}; if they are scores, give them as score"
        raise SourceError(
            f"prediction: no prediction is one of {quote_names(reading.classes)}: got {got}; {meant}"
        )


def _example_values(column: pa.ChunkedArray) -> str:
    return quote_names(map(str, pc.unique(column).drop_null().slice(0, _EXAMPLES).to_pylist()))
