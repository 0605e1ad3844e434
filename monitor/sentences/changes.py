"""All changes of a model together, in words: what began on one day, what is evident, what is not judged."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import BECAUSE, Detail
from monitor.core.text import number, readable
from monitor.measures.catalogue.daily import ALERTS, BUDGET, EVIDENCE
from monitor.measures.rows import MeasurementRow
from monitor.sentences.changed import UNVALUED, cells_of, is_change, now_and_since, usual_since, whose
from monitor.sentences.known import FEATURE, few

_TOGETHER, _NAMED = 3, 5  # changes of one first day, of which so many are named
_INPUTS, _NEAR, _SMALLER = (FEATURE, "score"), 7 * DAY, 2
Told: TypeAlias = tuple[Detail | None, str, str]
"""What was found, of which subject, in which segment."""


def causes(rows: Iterable[MeasurementRow], alerts: Sequence[Told]) -> Iterator[str]:
    """What leads to the cause: changes that began on one day; what is as evident within a week, and smaller.

    Parameters
    ----------
    rows
        current ones of a model, of any measure.
    alerts
        what was found; what is no change is passed over.
    """
    yield from _together(alerts)
    yield from _evident(rows, [day for detail, *_ in alerts if (day := _since(detail))])


def one_of(detail: Detail | None, every: Iterable[Detail | None]) -> str:
    """That a change is one of some that began on one day; empty: of fewer than three."""
    day = _since(detail)
    many = sum(_since(other) == day for other in every) if day else 0
    return f"one of {many} changes that began on {day}" if many >= _TOGETHER else ""


def _together(alerts: Iterable[Told]) -> Iterator[str]:
    """That several changes began on one day; inputs stand before what comes of them."""
    by_day: dict[str, list[tuple[str, str]]] = {}
    for detail, *of in alerts:
        if day := _since(detail):
            by_day.setdefault(day, []).append((of[0], of[1]))
    for day, changes in by_day.items():
        if len(changes) >= _TOGETHER:
            changes.sort(key=lambda one: (not one[0].startswith(FEATURE), one[1]))
            told = few([whose(*one) for one in changes], _NAMED)
            yield f"{len(changes)} changes began on {day}, so look for one cause: {told}"


def _evident(rows: Iterable[MeasurementRow], days: Iterable[str]) -> Iterator[str]:
    """Inputs whose change is below the smallest that is told, and as evident: the most so first."""
    told = [from_iso(day) for day in days]
    found: list[tuple[float, str]] = []
    for row in rows:
        detail, stands = row.measurement.detail, (row.measurement.value or 0.0) > 1
        if row.measure != EVIDENCE or row.segment or stands or not row.subject.startswith(_INPUTS):
            continue
        if detail is None or not (since := _since(detail)):
            continue
        apparent = cells_of(detail)["apparent"]
        near = any(abs(from_iso(since) - day) <= _NEAR for day in told)
        if near and isinstance(apparent, float | int) and apparent > 1:
            words = f"{whose(row.subject, None)}: {now_and_since(detail, row.window_end)}"
            found.append((apparent, readable(f"As evident, though smaller than what is told, is {words}")))
    yield from (words for _, words in sorted(found, reverse=True)[:_SMALLER])


def _since(detail: Detail | None) -> str:
    """First day of a change, its date; empty: it is none, or that is not known."""
    return str(cells_of(detail)["since"] or "") if detail is not None and is_change(detail) else ""


def not_back(rows: Iterable[MeasurementRow]) -> dict[tuple[str, str], str]:
    """Changes that are told no longer though they have not gone back: first day, its date.

    By subject and segment; of the whole that is empty.

    Parameters
    ----------
    rows
        current ones of a model, of any measure.
    """
    evidence = [row for row in rows if row.measure == EVIDENCE]
    since = {(row.subject, row.segment or ""): usual_since(row.measurement.detail) for row in evidence}
    return {of: day for of, day in since.items() if day}


def judged(rows: Iterable[MeasurementRow]) -> Iterator[str]:
    """Of how many subjects the newest days are judged, and of which not, and why: parts of a sentence.

    Parameters
    ----------
    rows
        current ones of a model, of any measure.
    """
    evidence = [row for row in rows if row.measure == EVIDENCE]
    why: dict[str, list[str]] = {}
    subjects = 0
    for row in evidence:
        detail = row.measurement.detail
        if detail is None or not detail.rows:
            continue
        if detail.columns == BECAUSE:
            part = "records" if row.subject else "labels"
            yield f"no day of {part} is judged yet, {detail.rows[0][0]}"
        elif is_change(detail):
            subjects += 1
            if reason := cells_of(detail).get("unvalued"):
                why.setdefault(str(reason), []).append(whose(row.subject, row.segment))
    if subjects:
        yield f"of the newest day {subjects - sum(map(len, why.values()))} of {subjects} subjects"
    for reason, names in why.items():
        yield f"not {few(names)}: {UNVALUED.get(reason, reason)}"


def beside_chance(rows: Iterable[MeasurementRow]) -> Iterator[str]:
    """How many changes were told, true ones and false ones, beside how many chance alone would tell.

    Parameters
    ----------
    rows
        current ones of a model, of any measure; without a budget of false alerts nothing is said.
    """
    counts = {row.measure: row.measurement.value for row in rows if row.measure in (ALERTS, BUDGET)}
    told, allowed = counts.get(ALERTS), counts.get(BUDGET)
    if told is not None and allowed is not None:
        many = f"{number(told)} {'change' if told == 1 else 'changes'}"
        yield f"{many} told in 30 days; chance alone would tell about {number(allowed)} at most"
