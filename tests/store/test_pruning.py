"""Retention: between a first and a last revision old ones go, nothing else does."""

from dataclasses import replace

from store_examples import START, commit, row

from monitor.core.clock import DAY
from monitor.measures.measurement_row import LabelTruth
from monitor.store.sql_store import SqlStore

Kept = list[tuple[str, int, str, float | None]]


def kept(store: SqlStore, model: str = "late") -> Kept:
    return sorted(
        (
            stored.row.measure,
            (stored.as_of - START) // DAY,
            stored.row.truth.value,
            stored.row.measurement.value,
        )
        for stored in store.snapshots.read_snapshot_rows(model)
    )


def filled(store: SqlStore, model: str = "late") -> None:
    """A window kept on six days: four times provisionally, then settled and revised twice."""
    for day in range(7):
        truth = LabelTruth.PROVISIONAL if day < 4 else LabelTruth.SETTLED
        rows = [row("roc_auc", day / 10, truth=truth)]
        rows += [row("stability_index", 0.5, truth=LabelTruth.NONE)] if day == 0 else []
        rows += [row("accuracy", 0.5, truth=truth)] if day in (0, 4) else []
        store.commit_cycle(model, commit(START + day * DAY, snapshots=tuple(rows)))


def test_first_settled_and_last_revisions_stay(store: SqlStore) -> None:
    filled(store)

    store.commit_cycle("late", replace(commit(START + 9 * DAY, snapshots=()), pruned=(0, START + 8 * DAY)))

    assert kept(store) == [
        ("accuracy", 0, "provisional", 0.5),
        ("accuracy", 4, "settled", 0.5),
        ("roc_auc", 0, "provisional", 0.0),
        ("roc_auc", 3, "provisional", 0.3),
        ("roc_auc", 4, "settled", 0.4),
        ("roc_auc", 6, "settled", 0.6),
        ("stability_index", 0, "", 0.5),
    ]
    assert len(store.snapshots.read_provenance("late")) == 8


def test_what_is_younger_or_of_an_older_window_or_anothers_stays(store: SqlStore) -> None:
    filled(store)
    filled(store, "other")
    before = kept(store)

    store.commit_cycle("late", replace(commit(START + 9 * DAY, snapshots=()), pruned=(0, START + 1 * DAY)))
    store.commit_cycle(
        "late", replace(commit(START + 9 * DAY, snapshots=()), pruned=(START + 1, START + 9 * DAY))
    )
    assert kept(store) == before

    store.commit_cycle("late", replace(commit(START + 9 * DAY, snapshots=()), pruned=(0, START + 2 * DAY)))
    assert [one for one in before if one not in kept(store)] == [("roc_auc", 1, "provisional", 0.1)]
    assert kept(store, "other") == before
