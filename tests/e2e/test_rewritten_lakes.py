"""Rows of files that are changed, removed, moved, or late: a cycle counts what one from scratch would."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from delta_vectors import delete_by_vectors, files_of

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, FIRST, HOUR, from_iso
from monitor.records.pane import PaneHalf, PanePart
from monitor.store.store_database import migrate_store

START = from_iso("2026-01-01")
DAYS, PER_DAY = 8, 48
NOW = START + DAYS * DAY
CONFIG = """
[store]
url = "sqlite:///{store}"
[sources.lake]
url = "{url}"
audit = "90d"
[[models]]
name = "m"
source = "lake"
task = "binary"
every = "1h"
windows = ["1d"]
horizon = "20d"
settle_after = "2d"
reading = {{ ready_after = "0s" }}
[models.predictions]
table = "scores"
id = "id"
event_time = "event_time"
logged_at = "logged_at"
score = "score"
threshold = 0.5
[models.labels]
table = "outcomes"
id = "id"
label = "label"
reported_at = "reported_at"
append_only = true
"""
Tables = dict[str, pa.Table]


def rows_of(days: range) -> Tables:
    """Scores of some days, a half hour apart, and their outcomes of half a day later."""
    day = np.repeat(np.array(days), PER_DAY)
    event = START + day * DAY + np.tile(np.arange(PER_DAY), len(days)) * (HOUR // 2)
    ids = pa.array([f"{at}" for at in event // (HOUR // 2)])
    score = (event // (HOUR // 2) * 37 % 100) / 100
    return {
        "scores": pa.table(
            {
                "id": ids,
                "event_time": pa.array(event, pa.timestamp("us", "UTC")),
                "logged_at": pa.array(event + 1_000_000, pa.timestamp("us", "UTC")),
                "score": score,
            }
        ),
        "outcomes": pa.table(
            {
                "id": ids,
                "label": pa.array((score > 0.6).astype(np.int64)),
                "reported_at": pa.array(event + DAY // 2, pa.timestamp("us", "UTC")),
            }
        ),
    }


def append(place: Path, tables: Tables) -> None:
    """Commit rows."""
    import deltalake

    for name, table in tables.items():
        deltalake.write_deltalake(str(place / name), table, mode="append")


def table_of(place: Path, name: str) -> Any:
    import deltalake

    return deltalake.DeltaTable(str(place / name))


def settled(app: App) -> dict[tuple[PaneHalf, int], PanePart]:
    """Panes of the model."""
    assert app.store.panes.read_waiting_panes("m") == []
    found: dict[tuple[PaneHalf, int], PanePart] = {}
    counting = app.find_cycle_model("m").counting
    for half in PaneHalf:
        starts = [one.start for one in app.store.panes.read_pane_facts("m", FIRST) if one.part is half]
        loaded = app.store.panes.load_panes("m", half, starts, counting)
        found |= {(half, start): pane for start, pane in loaded.items()}
    return found


def cycles(place: Path, store: Path, *moments: int, more: str = "") -> dict[tuple[PaneHalf, int], PanePart]:
    """Panes after cycles at some moments; `more`: keys of the source behind its URL."""
    config = store.with_suffix(".toml")
    config.write_text(CONFIG.format(store=store, url=place.as_uri() + more), encoding="utf-8")
    migrate_store(f"sqlite:///{store}")
    with open_application(settings_of(config, {}), store.parent) as app:
        for moment in moments:
            assert run_single_cycle(app, "m", moment).error is None
        return {key: pane for key, pane in settled(app).items() if pane.rows}


def delete_scores(place: Path) -> None:
    """Not those of the first hours: where a log's oldest rows go, its own retention took them."""
    table_of(place, "scores").delete("score < 0.1 AND event_time >= '2026-01-02T00:00:00Z'")


def correct_labels(place: Path) -> None:
    """In place: their time of report stays."""
    wrong = rows_of(range(2, 3))["outcomes"].slice(0, 5)
    right = wrong.set_column(1, "label", pa.array([9 - 8] * 5))
    merge = table_of(place, "outcomes").merge(right, "s.id = t.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().execute()


def delete_by_vector(place: Path) -> None:
    """Every fifth score of each file but the first, whose rows are left as they are the second time."""
    folder = place / "scores"
    counts = [json.loads(file["stats"])["numRecords"] for file in files_of(folder).values()]
    first = 3 if any("deletionVector" in file for file in files_of(folder).values()) else 5
    delete_by_vectors(folder, [range(60, count, first) for count in counts])


def change_scores(place: Path) -> None:
    table_of(place, "scores").update(predicate="score > 0.9", updates={"score": "0.05"})


def compact(place: Path) -> None:
    for name in ("scores", "outcomes"):
        table_of(place, name).optimize.compact()


def vacuum(place: Path) -> None:
    """Files that are of none of the newest version."""
    for name in ("scores", "outcomes"):
        table_of(place, name).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


def roll_back(place: Path) -> None:
    """To the version before."""
    for name in ("scores", "outcomes"):
        table_of(place, name).restore(table_of(place, name).version() - 1)


roll_forward = roll_back  # what takes back a roll-back


def append_late(place: Path) -> None:
    """Rows whose own times were searched long ago."""
    late = {
        name: table.set_column(0, "id", pc.binary_join_element_wise(table["id"], "late", "-"))
        for name, table in rows_of(range(1, 2)).items()
    }
    append(place, late)


def append_new(place: Path) -> None:
    """Rows of the next hour."""
    event = np.array([NOW + HOUR // 4])
    new = {
        "id": pa.array(["new"]),
        "event_time": pa.array(event, pa.timestamp("us", "UTC")),
        "logged_at": pa.array(event + 1_000_000, pa.timestamp("us", "UTC")),
        "score": pa.array([0.5]),
    }
    append(place, {"scores": pa.table(new)})


def overwrite_alike(place: Path) -> None:
    """The same rows, written anew."""
    import deltalake

    for name in ("scores", "outcomes"):
        rows = table_of(place, name).to_pyarrow_table()
        deltalake.write_deltalake(str(place / name), rows, mode="overwrite")


CHANGES: dict[str, tuple[Callable[[Path], None], ...]] = {
    "delete": (delete_scores,),
    "merge": (correct_labels,),
    "update": (change_scores,),
    "compact": (compact,),
    "late": (append_late,),
    "alike": (overwrite_alike,),
    "new, then compact": (append_new, compact),
    "late, then compact": (append_late, compact),
    "late, then compact, then vacuum": (append_late, compact, vacuum),
    "merge, then compact, then merge": (correct_labels, compact, change_scores, correct_labels),
    "vector": (delete_by_vector,),
    "vectors": (append_late, delete_by_vector, delete_by_vector),
    "late, taken back, and restored": (append_late, roll_back, roll_forward),
    "all": (delete_scores, compact, correct_labels, append_late, overwrite_alike, change_scores),
}


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in CHANGES if name != "all"]


@pytest.mark.parametrize("name", [*SLOW, "all"])
def test_the_next_cycle_counts_what_one_from_scratch_would(tmp_path: Path, name: str) -> None:
    place = tmp_path / "lake"
    append(place, rows_of(range(DAYS)))
    cycles(place, tmp_path / "kept.db", NOW - DAY, NOW)
    for change in CHANGES[name]:
        change(place)

    kept = cycles(place, tmp_path / "kept.db", NOW + HOUR)

    assert kept == cycles(place, tmp_path / "scratch.db", NOW + HOUR)


@pytest.mark.parametrize("name", ["compact", "alike", "new, then compact"])
def test_what_was_merely_laid_out_anew_is_not_counted_again(tmp_path: Path, name: str) -> None:
    place, store = tmp_path / "lake", tmp_path / "kept.db"
    append(place, rows_of(range(DAYS)))
    cycles(place, store, NOW)
    for change in CHANGES[name]:
        change(place)
    with open_application(settings_of(store.with_suffix(".toml"), {}), tmp_path) as app:
        report = run_single_cycle(app, "m", NOW + HOUR)
    assert (report.error, report.lost) == (None, "")
    assert report.panes_counted <= 3, "those that time goes through"


def test_a_log_that_was_vacuumed_is_looked_through_once(tmp_path: Path) -> None:
    place, store = tmp_path / "lake", tmp_path / "kept.db"
    append(place, rows_of(range(DAYS)))
    cycles(place, store, NOW)
    delete_scores(place)
    change_scores(place)
    correct_labels(place)
    vacuum(place)

    kept = cycles(place, store, NOW + HOUR)

    assert kept == cycles(place, tmp_path / "scratch.db", NOW + HOUR)


def test_files_of_a_folder_that_were_rewritten_are_looked_through(tmp_path: Path) -> None:
    place, store = tmp_path / "lake", tmp_path / "kept.db"
    for day in range(DAYS):
        for name, table in rows_of(range(day, day + 1)).items():
            (place / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(table, place / name / f"{day}.parquet")
    cycles(place, store, NOW)
    scores = rows_of(range(3, 4))["scores"]
    pq.write_table(scores.filter(pc.greater(scores["score"], 0.3)), place / "scores" / "3.parquet")
    outcomes = rows_of(range(2, 3))["outcomes"]
    other = outcomes.set_column(1, "label", pc.subtract(1, outcomes["label"]))
    pq.write_table(other, place / "outcomes" / "2.parquet")
    scores = rows_of(range(4, 5))["scores"]
    changed = scores.set_column(3, "score", pc.subtract(1.0, scores["score"]))
    pq.write_table(changed, place / "scores" / "4.parquet")

    kept = cycles(place, store, NOW + HOUR)

    assert kept == cycles(place, tmp_path / "scratch.db", NOW + HOUR)
