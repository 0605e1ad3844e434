"""Rows as tables: a heading for each window, a line for each measure, and what they are compared with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.core.measurement import BECAUSE, WHEN, Measurement
from monitor.core.text import duration_text, readable_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import BetterDirection, MeasureFamily, MeasureUnit
from monitor.measures.measurement_comparison import REFERENCE, SEASON, contributed_measure
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import (
    comparison_words,
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
    is_compared_by_difference,
    stability_band,
)
from monitor.sentences.input_sentences import INDEX
from monitor.show.plain_rows import order_rows
from monitor.show.terminal_layout import align_columns, format_table_rows
from monitor.show.terminal_words import counted_noun, short_moment_text

NOTHING_YET = "nothing has been measured yet"
_NEGLIGIBLE = 1e-9
_CRITICAL = frozenset(measure.critical for measure in BY_NAME.values() if measure.critical)
_LEADING = {"feature:": "stability_index", "class:": "base_rate"}  # by which a few are chosen
_MANY = tuple(_LEADING)
_FEW = 3
_MOMENTS = ("to", "as of")
ALIASES = {
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "brier": "brier_score",
    "kappa": "cohen_kappa_score",
    "ks": "ks_distance",
    "lift": "lift_top_decile",
    "logloss": "log_loss",
    "mae": "mean_absolute_error",
    "mse": "mean_squared_error",
    "n": "records",
    "psi": "stability_index",
    "r2": "r2_score",
    "rmse": "root_mean_squared_error",
    "sensitivity": "recall",
}


@dataclass(frozen=True, slots=True)
class TableLine:
    """A measurement, and the same measure of the same window against other moments."""

    stored: StoredMeasurement
    others: Sequence[MeasurementRow]

    @property
    def row(self) -> MeasurementRow:
        """The measurement itself."""
        return self.stored.row

    @property
    def heading(self) -> str:
        """What a group of lines has in common."""
        return table_heading(self.stored)

    @property
    def family(self) -> str:
        """Name of the measure's family; empty: the catalogue does not know it."""
        return BY_NAME[self.row.measure].family.value if self.row.measure in BY_NAME else ""


def table_heading(stored: StoredMeasurement) -> str:
    """Window, truth, coverage and as of of a measurement: what a group of them has in common."""
    row = stored.row
    window = f"{row.window} to {short_moment_text(row.window_end)}" if row.window else "the log itself"
    parts = (
        stored.model,
        window,
        "" if row.version is None else f"version {row.version}",
        row.segment or "",
        row.truth.value,
        "" if row.coverage is None else f"coverage {row.coverage:.1%}",
        f"as of {short_moment_text(stored.as_of)}",
    )
    return readable_text(", ".join(part for part in parts if part))


def group_table_lines(rows: Iterable[StoredMeasurement]) -> list[TableLine]:
    """Rows in order, each heading once; what is against another moment stands with what it compares."""
    compared: dict[tuple[object, ...], list[MeasurementRow]] = {}
    lines: list[TableLine] = []
    for stored in order_rows(rows):
        row = stored.row
        place = (stored.model, stored.as_of, row.window, row.window_end, row.truth, row.version, row.segment)
        key = (*place, row.measure, row.subject)
        if row.against and key in compared:
            compared[key].append(row)
        else:
            lines.append(TableLine(stored, compared.setdefault(key, [])))
    headings: dict[str, int] = {}
    return sorted(lines, key=lambda line: headings.setdefault(line.heading, len(headings)))


def filter_strata(
    rows: Sequence[StoredMeasurement], *, segments: bool, versions: bool
) -> list[StoredMeasurement]:
    """Rows of whole models, and those of segments and versions where these are wanted."""
    return [
        stored
        for stored in rows
        if (segments or stored.row.segment is None) and (versions or stored.row.version is None)
    ]


def measurements_as_table(
    rows: Iterable[StoredMeasurement], *, everything: bool = True, width: int | None = None
) -> str:
    """Groups of aligned lines, a heading for each window: values with intervals, and what limits them.

    One measure of several windows or revisions is a line for each of them instead. What a value is compared
    with stands in its note.

    Parameters
    ----------
    everything
        False: headline measures of the whole model, and of its few most shifted features and most frequent
        classes; how many lines are left out is said. The critical value, the reference's value, and whether
        a value is clearly worse stand beside it.
    width
        of the terminal: see `format_table_rows`.
    """
    measured = group_table_lines(rows)
    if not measured:
        return NOTHING_YET
    if len(measured) > 1 and len({(line.row.measure, line.row.subject) for line in measured}) == 1:
        return _one_measure_table(measured, width)
    if not everything:
        return _overview_table(measured, width)
    shown = measured
    indent = "    " if len({line.family for line in shown}) > 1 else "  "
    header = (f"{indent}measure", "subject", "value", "interval", "n", "note")
    texts = iter(format_table_rows([header, *(_line_cells(line, indent) for line in shown)], width))
    text = [next(texts)]
    for heading, group in groupby(shown, key=lambda line: line.heading):
        text += ["", heading, *_head_families(group, texts, headings=len(indent) > 2)]
    return "\n".join(text)


def _overview_table(measured: Sequence[TableLine], width: int | None) -> str:
    """The headlines of each window: a table for each family, whose head is the family's name."""
    shown, left = _overview_lines(measured), Counter(line.heading for line in measured)
    moments = {line.stored.as_of for line in measured}
    once = f"as of {short_moment_text(moments.pop())}" if len(moments) == 1 else ""
    text = ["", once] if once else []
    for heading, group in groupby(shown, key=lambda line: line.heading):
        lines = list(group)
        records = max(line.row.measurement.n for line in lines) if lines[0].row.window else 0
        place = heading.removesuffix(f", {once}") if once else heading
        text += ["", f"{place}, {counted_noun(records, 'record')}" if records else place]
        text += _family_tables(lines, width)
        more = left.pop(heading) - len(lines)
        text += [f"    … {more:,} more: --all"] if more else []
    others = left.total()
    return "\n".join([*text[1:], *(["", f"… {others:,} more: --all"] if others else [])])


def _family_tables(lines: Sequence[TableLine], width: int | None) -> Iterator[str]:
    """Tables of one window; a critical value stands beside what it is of."""
    limits = {
        (line.row.measure, line.row.subject): line.row for line in lines if line.row.measure in _CRITICAL
    }
    beside = {place for line in lines if (place := _critical_place(line.row)) in limits}
    alone = [line for line in lines if (line.row.measure, line.row.subject) not in beside]
    for family, of_family in groupby(alone, key=lambda line: line.family):
        cells = [_overview_cells(line, limits.get(_critical_place(line.row))) for line in of_family]
        head = (f"  {family}", "subject", "value", "interval", "reference", "note")
        filled = [at for at in range(len(head)) if at == 0 or any(row[at] for row in cells)]
        yield from format_table_rows([[row[at] for at in filled] for row in (head, *cells)], width)


def _critical_place(row: MeasurementRow) -> tuple[str, str]:
    """Measure and subject of the critical value of a row's measure; the first empty: it has none."""
    measure = BY_NAME.get(row.measure)
    return ("" if measure is None else measure.critical or ""), row.subject


def _overview_cells(line: TableLine, limit: MeasurementRow | None) -> tuple[str, ...]:
    """Cells of a line: what it is beside has a column, and the note says whether it is clearly worse."""
    measure, subject, value, interval, *_ = _line_cells(line, "    ")
    notes, reference = [line.row.warning], ""
    if limit is not None and limit.measurement.value is not None:
        notes.append(f"critical {format_measure_value(limit.measure, limit.measurement.value)}")
    notes += _reason_words(line.row.measurement)
    for other in line.others:
        words = _comparison_words(other, line.row.measurement).split(", difference ")[0]
        if other.against == REFERENCE:
            reference = words.removeprefix(f"{REFERENCE} ")
            notes.append(_difference_words(other))
        elif other.against == SEASON:
            notes.append(words)
    detail = line.row.measurement.detail
    if not value or (detail is not None and contributed_measure(detail)):  # else it would repeat the value
        notes += _own_comparison(line.row)
    return measure, subject, value, interval, reference, ", ".join(filter(None, notes))


def _difference_words(other: MeasurementRow) -> str:
    """Whether a value is clearly worse or better; of a measure without a better side, higher or lower."""
    interval = other.measurement.interval
    if not is_compared_by_difference(other.measure, other.against) or interval is None:
        return ""
    if interval.lower <= 0 <= interval.upper:
        return ""
    grows, direction = interval.lower > 0, BY_NAME[other.measure].direction
    if direction is BetterDirection.NONE:
        return "higher" if grows else "lower"
    return "better" if grows == (direction is BetterDirection.HIGHER) else "worse"


def _head_families(lines: Iterable[TableLine], texts: Iterator[str], *, headings: bool) -> Iterator[str]:
    for family, group in groupby(lines, key=lambda line: line.family):
        if headings and family:
            yield f"  {family}"
        for _ in group:
            yield next(texts)


def _overview_lines(lines: Sequence[TableLine]) -> list[TableLine]:
    """Headlines of whole models, and of a few of their features and classes in each window.

    Performance is settled or nowcast: provisional values of it are left out, and so is the rest of a window
    that has settled. What a nowcast lacks is said once a window.
    """
    settled = {_window_of(line) for line in lines if line.row.truth is LabelTruth.SETTLED}
    whole = [
        line
        for line in lines
        if line.row.is_of_whole
        and line.row.measure in BY_NAME
        and (line.row.truth is not LabelTruth.PROVISIONAL or line.family != MeasureFamily.PERFORMANCE.value)
        and (line.row.truth in (LabelTruth.SETTLED, LabelTruth.NONE) or _window_of(line) not in settled)
        and (BY_NAME[line.row.measure].headline or line.row.against)
    ]
    chosen: list[TableLine] = []
    for _, group in groupby(whole, key=lambda line: line.heading):
        of_family = list(group)
        if of_family[0].row.truth is LabelTruth.NOWCAST and not any(map(_has_value, of_family)):
            of_family = of_family[:1]
        few = {subject for kind in _LEADING for subject in _leading_subjects(of_family, kind)}
        chosen += [
            shown
            for shown in of_family
            if not shown.row.subject.startswith(_MANY) or (shown.row.subject in few and _has_value(shown))
        ]
    return chosen


def _window_of(line: TableLine) -> tuple[str, str, int]:
    return line.stored.model, line.row.window, line.row.window_end


def _has_value(line: TableLine) -> bool:
    return line.row.measurement.value is not None


def _leading_subjects(lines: Iterable[TableLine], kind: str) -> list[str]:
    """Subjects of a kind that lead in its measure."""
    rows = (line.row for line in lines)
    leading = {
        row.subject: -1.0 if row.measurement.value is None else row.measurement.value
        for row in rows
        if row.measure == _LEADING[kind] and row.subject.startswith(kind)
    }
    return sorted(leading, key=lambda subject: -leading[subject])[:_FEW]


def _one_measure_table(lines: Sequence[TableLine], width: int | None) -> str:
    """A line for each row under a title that says what all of them have in common."""
    places = [_describe_line_place(line) for line in lines]
    common = [
        name for name in places[0] if name not in _MOMENTS and len({line[name] for line in places}) == 1
    ]
    title = readable_text(", ".join(places[0][name] for name in common if places[0][name]))
    rest = [name for name in places[0] if name not in common]
    header = [*rest, "value", "interval", "n", "note"]
    texts = [
        (*(words[name] for name in rest), *_line_cells(line)[2:])
        for words, line in zip(places, lines, strict=True)
    ]
    table = align_columns([header, *texts], width)
    return f"{title}\n\n{table}" if title else table


def _describe_line_place(line: TableLine) -> dict[str, str]:
    row = line.row
    return {
        "model": line.stored.model,
        "measure": row.measure,
        "subject": row.subject,
        "window": row.window or "the log itself",
        "to": short_moment_text(row.window_end),
        "version": row.version or "",
        "segment": row.segment or "",
        "truth": row.truth.value,
        "coverage": "" if row.coverage is None else f"{row.coverage:.1%}",
        "as of": short_moment_text(line.stored.as_of),
    }


def _line_cells(line: TableLine, indent: str = "") -> tuple[str, ...]:
    row, result = line.row, line.row.measurement
    value, interval = (
        format_measure_value(row.measure, result.value),
        format_interval_bounds(row.measure, result.interval),
    )
    if result.value is None:
        value = f"({result.reason})"
    elif is_compared_by_difference(
        row.measure, row.against
    ):  # it stands in the note: no difference is shown as a value
        value, interval = "", ""
    note = ", ".join(part for part in (row.warning, *_line_remarks(line)) if part)
    return f"{indent}{row.measure}", row.subject, value, interval, f"{result.n:,}", note


def _line_remarks(line: TableLine) -> Iterator[str]:
    """What limits a value, and what it is compared with."""
    row, result = line.row, line.row.measurement
    if row.measure == INDEX and result.value is not None:
        yield f"band {stability_band(result.value)}"
    if result.resolution > _NEGLIGIBLE:
        measure = BY_NAME.get(row.measure)
        seconds = measure is not None and measure.unit is MeasureUnit.SECONDS
        yield f"± {duration_text(result.resolution) if seconds else f'{result.resolution:.2g}'} by its cells"
    yield from _reason_words(result)
    yield "; ".join([*_own_comparison(row), *(_comparison_words(other, result) for other in line.others)])


def _own_comparison(row: MeasurementRow) -> list[str]:
    """What a row itself is against, if that is another moment."""
    alone = "" if is_compared_by_difference(row.measure, row.against) else "against "
    return [f"{alone}{_comparison_words(row)}"] if row.against else []


def _reason_words(result: Measurement) -> Iterator[str]:
    """Why a value is missing, or when it comes."""
    if (detail := result.detail) is not None and detail.columns == BECAUSE:
        yield f"because {detail.rows[0][0]}"
    elif detail is not None and detail.columns == WHEN:
        yield str(detail.rows[0][0]).rstrip(".")


def _comparison_words(row: MeasurementRow, now: Measurement | None = None) -> str:
    """What a value is against: the figure then and the difference, another shift, or the worst segment."""
    result, detail = row.measurement, row.measurement.detail
    if detail is not None and (mean := contributed_measure(detail)):
        return (
            f"{row.against}: {detail.rows[0][0]}, {format_measure_difference(mean, result.value)} of {mean}"
        )
    if result.value is None or is_compared_by_difference(row.measure, row.against):
        return comparison_words(row, now)
    return f"{row.against} {format_measure_value(row.measure, result.value)}"
