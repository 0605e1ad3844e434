"""What `check` says beyond faults: queries with their plans, reads, series; as lines and as JSON."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from keyed_models import model_keys
from serving import Bench, Database, create_tables, labels, model, predictions

from monitor.advice.expected_cost import expected_reads, expected_series
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.exposition.series_selection import SeriesGroup, expose_model
from monitor.pipeline.cycle import CycleTick, run_cycle
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.states.strata import Stratum

START, END = from_iso("2024-03-01"), from_iso("2024-03-11")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "20d"\nsettle_after = "1d"\nresamples = 20'
COMPARED = """
[models.control]
arm_column = "group"
control_value = "a"
treatment_value = "b"
control_share = 0.3
[models.challenger]
score = "other"
threshold = 0.5
[models.profit]
matrix = { "1" = { "1" = 100, "0" = 0 }, "0" = { "1" = -30, "0" = 0 } }
"""
ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Ten days of a log, ten rows an hour, all of them labelled."""
    postgres = request.param == "postgresql"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:///{tmp_path / 'log.db'}"
    bench = Bench(tmp_path, Database(url), f"sqlite:///{tmp_path / 'monitor.db'}")
    rows = predictions(2_400, START, END)
    create_tables(bench.database)
    bench.database.run(
        "CREATE INDEX by_time ON predictions (event_time)",
        "CREATE INDEX by_log ON predictions (logged_at)",
        "CREATE INDEX by_id ON predictions (id)",
        "CREATE INDEX of_label ON labels (id)",
        "CREATE INDEX by_report ON labels (reported_at)",
    )
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=END + DAY))
    bench.configure(model(options=OPTIONS))
    return bench


def test_explain_shows_rows_reads_series_and_every_query_with_its_plan(bench: Bench) -> None:
    done = bench.monitor("check", "--explain")

    assert done.exit_code == 0, done.stderr
    text = done.stdout
    assert "  rows: 2,400 predictions, the newest of 2024-03-10T23:54:00Z; 2,400 labels\n" in text
    assert "  reads: about 20 rows a cycle for new predictions (10.0 come in an hour)\n" in text
    assert re.search(
        r"series: about \d+ of max_series 2,000 \(whole model \d+, bounds \d+, features \d+\)", text
    )
    for purpose in (
        "each cycle: rows logged since the last cycle",
        "each cycle: records whose labels were reported since the last cycle",
        "each cycle: rows of the newest panes",
        "each cycle: outputs and labels of scattered panes",
        "each audit: labels without a prediction",
    ):
        assert f"  -- {purpose}\n" in text
    assert text.count("plan: ") > text.count("  -- each")
    assert re.search("by_log|by_time", text)


def test_explain_reads_no_row_of_the_log(bench: Bench) -> None:
    """The plans are those of the statements that cycles run: the same text, asked for with EXPLAIN."""
    done = json.loads(bench.monitor("check", "--explain", "--format", "json").stdout)

    (found,) = done["models"]
    cycle = [query for query in found["queries"] if query["every"] == "cycle"]
    assert all(query["sql"].startswith(("SELECT", "WITH")) and query["plan"] for query in cycle)
    assert all("event_time" in query["sql"] for query in found["queries"])


def test_json_holds_faults_warnings_and_figures(bench: Bench) -> None:
    done = bench.monitor("check", "--format", "json")

    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (found["faults"], found["warnings"]) == ([], [])
    (told,) = found["models"]
    assert (told.pop("windows"), told.pop("settles_after"), told.pop("rules_never")) == (["1d"], 86_400.0, {})
    assert {*told.pop("rules_now"), *told.pop("rules_later")} > {"log_stopped", "changed", "performance"}
    assert told | {"series": {}} == {
        "model": "late",
        "numeric": ["amount"],
        "categorical": ["group"],
        "rows": 2_400,
        "rows_are_more": False,
        "labels": 2_400,
        "oldest": "2024-03-01T00:00:00Z",
        "newest": "2024-03-10T23:54:00Z",
        "misdated": 0,
        "series": {},
        "max_series": 2_000,
        "rows_per_hour": pytest.approx(10, abs=0.01),
        "rows_per_cycle": pytest.approx(20, abs=0.02),
        "rows_per_label": 2.25,
        "labels_by_difference": True,
        "labels_whole_because": None,
        "accepted": [],
        "queries": [],
    }


def test_json_holds_faults_of_the_file_and_of_tables(bench: Bench) -> None:
    bench.configure(model(options=OPTIONS).replace('score = "score"', 'score = "scores"'))
    tables = bench.monitor("check", "--format", "json")
    bench.configure(model(options="windws = 1"))
    file = bench.monitor("check", "--format", "json", "--offline")

    assert (tables.exit_code, file.exit_code) == (2, 2)
    assert json.loads(tables.stdout)["faults"] == [
        {
            "model": "late",
            "text": f'table "{table}" has no column "scores" (score); did you mean "score"?',
        }
        for table in ("predictions", "reference")
    ]
    assert "unknown key" in json.loads(file.stdout)["faults"][0]["text"]


def test_more_series_than_max_series_are_warned_of(bench: Bench) -> None:
    bench.configure(model(options=f"{OPTIONS}\nmax_series = 20"))

    done = bench.monitor("check", "--strict")

    assert done.exit_code == 1
    assert re.fullmatch(
        r'warning: model "late": about \d+ series \(.*\), more than max_series = 20: features are given up '
        "first, then strata, then bounds; fewer windows, segments or features help\n",
        done.stderr,
    )


def test_a_source_that_does_not_answer_is_one_fault_for_all_its_models(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Database(f"sqlite:///{tmp_path / 'none.db'}"), f"sqlite:///{tmp_path / 'm.db'}")
    bench.configure(model("one"), model("two"))

    done = bench.monitor("check")

    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith('source "log" (of "one", "two"): ')
    assert "there is no file" in line


def test_the_series_that_check_tells_are_those_that_are_exposed(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), f"sqlite:///{tmp_path / 'monitor.db'}"
    )
    rows = predictions(6_000, END - 60 * DAY, END)
    create_tables(bench.database, other="REAL")
    other = np.random.default_rng(3).uniform(size=len(rows)).round(4).tolist()
    bench.database.insert(
        "predictions", [row | {"other": score} for row, score in zip(rows, other, strict=True)]
    )
    bench.database.insert("labels", labels(rows, end=END + DAY))
    options = 'every = "1h"\nwindows = ["1d", "7d"]\nhorizon = "40d"\nsettle_after = "1d"\nresamples = 20'
    bench.configure(model(options=options) + COMPARED)

    (checked,) = json.loads(bench.monitor("check", "--format", "json").stdout)["models"]
    with bench.app() as app:
        monitored, caches = app.prepare_model("late")
        run_cycle(monitored, caches, CycleTick(END - 20 * DAY))  # days are learned from, and judged after
        _, current = run_cycle(monitored, caches, CycleTick(END))
        exposed = expose_model(monitored.spec, END, current)

    assert (exposed.absent, exposed.dropped) == ((), 0)
    of_groups = Counter(series.group for series in exposed.series)
    assert checked["series"] == {
        "whole model": of_groups[SeriesGroup.WHOLE],
        "bounds": of_groups[SeriesGroup.BOUND],
        "strata": of_groups[SeriesGroup.STRATUM],
        "features": of_groups[SeriesGroup.FEATURE],
    }


def test_rows_read_again_for_a_label_follow_the_way_in_which_it_is_counted() -> None:
    spec = ModelSpec(
        keys=model_keys("m"),
        reading=ReadingOptions(task=ModelTask.BINARY, labelled=True, horizon=60 * DAY),
        predictions=Relation(table="p", columns=(("logged_at", "at"),)),
    )
    at_once = np.full(1_000, HOUR // 2, np.int64)
    spread = np.sort(np.linspace(0, 59 * DAY, 1_000).astype(np.int64))

    quick = expected_reads(spec, 4_000, 1.0, at_once, HOUR, whole=True)
    slow = expected_reads(spec, 4_000, 1.0, spread, 55 * DAY, whole=True)
    added = expected_reads(spec, 4_000, 0.5, spread, 55 * DAY, whole=False)
    unknown = expected_reads(spec, 4_000, 1.0, at_once[:5], None, whole=False)
    dateless = replace(spec, predictions=Relation(table="p"))
    looked_back = expected_reads(dateless, 4_000, 1.0, at_once, HOUR, whole=True)

    assert (quick.per_hour, quick.per_cycle, quick.per_label) == (4_000, 8_000, 1.0)
    assert slow.per_label == pytest.approx(60, abs=0.1)  # on each of sixty days
    assert added.per_label == 1 + 15 / 60 + 2  # as new, in the overlap, once whole for half of the records
    assert unknown.per_label is None
    assert looked_back.per_cycle == 49 * 4_000  # panes of two days: nothing tells which rows are new


def test_strata_have_series_of_their_own() -> None:
    from monitor.records.reference import make_plain_counting
    from monitor.windows.window_ends import Window

    reading = ReadingOptions(
        task=ModelTask.BINARY, classes=("0", "1"), has_score=True, score_range=(0.0, 1.0), labelled=True
    )
    spec = ModelSpec(
        keys=model_keys("m"),
        reading=reading,
        predictions=Relation(table="p"),
        windows=(Window("1d", DAY, HOUR),),
    )

    none, one = (
        expected_series(spec, make_plain_counting(reading), strata)
        for strata in ([], [Stratum(version="v1")])
    )

    assert none.by_group["strata"] == 0
    assert one.by_group["strata"] > 5
    assert one.by_group["whole model"] == none.by_group["whole model"]


@pytest.mark.parametrize("offline", [(), ("--offline",)])
def test_rules_that_can_never_be_judged_are_warned_of(bench: Bench, offline: tuple[str, ...]) -> None:
    rule = '[[models.alerts]]\nname = "fewer"\nmeasure = "volume_ratio"\nbelow = 0.5\n'
    bench.configure(model(options=OPTIONS.replace('["1d"]', '["14d"]')), rule)

    done = bench.monitor("check", *offline)

    assert done.exit_code == 0
    warned = 'warning: model "late": rule "fewer" can never run: the earlier weeks lie beyond the horizon'
    assert warned in done.stderr
