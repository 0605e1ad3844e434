"""Labels counted by difference are what a whole count finds, with ==, whatever was reported when."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import AS_OF, FIRST, PANES, Log, logs

from monitor.core.clock import HOUR
from monitor.records.labels.count_labels import count_labels, count_labels_twice
from monitor.records.pane import PanePart, moved_parts

NEVER = np.iinfo(np.int64).min
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


def differences(log: Log, before: list[PanePart]) -> list[tuple[PanePart, PanePart]]:
    """Rows of records with a label reported since each pane's newest one, counted twice."""
    since = np.asarray([NEVER if part.newest is None else part.newest for part in before])
    changed = {row["id"] for row in log.labels if row["reported_at"] > since.min()}
    rows = [row for row in log.joined if row["id"] in changed]
    return count_labels_twice(
        log.joined_table(rows), log.counting, panes=PANES, since=since, until=AS_OF, as_of=AS_OF
    )


@settings(max_examples=150, deadline=None)
@given(logs(), MOMENTS)
def test_a_difference_is_a_whole_count(log: Log, moment: int) -> None:
    log = with_times(log)
    before = whole(known_until(log, moment))

    moved = moved_parts(log.counting.labels, before, differences(log, before))

    assert moved == whole(log)


@settings(max_examples=60, deadline=None)
@given(logs(), MOMENTS)
def test_what_was_added_can_be_taken_away(log: Log, moment: int) -> None:
    log = with_times(log)
    before, after = whole(known_until(log, moment)), whole(log)
    pairs = differences(log, before)

    back = moved_parts(log.counting.labels, after, [(new, old) for old, new in pairs])

    assert [part and part.strata for part in back] == [part.strata for part in before]


def test_a_difference_of_other_rows_is_refused() -> None:
    rows = [
        {"id": name, "event_time": FIRST, "logged_at": FIRST, "score": "0.5", "version": "v1", "arm": "what"}
        for name in "ab"
    ]
    labels = [{"id": name, "label": "1", "reported_at": FIRST + HOUR, "revision": None} for name in "ab"]
    both = Log("threshold", tuple(rows), tuple(labels))
    one = Log("threshold", tuple(rows[:1]), tuple(labels[:1]))
    none = Log("threshold", tuple(rows), ())
    (twice, *_) = differences(both, whole(none))

    def moved(part: PanePart, before: PanePart, after: PanePart) -> PanePart | None:
        [made] = moved_parts(both.counting.labels, [part], [(before, after)])
        return made

    assert moved(whole(none)[0], *twice) == whole(both)[0]
    assert moved(whole(both)[0], *twice) is None  # four labels of two records
    assert moved(whole(none)[0], *reversed(twice)) is None  # a count below 0
    assert moved(whole(one)[0], *twice) is None
    assert moved(replace(whole(none)[0], strata={}), *twice) is None
