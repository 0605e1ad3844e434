"""Which measured rows a cycle keeps: of windows that overlap others of their kind only what is asked for."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from monitor.alerts.default_rules import MAIN
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import ChanceYardstick
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.windows.log_rows import NEXT_SETTLING
from monitor.specs.model_spec import ModelSpec

Place: TypeAlias = tuple[str, int, str]  # window, its end, truth

_WATCHED = "stability_index"


def select_kept_rows(
    spec: ModelSpec,
    due: Sequence[MeasurementRow],
    rows: Iterable[MeasurementRow],
    changed: Collection[Place],
    *,
    thin: bool,
) -> list[MeasurementRow]:
    """What of a cycle's rows is kept.

    Parameters
    ----------
    due
        rows of the windows that are due.
    rows
        all others, of the newest windows.
    changed
        on which an alert fired or ended: what they were judged by is kept whole.
    thin
        of windows that overlap others of their kind, rows of measures that nobody asks for are left out.
    """
    wanted = set(changed).difference(place_of(row) for row in due)
    measured = (row for row in rows if row.measure != NEXT_SETTLING)  # which no window has
    cited = [row for row in measured if place_of(row) in wanted] if wanted else []
    return [*(thin_rows(spec, due, changed) if thin else due), *cited]


def thin_rows(
    spec: ModelSpec, rows: Sequence[MeasurementRow], changed: Collection[Place]
) -> list[MeasurementRow]:
    """Rows without those that nobody asks for, of windows that overlap others of their kind.

    Asked for are headline measures and critical values, the stability index, the task's main measure, and
    what a rule on such a window judges, with what stands beside it.
    """
    apart = {
        (window.name, row.window_end): window.stands_apart(row.window_end)
        for window in spec.windows
        for row in rows
        if row.window == window.name
    }
    judged = {(rule.window, name) for rule in spec.rules for name in _yardstick_names(rule.measure)}
    return [
        row
        for row in rows
        if apart.get((row.window, row.window_end), True)
        or place_of(row) in changed
        or _is_always_kept(spec, row.measure)
        or (row.window, row.measure) in judged
    ]


def place_of(row: MeasurementRow) -> Place:
    """Window, end and truth of a row."""
    return (row.window, row.window_end, row.truth.value)


def _is_always_kept(spec: ModelSpec, name: str) -> bool:
    measure = BY_NAME[name]
    known = measure.headline or measure.yardstick is ChanceYardstick.CRITICAL
    return known or name in (_WATCHED, MAIN[spec.reading.task])


def _yardstick_names(name: str) -> tuple[str, ...]:
    measure = BY_NAME[name]
    return tuple(filter(None, (name, measure.critical, measure.beside)))
