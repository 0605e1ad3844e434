"""The rules of reading, against a slow and plain reading of the same rows, one after the other."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import AS_OF, PANES, Log, Row, logs

from monitor.core.clock import HOUR
from monitor.records.counting import TALLY, VOLUME
from monitor.records.pane import PanePart
from monitor.records.reading import canonical_name
from monitor.states.strata import NONE, WHOLE, value_name

named = st.sampled_from(["binary", "classes"]).flatmap(lambda kind: logs(kind=kind))


def number_rank(text: str | None) -> tuple[float, ...]:
    """Order of numbers: missing, invalid, then by value."""
    if text is None:
        return (0,)
    return (1,) if text in ("NaN", "inf", "x") else (2, float(text))


def text_rank(text: str | None) -> tuple[bytes, ...]:
    """Order of texts: missing, then by bytes."""
    return () if text is None else (canonical_name(text).encode(),)


def logged(row: Row) -> int:
    """When a record could be seen."""
    moment: int = row["event_time"] if row["logged_at"] is None else row["logged_at"]
    return moment


def record_key(row: Row) -> tuple[Any, ...]:
    """Order of the records of an id."""
    outputs = (number_rank(row.get("score")), text_rank(row["prediction"]))
    return (logged(row), *outputs, row["event_time"], row["logged_at"] is not None, text_rank(row["arm"]))


def winners(log: Log, pane: int) -> list[list[Row]]:
    """Records of a pane by id and version, the winner first."""
    groups = defaultdict(list)
    for row in log.records:
        event = row["event_time"]
        seen = row["id"] is not None and event is not None
        if seen and pane <= event < pane + HOUR and logged(row) <= AS_OF and event <= AS_OF + 5 * 60_000_000:
            groups[row["id"], row["version"]].append(row)
    return [sorted(group, key=record_key) for group in groups.values()]


def labels_of(log: Log, record: Row) -> list[tuple[Any, ...]]:
    """Visible labels of a record, as they compare: revision, report, value, text; the winner first."""
    found = set()
    for label in log.labels:
        held = any(label[role] is not None for role in ("label", "reported_at", "revision"))
        reported = record["event_time"] if label["reported_at"] is None else label["reported_at"]
        if held and label["id"] == record["id"] and reported <= AS_OF:
            revision = tuple(-part for part in (*number_rank(label["revision"]), 0, 0)[:2])
            found.add((revision, -reported, text_rank(label["label"])))
    return sorted(found)


def volume(log: Log, pane: int) -> list[int]:
    """Tally the records of a pane."""
    counts: Counter[str] = Counter()
    for first, *others in winners(log, pane):
        counts["records"] += 1
        counts["duplicates"] += len(others)
        counts["stale"] += logged(first) - first["event_time"] > log.counting.reading.horizon
        counts["no_logged_at"] += first["logged_at"] is None
    return [counts[name] for name in VOLUME]


def tally(log: Log, pane: int) -> list[int]:
    """Tally the labels of a pane."""
    counts: Counter[str] = Counter()
    for first, *_ in winners(log, pane):
        labels = labels_of(log, first)
        reports = [-reported for _, reported, _ in labels]
        valued = [-reported for _, reported, value in labels if value]
        classes = {(name.encode(),) for name in log.counting.reading.classes}
        there = bool(labels) and labels[0][2] != ()
        invalid = there and log.kind == "binary" and labels[0][2] not in classes
        known = there and not invalid
        counts["records"] += 1
        counts["labelled"] += known
        counts["corrections"] += max(len(labels) - 1, 0)
        counts["retracted"] += bool(labels) and not there
        counts["invalid"] += invalid
        counts["stale"] += any(at - first["event_time"] > log.counting.reading.horizon for at in reports)
        counts["early"] += known and min(valued) < first["event_time"]
    return [counts[name] for name in TALLY]


def confusion(log: Log, pane: int) -> list[list[int]]:
    """Count the pairs of actual and predicted classes of a pane."""
    classes = [name.encode() for name in log.counting.reading.classes]
    table = np.zeros((len(classes) + 1, len(classes) + 1), dtype=np.int64)
    for first, *_ in winners(log, pane):
        labels, predicted = labels_of(log, first), text_rank(first["prediction"])
        known = labels and (labels[0][2] and (log.kind != "binary" or labels[0][2][0] in classes))
        if known and predicted:
            pair = [
                classes.index(one) if one in classes else len(classes)
                for one in (labels[0][2][0], predicted[0])
            ]
            table[pair[0], pair[1]] += 1
    counts: list[list[int]] = table.tolist()
    return counts


def block(part: PanePart, name: str, shape: tuple[int, ...]) -> list[Any]:
    """Return a block of the whole, zeros where nothing was counted."""
    found = part.strata[WHOLE].dense_block(name) if WHOLE in part.strata else np.zeros(shape, dtype=np.int64)
    counts: list[Any] = found.tolist()
    return counts


@settings(max_examples=60, deadline=None)
@given(named)
def test_panes_are_counted_as_the_rules_say(log: Log) -> None:
    parts = log.parts()
    clipped = TALLY.index("clipped")
    side = len(log.counting.reading.classes) + 1

    for pane, records, labels in zip(PANES.tolist(), parts[: len(PANES)], parts[len(PANES) :], strict=True):
        counted = block(labels, "tally", (len(TALLY),))
        counted[clipped] = 0
        assert block(records, "volume", (len(VOLUME),)) == volume(log, pane)
        assert counted == tally(log, pane)
        assert block(labels, "confusion", (side, side)) == confusion(log, pane)


@settings(max_examples=30, deadline=None)
@given(named)
def test_each_version_counts_the_records_of_its_name(log: Log) -> None:
    for pane, part in zip(PANES.tolist(), log.parts()[: len(PANES)], strict=True):
        expected = Counter(value_name(first["version"] or "") or NONE for first, *_ in winners(log, pane))
        found = {
            name.version: state.dense_block("volume")[0]
            for name, state in part.strata.items()
            if name.version
        }
        assert found == expected
