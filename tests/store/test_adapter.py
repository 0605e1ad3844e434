from dataclasses import replace

import numpy as np
import pytest
import store_examples as examples
from sqlalchemy import select
from sqlalchemy.event import listen
from store_examples import START, commit, pane, row

from monitor.core.clock import DAY, HOUR, LAST
from monitor.core.errors import CodecError, LeaseLost, StoreError
from monitor.core.measurement import Interval, Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.records.codec import encode_strata
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import Reference, make_plain_counting
from monitor.specs.stored_rows import LedgerEntry, ModelState, PaneFacts, WaitingPane, WindowState
from monitor.states.counters import Counters
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.measurement_schema import VIEWS
from monitor.store.tables.service_schema import panes, references, waiting
from monitor.store.tables.shared_columns import METADATA

COUNTING = examples.COUNTING
RECORDS = COUNTING.hash_stored_layout(COUNTING.records_layout)


def contents(store: SqlStore) -> dict[str, list[tuple[object, ...]]]:
    with read_transaction(store.engine) as connection:
        return {
            table.name: [
                tuple(found) for found in connection.execute(select(table).order_by(*table.primary_key))
            ]
            for table in (*METADATA.sorted_tables, *VIEWS.sorted_tables)
        }


def test_a_state_is_empty_before_the_first_cycle(store: SqlStore) -> None:
    assert store.states.read_state("late") == ModelState()


def test_all_statements_of_a_transaction_that_reads_see_the_same(store: SqlStore) -> None:
    with read_transaction(store.engine) as connection:
        before = connection.execute(select(waiting)).all()
        store.panes.note_waiting(
            "late", ModelState(), [WaitingPane(start=START, part=PaneHalf.LABELS, since=START)]
        )

        assert connection.execute(select(waiting)).all() == before == []
    assert len(store.panes.read_waiting_panes("late")) == 1


def test_many_rows_are_written_without_asking_for_any_back(store: SqlStore) -> None:
    """Python's driver of SQLite answers that with a misuse of its interface from 3.12 on."""
    many = []

    def note(_: object, __: object, statement: str, ___: object, ____: object, executemany: bool) -> None:  # noqa: FBT001
        many.extend([statement] if executemany else [])

    listen(store.engine, "before_cursor_execute", note)
    store.commit_cycle("late", commit(snapshots=(row("roc_auc"), row("recall", end=START + DAY))))

    assert [statement for statement in many if " RETURNING " in statement] == []
    assert many or store.engine.dialect.name == "postgresql"


def test_a_state_comes_back_as_it_went_in(store: SqlStore) -> None:
    state = ModelState(
        as_of=1,
        first_as_of=2,
        oldest=-3,
        logged_cursor=4,
        reported_cursor=None,
        audited_as_of=LAST,
        seen_again=((-(2**60), 3, 2**62), (2**60, 1, 0)),
    )

    store.panes.note_waiting("late", state, [])

    assert store.states.read_state("late") == state
    assert store.states.read_state("other") == ModelState()


def test_runs_and_models_do_not_see_each_other(store: SqlStore) -> None:
    replay = SqlStore(store.engine, "replay")

    store.panes.note_waiting(
        "late", ModelState(as_of=1), [WaitingPane(start=0, part=PaneHalf.LABELS, since=1)]
    )
    store.commit_cycle("late", commit())

    assert replay.states.read_state("late") == ModelState()
    assert replay.panes.read_waiting_panes("late") == store.panes.read_waiting_panes("other") == []
    assert replay.current.read_current() == replay.snapshots.read_snapshot_rows() == []


def test_what_waits_twice_waits_since_the_first_time(store: SqlStore) -> None:
    first = [
        WaitingPane(start=HOUR, part=PaneHalf.LABELS, since=20),
        WaitingPane(start=HOUR, part=PaneHalf.RECORDS, since=20),
    ]
    second = [
        WaitingPane(start=HOUR, part=PaneHalf.LABELS, since=30),
        WaitingPane(start=HOUR, part=PaneHalf.LABELS, since=10),
        WaitingPane(start=0, part=PaneHalf.RECORDS, since=30),
    ]

    store.panes.note_waiting("late", ModelState(as_of=1), first)
    store.panes.note_waiting("late", ModelState(as_of=2), second)

    assert store.panes.read_waiting_panes("late") == [
        WaitingPane(start=HOUR, part=PaneHalf.LABELS, since=10),
        WaitingPane(start=HOUR, part=PaneHalf.RECORDS, since=20),
        WaitingPane(start=0, part=PaneHalf.RECORDS, since=30),
    ]
    assert store.states.read_state("late").as_of == 2


def test_saved_panes_wait_no_longer_and_load_equal(store: SqlStore) -> None:
    waiting = [WaitingPane(start=start, part=part, since=1) for start in (0, HOUR) for part in PaneHalf]
    store.panes.note_waiting("late", ModelState(), waiting)

    store.panes.save_panes("late", PaneHalf.RECORDS, [pane(0, 1), pane(HOUR, 2)], layout=RECORDS, as_of=5)

    assert {(left.start, left.part) for left in store.panes.read_waiting_panes("late")} == {
        (0, PaneHalf.LABELS),
        (HOUR, PaneHalf.LABELS),
    }
    found = store.panes.load_panes("late", PaneHalf.RECORDS, [0, HOUR, 2 * HOUR], COUNTING)
    assert found == {0: pane(0, 1), HOUR: pane(HOUR, 2)}


def test_a_pane_counted_again_replaces_the_old_count(store: SqlStore) -> None:
    store.panes.save_panes("late", PaneHalf.RECORDS, [pane(0, 1)], layout=RECORDS, as_of=5)

    store.panes.save_panes(
        "late", PaneHalf.RECORDS, [replace(pane(0, 2), newest=None)], layout=RECORDS, as_of=6
    )

    assert store.panes.load_panes("late", PaneHalf.RECORDS, [0], COUNTING) == {
        0: replace(pane(0, 2), newest=None)
    }
    assert store.panes.read_pane_facts("late", 0) == [
        PaneFacts(
            start=0,
            part=PaneHalf.RECORDS,
            counted_as_of=6,
            labelled_as_of=6,
            layout=RECORDS,
            mapping="",
            rows=32,
            newest=None,
            records=20,
            labelled=9,
            checksum=-4,
        )
    ]
    assert store.panes.read_pane_facts("late", 1) == []


def test_only_panes_of_the_same_layout_are_loaded(store: SqlStore) -> None:
    store.panes.save_panes("late", PaneHalf.RECORDS, [pane(0, 1)], layout=RECORDS, as_of=5)

    assert store.panes.load_panes("late", PaneHalf.RECORDS, [0], examples.OTHER_COUNTING) == {}
    assert store.panes.load_panes("late", PaneHalf.LABELS, [0], COUNTING) == {}


def test_many_panes_are_loaded_in_several_statements(store: SqlStore) -> None:
    many = [replace(pane(start * HOUR), strata={}) for start in range(1_500)]
    store.panes.save_panes("late", PaneHalf.RECORDS, many, layout=RECORDS, as_of=5)

    found = store.panes.load_panes("late", PaneHalf.RECORDS, range(0, 1_500 * HOUR, HOUR), COUNTING)

    assert list(found.values()) == many


def test_a_damaged_pane_is_named(store: SqlStore) -> None:
    store.panes.save_panes("late", PaneHalf.RECORDS, [pane(0)], layout=RECORDS, as_of=5)
    with write_transaction(store.engine) as connection:
        connection.execute(panes.update().values(blob=b"\x01nonsense"))

    with pytest.raises(CodecError, match='pane 1970-01-01T00:00:00Z of "late", part records: damaged'):
        store.panes.load_panes("late", PaneHalf.RECORDS, [0], COUNTING)


def test_current_rows_come_back_after_a_restart(store: SqlStore) -> None:
    rows = (
        row("accuracy", 0.5, version="v1"),
        row("accuracy", None, segment="carrier=AA", truth=LabelTruth.SETTLED),
        row("orphans", 3.0, window="", truth=LabelTruth.NONE, subject=""),
        replace(row("stability_index"), coverage=None, measurement=Measurement(value=-0.0, n=0), warning=""),
    )

    store.commit_cycle("late", commit(current=rows))

    restarted = SqlStore(store.engine, "live")
    assert {(stored.model, stored.as_of) for stored in restarted.current.read_current()} == {("late", START)}
    assert {stored.row for stored in restarted.current.read_current("late")} == set(rows)
    assert restarted.current.read_current("other") == []


def test_numpy_numbers_are_kept_as_numbers(store: SqlStore) -> None:
    measured = Measurement(
        value=np.float64(0.25), n=np.int64(9).item(), interval=Interval(np.float64(0), np.float64(1))
    )
    given = replace(row(), window_end=int(np.int64(START)), measurement=measured, coverage=np.float64(0.5))

    store.commit_cycle("late", commit(current=(given,)))

    assert [stored.row for stored in store.current.read_current()] == [given]


def test_a_cycle_replaces_the_current_rows_of_its_model_alone(store: SqlStore) -> None:
    store.commit_cycle("late", commit(current=(row("a"), row("b"))))
    store.commit_cycle("early", commit(current=(row("c"),)))

    store.commit_cycle("late", commit(START + HOUR, current=(row("b", 0.1),)))

    assert store.current.read_current("late") == [StoredMeasurement("late", START + HOUR, row("b", 0.1))]
    assert store.current.read_current("early") == [StoredMeasurement("early", START, row("c"))]


def test_current_rows_are_read_of_some_measures_alone(store: SqlStore) -> None:
    store.commit_cycle("late", commit(current=(row("a"), row("b"), row("c"))))
    store.commit_cycle("early", commit(current=(row("c"),)))

    assert [stored.row.measure for stored in store.current.read_current("late", {"c", "a", "other"})] == [
        "a",
        "c",
    ]
    assert [(stored.model, stored.row.measure) for stored in store.current.read_current(measures=["c"])] == [
        ("early", "c"),
        ("late", "c"),
    ]
    assert store.current.read_current("late", []) == []


def test_a_row_twice_in_a_cycle_is_an_error(store: SqlStore) -> None:
    store.commit_cycle("late", commit(current=(row("a"),)))

    with pytest.raises(StoreError):
        store.commit_cycle("late", commit(START + HOUR, current=(row("b"), row("b"))))

    assert store.current.read_current() == [StoredMeasurement("late", START, row("a"))]
    assert store.states.read_state("late").as_of == START


def test_an_empty_version_is_not_the_whole(store: SqlStore) -> None:
    store.commit_cycle(
        "late", commit(current=(row("a"), row("a", 0.1, version=""), row("a", 0.2, segment="")))
    )

    found = {
        (stored.row.version, stored.row.segment, stored.row.measurement.value)
        for stored in store.current.read_current()
    }
    assert found == {(None, None, 0.75), ("(empty)", None, 0.1), (None, "(empty)", 0.2)}


def test_figures_of_no_window_are_replaced_alone_where_a_commit_holds_no_more(store: SqlStore) -> None:
    orphans, waiting = (row(name, window="", truth=LabelTruth.NONE) for name in ("orphans", "panes_waiting"))
    store.commit_cycle("late", commit(current=(row("a"), orphans, waiting)))

    store.commit_cycle("late", replace(commit(START + HOUR, current=(orphans,)), whole=False))

    assert store.current.read_current() == [
        StoredMeasurement("late", START + HOUR, orphans),
        StoredMeasurement("late", START, row("a")),
    ]


def test_committing_twice_changes_nothing(store: SqlStore) -> None:
    window = WindowState(window="7d", end=START, first_as_of=START)
    cycle = commit(snapshots=(row("a"), row("b", None), row("a", segment="x=1")), windows=(window,))
    store.commit_cycle("late", cycle)
    before = contents(store)

    store.commit_cycle("late", cycle)

    assert contents(store) == before
    assert len(before["snapshots"]) == 3


def test_a_kept_row_is_never_written_again(store: SqlStore) -> None:
    store.commit_cycle("late", commit(snapshots=(row("a", 0.1),)))

    store.commit_cycle("late", commit(snapshots=(row("a", 0.2), row("b", 0.3))))

    assert [stored.row for stored in store.snapshots.read_snapshot_rows()] == [row("a", 0.1), row("b", 0.3)]


def test_current_rows_have_a_provenance_too(store: SqlStore) -> None:
    store.commit_cycle("late", commit(snapshots=()))

    assert store.snapshots.read_provenance() == [("late", examples.BEHIND)]


def test_provenance_comes_back(store: SqlStore) -> None:
    store.commit_cycle("late", commit())

    assert store.snapshots.read_provenance("late") == [("late", examples.BEHIND)]


def test_windows_come_back_and_are_replaced(store: SqlStore) -> None:
    early = WindowState(window="7d", end=START - DAY, first_as_of=START)
    late = WindowState(window="7d", end=START, first_as_of=START, warning="partial")
    settled = replace(late, settled_as_of=START + DAY, measured_as_of=START + DAY)
    store.commit_cycle("late", commit(windows=(early, late)))

    store.commit_cycle("late", commit(START + DAY, windows=(settled,)))

    assert store.states.read_windows("late", START) == [settled]
    assert store.states.read_windows("late", 0) == [early, settled]


def test_entries_come_back_in_order_and_the_first_of_a_day_stays(store: SqlStore) -> None:
    first, second, other = (
        LedgerEntry(
            comparison="outcome",
            key=key,
            start=start,
            end=start + DAY,
            as_of=START,
            entered=(1, 2**80),
            total=(3, -(2**80)),
            most=0.1,
        )
        for key, start in (("a", START), ("a", START + DAY), ("b", START))
    )

    store.commit_cycle("late", commit(entries=(second, first, other)))
    store.commit_cycle("late", commit(START + HOUR, entries=(replace(first, most=9.0),)))

    assert store.ledger.read_entries("late") == [first, second, other]
    assert store.ledger.read_entries("other") == []


def test_last_kept_is_the_last_performance_of_the_whole(store: SqlStore) -> None:
    older = (
        row("coverage", 0.8),
        row("roc_auc", 0.1),
        row("recall", 0.2),
        row("recall", 0.9, segment="x=1"),
        row("recall", 0.9, version="v"),
    )
    newer = (
        row("coverage", 0.9, truth=LabelTruth.SETTLED),
        row("roc_auc", 0.3, truth=LabelTruth.SETTLED),
        row("roc_auc", 0.5, end=START + DAY),
        row("roc_auc", 0.6, window="1d"),
    )
    store.commit_cycle("late", commit(START, snapshots=older))
    store.commit_cycle("late", commit(START + DAY, snapshots=newer))
    store.commit_cycle(
        "late", commit(START + 2 * DAY, snapshots=(row("stability_index", 0.4, truth=LabelTruth.NONE),))
    )

    found = store.snapshots.read_last_performance("late", "7d", [START, START + 2 * DAY])

    assert found == {
        (START, "coverage", "score"): row("coverage", 0.9, truth=LabelTruth.SETTLED),
        (START, "roc_auc", "score"): row("roc_auc", 0.3, truth=LabelTruth.SETTLED),
    }
    assert store.snapshots.read_last_performance("late", "7d", []) == {}


def kept(store: SqlStore) -> tuple[MeasurementRow, MeasurementRow, MeasurementRow]:
    first, second = row("roc_auc", 0.1), row("roc_auc", 0.2)
    settled = row("roc_auc", 0.3, truth=LabelTruth.SETTLED)
    store.commit_cycle(
        "late", commit(START, snapshots=(first, row("recall", 0.5), row("roc_auc", 0.7, segment="x=1")))
    )
    store.commit_cycle("late", commit(START + DAY, snapshots=(second,)))
    store.commit_cycle("late", commit(START + 2 * DAY, snapshots=(settled,)))
    return first, second, settled


def test_history_holds_every_revision_in_order(store: SqlStore) -> None:
    first, second, settled = kept(store)

    found = store.snapshots.read_snapshot_rows(
        model="late", window="7d", measure="roc_auc", subject="score", segment=""
    )

    assert found == [
        StoredMeasurement("late", START, first),
        StoredMeasurement("late", START + DAY, second),
        StoredMeasurement("late", START + 2 * DAY, settled),
    ]


@pytest.mark.parametrize(("days", "revision"), [(0, 0), (1, 1), (1.5, 1), (2, 2), (9, 2)])
def test_history_as_of_holds_what_was_known_then(store: SqlStore, days: float, revision: int) -> None:
    revisions = kept(store)

    found = store.snapshots.read_snapshot_rows(measure="roc_auc", segment="", as_of=START + int(days * DAY))

    assert found == [StoredMeasurement("late", START + revision * DAY, revisions[revision])]


def test_history_before_the_first_cycle_is_empty(store: SqlStore) -> None:
    kept(store)

    assert store.snapshots.read_snapshot_rows(as_of=START - 1) == []


def test_history_is_filtered_by_each_column(store: SqlStore) -> None:
    kept(store)

    assert len(store.snapshots.read_snapshot_rows()) == 5
    assert len(store.snapshots.read_snapshot_rows(measure="recall")) == 1
    assert len(store.snapshots.read_snapshot_rows(segment="x=1")) == 1
    assert len(store.snapshots.read_snapshot_rows(segment="")) == 4
    assert len(store.snapshots.read_snapshot_rows(version="")) == 5
    assert store.snapshots.read_snapshot_rows(subject="label") == []
    assert store.snapshots.read_snapshot_rows(model="other") == []
    assert store.snapshots.read_snapshot_rows(window="1d") == []


def test_a_reference_comes_back_equal(store: SqlStore) -> None:
    reference = examples.reference()

    store.references.save_reference("key", "late", reference)

    assert store.references.read_reference("key") == reference
    assert store.references.read_reference("other") is None


def test_a_reference_with_open_bounds_comes_back_equal(store: SqlStore) -> None:
    bare = make_plain_counting(
        ReadingOptions(task=ModelTask.REGRESSION, has_score=True, score_range=(0.0, np.inf), labelled=True)
    )
    reference = Reference(
        bare, Counters.make_empty(bare.records_layout), Counters.make_empty(bare.labels_layout)
    )

    store.references.save_reference("key", "late", reference)

    assert store.references.read_reference("key") == reference


def test_labels_that_another_version_counted_otherwise_are_not_those_of_a_reference(store: SqlStore) -> None:
    reference = examples.reference()
    store.references.save_reference("key", "late", reference)
    with write_transaction(store.engine) as connection:
        connection.execute(references.update().values(hash="of other layouts"))

    found = store.references.read_reference("key")

    empty = Counters.make_empty(reference.counting.labels_layout)
    assert found == replace(reference, labels=empty, label_segments={})


def test_a_reference_without_a_state_of_the_whole_is_refused(store: SqlStore) -> None:
    store.references.save_reference("key", "late", examples.reference())
    with write_transaction(store.engine) as connection:
        connection.execute(references.update().values(records=encode_strata({})))

    with pytest.raises(CodecError, match="a state of the whole expected"):
        store.references.read_reference("key")


def test_the_first_reference_of_a_key_stays(store: SqlStore) -> None:
    store.references.save_reference("key", "late", examples.reference())
    empty = Reference(
        COUNTING, Counters.make_empty(COUNTING.records_layout), Counters.make_empty(COUNTING.labels_layout)
    )

    store.references.save_reference("key", "late", empty)

    assert store.references.read_reference("key") == examples.reference()


@pytest.mark.parametrize("write", ["note_waiting", "save_panes", "commit"])
def test_a_lost_lease_rolls_everything_back(write: str, store: SqlStore) -> None:
    window = WindowState(window="7d", end=START, first_as_of=START)
    waiting = WaitingPane(start=0, part=PaneHalf.RECORDS, since=1)

    def written(token: int) -> None:
        match write:
            case "note_waiting":
                store.panes.note_waiting("late", ModelState(as_of=1), [waiting], token=token)
            case "save_panes":
                store.panes.save_panes(
                    "late", PaneHalf.RECORDS, [pane(0, 1)], layout=RECORDS, as_of=5, token=token
                )
            case _:
                store.commit_cycle("late", commit(windows=(window,)), token=token)

    token = store.leases.claim_lease("late", "a", 1_000_000)
    assert token is not None
    store.leases.release_lease("late", token)
    store.leases.claim_lease("late", "b", 60_000_000)
    before = contents(store)

    with pytest.raises(LeaseLost, match='model "late" of run "live": token 1 was taken over'):
        written(token)

    assert contents(store) == before
    written(token + 1)
    assert contents(store) != before
