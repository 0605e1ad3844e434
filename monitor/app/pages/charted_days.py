"""Days as they were judged against the budget of false alerts, from the store alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.change import Change, ChangeAspect, aspect_of_kind
from monitor.core.clock import DAY, LAST, from_iso
from monitor.evidence.change_sizes import readable_value
from monitor.evidence.day_record import DayHistory, DayRecord, unpack_day
from monitor.evidence.describing import ColumnMean, column_unit_figures, expected_band
from monitor.evidence.judging import restore_fault_verdicts, with_acceptances
from monitor.evidence.watch import Watch
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS, FEWEST_RECORDS, REMEMBERED_DAYS
from monitor.pages.page_request import ChartedDay, DaySurprises
from monitor.pipeline.sequential.day_rows import is_label_subject, watched_subject
from monitor.pipeline.sequential.judge_days import PartKey, read_first_days, watch_of_first_days
from monitor.records.codec import decode_strata
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.sentences.change_words import NEW_VERSION
from monitor.store.sql_store import SqlStore

_BEFORE, _AFTER = 14, 14  # days before the first one of a change, and after that by which it was found
_FOUND = 60  # days after the first one
_SMALLEST_FAULT = 0.01  # share of the records, below which a fault is not said to be beyond


@dataclass(frozen=True)
class KeptDays:
    """The newest judged days of the whole of a model: a read of the store, whatever is asked of them."""

    watch: Watch
    records: tuple[DayRecord, ...]  # oldest first; some more than are shown: bands of faults need them
    spans: tuple[tuple[int, int], ...]  # start and end of each
    shown: int  # how many of the newest are shown

    @property
    def days(self) -> list[tuple[int, int, int]]:
        """(days since 1970-01-01, start, end) of each shown day."""
        of_shown = zip(self.records[-self.shown :], self.spans[-self.shown :], strict=True)
        return [(record.day, start, end) for record, (start, end) in of_shown]

    def find_surprises(self, aspect: ChangeAspect | None) -> Mapping[str, DaySurprises]:
        """By subject how far it lay from what was expected, day by day; None: whatever of it."""
        if aspect not in self._found:
            self._found[aspect] = {
                subject: self._surprises_of(at, aspect) for at, subject in enumerate(self.watch.subjects)
            }
        return self._found[aspect]

    @cached_property
    def _found(self) -> dict[ChangeAspect | None, Mapping[str, DaySurprises]]:
        return {}

    @cached_property
    def _signed_surprises(self) -> Floats:
        """Shape (shown days, series + faults): standard normals; of faults 0 or infinite. NaN: not judged."""
        shown = self.records[-self.shown :]
        of_series = np.stack([one.surprise for one in shown]).astype(np.float64)
        hits, trials = (np.stack([getattr(one, name) for one in shown]) for name in ("hits", "trials"))
        first = len(self.records) - self.shown
        most = np.stack([self._expected_faults[first + at] for at in range(self.shown)])
        share = hits / np.maximum(trials, 1)
        beyond = (trials >= FEWEST_RECORDS) & (share > np.maximum(most, _SMALLEST_FAULT))
        learned = np.arange(first, len(self.records)) >= FEWEST_DAYS
        of_faults = np.where(trials > 0, 0.0, np.nan)
        of_faults[~learned] = np.nan
        return np.hstack([of_series, np.where(beyond & learned[:, None], np.inf, of_faults)])

    @cached_property
    def _series_and_faults(self) -> list[tuple[int, str, str]]:
        """Subject, kind and category of each series, then of each fault."""
        every = [(one.subject, one.statistic.value, one.category) for one in self.watch.series]
        return every + [(one.subject, one.name, "") for one in self.watch.faults]

    @cached_property
    def _places(self) -> Mapping[int, Sequence[int]]:
        """Series, or series + fault, of each subject."""
        places: dict[int, list[int]] = {}
        for place, (subject, _, _) in enumerate(self._series_and_faults):
            places.setdefault(subject, []).append(place)
        return places

    def _surprises_of(self, subject: int, aspect: ChangeAspect | None) -> DaySurprises:
        every = self._series_and_faults
        mine = [
            place
            for place in self._places.get(subject, ())
            if aspect is None or aspect_of_kind(every[place][1]) is aspect
        ]
        # Whether values are as expected is said by series; a fault without a hit says nothing of them.
        if aspect is None:
            mine = [place for place in mine if place < len(self.watch.series)] + [
                place
                for place in mine
                if place >= len(self.watch.series) and np.isinf(self._signed_surprises[:, place]).any()
            ]
        table = self._signed_surprises[:, mine]
        days = len(table)
        if not mine:
            return DaySurprises(np.full(days, np.nan), np.zeros(days, bool), (("", ""),) * days)
        size = np.abs(table)
        if aspect is None:
            of_faults = np.asarray(mine) >= len(self.watch.series)
            size = np.where(of_faults & (size == 0), np.nan, size)
        most = np.argmax(np.where(np.isnan(size), -1.0, size), axis=1)
        rows = np.arange(days)
        largest = size[rows, most]
        kinds = tuple(
            ("", "") if np.isnan(value) else every[mine[at]][1:]
            for at, value in zip(most.tolist(), largest.tolist(), strict=True)
        )
        return DaySurprises(largest, table[rows, most] > 0, kinds)

    @cached_property
    def standing_kinds(self) -> Mapping[str, Sequence[str]]:
        """By subject the kind of the change that stood on each shown day; empty: none did."""
        every = self._series_and_faults
        found_by = np.stack([one.found_by for one in self.records[-self.shown :]])
        return {
            subject: [every[place][1] if place >= 0 else "" for place in found_by[:, at].tolist()]
            for at, subject in enumerate(self.watch.subjects)
        }

    def newest_shares(self, kind: str) -> Mapping[str, float]:
        """By subject the share of the newest day's records that has a fault; what is not known lacks."""
        newest, found = self.records[-1], dict[str, float]()
        for place, (subject, name, _) in enumerate(self._series_and_faults):
            fault = place - len(self.watch.series)
            if name != kind:
                continue
            if fault < 0:
                value = readable_value(self.watch.series[place].statistic, float(newest.values[place]))
            else:
                value = float(newest.hits[fault] / newest.trials[fault]) if newest.trials[fault] else np.nan
            if np.isfinite(value):
                found[self.watch.subjects[subject]] = value
        return found

    def watched_kinds(self, subject: str) -> Sequence[tuple[str, str]]:
        """Kind and category of all that is followed of a subject."""
        if subject not in self.watch.subjects:
            return []
        places = self._places.get(self.watch.subjects.index(subject), ())
        return list(dict.fromkeys(self._series_and_faults[place][1:] for place in places))

    def chart_series(self, subject: str, kind: str, category: str) -> list[ChartedDay]:
        """Values of a series or a fault; the band of a day that was not compared is NaN."""
        at = self.watch.position_of(subject, kind, category)
        charted = self.chart_change(subject, Change(kind=kind, category=category))
        if at is None or at >= len(self.watch.series):
            return charted
        known, statistic = {one.day for one in charted}, self.watch.series[at].statistic
        first, unknown = len(self.records) - self.shown, float("nan")
        for record, (start, end) in zip(self.records[first:], self.spans[first:], strict=True):
            value = float(record.values[at])
            if record.day not in known and np.isfinite(value):
                value = readable_value(statistic, value)
                charted.append(ChartedDay(record.day, start, end, value, unknown, unknown))
        return self._with_exact_shares(subject, kind, sorted(charted, key=lambda one: one.day))

    def _with_exact_shares(self, subject: str, kind: str, charted: list[ChartedDay]) -> list[ChartedDay]:
        """Shares of a series that is counted as a fault, too: a series keeps them with half a record more."""
        every = self._series_and_faults[len(self.watch.series) :]
        names = [(self.watch.subjects[at], name) for at, name, _ in every]
        if (subject, kind) not in names:
            return charted
        fault, by_day = names.index((subject, kind)), {one.day: one for one in self.records}
        found = []
        for one in charted:
            hits, trials = int(by_day[one.day].hits[fault]), int(by_day[one.day].trials[fault])
            found.append(replace(one, value=hits / trials) if trials else one)
        return found

    @cached_property
    def changes_since(self) -> Mapping[str, Ints]:
        """By subject the first day of the change that stood on each shown day; 0: none did."""
        since = np.stack([one.since for one in self.records[-self.shown :]]).astype(np.int64)
        return {subject: since[:, at] for at, subject in enumerate(self.watch.subjects)}

    def chart_change(self, subject: str, change: Change) -> list[ChartedDay]:
        """Values of the series, or the fault, that a change is of, with the band that was expected."""
        category = "" if change.kind == NEW_VERSION else change.category
        by = self.watch.position_of(watched_subject(subject), change.kind, category)
        if by is None:
            return []
        mean, in_unit = ColumnMean(*change.unit_scale), change.in_unit is not None
        found, first = [], len(self.records) - self.shown
        for at in range(first, len(self.records)):
            record, (start, end) = self.records[at], self.spans[at]
            if by >= len(self.watch.series):
                figures = self._fault_figures(at, by - len(self.watch.series))
            else:
                figures = day_value_and_band(self.watch, (), record, by, in_unit=in_unit, mean=mean)
            if figures is not None:
                found.append(ChartedDay(record.day, start, end, *figures).as_judged(change))
        return self._with_exact_shares(subject, change.kind, found)

    def _fault_figures(self, at: int, fault: int) -> tuple[float, float, float] | None:
        """Share of a fault on a day, and the largest one that was expected; None: it was not judged."""
        record = self.records[at]
        if not record.trials[fault]:  # no records, or one of `unusual_days`
            return None
        return float(record.hits[fault] / record.trials[fault]), 0.0, float(self._expected_faults[at][fault])

    @cached_property
    def _expected_faults(self) -> Mapping[int, Floats]:
        """Largest share of each fault that was expected on each shown day: a millisecond a day, once."""
        first = len(self.records) - self.shown
        return {
            at: restore_fault_verdicts(self.watch, self.records[:at], self.records[at]).largest
            for at in range(first, len(self.records))
        }


def read_kept_days(
    store: SqlStore, model: str, counting: Counting, part: PaneHalf, count: int, until: int
) -> KeptDays | None:
    """The newest judged days of a part by a moment; None: too few are kept, or they are watched otherwise."""
    key = PartKey(part, segmented=False)
    layout = counting.layout_of(part)
    _, first = read_first_days(counting, model, store, key)
    if len(first) < FEWEST_DAYS:
        return None
    watch = watch_of_first_days(
        counting, key, tuple(decode_strata(day.blob, layout) for day in first), first[0].age
    )
    kept = store.ledger.read_days(model, part, watch.key, count + REMEMBERED_DAYS, LAST, until)
    if not kept:
        return None
    records = with_acceptances(watch, [unpack_day(day.blob, watch) for day in kept])
    spans = tuple((day.start, day.end) for day in kept)
    return KeptDays(watch, tuple(records), spans, min(count, len(kept)))


def read_charted_days(
    store: SqlStore,
    model: str,
    counting: Counting,
    of: tuple[str, str],
    change: Change,
    span: tuple[int, int],
) -> list[ChartedDay]:
    """Days about the first one of a change, and on to those by which it was found, oldest first.

    None, where they are watched otherwise now.

    Parameters
    ----------
    of
        subject and segment, as rows name them; of the whole the segment is empty.
    span
        when its alert fired; the moment by which the days were judged that are told.
    """
    subject, segment = of
    key = PartKey(PaneHalf.LABELS if is_label_subject(subject) else PaneHalf.RECORDS, bool(segment))
    layout = counting.layout_of(key.part)
    _, first = read_first_days(counting, model, store, key)
    if len(first) < FEWEST_DAYS or change.first_day is None:
        return []
    watch = watch_of_first_days(
        counting, key, tuple(decode_strata(day.blob, layout) for day in first), first[0].age
    )
    category = "" if change.kind == NEW_VERSION else change.category
    by = watch.position_of(segment or watched_subject(subject), change.kind, category)
    if by is None:
        return []
    begins, (fired, until) = from_iso(change.first_day) // DAY, span
    ends = max(begins, min(fired // DAY, begins + _FOUND)) + _AFTER
    last = (ends + 2) * DAY  # west of UTC a day ends on the next one
    before = REMEMBERED_DAYS if by >= len(watch.series) else 0  # what was expected of faults is not kept
    kept = store.ledger.read_days(
        model, key.part, watch.key, before + _BEFORE + ends - begins + 2, last, until
    )
    records = with_acceptances(watch, [unpack_day(day.blob, watch) for day in kept])
    mean = ColumnMean(*change.unit_scale)
    found = []
    for at, (day, record) in enumerate(zip(kept, records, strict=True)):
        if not begins - _BEFORE <= record.day <= ends:
            continue
        in_unit = change.in_unit is not None
        figures = day_value_and_band(watch, records[:at], record, by, in_unit=in_unit, mean=mean)
        if figures is not None:
            found.append(ChartedDay(record.day, day.start, day.end, *figures).as_judged(change))
    return found


def day_value_and_band(
    watch: Watch,
    history: DayHistory,
    record: DayRecord,
    by: int,
    *,
    in_unit: bool,
    mean: ColumnMean | None = None,
) -> tuple[float, float, float] | None:
    """Value of a kept day and the band that was expected of it; None: it has none, or too little was learned.

    Parameters
    ----------
    by
        series, or series + fault.
    in_unit
        in the unit of the column, else as in `Change`.
    """
    if by >= len(watch.series):
        fault = by - len(watch.series)
        if not record.trials[fault]:  # no records, or one of `unusual_days`
            return None
        faults = restore_fault_verdicts(watch, history, record)
        return float(faults.share[fault]), 0.0, float(faults.largest[fault])
    value, statistic = float(record.values[by]), watch.series[by].statistic
    low, high = expected_band(float(record.level[by]), float(record.deviation[by]))
    if not np.isfinite(low):
        return None
    if in_unit:
        return column_unit_figures(watch, record, record.level, by, (value, low, high), mean)
    first, last = sorted(readable_value(statistic, bound) for bound in (low, high))
    return readable_value(statistic, value), first, last
