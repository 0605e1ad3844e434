"""Labels counted by difference are what a whole count finds, with ==, whatever was reported when."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import AS_OF, FIRST, PANES, Log, logs

from monitor.core.clock import HOUR
from monitor.records import codec
from monitor.records.labels.count_labels import count_label_differences, count_labels
from monitor.records.labels.label_differences import (
    NO_REPORT,
    LabelDifferences,
    merge_differences,
    with_differences,
)
from monitor.records.pane import PanePart

MOMENTS = st.sampled_from([FIRST - 1, FIRST, FIRST + HOUR, FIRST + 2 * HOUR, FIRST + 2 * HOUR + 1, AS_OF])


def with_times(log: Log) -> Log:
    """The log with its reported labels only: the others are counted whole."""
    return replace(log, labels=tuple(row for row in log.labels if row["reported_at"] is not None))


def known_until(log: Log, moment: int) -> Log:
    """The log without the labels that were reported later."""
    return replace(log, labels=tuple(row for row in log.labels if row["reported_at"] <= moment))


def whole(log: Log) -> list[PanePart]:
    """All rows, counted now."""
    return count_labels(log.joined_table(), log.counting, panes=PANES, as_of=AS_OF)


def differences(log: Log, before: list[PanePart]) -> LabelDifferences:
    """Rows of records with a label reported since each pane's newest one, counted twice."""
    since = np.asarray([NO_REPORT if part.newest is None else part.newest for part in before])
    changed = {row["id"] for row in log.labels if row["reported_at"] > since.min()}
    rows = [row for row in log.joined if row["id"] in changed]
    return count_label_differences(
        log.joined_table(rows), log.counting, panes=PANES, since=since, until=AS_OF, as_of=AS_OF
    )


def moved(
    log: Log, stood: list[PanePart], added: LabelDifferences
) -> tuple[LabelDifferences, list[PanePart]]:
    """The difference with the facts that panes have from then on, and these panes with it."""
    facts = [
        (
            part.start,
            part.labelled + labelled,
            (part.checksum + checksum) % 2**63,
            max(newest, NO_REPORT if part.newest is None else part.newest),
        )
        for part, (_, labelled, checksum, newest) in zip(stood, added.panes.T.tolist(), strict=True)
    ]
    added = replace(added, panes=np.asarray(facts, dtype=np.int64).T)
    parts = {part.start: part for part in stood}
    return added, list(with_differences(log.counting.labels_layout, parts, [added]).values())


def taken_away(added: LabelDifferences) -> LabelDifferences:
    """The difference back."""
    start, labelled, checksum, newest = added.panes
    return replace(added, panes=np.stack([start, -labelled, -checksum, newest]), value=-added.value)


@settings(max_examples=60, deadline=None)
@given(logs(), MOMENTS)
def test_a_difference_is_a_whole_count(log: Log, moment: int) -> None:
    log = with_times(log)
    before = whole(known_until(log, moment))

    added, after = moved(log, before, differences(log, before))

    assert after == whole(log)
    kept = codec.decode_differences(codec.encode_differences(added), AS_OF)
    assert with_differences(log.counting.labels_layout, {part.start: part for part in before}, [kept]) == {
        part.start: part for part in after
    }
    assert merge_differences([added]).key.tolist() == added.key.tolist()


@settings(max_examples=60, deadline=None)
@given(logs(), st.lists(MOMENTS, max_size=4))
def test_differences_merge_in_any_grouping_and_leave_other_panes_alone(log: Log, moments: list[int]) -> None:
    log, layout = with_times(log), log.counting.labels_layout
    first = stood = whole(known_until(log, FIRST - 1))
    all_added = []
    for moment in sorted({*moments, AS_OF}):
        added, stood = moved(log, stood, differences(known_until(log, moment), stood))
        all_added.append(added)

    parts = {part.start: part for part in first}
    together = {part.start: part for part in whole(log)}
    assert with_differences(layout, parts, all_added) == together
    assert with_differences(layout, parts, [merge_differences(all_added[:2]), *all_added[2:]]) == together
    for start, part in parts.items():
        left = [each.without_panes([start]) for each in all_added]
        assert with_differences(layout, parts, left) == together | {start: part}


@settings(max_examples=60, deadline=None)
@given(logs(), MOMENTS)
def test_what_was_added_can_be_taken_away(log: Log, moment: int) -> None:
    log = with_times(log)
    before, after = whole(known_until(log, moment)), whole(log)

    _, back = moved(log, after, taken_away(differences(log, before)))

    assert [part.strata for part in back] == [part.strata for part in before]


def test_a_difference_of_other_rows_is_refused() -> None:
    rows = [
        {"id": name, "event_time": FIRST, "logged_at": FIRST, "score": "0.5", "version": "v1", "arm": "what"}
        for name in "ab"
    ]
    labels = [{"id": name, "label": "1", "reported_at": FIRST + HOUR, "revision": None} for name in "ab"]
    both = Log("threshold", tuple(rows), tuple(labels))
    one = Log("threshold", tuple(rows[:1]), tuple(labels[:1]))
    none = Log("threshold", tuple(rows), ())
    twice = differences(both, whole(none))
    twice = twice.without_panes(twice.start[1:].tolist())

    def added(part: PanePart, change: LabelDifferences) -> PanePart:
        _, (made,) = moved(both, [part], change)
        return made

    assert added(whole(none)[0], twice) == whole(both)[0]
    for part, change in (whole(none)[0], taken_away(twice)), (whole(one)[0], twice):
        assert added(part, change) == part  # a count below 0
    without_strata = replace(whole(none)[0], strata={})
    assert added(without_strata, twice) == without_strata
