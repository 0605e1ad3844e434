"""Slow labels day by day: what is kept of each day, and what the labels so far say of the last weeks.

At the due moment of each day of records the labels are counted that the days before it have by then. These
counts are kept, so that later days are compared with what earlier ones had at the same age, exactly. Where
labels turn out to be prompt nothing of it is needed, and nothing more is kept.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.change import Change, OutcomeCounts, iso_date
from monitor.core.clock import DAY, SECOND
from monitor.core.errors import CodecError
from monitor.core.text import content_hash
from monitor.evidence.day_record import Days32
from monitor.evidence.early_labels import (
    BASELINE_DAYS,
    BEYOND_EARLY,
    LEAST_SPAN,
    UnfoldingDays,
    UnfoldingEvidence,
    judge_unfolding_days,
)
from monitor.evidence.judging import AlertBudget
from monitor.evidence.score_residuals import ALONE, OutcomeMap
from monitor.evidence.watch import FEED_SHARE, SLOW_AGE, UNFOLDING_SHARE, SubjectGroup, Watch
from monitor.pipeline.cycle_model import CountedModel
from monitor.pipeline.sequential.due_days import DayReader, DueDay
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.pane import PaneHalf
from monitor.sentences.change_words import UNFOLDING, UNFOLDING_FEED
from monitor.specs.stored_rows import KeptDay
from monitor.states.strata import WHOLE
from monitor.windows.day_moments import ENOUGH_DAYS, zone_of_days
from monitor.windows.window_ends import floor_to_unit

LONGEST_SPAN = 90  # days whose labels are kept of each day; labels that take longer are judged at their age
REMEMBERED = LONGEST_SPAN + BASELINE_DAYS  # days that a later one is judged by
_LOGIT_EDGES = np.linspace(-10.0, 10.0, 161)
_MOST = 1e6  # of evidence that is told
_STILL_EVIDENT = 0.1  # of the evidence that an alert needs, below which a change is taken back
_ACCEPTED = -1  # in the place of the first day of a change that is not to be told
_FORMAT = 1
_CHANGES = 2 * 5 * 8  # bytes of both changes: five doubles each


@dataclass(frozen=True, slots=True)
class UnfoldingChange:
    """A change that the labels so far show, while it stands."""

    since: int = 0  # its first day, counted from 1970; 0: none stands, -1: it is accepted
    evidence: float = 0.0  # with which it was found, as a multiple of what an alert needs
    # of the newest day: records or labels since then, seen and expected by now.
    observed: float = 0.0
    expected: float = 0.0
    slope_side: int = 0  # as in `UnfoldingEvidence`


@dataclass(frozen=True, slots=True, eq=False)
class UnfoldingDay:
    """What is kept of a day."""

    day: int  # counted from 1970
    # int32, shape (ages, 2, groups): labels known of the day so many days before; -1: not known.
    known: Ints
    relation: UnfoldingChange = field(default_factory=UnfoldingChange)
    feed: UnfoldingChange = field(default_factory=UnfoldingChange)


@dataclass(frozen=True, slots=True, eq=False)
class DayCounts:
    """What is known of a day by cell of the score."""

    fingerprints: list[int]  # of its panes, by part
    records: Days32  # shape (cells,)
    labels: Days32  # shape (2, cells): by class


@dataclass(frozen=True, slots=True, eq=False)
class UnfoldingLabels:
    """The last days of a model, oldest first, and counts by start of a day that need not be added up anew."""

    days: tuple[UnfoldingDay, ...] = ()
    counts: Mapping[int, DayCounts] = field(default_factory=dict)

    @property
    def newest(self) -> UnfoldingDay | None:
        """The newest day; None: there is none."""
        return self.days[-1] if self.days else None


def unfolding_key(counting: Counting) -> str:
    """Key under which the days are kept: another layout of labels begins anew."""
    return content_hash([counting.hash_stored_layout(counting.labels_layout), "unfolding"])


def follows_unfolding(counting: Counting, watch: Watch | None) -> bool:
    """Whether labels are followed as they unfold: of a binary model with scores, unless they are prompt."""
    reading = counting.reading
    # Without a threshold it is not known which cells of the score the labelled predictions have.
    if not counting.counts_scores or (reading.only_for and reading.threshold is None):
        return False
    return watch is None or watch.early_age > 0


def look_slow(reader: DayReader, due: DueDay) -> bool:
    """Whether labels of the days that are five to fourteen days old took longer than prompt ones do.

    It is asked until the age of labels is learnt: of prompt ones nothing is kept, so that their days are the
    same whenever a tick comes.
    """
    span = due.end - (ENOUGH_DAYS + 1) * DAY, due.end - SLOW_AGE * DAY
    whole = reader.panes.sum_window(PaneHalf.LABELS, *span, strata=False, kept=False).get(WHOLE)
    if whole is None:
        return False
    by_delay = whole.dense_block("delays").sum(axis=0)
    prompt = int(np.searchsorted(DELAY_EDGES, SLOW_AGE / 2 * DAY / SECOND))
    return bool(by_delay[prompt:].sum() >= by_delay[:prompt].sum())


def pack_unfolding_day(day: UnfoldingDay) -> bytes:
    """Bytes of a day: the format, the day, the number of ages and groups, both changes, the counts."""
    changes = [
        [change.since, change.evidence, change.observed, change.expected, change.slope_side]
        for change in (day.relation, day.feed)
    ]
    head = np.asarray([_FORMAT, day.day, day.known.shape[0], day.known.shape[2]], dtype="<i4").tobytes()
    body = np.asarray(changes, dtype="<f8").tobytes() + day.known.astype("<i4").tobytes()
    return head + zlib.compress(body, 6)


def unpack_unfolding_day(blob: bytes) -> UnfoldingDay:
    """A day of its bytes.

    Raises
    ------
    CodecError
        if the bytes are damaged, or of another format.
    """
    try:
        form, day, ages, groups = np.frombuffer(blob[:16], dtype="<i4").tolist()
        body = zlib.decompress(blob[16:])
        changes = np.frombuffer(body[:_CHANGES], dtype="<f8").reshape(2, 5)
        known = np.frombuffer(body[_CHANGES:], dtype="<i4").astype(np.int64).reshape(ages, 2, groups)
    except (zlib.error, ValueError) as error:
        raise CodecError(f"damaged row of unfolding labels: {error}") from error
    if form != _FORMAT:
        raise CodecError(f"a row of unfolding labels of format {_FORMAT} expected: got {form}")
    relation, feed = (
        UnfoldingChange(int(since), evidence, observed, expected, int(side))
        for since, evidence, observed, expected, side in changes.tolist()
    )
    return UnfoldingDay(day, known, relation, feed)


def find_unfolding_start(watch: Watch | None, as_of: int) -> int:
    """Start of the days that are needed of panes; what is measured may need fewer."""
    slow = watch is not None and watch.early_age > 0
    return as_of - (REMEMBERED + 2) * DAY if slow else as_of


def enter_unfolding_day(
    reader: DayReader,
    kept: UnfoldingLabels,
    watch: Watch | None,
    due: DueDay,
    day: int,
    budget: AlertBudget,
    accepted: Mapping[str, int],
) -> tuple[UnfoldingLabels, KeptDay | None]:
    """The labels after one day of records more, as they are known now, and what is to be kept.

    Ages are whole days to the nearest. None: a tick that comes a day late or more is left out.

    Parameters
    ----------
    day
        number of the day of records, counted from 1970.
    accepted
        by subject when a change of it was accepted last.
    """
    late = round((reader.as_of - due.end) / DAY)
    if late > 1:
        return kept, None
    counting, counts = reader.model.counting, dict(kept.counts)
    group = _label_groups(counting)
    # Until it is known how long labels take, those of as many days are kept as may be needed.
    span = LONGEST_SPAN if watch is None else _judged_span(watch)
    spans = _day_spans(reader, due, span - late)
    unknown = np.full((late, 2, int(group.max(initial=0)) + 1), -1, dtype=np.int64)
    known = np.stack([_known_labels(reader, counts, span, group) for span in spans])
    entered = UnfoldingDay(day + late, np.concatenate([unknown, known]))
    score_map = None if watch is None else watch.score_maps.get(ALONE)
    if watch is not None and isinstance(score_map, OutcomeMap):
        found = _judge_day(reader, counts, kept, entered, watch, score_map, due, late)
        if found is not None:
            changes = _next_changes(kept.newest or entered, found, entered.day, budget, accepted)
            entered = replace(entered, relation=changes[0], feed=changes[1])
    oldest = due.start - (REMEMBERED + 1) * DAY
    row = KeptDay(
        key=unfolding_key(counting),
        part=PaneHalf.LABELS,
        start=due.start,
        end=due.end,
        due=due.due,
        blob=pack_unfolding_day(entered),
    )
    days = (*kept.days, entered)[-REMEMBERED:]
    return UnfoldingLabels(days, {at: one for at, one in counts.items() if at >= oldest}), row


def _next_changes(
    before: UnfoldingDay,
    found: UnfoldingEvidence,
    day: int,
    budget: AlertBudget,
    accepted: Mapping[str, int],
) -> tuple[UnfoldingChange, UnfoldingChange]:
    """Both changes after a day. Only the larger evidence is told: more of an outcome is more labels, too."""

    def change(
        share: float, evidence: float, lasted: int, counts: Floats, old: UnfoldingChange
    ) -> UnfoldingChange:
        multiple = min(evidence * share / budget.evidence_needed, _MOST)
        since = old.since if old.since > 0 else day - lasted + 1
        return UnfoldingChange(since, multiple, *found.count_since(counts, day - since + 1))

    is_relation = found.relation * UNFOLDING_SHARE >= found.feed * FEED_SHARE
    relation = change(UNFOLDING_SHARE, found.relation, found.relation_days, found.outcomes, before.relation)
    side = before.relation.slope_side if before.relation.since > 0 else found.slope_side
    relation = _next_change(before.relation, replace(relation, slope_side=side), may_begin=is_relation)
    feed = change(FEED_SHARE, found.feed, found.feed_days, found.labels, before.feed)
    feed = _next_change(before.feed, feed, may_begin=not is_relation)
    return (
        _without_accepted(relation, accepted.get(SubjectGroup.PERFORMANCE, 0)),
        _without_accepted(feed, accepted.get(SubjectGroup.LABELS, 0)),
    )


def _without_accepted(change: UnfoldingChange, accepted_at: int) -> UnfoldingChange:
    """A change that somebody accepted after it began is told no longer: it stands, as one without a day."""
    return replace(change, since=_ACCEPTED) if 0 < change.since * DAY <= accepted_at else change


def relation_change(model: CountedModel, unfolding: UnfoldingDay, age: int) -> Change:
    """What is told of a change of labels against scores, while their labels are still coming in."""
    one = unfolding.relation
    return Change(
        kind=UNFOLDING,
        category=model.counting.reading.classes[1],
        rises=one.slope_side > 0 if one.slope_side else one.observed >= one.expected,
        # Where scores separate labels otherwise, how many there are says nothing of it.
        outcomes=None if one.slope_side else OutcomeCounts(0, one.observed, one.expected),
        since=iso_date(one.since),
        certain_on=iso_date(one.since + age + 1),
        day=iso_date(unfolding.day),
        size=abs(float(np.log((one.observed + 0.5) / (one.expected + 0.5)))),
    )


def feed_change(unfolding: UnfoldingDay) -> Change:
    """What is told of labels that come later, or sooner, than they did."""
    one = unfolding.feed
    return Change(
        kind=UNFOLDING_FEED,
        rises=one.observed >= one.expected,
        outcomes=OutcomeCounts(0, one.observed, one.expected),
        since=iso_date(one.since),
        day=iso_date(unfolding.day),
        size=abs(float(np.log((one.observed + 0.5) / (one.expected + 0.5)))),
    )


def _judged_span(watch: Watch) -> int:
    """How many of the newest days are judged."""
    return min(max(LEAST_SPAN, watch.early_age + BEYOND_EARLY), LONGEST_SPAN)


def _judge_day(
    reader: DayReader,
    counts: dict[int, DayCounts],
    kept: UnfoldingLabels,
    entered: UnfoldingDay,
    watch: Watch,
    score_map: OutcomeMap,
    due: DueDay,
    late: int,
) -> UnfoldingEvidence | None:
    """What labels against scores, and the feed, show of the last weeks."""
    span, counting = _judged_span(watch), reader.model.counting
    spans = _day_spans(reader, due, span - late + BASELINE_DAYS)[::-1]
    spans = [each for each in spans if each[0] >= reader.panes.loaded_since]
    if len(spans) <= span:
        return None
    cell_group = _label_groups(counting)
    bins, binned = _bin_cells(score_map, cell_group)
    many = len(binned.logits)
    of_days = [_day_counts(reader, counts, each) for each in spans]
    is_labelled = _labelled_cells(counting)
    records = np.zeros((len(spans) + late, many), dtype=np.int64)
    labels = np.zeros((len(spans) + late, 2, many), dtype=np.int64)
    for at, one in enumerate(of_days):
        records[at] = np.bincount(bins, one.records * is_labelled, minlength=many)
        labels[at] = [np.bincount(bins, of_class, minlength=many) for of_class in one.labels]
    group = np.zeros(many, dtype=np.int64)
    group[bins] = cell_group
    by_day = {one.day: one.known for one in (*kept.days, entered)}
    known_at = np.full((len(records), span, *entered.known.shape[1:]), -1, dtype=np.int64)
    first = entered.day - len(records) + 1
    for at in range(len(records)):
        for age in range(span):
            later = by_day.get(first + at + age)
            if later is not None and age < len(later):
                known_at[at, age] = later[age]
    return judge_unfolding_days(binned, UnfoldingDays(span, records, labels, group, known_at))


def _next_change(before: UnfoldingChange, found: UnfoldingChange, *, may_begin: bool) -> UnfoldingChange:
    """The change that stands after a day: until a tenth of the evidence that an alert needs is left."""
    if before.since:
        still = found.evidence >= _STILL_EVIDENT
        return replace(found, since=before.since, evidence=before.evidence) if still else UnfoldingChange()
    return found if found.evidence > 1.0 and may_begin else UnfoldingChange()


def _day_spans(reader: DayReader, due: DueDay, many: int) -> list[tuple[int, int]]:
    """(Start, end) of a day and of those before it, the newest first."""
    reading = reader.model.reading
    zone = zone_of_days(reading.zone, reading.pane)
    # The middle of a day lies in it, whether days before it had 23 or 25 hours.
    starts = [
        floor_to_unit("day", zone, due.start - back * DAY + DAY // 2) if back else due.start
        for back in range(many)
    ]
    return list(zip(starts, [due.end, *starts[:-1]], strict=True))


def _day_counts(reader: DayReader, counts: dict[int, DayCounts], span: tuple[int, int]) -> DayCounts:
    """What is known now of a day; added up only where its panes changed."""
    panes, score = reader.panes, reader.model.counting.score
    fingerprints = [panes.span_fingerprint(part, *span) for part in PaneHalf]
    kept = counts.get(span[0])
    if kept is not None and kept.fingerprints == fingerprints:
        return kept
    cells = 0 if score is None else score.regular_size
    of_records = panes.sum_window(PaneHalf.RECORDS, *span, strata=False, kept=False).get(WHOLE)
    of_labels = panes.sum_window(PaneHalf.LABELS, *span, strata=False, kept=False).get(WHOLE)
    records = np.zeros(cells, np.int32) if of_records is None else of_records.dense_block("score")[:cells]
    labels = np.zeros((2, cells), np.int32) if of_labels is None else of_labels.dense_block("scores")
    counts[span[0]] = DayCounts(fingerprints, records.astype(np.int32), labels.astype(np.int32))
    return counts[span[0]]


def _known_labels(
    reader: DayReader,
    counts: dict[int, DayCounts],
    span: tuple[int, int],
    group: Ints,
) -> Ints:
    """Labels of a day by class and group: shape (2, groups); -1 where its panes wait to be counted."""
    many = int(group.max(initial=0)) + 1
    if span[0] < reader.panes.loaded_since or not reader.is_counted(span):
        return np.full((2, many), -1, dtype=np.int64)
    labels = _day_counts(reader, counts, span).labels
    return np.stack([np.bincount(group, of_class, minlength=many).astype(np.int64) for of_class in labels])


def _label_groups(counting: Counting) -> Ints:
    """Group of each cell of the score: by the class that is predicted of it, where the threshold says so."""
    threshold = counting.reading.threshold
    lower = counting.score_bounds[:-1]
    return np.zeros(len(lower), np.int64) if threshold is None else (lower >= threshold).astype(np.int64)


def _labelled_cells(counting: Counting) -> Bools:
    """Cells of the score whose records get labels: all, unless `only_for` names one of the classes."""
    group, only_for = _label_groups(counting), counting.reading.only_for
    if not only_for:
        return np.ones(len(group), dtype=np.bool_)
    chosen = [at for at, name in enumerate(counting.reading.classes) if name in only_for]
    return np.isin(group, chosen)


def _bin_cells(score_map: OutcomeMap, group: Ints) -> tuple[Ints, OutcomeMap]:
    """Cells whose scores promise about the same, and that get labels alike, taken together; their map."""
    by_odds = np.searchsorted(_LOGIT_EDGES, score_map.logits)
    _, bins = np.unique(by_odds * (int(group.max(initial=0)) + 1) + group, return_inverse=True)
    bins = bins.reshape(-1)
    logits = np.bincount(bins, score_map.logits) / np.bincount(bins)
    return bins, OutcomeMap(logits, score_map.centre)
