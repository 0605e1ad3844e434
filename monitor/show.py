"""Rows for people: tables, JSON and CSV of measurements."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.core.clock import SECOND, to_iso
from monitor.core.measurement import Detail
from monitor.measures.catalogue import BY_NAME, Family, Unit
from monitor.specs.rows import CUMULATIVE, MeasurementRow
from monitor.windows.ends import nominal_length

Shown = tuple[str, int, MeasurementRow]

_NEGLIGIBLE = 1e-9
_LEADING = {"feature:": "stability_index", "class:": "base_rate"}  # by which a few are chosen
_MANY = tuple(_LEADING)
_FEW = 3
_MOMENTS = ("to", "as of")
_NUMBER = re.compile(r"(-?[\d,.]*|-?\d+[dhm]( \d+[hms])?|-?[\d.]+s)")
ALIASES = {
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "brier": "brier_score",
    "ks": "ks_distance",
    "logloss": "log_loss",
    "mae": "mean_absolute_error",
    "mse": "mean_squared_error",
    "n": "records",
    "psi": "stability_index",
    "r2": "r2_score",
    "rmse": "root_mean_squared_error",
    "sensitivity": "recall",
}
FIELDS = (
    "model",
    "version",
    "window",
    "window_end",
    "as_of",
    "truth",
    "segment",
    "measure",
    "subject",
    "against",
    "value",
    "reason",
    "n",
    "lower",
    "upper",
    "resolution",
    "coverage",
    "warning",
    "detail",
)


@dataclass(frozen=True, slots=True)
class Further:
    """Further columns: their names, and their values for a model and an as of."""

    names: tuple[str, ...] = ()
    values: Callable[[str, int], dict[str, object]] = lambda _model, _as_of: {}


NOTHING = Further()


def plain(model: str, as_of: int, row: MeasurementRow) -> dict[str, object]:
    """One row as plain values; times are ISO-8601 UTC; None for the whole and for what is absent."""
    result = row.measurement
    return {
        "model": model,
        "version": row.version,
        "window": row.window or None,
        "window_end": to_iso(row.window_end),
        "as_of": to_iso(as_of),
        "truth": row.truth.value or None,
        "segment": row.segment,
        "measure": row.measure,
        "subject": row.subject,
        "against": row.against or None,
        "value": result.value,
        "reason": result.reason.value if result.reason else None,
        "n": result.n,
        "lower": result.interval.lower if result.interval else None,
        "upper": result.interval.upper if result.interval else None,
        "resolution": result.resolution,
        "coverage": row.coverage,
        "warning": row.warning or None,
        "detail": None if result.detail is None else _records(result.detail),
    }


def _records(detail: Detail) -> list[dict[str, float | str | None]]:
    return [dict(zip(detail.columns, row, strict=True)) for row in detail.rows]


def ordered(rows: Iterable[Shown]) -> list[Shown]:
    """Rows as they are read: by window, by what they stand on, then as the catalogue has the measures."""
    return sorted(rows, key=_place)


def as_json(rows: Iterable[Shown], further: Further = NOTHING) -> str:
    """JSON list of rows."""
    found = [plain(*row) | further.values(row[0], row[1]) for row in ordered(rows)]
    return json.dumps(found, indent=1)


def as_csv(rows: Iterable[Shown], further: Further = NOTHING) -> str:
    """CSV with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, (*FIELDS, *further.names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(plain(*row)) | further.values(row[0], row[1]) for row in ordered(rows))
    return out.getvalue()


def _flat(values: dict[str, object]) -> dict[str, object]:
    """A row for a CSV: its detail as JSON."""
    return values if values["detail"] is None else values | {"detail": json.dumps(values["detail"])}


def as_table(rows: Iterable[Shown], *, everything: bool = True) -> str:
    """Groups of aligned lines, a heading for each window: values with intervals, and what limits them.

    One measure of several windows or revisions is a line for each of them instead.

    Parameters
    ----------
    everything
        False: headline measures of the whole model, and of its few most shifted features and most frequent
        classes; how many lines are left out is said.
    """
    found = ordered(rows)
    if not found:
        return "nothing has been measured yet"
    if len(found) > 1 and len({(row.measure, row.subject) for _, _, row in found}) == 1:
        return _one_measure(found)
    shown = found if everything else _overview(found)
    header = ("  measure", "subject", "value", "interval", "n", "note")
    lines = iter(aligned([header, *(_line(row) for _, _, row in shown)]).split("\n"))
    text, left = [next(lines)], Counter(_heading(*one) for one in found)
    for heading, group in groupby(shown, key=lambda one: _heading(*one)):
        told = [next(lines) for _ in group]
        more = left.pop(heading) - len(told)
        text += ["", heading, *told, *([f"  … {more:,} more: --all"] if more else [])]
    others = left.total()
    return "\n".join([*text, *(["", f"… {others:,} more: --all"] if others else [])])


def _overview(rows: Sequence[Shown]) -> list[Shown]:
    """Headlines of whole models, and of a few of their features and classes in each window."""
    whole = [
        one
        for one in rows
        if one[2].version is None
        and one[2].segment is None
        and one[2].measure in BY_NAME
        and BY_NAME[one[2].measure].headline
    ]
    chosen: list[Shown] = []
    for _, group in groupby(whole, key=lambda one: _heading(*one)):
        told = list(group)
        few = {subject for kind in _LEADING for subject in _few(told, kind)}
        chosen += [one for one in told if one[2].subject in few or not one[2].subject.startswith(_MANY)]
    return chosen


def _few(rows: Iterable[Shown], kind: str) -> list[str]:
    """Subjects of a kind that lead in its measure."""
    leading = {
        row.subject: -1.0 if row.measurement.value is None else row.measurement.value
        for _, _, row in rows
        if row.measure == _LEADING[kind] and row.subject.startswith(kind)
    }
    return sorted(leading, key=lambda subject: -leading[subject])[:_FEW]


def _one_measure(found: Sequence[Shown]) -> str:
    """A line for each row under a title that says what all of them have in common."""
    lines = [_place_in_words(*one) for one in found]
    common = [name for name in lines[0] if name not in _MOMENTS and len({line[name] for line in lines}) == 1]
    title = ", ".join(lines[0][name] for name in common if lines[0][name])
    rest = [name for name in lines[0] if name not in common]
    header = [*rest, "value", "interval", "n", "note"]
    told = [
        (*(line[name] for name in rest), *_line(one[2])[2:]) for line, one in zip(lines, found, strict=True)
    ]
    return f"{title}\n\n{aligned([header, *told])}" if title else aligned([header, *told])


def _place_in_words(model: str, as_of: int, row: MeasurementRow) -> dict[str, str]:
    return {
        "model": model,
        "measure": row.measure,
        "subject": row.subject,
        "window": row.window or "the log itself",
        "to": to_iso(row.window_end).removesuffix("T00:00:00Z"),
        "version": row.version or "",
        "segment": row.segment or "",
        "truth": row.truth.value,
        "coverage": "" if row.coverage is None else f"{row.coverage:.1%}",
        "as of": to_iso(as_of).removesuffix("T00:00:00Z"),
    }


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, numbers to the right."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    right = [
        all(_is_number(line[at]) for line in lines[1:]) and len(lines) > 1 for at in range(len(lines[0]))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def number(value: float | None) -> str:
    """Four significant digits; thousands in full; empty for None."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Two units, the smaller one rounded; three significant digits below a minute.

    >>> duration(52_353), duration(3_599.7), duration(86_400), duration(12.5)
    ('14h 33m', '1h 0m', '1d 0h', '12.5s')
    """
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    for large, small, name, below in ((86_400, 3_600, "d", "h"), (3_600, 60, "h", "m"), (60, 1, "m", "s")):
        whole, rest = divmod(round(size / small), large // small)
        if whole:
            return f"{sign}{whole}{name} {rest}{below}"
    return f"{sign}{size:.3g}s"


def moment(seconds: float) -> str:
    """Moment of a Unix time.

    >>> moment(1_356_998_400.0)
    '2013-01-01T00:00:00Z'
    """
    return to_iso(round(seconds) * SECOND)


def _heading(model: str, as_of: int, row: MeasurementRow) -> str:
    window = f"{row.window} to {to_iso(row.window_end)}" if row.window else "the log itself"
    coverage = "" if row.coverage is None else f"coverage {row.coverage:.1%}"
    parts = (
        model,
        window,
        "" if row.version is None else f"version {row.version}",
        row.segment or "",
        row.truth.value,
        coverage,
        f"as of {to_iso(as_of)}",
    )
    return ", ".join(part for part in parts if part)


def _line(row: MeasurementRow) -> tuple[str, ...]:
    result = row.measurement
    bounds = result.interval
    seconds = row.measure in BY_NAME and BY_NAME[row.measure].unit is Unit.SECONDS
    text = moment if row.measure.endswith("_timestamp") else duration if seconds else number
    interval = f"[{text(bounds.lower)}, {text(bounds.upper)}]" if bounds else ""
    value = text(result.value) if result.value is not None else f"({result.reason})"
    bound = duration(result.resolution) if seconds else f"{result.resolution:.2g}"
    resolution = f"± {bound} by its cells" if result.resolution > _NEGLIGIBLE else ""
    note = ", ".join(part for part in (row.warning, resolution) if part)
    return f"  {row.measure}", row.subject, value, interval, f"{result.n:,}", note


_CATALOGUED = {name: at for at, name in enumerate(BY_NAME)}
_FAMILIES = {family: at for at, family in enumerate(Family)}
_SUBJECTS = ("", "score", "prediction", "label")


def _place(shown: Shown) -> tuple[object, ...]:
    model, as_of, row = shown
    length = 0 if row.window in ("", CUMULATIVE) else nominal_length(row.window)
    window = (length, row.window, row.window_end, as_of, row.truth, row.version or "", row.segment or "")
    measure = BY_NAME.get(row.measure)
    family = len(_FAMILIES) if measure is None else _FAMILIES[measure.family]
    subject = _SUBJECTS.index(row.subject) if row.subject in _SUBJECTS else len(_SUBJECTS)
    return (model, *window, family, subject, row.subject, _CATALOGUED.get(row.measure, 0), row.measure)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
