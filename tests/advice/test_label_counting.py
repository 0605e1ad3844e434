"""What `check` says of how labels are counted: by difference or whole, why, and what would help."""

import json
from pathlib import Path

import pytest
from serving import Bench, bench_in, create_tables, labels, model, predictions

from monitor.advice.label_counting import LabelCounting, wrong_differences
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.pipeline.audit import DECIDED, WRONG
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import HistoryEvent

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "5d"\nsettle_after = "1d"\nresamples = 20'
ADDED = 'reported_at = "reported_at"\nappend_only = true'
INDEXES = "CREATE INDEX by_id ON predictions (id)", "CREATE INDEX of_label ON labels (id)"
WRONG_THEN = HistoryEvent(
    model="late", at=END, kind=WRONG, detail='{"panes": 3, "oldest_pane": "2024-03-01T05:00:00Z"}'
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log without any index."""
    bench = bench_in(tmp_path)
    rows = predictions(480, START, END)
    create_tables(bench.database)
    bench.database.run("DROP INDEX predictions_by_id", "DROP TABLE labels")
    bench.database.create("labels", id="text", late="integer", reported_at="TEXT")
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=END + DAY))
    return bench


def configured(bench: Bench, added: str = ADDED) -> None:
    bench.configure(model(options=OPTIONS).replace('reported_at = "reported_at"', added))


def test_check_says_that_labels_are_counted_by_difference_and_what_that_costs(bench: Bench) -> None:
    bench.database.run(*INDEXES)
    configured(bench)

    said = bench.monitor("check").stdout

    assert (
        'model "late": labels are counted by difference: each is read about 1.25 times, '
        "and its pane whole once as it settles\n"
    ) in said


def test_check_says_why_labels_are_counted_whole_and_what_would_help(bench: Bench) -> None:
    bench.database.run(*INDEXES)
    configured(bench, 'reported_at = "reported_at"')

    said = bench.monitor("check").stdout

    assert (
        'model "late": labels are counted whole: a day on which one comes reads all records of its pane '
        "again. Why: rows of their table might be changed later. "
    ) in said
    assert "If they are only ever added, say append_only = true below [models.labels]\n" in said


def test_an_index_that_is_missing_is_told_with_its_statement(bench: Bench) -> None:
    bench.database.run(INDEXES[0])
    configured(bench)

    (found,) = json.loads(bench.monitor("check", "--format", "json").stdout)["models"]
    said = bench.monitor("check").stdout

    assert not found["labels_by_difference"]
    assert found["labels_whole_because"].startswith("no index finds the ids of")
    assert 'run: CREATE INDEX "labels_id_idx" ON "labels" ("id");\n' in said
    assert "predictions_id_idx" not in said


@pytest.mark.parametrize("added", [ADDED, 'reported_at = "reported_at"'])
def test_the_search_for_labels_is_explained_as_it_is_run(bench: Bench, added: str) -> None:
    bench.database.run(*INDEXES)
    configured(bench, added)

    said = bench.monitor("check", "--explain").stdout

    assert ("records whose labels were reported since the last cycle" in said) == (added == ADDED)
    assert ("-- each cycle: labels reported since the last cycle" in said) == (added != ADDED)


def test_check_warns_while_differences_are_wrong_until_somebody_decides(bench: Bench) -> None:
    bench.database.run(*INDEXES)
    configured(bench)
    with bench.app() as app:
        app.store.events.append_events([WRONG_THEN])

    warned = bench.monitor("check").stderr
    with bench.app() as app:
        app.store.events.append_events(
            [HistoryEvent(model="late", at=END + HOUR, kind=DECIDED, who="ann", why="reloaded")]
        )
    decided = bench.monitor("check").stderr

    assert (
        'warning: model "late": the audit of 2024-03-03T00:00:00Z found panes whose labels, added by '
        "difference, were wrong (panes: 3, the oldest of 2024-03-01T05:00:00Z)"
    ) in warned
    assert "append_only = false" in warned
    assert "monitor recount --model late --from 2024-03-01T05:00:00Z --to 2024-03-03T00:00:00Z" in warned
    assert "added by difference" not in decided


def test_what_was_decided_earlier_does_not_end_a_newer_finding(bench: Bench) -> None:
    configured(bench)
    with bench.app() as app:
        spec: ModelSpec = app.find_spec("late")
    decided = HistoryEvent(model="late", at=START, kind=DECIDED)

    assert wrong_differences(spec, [WRONG_THEN, decided]) == []
    assert len(wrong_differences(spec, [decided, WRONG_THEN])) == 1


def test_cycles_shorter_than_the_overlap_read_a_label_more_often() -> None:
    assert "each is read about 4.00 times" in str(LabelCounting(reads=4))
