"""Days judged in cycles: what concerns one part, one rule or one version of what is watched, and no other."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from memory import MemorySource
from synthetic import READING, SPEC, START, Monitored, log_of, monitored_of, reference_rows, rows_of

from monitor.alerts.alert_rules import ACCEPTED, Acceptance, AlertedSeries, BreachCondition, Rule, RuleLimit
from monitor.alerts.lifecycle import Alert
from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Measurement, Reason
from monitor.evidence import watch
from monitor.evidence.day_values import day_values
from monitor.evidence.watch import make_watch
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.pipeline.cycle_alerts import judge_rules
from monitor.pipeline.sequential.judge_days import read_watched_parts
from monitor.records.counting import Counting
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.records.reference import reference_of
from monitor.specs.model_spec import ModelSpec
from monitor.specs.model_table import BudgetTable
from monitor.specs.protocols import AtOnce
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import open_store
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
BROKEN, ENDS, PER_DAY = 19, START + 22 * DAY, 100
CHANGED = Rule(
    name="changed",
    measure=EVIDENCE,
    condition=BreachCondition(above=RuleLimit(1.0)),
    subject="*",
    window=CUMULATIVE,
    unknown_after=7 * DAY,
)
OPTIONS: dict[str, Any] = {
    "rules": (CHANGED, replace(CHANGED, name="performance_changed", subject="")),
    "windows": (parse_window("1d", HOUR),),
    "budget": BudgetTable(),
    "families": frozenset(),
    "resamples": 1,
}


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log whose labels are the other way round from a day on."""
    log = log_of(26, per_day=PER_DAY)
    numbers = np.asarray([int(name[1:]) for name in log.labels["id"].to_pylist()])
    label = np.asarray(log.labels["label"].to_pylist())
    other = np.where(label == "1", "0", "1")
    label = np.where(numbers < BROKEN * PER_DAY, label, other)
    return MemorySource(log.predictions, log.labels.set_column(3, "label", pa.array(label)))


@pytest.fixture(scope="module")
def lived(source: MemorySource, empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a model on that log, after three weeks."""
    path = tmp_path_factory.mktemp("days") / "lived.db"
    shutil.copy(empty_store, path)
    store = open_store(f"sqlite:///{path}", "live")
    monitored = monitored_of(source, store, **OPTIONS)
    for moment in range(START + 2 * DAY, ENDS + 1, DAY):
        monitored.cycle(moment)
    store.close()
    return path


@pytest.fixture
def store(lived: Path, tmp_path: Path) -> Iterator[SqlStore]:
    """A copy of it."""
    shutil.copy(lived, tmp_path / "copy.db")
    opened = open_store(f"sqlite:///{tmp_path / 'copy.db'}", "live")
    yield opened
    opened.close()


def evidence(rows: list[MeasurementRow]) -> dict[str, Measurement]:
    return {row.subject: row.measurement for row in rows if row.measure == EVIDENCE}


def accepted(store: SqlStore, rule: str) -> None:
    """Keep that somebody has accepted an alert of the whole, as of the last cycle."""
    of = AlertedSeries(rule, window="1d")
    taken = Acceptance(series=of, start=ENDS - DAY, end=ENDS, lower=0.0, upper=1.0, since=ENDS)
    store.events.append_events(
        [HistoryEvent(model="late", at=ENDS, kind=ACCEPTED, detail=taken.detail_json())]
    )


@pytest.mark.parametrize(("rule", "stands"), [("volume", [""]), ("performance_changed", [])])
def test_what_is_accepted_of_another_rule_ends_no_change(
    source: MemorySource, store: SqlStore, rule: str, stands: list[str]
) -> None:
    accepted(store, rule)

    _, rows = monitored_of(source, store, **OPTIONS).cycle(ENDS + DAY)

    standing = [subject for subject, measured in evidence(rows).items() if (measured.value or 0.0) > 1]
    assert [subject for subject in standing if subject == ""] == stands


def test_evidence_tells_the_records_of_its_day(source: MemorySource, store: SqlStore) -> None:
    _, rows = monitored_of(source, store, **OPTIONS).cycle(ENDS + DAY)

    assert {measured.n for measured in evidence(rows).values()} == {PER_DAY}


def test_a_version_that_watches_otherwise_begins_anew_and_goes_on_the_same_after_a_restart(
    source: MemorySource, store: SqlStore, new_store: NewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LATER", 40)
    upgraded = monitored_of(source, store, **OPTIONS)

    for moment in (ENDS + DAY, ENDS + 2 * DAY):
        _, rows = upgraded.cycle(moment)

    assert evidence(rows)["feature:temp"].value is not None
    before, after = upgraded.caches.last, read_watched_parts(upgraded.model, upgraded.model.store)
    assert before is not None
    assert {part: one.records for part, one in after.items()} == {
        part: one.records for part, one in before.watched.items()
    }


def test_while_no_day_was_judged_what_is_said_is_of_now(source: MemorySource, new_store: NewStore) -> None:
    _, rows = monitored_of(source, new_store(), **OPTIONS).cycle(START + 5 * DAY)

    (learning,) = [row for row in rows if row.measure == EVIDENCE and row.subject == ""]
    assert (learning.measurement.reason, learning.window_end) == (Reason.LEARNING, START + 5 * DAY)


class Asked(MemorySource):
    """A source that notes which days were read again: part, panes, as of."""

    asked: list[tuple[PaneHalf, int, int]]

    def count_panes(
        self,
        model: ModelSpec,
        part: PaneHalf,
        ranges: Any,
        counting: Counting,
        *,
        panes: Ints,
        as_of: int,
    ) -> CountedPanes:
        self.asked.append((part, len(panes), as_of))
        return super().count_panes(model, part, ranges, counting, panes=panes, as_of=as_of)


def first_cycle(source: MemorySource, store: SqlStore, at_once: AtOnce | None) -> list[tuple[PaneHalf, int]]:
    """Parts, and the numbers of panes, of what was read as of due moments by a first cycle."""
    asked = Asked(source.predictions, source.labels)
    asked.asked = []
    monitored = monitored_of(asked, store, **OPTIONS | {"every": HOUR})
    monitored = Monitored(replace(monitored.model, at_once=at_once))
    monitored.cycle(ENDS + 5 * HOUR)
    return [(part, panes) for part, panes, as_of in asked.asked if as_of != ENDS + 5 * HOUR]


def test_days_are_read_again_in_chunks_and_labels_that_came_later_make_no_records_be_read(
    source: MemorySource, new_store: NewStore
) -> None:
    whole, chunked = new_store(), new_store()

    first_cycle(source, whole, None)
    again = first_cycle(source, chunked, AtOnce(5, 10**9))

    assert {part for part, _ in again} == {PaneHalf.LABELS}
    assert max(panes for _, panes in again) == 5
    assert rows_of(chunked)["days"] == rows_of(whole)["days"]


def test_a_day_whose_log_rests_at_night_is_read_again_by_one_query(
    source: MemorySource, new_store: NewStore
) -> None:
    by_day = pc.less(np.asarray(source.predictions["event_time"]) % DAY, 6 * HOUR)

    again = first_cycle(MemorySource(source.predictions.filter(by_day), source.labels), new_store(), None)

    assert {panes for _, panes in again} == {24}


def evidence_of(subject: str, end: int, value: float) -> MeasurementRow:
    return MeasurementRow(
        window=CUMULATIVE,
        window_end=end,
        truth=LabelTruth.NONE,
        version=None,
        segment=None,
        measure=EVIDENCE,
        subject=subject,
        measurement=Measurement(value, 100),
    )


@pytest.mark.parametrize("subject", ["feature:temp", "label"])
def test_days_of_the_other_part_do_not_interrupt_how_long_a_breach_lasts(subject: str) -> None:
    rule = replace(CHANGED, hold=2 * DAY)
    states: list[str] = []
    standing: Mapping[AlertedSeries, Alert] = {}
    for day in range(1, 5):
        parts = [
            [evidence_of(name, day * DAY, 3.0 * (name == subject))] for name in ("label", "feature:temp")
        ]
        outcome, _, _ = judge_rules(
            [rule],
            standing,
            {},
            settled={},
            rows=[],
            kept_rows=[],
            days=[(day * DAY, rows) for rows in parts],
            as_of=day * DAY,
        )
        standing = outcome.standing
        states += [alert.state.value for alert in standing.values()]

    assert states == ["pending", "pending", "firing", "firing"]


def test_labels_that_are_corrected_more_often_than_there_are_labels_are_counted_as_a_fault() -> None:
    reading = replace(READING, pane=DAY)
    counting = reference_of(reference_rows(), reading).counting
    log = log_of(1, per_day=60, never=0.0)
    ids = log.predictions["id"].to_pylist()
    corrected = [
        (name, START + at * HOUR, at, label) for name in ids for at, label in ((50, "0"), (60, "1"), (70, ""))
    ]
    source, spec = log.with_labels(*corrected).source(), replace(SPEC, reading=reading)

    (part,) = source.count_panes(
        spec,
        PaneHalf.LABELS,
        [(START, START + DAY)],
        counting,
        panes=np.asarray([START]),
        as_of=START + 9 * DAY,
    ).parts
    watch = make_watch(counting, PaneHalf.LABELS, part.strata)
    values = day_values(watch, counting, part.strata, 19_723)

    found = {fault.name: at for at, fault in enumerate(watch.faults) if fault.subject == 0}
    assert values.hits[found["corrected"]] > 60
    assert (values.hits <= values.trials).all()
