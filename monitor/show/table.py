"""Rows as tables: a heading for each window, a line for each measure, and what they are compared with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.core.measurement import BECAUSE, WHEN, Measurement
from monitor.core.text import duration, readable
from monitor.measures.against import contributes_to
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Family, Unit
from monitor.measures.rows import MeasurementRow, Truth
from monitor.measures.worded import band_of, bounds_of, compared, difference_of, differs, value_of
from monitor.sentences.inputs import INDEX
from monitor.show.columns import aligned, rows_of
from monitor.show.plain import Shown, ordered
from monitor.show.words import when

NOTHING_YET = "nothing has been measured yet"
_NEGLIGIBLE = 1e-9
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
class Line:
    """A row, and the same measure of the same window against other moments."""

    model: str
    as_of: int
    row: MeasurementRow
    others: Sequence[MeasurementRow] = ()

    @property
    def heading(self) -> str:
        """Window, truth, coverage and as of: what a group of lines has in common."""
        row = self.row
        window = f"{row.window} to {when(row.window_end)}" if row.window else "the log itself"
        parts = (
            self.model,
            window,
            "" if row.version is None else f"version {row.version}",
            row.segment or "",
            row.truth.value,
            "" if row.coverage is None else f"coverage {row.coverage:.1%}",
            f"as of {when(self.as_of)}",
        )
        return readable(", ".join(part for part in parts if part))

    @property
    def family(self) -> str:
        """Name of the measure's family; empty: the catalogue does not know it."""
        return BY_NAME[self.row.measure].family.value if self.row.measure in BY_NAME else ""


def lines_of(rows: Iterable[Shown]) -> list[Line]:
    """Rows in order, each heading once; what is against another moment stands with what it compares."""
    compared: dict[tuple[object, ...], list[MeasurementRow]] = {}
    lines: list[Line] = []
    for model, as_of, row in ordered(rows):
        place = (model, as_of, row.window, row.window_end, row.truth, row.version, row.segment)
        key = (*place, row.measure, row.subject)
        if row.against and key in compared:
            compared[key].append(row)
        else:
            lines.append(Line(model, as_of, row, compared.setdefault(key, [])))
    headings: dict[str, int] = {}
    return sorted(lines, key=lambda line: headings.setdefault(line.heading, len(headings)))


def of_strata(rows: Sequence[Shown], *, segments: bool, versions: bool) -> list[Shown]:
    """Rows of whole models, and those of segments and versions where these are wanted."""
    return [
        shown
        for shown in rows
        if (segments or shown[2].segment is None) and (versions or shown[2].version is None)
    ]


def as_table(rows: Iterable[Shown], *, everything: bool = True, width: int | None = None) -> str:
    """Groups of aligned lines, a heading for each window: values with intervals, and what limits them.

    One measure of several windows or revisions is a line for each of them instead. What a value is compared
    with stands in its note.

    Parameters
    ----------
    everything
        False: headline measures of the whole model, and of its few most shifted features and most frequent
        classes; how many lines are left out is said.
    width
        of the terminal: see `rows_of`.
    """
    measured = lines_of(rows)
    if not measured:
        return NOTHING_YET
    if len(measured) > 1 and len({(line.row.measure, line.row.subject) for line in measured}) == 1:
        return _one_measure(measured, width)
    shown = measured if everything else _overview(measured)
    indent = "    " if len({line.family for line in shown}) > 1 else "  "
    header = (f"{indent}measure", "subject", "value", "interval", "n", "note")
    texts = iter(rows_of([header, *(_cells(line, indent) for line in shown)], width))
    text, left = [next(texts)], Counter(line.heading for line in measured)
    for heading, group in groupby(shown, key=lambda line: line.heading):
        lines = list(group)
        more = left.pop(heading) - len(lines)
        text += ["", heading, *_by_family(lines, texts, headings=len(indent) > 2)]
        text += [f"{indent}… {more:,} more: --all"] if more else []
    others = left.total()
    return "\n".join([*text, *(["", f"… {others:,} more: --all"] if others else [])])


def _by_family(lines: Iterable[Line], texts: Iterator[str], *, headings: bool) -> Iterator[str]:
    for family, group in groupby(lines, key=lambda line: line.family):
        if headings and family:
            yield f"  {family}"
        for _ in group:
            yield next(texts)


def _overview(lines: Sequence[Line]) -> list[Line]:
    """Headlines of whole models, and of a few of their features and classes in each window.

    Performance is settled or nowcast: provisional values of it are left out. What a nowcast lacks is said
    once a window.
    """
    whole = [
        line
        for line in lines
        if line.row.of_whole
        and line.row.measure in BY_NAME
        and (line.row.truth is not Truth.PROVISIONAL or line.family != Family.PERFORMANCE.value)
        and (BY_NAME[line.row.measure].headline or line.row.against)
    ]
    chosen: list[Line] = []
    for _, group in groupby(whole, key=lambda line: line.heading):
        of_family = list(group)
        if of_family[0].row.truth is Truth.NOWCAST and not any(map(_has_value, of_family)):
            of_family = of_family[:1]
        few = {subject for kind in _LEADING for subject in _few(of_family, kind)}
        chosen += [
            shown
            for shown in of_family
            if shown.row.subject in few or not shown.row.subject.startswith(_MANY)
        ]
    return chosen


def _has_value(line: Line) -> bool:
    return line.row.measurement.value is not None


def _few(lines: Iterable[Line], kind: str) -> list[str]:
    """Subjects of a kind that lead in its measure."""
    rows = (line.row for line in lines)
    leading = {
        row.subject: -1.0 if row.measurement.value is None else row.measurement.value
        for row in rows
        if row.measure == _LEADING[kind] and row.subject.startswith(kind)
    }
    return sorted(leading, key=lambda subject: -leading[subject])[:_FEW]


def _one_measure(lines: Sequence[Line], width: int | None) -> str:
    """A line for each row under a title that says what all of them have in common."""
    places = [_place_in_words(line) for line in lines]
    common = [
        name for name in places[0] if name not in _MOMENTS and len({line[name] for line in places}) == 1
    ]
    title = readable(", ".join(places[0][name] for name in common if places[0][name]))
    rest = [name for name in places[0] if name not in common]
    header = [*rest, "value", "interval", "n", "note"]
    texts = [
        (*(words[name] for name in rest), *_cells(line)[2:])
        for words, line in zip(places, lines, strict=True)
    ]
    table = aligned([header, *texts], width)
    return f"{title}\n\n{table}" if title else table


def _place_in_words(line: Line) -> dict[str, str]:
    row = line.row
    return {
        "model": line.model,
        "measure": row.measure,
        "subject": row.subject,
        "window": row.window or "the log itself",
        "to": when(row.window_end),
        "version": row.version or "",
        "segment": row.segment or "",
        "truth": row.truth.value,
        "coverage": "" if row.coverage is None else f"{row.coverage:.1%}",
        "as of": when(line.as_of),
    }


def _cells(line: Line, indent: str = "") -> tuple[str, ...]:
    row, result = line.row, line.row.measurement
    value, interval = value_of(row.measure, result.value), bounds_of(row.measure, result.interval)
    if result.value is None:
        value = f"({result.reason})"
    elif differs(row.measure, row.against):  # it stands in the note: no difference is shown as a value
        value, interval = "", ""
    note = ", ".join(part for part in (row.warning, *_remarks(line)) if part)
    return f"{indent}{row.measure}", row.subject, value, interval, f"{result.n:,}", note


def _remarks(line: Line) -> Iterator[str]:
    """What limits a value, and what it is compared with."""
    row, result = line.row, line.row.measurement
    if row.measure == INDEX and result.value is not None:
        yield f"band {band_of(result.value)}"
    if result.resolution > _NEGLIGIBLE:
        measure = BY_NAME.get(row.measure)
        seconds = measure is not None and measure.unit is Unit.SECONDS
        yield f"± {duration(result.resolution) if seconds else f'{result.resolution:.2g}'} by its cells"
    if (detail := result.detail) is not None and detail.columns == BECAUSE:
        yield f"because {detail.rows[0][0]}"
    elif detail is not None and detail.columns == WHEN:
        yield str(detail.rows[0][0]).rstrip(".")
    alone = "" if differs(row.measure, row.against) else "against "
    own = [f"{alone}{_against(row)}"] if row.against else []
    yield "; ".join([*own, *(_against(other, result) for other in line.others)])


def _against(row: MeasurementRow, now: Measurement | None = None) -> str:
    """What a value is against: the figure then and the difference, another shift, or the worst segment."""
    result, detail = row.measurement, row.measurement.detail
    if detail is not None and (mean := contributes_to(detail)):
        return f"{row.against}: {detail.rows[0][0]}, {difference_of(mean, result.value)} of {mean}"
    if result.value is None or differs(row.measure, row.against):
        return compared(row, now)
    return f"{row.against} {value_of(row.measure, result.value)}"
