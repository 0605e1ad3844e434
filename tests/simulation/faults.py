"""Faults of a log: each a function that changes the plan so far, by its own random numbers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from simulation.changes import DELETE, INSERT, UPDATE, Changes, joined, standing
from simulation.mix import Mix

_OWN = 2**40  # ids and rows of what faults add lie apart, fault by fault
_LATE = 3 * DAY
_CLEANING = 3 * HOUR


@dataclass(frozen=True, slots=True)
class Draft:
    """Changes of both tables, not yet ordered; `start` is the log's beginning."""

    start: int
    predictions: Changes
    labels: Changes


Fault: TypeAlias = Callable[[Draft, Mix, np.random.Generator], Draft]


def odd_times(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Predictions that are late, stale, in the future; stamped by a wrong clock."""
    rows = draft.predictions
    n, event, logged = len(rows), rows.columns["event_time"], rows.columns["logged_at"]
    late = rng.random(n) < mix.late
    logged = np.where(late, logged + rng.integers(0, _LATE, n), logged)
    stale = rng.random(n) < mix.stale
    event = np.where(stale, event - mix.stale_after - rng.integers(0, DAY, n), event)
    event = np.where(rng.random(n) < mix.future, event + rng.integers(HOUR, 9 * HOUR, n), event)
    at = logged
    for step in mix.clock_steps:
        wrong = (at >= draft.start + step.start) & (at < draft.start + step.end)
        event, logged = np.where(wrong, event + step.by, event), np.where(wrong, logged + step.by, logged)
    return replace(draft, predictions=rows.having(event_time=event, logged_at=logged).seen(at))


def odd_reports(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Labels reported before the event, or later than the horizon; labels of no prediction."""
    rows = draft.labels
    n, reported = len(rows), rows.columns["reported_at"]
    event = _event_times(draft)[rows.columns["id"]]
    early = rng.random(n) < mix.early
    reported = np.where(early, event - rng.integers(0, HOUR, n), reported)
    stale = rng.random(n) < mix.stale_labels
    reported = np.where(stale, event + mix.stale_after + rng.integers(0, DAY, n), reported)
    rows = rows.having(reported_at=reported).seen(reported)
    alone = _some(rows, mix.orphans, rng)
    alone = _new(alone, 1).having(id=alone.columns["id"] + _OWN)
    return replace(draft, labels=joined([rows, alone]))


def repeats(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Predictions and labels that come again, as they were or otherwise."""
    same = _again(_some(draft.predictions, mix.repeats, rng), "logged_at", 1, 0, rng)
    other = _some(draft.predictions, mix.conflicts, rng)
    moved = other.columns["event_time"] + rng.integers(-90 * MINUTE, 90 * MINUTE, len(other))
    other = other.having(event_time=moved, score=1.0 - other.columns["score"])
    other = _again(other, "logged_at", 2, 2 * HOUR, rng)
    label = _again(_some(draft.labels, mix.label_repeats, rng), "reported_at", 2, 0, rng)
    conflict = _some(draft.labels, mix.label_conflicts, rng)
    conflict = _again(_flipped(conflict), "reported_at", 4, DAY, rng)
    return replace(
        draft,
        predictions=joined([draft.predictions, same, other]),
        labels=joined([draft.labels, label, conflict]),
    )


def revisions(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Corrections and retractions: further rows of higher revisions."""
    wrong = _some(draft.labels, mix.corrections, rng)
    corrected = _again(_flipped(wrong), "reported_at", 8, 4 * DAY, rng)
    gone = _some(draft.labels, mix.retractions, rng).having(label=np.nan)
    retracted = _again(gone, "reported_at", 16, 4 * DAY, rng)
    higher = corrected.columns["revision"] + 1, retracted.columns["revision"] + 2
    revised = corrected.having(revision=higher[0]), retracted.having(revision=higher[1])
    return replace(draft, labels=joined([draft.labels, *revised]))


def hiding(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Rows that become visible after the moment that they bear."""

    def hidden(rows: Changes) -> Changes:
        by = rng.integers(0, mix.hidden_for, len(rows))
        return rows.seen(rows.at + np.where(rng.random(len(rows)) < mix.hidden, by, 0))

    return replace(draft, predictions=hidden(draft.predictions), labels=hidden(draft.labels))


def changes_in_place(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Rows updated and deleted, hours to days after they came."""
    rows, labels = draft.predictions, draft.labels
    rewritten = _later(_some(rows, mix.rewrites, rng), rng)
    rewritten = rewritten.having(score=1.0 - rewritten.columns["score"], logged_at=rewritten.at)
    moved = _later(_some(rows, mix.moves, rng), rng)
    event = moved.columns["event_time"] - rng.integers(0, 6 * HOUR, len(moved))
    moved = moved.having(event_time=event, logged_at=moved.at)
    gone = _later(_some(rows, mix.deletions, rng), rng)
    updated = _flipped(_later(_some(labels, mix.updates, rng), rng))
    unlabelled = _later(_some(labels, mix.label_deletions, rng), rng)
    return replace(
        draft,
        predictions=joined([rows, rewritten.doing(UPDATE), moved.doing(UPDATE), gone.doing(DELETE)]),
        labels=joined([labels, updated.doing(UPDATE), unlabelled.doing(DELETE)]),
    )


def reused_ids(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Other predictions with the ids of earlier ones, days later."""
    rows = _some(draft.predictions.take(draft.predictions.inserts), mix.reused, rng)
    by = rng.integers(DAY, 5 * DAY, len(rows))
    stamped = {name: rows.columns[name] + by for name in ("event_time", "logged_at")}
    again = _new(rows.having(score=1.0 - rows.columns["score"], **stamped), 4).seen(rows.at + by)
    return replace(draft, predictions=joined([draft.predictions, again]))


def refills(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Labels that are all deleted, and inserted again some time later."""
    for number, (start, end) in enumerate(mix.refilled):
        there = standing(draft.labels.ordered(), draft.start + start)
        at = np.full(len(there), draft.start + end)
        back = _new(there, 32 << number).doing(INSERT).seen(at)
        if mix.restamped:
            back = back.having(reported_at=at)
        gone = there.doing(DELETE).seen(at - (end - start))
        draft = replace(draft, labels=joined([draft.labels, gone, back]))
    return draft


def purges(draft: Draft, mix: Mix, rng: np.random.Generator) -> Draft:
    """Predictions older than `keep`, and their labels, deleted at three o'clock each night."""
    if mix.keep is None:
        return draft
    rows = draft.predictions.take(draft.predictions.inserts)
    labels = draft.labels.take(draft.labels.inserts)
    at = _night(rows.columns["event_time"] + mix.keep, rows.at)
    event = _event_times(draft)[labels.columns["id"] % _OWN]
    of_labels = _night(event + mix.keep, labels.at)
    return replace(
        draft,
        predictions=joined([draft.predictions, rows.seen(at).doing(DELETE)]),
        labels=joined([draft.labels, labels.seen(of_labels).doing(DELETE)]),
    )


FAULTS: tuple[Fault, ...] = (
    *(odd_times, odd_reports, repeats, revisions, hiding, changes_in_place, reused_ids, refills),
    purges,
)


def _event_times(draft: Draft) -> Ints:
    """Event times of the first rows by id; ids are 0, 1, …."""
    ids, first = np.unique(draft.predictions.columns["id"], return_index=True)
    assert len(ids) == 0 or ids[-1] + 1 == len(ids)
    times: Ints = draft.predictions.columns["event_time"][first]
    return times


def _some(rows: Changes, share: float, rng: np.random.Generator) -> Changes:
    return rows.take(rng.random(len(rows)) < share)


def _new(rows: Changes, number: int) -> Changes:
    """The same rows under keys of their own: numbers are powers of two, as repeats may be repeated."""
    return rows.having(row=rows.columns["row"] + number * _OWN)


def _again(rows: Changes, stamp: str, number: int, within: int, rng: np.random.Generator) -> Changes:
    """New rows, logged or reported again within some time; 0: with the same stamp, seconds later."""
    by = rng.integers(0, within, len(rows)) + SECOND if within else np.zeros(len(rows), dtype=np.int64)
    stamped = rows.columns[stamp] + by
    return _new(rows, number).having(**{stamp: stamped}).seen(np.maximum(rows.at, stamped))


def _flipped(labels: Changes) -> Changes:
    return labels.having(label=1.0 - labels.columns["label"])


def _later(rows: Changes, rng: np.random.Generator) -> Changes:
    return rows.seen(rows.at + MINUTE + (rng.exponential(1.5, len(rows)) * DAY).astype(np.int64))


def _night(moment: Ints, there: Ints) -> Ints:
    """The cleaning after a moment, of rows that are there."""
    due = np.maximum(moment, there) - _CLEANING
    return -(-due // DAY) * DAY + _CLEANING + SECOND
