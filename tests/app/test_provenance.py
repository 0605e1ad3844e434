"""What `show` says of the past, and of what stands behind a number."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from serving import Bench, model, predictions, reference, sqlite_bench
from store_examples import BEHIND

from monitor.app.provenance import MomentProvenance, provenance_text, running_code_version
from monitor.core.clock import DAY, HOUR, SECOND, from_iso, to_iso
from monitor.core.text import content_hash
from monitor.core.version import VERSION
from monitor.specs.stored_rows import HistoryEvent, KeptConfiguration

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
OPTIONS = (
    'every = "1d"\nwindows = ["1d"]\nhorizon = "20d"\nsettle_after = "1d"\nresamples = 20\n'
    'reading = { ready_after = "0s" }'
)
LATE = model(options=OPTIONS)

Monitor = Callable[..., str]
Rows = list[dict[str, Any]]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Three days of a log, replayed day by day."""
    return sqlite_bench(tmp_path, predictions(300, START, END), LATE, labelled=END + DAY)


@pytest.fixture
def monitor(bench: Bench) -> Monitor:
    """A command that succeeds; what it prints."""

    def run(command: str, *arguments: str) -> str:
        done = bench.monitor(command, *arguments)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def replay(monitor: Monitor, end: int = END) -> None:
    monitor("replay", "--from", to_iso(START), "--to", to_iso(end))


def accuracy(monitor: Monitor, *options: str) -> Rows:
    asked = ("--measure", "accuracy", "--segment", "", "--format", "json")
    rows: Rows = json.loads(monitor("show", *asked, *options))
    return [row for row in rows if row["against"] is None and row["truth"] != "nowcast"]


def test_a_moment_is_answered_with_what_was_known_then_whatever_was_corrected_since(
    bench: Bench, monitor: Monitor
) -> None:
    replay(monitor)
    of_second = [row for row in accuracy(monitor, "--history") if row["window_end"][8:10] == "03"]
    corrected = [{"id": f"p{at}", "late": 0, "reported_at": to_iso(END + HOUR)} for at in range(100, 200)]
    bench.database.insert("labels", corrected)
    monitor("cycle", "--as-of", to_iso(END + DAY))

    then, now, before = (
        [row for row in accuracy(monitor, "--as-of", moment) if row["window_end"][8:10] == "03"]
        for moment in (to_iso(END), to_iso(END + DAY), to_iso(START + 2 * DAY))
    )

    scores = [row["score"] for row in predictions(300, START, END)[100:200]]
    assert [row["truth"] for row in of_second] == ["provisional", "settled"]
    assert before == of_second[:1]
    assert then == of_second[1:]
    assert [(row["as_of"], row["truth"]) for row in now] == [(to_iso(END + DAY), "settled")]
    assert now[0]["value"] == sum(score < 0.5 for score in scores) / 100


def test_provenance_names_data_code_configuration_and_reference(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)

    [row] = accuracy(monitor, "--as-of", to_iso(END), "--provenance")[-1:]

    behind = row["provenance"]
    logged = [one["logged_at"] for one in predictions(300, START, END) if one["logged_at"] <= to_iso(END)]
    assert behind["newest_logged_at"] == max(logged)
    assert behind["newest_reported_at"] <= to_iso(END)
    assert behind["rows_read"] > 0
    assert re.fullmatch(rf"{VERSION}\+[0-9a-f]{{12}}", behind["code"])
    assert content_hash(behind["configuration"]) == behind["config"]
    assert behind["configuration"]["name"] == "late"
    assert [(one["made_of"], one["rows"]) for one in behind["reference"]] == [('table "reference"', 500)]
    assert len(behind["grid"]) == 16


def test_a_reference_file_is_named_with_its_content(bench: Bench, monitor: Monitor) -> None:
    file = bench.directory / "reference.parquet"
    pq.write_table(pa.Table.from_pylist(reference(120)), file)
    bench.configure(LATE.replace('table = "reference"', 'file = "reference.parquet"'))
    replay(monitor)

    [behind] = {json.dumps(row["provenance"]["reference"]) for row in accuracy(monitor, "--provenance")}

    [found] = json.loads(behind)
    content = hashlib.sha256(file.read_bytes()).hexdigest()
    assert found["made_of"] == f'file "reference.parquet", content {content[:16]}'
    assert found["rows"] == 120


def test_people_read_the_provenance_below_the_numbers(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)
    with bench.app() as app:
        decided = HistoryEvent(
            model="late", at=END + SECOND, kind="recounted", who="ann", why="rows were deleted"
        )
        app.store.events.append_events([decided])

    text = monitor("show", "--measure", "accuracy", "--provenance")

    lines = text.splitlines()
    assert "behind late as of 2024-03-04T00:00:00Z" in lines
    (reference,) = (at for at, line in enumerate(lines) if line.startswith("  reference "))
    assert lines[reference].endswith('table "reference"')
    assert lines[reference + 1].endswith("Z")
    assert lines[reference + 1].strip().startswith("500 rows, grids ")
    assert '  "name": "late",' in lines
    assert any(re.fullmatch(r'  "horizon": "\d+d",', line) for line in lines)
    assert "  2024-03-04T00:00:01Z, late, recounted, by ann, rows were deleted" in lines


def test_the_windows_of_one_end_are_asked_for_by_it(monitor: Monitor) -> None:
    replay(monitor)
    of = ("show", "--measure", "accuracy", "--end", "2024-03-03")

    rows = json.loads(monitor(*of, "--history", "--format", "json"))
    newest = json.loads(monitor(*of, "--format", "json"))

    assert {row["window_end"] for row in (*rows, *newest)} == {"2024-03-03T00:00:00Z"}
    assert [row["truth"] for row in newest if not row["against"]] == ["settled"]


@pytest.mark.parametrize(("until", "told"), [(END + DAY, to_iso(END + DAY)), (None, "no end")])
def test_what_was_accepted_is_told_in_dates(until: int | None, told: str) -> None:
    detail = json.dumps({"lower": None, "until": until, "series": ["busy"]})
    event = HistoryEvent(model="late", at=END, kind="accepted", who="ann", why="spring", detail=detail)

    text = provenance_text([], [event])

    assert text.splitlines()[1] == f"  2024-03-04T00:00:00Z, late, accepted, by ann, spring, until {told}"


def test_only_what_is_a_duration_or_a_moment_is_worded_as_one() -> None:
    rule = {"name": "volume", "above": 5_000_000, "min_n": 1_000_000, "for": 2 * HOUR}
    content = json.dumps({"alerts": [rule], "pane": SECOND // 2, "reference": {"from": START}})

    worded = worded_of(content)

    assert worded["alerts"] == [rule | {"for": "2h"}]
    assert worded["reference"] == {"from": "2024-03-01T00:00:00Z"}


def test_each_duration_of_a_model_that_is_configured_is_worded() -> None:
    schema = json.loads((Path(__file__).parents[2] / "config.schema.json").read_text())["$defs"]
    names = ("ModelTable", "ReadingTable", "AlertTable", "WindowTable")
    tables = [schema[name]["properties"] for name in names]
    pattern = r"^\d+[smhdw]$|\$\{"
    keys = {key for table in tables for key, value in table.items() if value.get("pattern") == pattern}
    content = json.dumps(dict.fromkeys(keys, 2 * HOUR))

    assert len(keys) > 10
    assert worded_of(content) == dict.fromkeys(keys, "2h")


def worded_of(content: str) -> dict[str, object]:
    """A kept configuration as people read it."""
    moment = replace(BEHIND, as_of=END, config="key")
    kept = KeptConfiguration(hash="key", model="late", content=content, created=END)
    text = provenance_text([MomentProvenance("late", moment, (), kept)])
    found: dict[str, object] = json.loads(text[text.index("\n{") :])
    return found


def test_csv_has_columns_of_provenance(monitor: Monitor) -> None:
    replay(monitor)

    rows = list(csv.DictReader(io.StringIO(monitor("show", "--provenance", "--format", "csv"))))

    assert {row["code"] for row in rows} == {running_code_version()}
    assert {row["newest_logged_at"] <= row["as_of"] for row in rows} == {True}


def test_a_configuration_is_kept_under_its_hash_after_it_was_changed(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)
    bench.configure(LATE.replace("resamples = 20", "resamples = 30"))
    monitor("cycle", "--as-of", to_iso(END + DAY))

    rows = accuracy(monitor, "--history", "--provenance")

    resamples = {row["as_of"]: row["provenance"]["configuration"]["resamples"] for row in rows}
    assert resamples[to_iso(END)] == 20
    assert resamples[to_iso(END + DAY)] == 30


def test_the_url_of_the_source_is_not_kept(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)

    shown = monitor("show", "--history", "--provenance", "--format", "json")

    assert "sqlite:" not in shown
    assert "log.db" not in shown


def test_nothing_measured_has_nothing_behind_it(monitor: Monitor) -> None:
    monitor("migrate")

    assert monitor("show", "--provenance").endswith("\n\nnothing has been measured yet\n")
    assert json.loads(monitor("show", "--provenance", "--format", "json")) == []


def test_what_was_decided_outlives_a_forgotten_model(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)
    with bench.app() as app:
        (spec,) = app.settings.models

    monitor("forget", "--model", "late", "--yes", "--who", "ann", "--why", "contract ended")

    with bench.app() as app:
        kept, events = (
            app.store.configurations.read_configuration(spec.config_hash),
            app.store.events.read_events("late"),
        )
        assert not app.store.snapshots.read_snapshot_rows()
        assert not app.store.snapshots.read_provenance()
    assert kept is not None
    assert json.loads(kept.content)["name"] == "late"
    assert [(event.kind, event.who, event.why) for event in events][-1] == (
        "forgotten",
        "ann",
        "contract ended",
    )


def test_what_stands_behind_a_renamed_model_is_found(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)
    bench.configure(model("delayed", options=OPTIONS + '\nformerly = "late"'))
    monitor("cycle", "--as-of", to_iso(END + DAY))

    rows = accuracy(monitor, "--history", "--provenance", "--model", "delayed")

    assert {row["provenance"]["reference"][0].get("rows") for row in rows} == {500}
    assert {row["provenance"]["configuration"]["name"] for row in rows} == {"late", "delayed"}


def test_what_was_decided_later_is_not_behind_an_earlier_moment(bench: Bench, monitor: Monitor) -> None:
    replay(monitor)
    with bench.app() as app:
        app.store.events.append_events(
            [HistoryEvent(model="late", at=END + DAY, kind="noted", who="ada", why="a strike")]
        )

    now, then = (monitor("show", "--provenance", *as_of) for as_of in ((), ("--as-of", to_iso(END - HOUR))))

    assert "by ada, a strike" in now
    assert "a strike" not in then
    assert "behind late as of" in then
