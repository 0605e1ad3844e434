"""Windows of several classes and of numbers, of versions and segments: charts are counted from the log."""

import html
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_log import NAMES
from kept_texts import compare_text
from looked_at import NOW, Pages, assert_whole, copied, looking, read_back, visible_text
from scipy.integrate import trapezoid
from serving import Bench
from sklearn import metrics

from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.measurement import Interval, Measurement
from monitor.measures.measurement_row import newest_revisions
from monitor.measures.value_words import (
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
)
from monitor.pages.log_page import _ODD
from monitor.pages.model_report import _period_rows
from monitor.pages.report_periods import AskedPeriod, resolve_report_period
from monitor.pages.window.class_charts import MOST, class_rows, confusion_table
from monitor.sentences.time_words import delay_words, local_moment_words
from monitor.specs.stored_rows import ChartedRows
from monitor.states.views import ConfusionCounts
from monitor.store.store_connections import write_transaction

Row = dict[str, Any]
PARTS = (
    *("", "/performance", "/performance?segment=region%3Dnorth", "/features", "/alerts"),
    *("/compare", "/segments", "/log"),
)
WINDOW = f"window=1d&end={to_iso(NOW - 2 * DAY)}"


@pytest.fixture(scope="module")
def pages(tasks: Bench) -> Iterator[Pages]:
    with looking(tasks, NOW) as found:
        yield found


@pytest.fixture(scope="module")
def rows(tasks: Bench) -> list[Row]:
    """Labelled predictions of the window, from the log."""
    with sqlite3.connect(tasks.directory / "log.db") as log:
        log.row_factory = sqlite3.Row
        found = log.execute(
            "SELECT * FROM predictions JOIN labels USING (id) WHERE event_time >= ? AND event_time < ?",
            (to_iso(NOW - 3 * DAY), to_iso(NOW - 2 * DAY)),
        ).fetchall()
    log.close()
    return [dict(row) for row in found]


def numbers_of(text: str, title: str, of: str = " of ") -> list[list[str]]:
    """Cells of the numbers behind a chart, the names first."""
    lines = text[text.index(f'aria-label="Numbers{of}{title}"') :].partition(">")[2].partition("</pre>")[0]
    return [[html.unescape(cell).strip() for cell in line.split("\t")] for line in lines.split("\n")]


def table_of(text: str, label: str) -> list[list[str]]:
    """Cells of the table in a region."""
    table = text[text.index(f'aria-label="{label}"') :].partition("</table>")[0]
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[1:])
    return [[re.sub(r"<svg.*?</svg>|<[^>]+>", " ", cell).strip() for cell in row] for row in cells]


def tile_values(text: str) -> dict[str, str]:
    """Values of the tiles of a page by the code names of their measures."""
    tile = r'<div class="tile" title="(\w+)[^"]*"><span class="k">[^<]*</span><span class="v">([^<]*?)\s*<'
    return {name: html.unescape(value) for name, value in re.findall(tile, text)}


TEXTS = {
    "performance_of_classes": f"/models/animal/performance?{WINDOW}",
    "performance_of_numbers": f"/models/basket/performance?{WINDOW}",
    "performance_of_segment": f"/models/flight/performance?{WINDOW}&segment=region%3Dnorth",
    "model_of_classes": "/models/animal",
    "compare_arms": "/models/flight/compare",
    "compare_arms_of_numbers": "/models/basket/compare",
    "segments_and_versions": "/models/flight/segments",
}


@pytest.mark.texts
@pytest.mark.parametrize("name", TEXTS)
def test_what_a_page_of_a_task_says(pages: Pages, name: str) -> None:
    page = pages.at(TEXTS[name])

    compare_text(f"page_{name}", f"{page.status} {TEXTS[name]}\n\n{visible_text(page.text)}")


def test_the_confusion_matrix_is_counted_from_the_log(pages: Pages, rows: list[Row]) -> None:
    counts = Counter((row["seen"], row["animal"]) for row in rows)
    _, *body = table_of(pages.at(f"/models/animal/performance?{WINDOW}").text, "Confusion matrix")

    assert [[cell.split()[0] for cell in row[1:]] for row in body] == [
        [f"{counts[actual, said]:,}" for said in NAMES] for actual in NAMES
    ]


def test_the_rates_of_classes_are_scikit_learns(pages: Pages, rows: list[Row]) -> None:
    actual, said = ([row[name] for row in rows] for name in ("seen", "animal"))
    expected = metrics.precision_recall_fscore_support(actual, said, labels=NAMES, zero_division=0)
    _, *body = table_of(pages.at(f"/models/animal/performance?{WINDOW}").text, "Classes")
    told = {row[0]: tuple(row[at].partition("[")[0].strip() for at in (3, 5, 7)) for row in body}

    assert told == {
        name: tuple(
            format_measure_value(measure, float(expected[at][place]))
            for at, measure in enumerate(("precision", "recall", "f1"))
        )
        for place, name in enumerate(NAMES)
    }
    order = [row[0] for row in body]
    assert order == sorted(NAMES, key=lambda name: -actual.count(name))


def test_the_curve_of_a_class_has_the_area_of_scikit_learn(pages: Pages, rows: list[Row]) -> None:
    page = pages.at(f"/models/animal/performance?{WINDOW}")

    for name in NAMES:
        expected = metrics.roc_auc_score(
            [row["seen"] == name for row in rows], [row[f"p_{name}"] for row in rows]
        )
        figure = page.text[page.text.index(f"<h3>{name}</h3>") :].partition("</figure>")[0]
        assert read_back(figure) == pytest.approx(expected, abs=2e-3)
        said = re.search(r"AUC ([\d.]+), against all others", figure)
        assert said is not None
        assert float(said[1]) == pytest.approx(expected, abs=2e-3)


def test_versions_and_segments_are_drawn_together(pages: Pages, rows: list[Row]) -> None:
    page = pages.at(f"/models/flight/performance?{WINDOW}")

    def area(of: list[Row]) -> float:
        return float(metrics.roc_auc_score([row["late"] for row in of], [row["score"] for row in of]))

    for version in ("a-1", "a-2"):
        expected = area([row for row in rows if row["version"] == version])
        assert f"version {version} {expected:.3f}" in page.words
    by_segment = page.text[page.text.index("<h3>ROC by segment</h3>") :].partition("</figure>")[0]
    for region in ("north", "south"):
        expected = area([row for row in rows if row["region"] == region])
        assert f"region={region} {expected:.3f}" in by_segment
    assert (
        "ROC by segment" not in pages.at(f"/models/flight/performance?{WINDOW}&segment=region%3Dnorth").words
    )


def test_errors_of_numbers_are_those_of_the_log(pages: Pages, rows: list[Row]) -> None:
    page = pages.at(f"/models/basket/performance?{WINDOW}")
    error = np.asarray([row["spend"] - row["spent"] for row in rows])
    numbers = {title: numbers_of(page.text, title)[1:] for title in (
        "Predicted against actual", "Absolute error by prediction", "Bias by prediction"
    )}  # fmt: skip

    def mean(table: list[list[str]], column: int) -> float:
        parts = [(float(row[column].replace("\N{MINUS SIGN}", "-")), int(row[3])) for row in table]
        return sum(value * n for value, n in parts) / sum(n for _, n in parts)

    assert {sum(int(row[3]) for row in table) for table in numbers.values()} == {len(rows)}
    assert mean(numbers["Bias by prediction"], 1) == pytest.approx(error.mean(), abs=2e-3)
    assert mean(numbers["Absolute error by prediction"], 1) == pytest.approx(np.abs(error).mean(), abs=2e-3)
    assert mean(numbers["Predicted against actual"], 0) == pytest.approx(
        np.mean([row["spend"] for row in rows]), abs=2e-2
    )
    assert mean(numbers["Predicted against actual"], 1) == pytest.approx(
        np.mean([row["spent"] for row in rows]), abs=2e-2
    )
    cells = numbers_of(page.text, "Errors")[1:]
    low, high = (float(cells[at][0].replace("\N{MINUS SIGN}", "-")) for at in (0, -1))
    assert sum(float(row[1]) for row in cells) * (high - low) / 49 == pytest.approx(1.0, abs=0.02)


def test_of_many_classes_the_frequent_are_shown_and_the_others_are_one() -> None:
    rng = np.random.default_rng(1)
    counts = np.zeros((31, 31), dtype=np.int64)
    counts[:30, :30] = rng.integers(0, 50, (30, 30))
    counts[3, 30] = 7
    table = confusion_table(ConfusionCounts(tuple(f"c{at}" for at in range(30)), counts))
    cells = [[int(records.replace(",", "")) for records, _, _ in row] for row in table.rows]
    frequent = sorted(range(30), key=lambda at: -counts[at].sum())[:MOST]

    assert table.left_out == 10
    assert table.classes == (*(f"c{at}" for at in frequent), "10 others", "unseen")
    assert sum(map(sum, cells)) == counts.sum()
    assert cells[0][0] == counts[frequent[0], frequent[0]]
    assert sum(cells[20]) == counts[[at for at in range(30) if at not in frequent]].sum()


def test_shares_of_classes_that_no_reference_tells_are_none() -> None:
    names = ("ant", "bee", "cat")
    now, unlabelled = (ConfusionCounts(names, np.full((4, 4), count)) for count in (5, 0))

    for of_reference in (None, unlabelled):
        rows = class_rows(now, [], of_reference)
        assert [(row.reference, row.words) for row in rows] == [(None, "25.0 %")] * 3


@pytest.mark.parametrize("name", ["animal", "basket", "flight"])
def test_the_tiles_are_those_of_show(tasks: Bench, pages: Pages, name: str) -> None:
    done = tasks.monitor("show", "--model", name, "--window", "1d", "--history", "--format", "json", "--all")
    kept = {
        row["measure"]: row["value"]
        for row in json.loads(done.stdout)
        if row["window_end"] == to_iso(NOW - 2 * DAY)
        and row["truth"] == "settled"
        and not (row["subject"] or row["against"] or row["segment"] or row["version"])
    }
    tiles = tile_values(pages.at(f"/models/{name}/performance?{WINDOW}").text)

    assert len(tiles) > 3
    assert tiles == {measure: format_measure_value(measure, kept[measure]) for measure in tiles}


@pytest.mark.parametrize("name", ["animal", "basket", "flight"])
@pytest.mark.parametrize("page", PARTS)
def test_pages_of_every_task_are_whole(pages: Pages, name: str, page: str) -> None:
    assert_whole(pages.at(f"/models/{name}{page}"))


def printed(tasks: Bench, measure: str) -> list[list[str]]:
    """Cells of the last table that show prints of what was known at the window's settling."""
    asked = ("--model", "flight", "--window", "1d", "--measure", measure, "--as-of", to_iso(NOW))
    done = tasks.monitor("show", *asked)
    assert done.exit_code == 0, done.stderr
    window = f"flight, 1d to {to_iso(NOW - 2 * DAY)[:10]}, settled"
    blocks = [block for block in re.split(r"\n(?=flight, 1d)", done.stdout) if block.startswith(window)]
    lines = [line.strip() for line in blocks[-1].splitlines() if line.startswith("    ")]
    return [re.split(r"\s{2,}", line) for line in lines]


def test_show_prints_the_confusion_matrix_and_deciles(tasks: Bench, rows: list[Row]) -> None:
    said = [int(row["score"] >= 0.5) for row in rows]
    expected = metrics.confusion_matrix([row["late"] for row in rows], said).tolist()
    (_, *body), gains, lifts = (printed(tasks, name) for name in ("confusion_matrix", "gain", "lift"))

    assert [[int(cell) for cell in row[1:3]] for row in body] == expected
    assert gains[0] == ["decile", "records", "positives", "gain", "cumulative_gain"]
    assert lifts[0] == ["decile", "records", "positives", "lift", "cumulative_lift"]
    ordered = sorted(rows, key=lambda row: -row["score"])
    half = sum(row["late"] for row in ordered[: len(rows) // 2]) / sum(row["late"] for row in rows)
    assert float(gains[5][4].removesuffix(" %")) == pytest.approx(100 * half, abs=1.5)


def test_show_prints_the_kept_roc_curve_whole(tasks: Bench, rows: list[Row]) -> None:
    heads, *points = printed(tasks, "roc_curve")
    x, y = (np.asarray([float(point[at]) for point in points]) for at in (1, 2))
    expected = metrics.roc_auc_score([row["late"] for row in rows], [row["score"] for row in rows])

    assert heads == ["threshold", "false_positive_rate", "true_positive_rate"]
    assert 20 < len(points) <= 200
    assert trapezoid(y, x) == pytest.approx(expected, abs=2e-3)


def test_kept_windows_have_whole_curves_and_cells_and_current_ones_do_not(tasks: Bench) -> None:
    with tasks.app() as app:
        history = app.store.snapshots.read_snapshot_rows(model="flight", window="1d", segment="", version="")
        current = [stored.row for stored in app.store.current.read_current("flight")]
    kept = [stored.row for stored in history if stored.row.window_end % DAY == 0 and not stored.row.against]
    indices = [row.measurement for row in kept if row.measure == "stability_index"]
    areas = [row.measurement for row in kept if row.measure == "roc_auc" and row.truth == "settled"]

    for index in indices:
        if index.value is not None:
            assert index.detail is not None
            parts = [float(row[3] or 0) for row in index.detail.rows]
            assert sum(parts) == pytest.approx(index.value, abs=1e-4)
    assert max(len(index.detail.rows) for index in indices if index.detail is not None) > 5
    assert len(areas) > 5
    for one in areas:
        assert one.detail is not None
        assert one.value is not None
        x, y = (np.asarray([float(row[at] or 0) for row in one.detail.rows]) for at in (1, 2))
        assert trapezoid(y, x) == pytest.approx(one.value, abs=1e-3 + one.resolution)
    assert {row.measure for row in kept if row.measurement.detail and row.measure == "ks_separation"}
    sketches = [row.measurement.detail for row in current if row.measurement.detail and not row.against]
    assert max(len(detail.rows) for detail in sketches) <= 25


@pytest.mark.parametrize("name", ["flight", "basket"])
def test_arms_by_week_are_counted_from_the_log(tasks: Bench, pages: Pages, name: str) -> None:
    label = {"flight": "late", "basket": "spent"}[name]
    with sqlite3.connect(tasks.directory / "log.db") as log:
        rows = log.execute(
            f"SELECT event_time, arm, {label} FROM predictions JOIN labels USING (id)"
        ).fetchall()
    log.close()
    first, *others = numbers_of(pages.at(f"/models/{name}/compare").text, "Outcome by week", ": ")[1:]
    week = to_iso(from_iso(others[0][0]))
    after = to_iso(from_iso(others[0][0]) + 7 * DAY)
    measure = {"flight": "control_outcome_rate", "basket": "control_outcome_mean"}[name]
    told = {"0": others[0][1:3], "1": others[0][3:5]}

    assert first
    for arm, cells in told.items():
        values = [value for at, of, value in rows if of == arm and week <= at < after]
        assert cells == [format_measure_value(measure, float(np.mean(values))), f"{len(values):,}"]


def test_segments_and_versions_are_those_of_show(tasks: Bench, pages: Pages) -> None:
    done = tasks.monitor("show", "--model", "flight", "--window", "1d", "--all", "--format", "json")
    expected = {
        (row["segment"] or (f"version {row['version']}" if row["version"] else "all records")): (
            format_measure_value("roc_auc", row["value"]),
            f"roc_auc {format_interval_bounds('roc_auc', measured(row).interval)} of {row['n']:,}",
        )
        for row in json.loads(done.stdout)
        if row["measure"] == "roc_auc"
        and row["truth"] == "settled"
        and not (row["against"] or row["subject"])
    }
    text = pages.at("/models/flight/segments").text
    cells = re.findall(
        r'<th scope="row" data-v="([^"]*)">.*?title="([^"]*)">.*?<b>([^<]*)</b>', text, re.DOTALL
    )

    assert {name: (value, exact) for name, exact, value in cells} == expected
    assert {"all records", "version a-1", "region=north"} <= set(expected)


def test_the_log_says_what_show_says_of_it_and_no_zeros(tasks: Bench, pages: Pages) -> None:
    done = tasks.monitor("show", "--model", "flight", "--all", "--format", "json")
    figures = {
        row["measure"]: row["value"]
        for row in json.loads(done.stdout)
        if row["window"] is None and not row["subject"] and row["value"] is not None
    }
    page = pages.at("/models/flight/log")

    assert f"Newest row {local_moment_words(NOW - round(figures['log_age'] * 1e6))}" in page.words
    assert f"Labels are final {delay_words(figures['settling_age'])} after" in page.words
    assert all(not figures[name] for name in _ODD)
    assert 'aria-label="What is odd"' not in page.text
    assert "No repeated, late or unreadable rows." in page.words


def measured(row: Row) -> Measurement:
    """The result of a row of show."""
    bounds = None if row["lower"] is None else Interval(row["lower"], row["upper"])
    return Measurement(row["value"], row["n"], interval=bounds)


def test_as_known_then_curves_are_drawn_by_what_was_kept(pages: Pages, rows: list[Row]) -> None:
    page = pages.at(f"/models/flight/performance?{WINDOW}&as_of={to_iso(NOW)}")
    now = pages.at(f"/models/flight/performance?{WINDOW}")
    expected = metrics.roc_auc_score([row["late"] for row in rows], [row["score"] for row in rows])

    assert "Curves are sketches: those that were known then." in page.words
    figure = page.text[page.text.index("<h3>ROC</h3>") :].partition("</figure>")[0]
    assert read_back(figure) == pytest.approx(expected, abs=2e-3)
    apart = [re.search(r">(0\.\d{3}) at ([\d.]+)</text>", each.text) for each in (page, now)]
    assert [one is None for one in apart] == [False, False]
    assert len({one.groups() for one in apart if one is not None}) == 1
    assert {"K-S chart", "Precision and recall", "Profit", "Gain", "Lift"} <= set(
        re.findall(r"<h3>(.*?)</h3>", page.text)
    )


def test_a_window_whose_panes_are_gone_is_drawn_by_what_was_kept(
    tasks: Bench, pages: Pages, tmp_path: Path
) -> None:
    bench = copied(tasks, tmp_path)
    with bench.app() as app, write_transaction(app.store.engine) as connection:
        connection.exec_driver_sql("DELETE FROM panes")
    with looking(bench, NOW) as found:
        page = found.at(f"/models/flight/performance?{WINDOW}")

    assert "are gone: only what was measured then is shown." in page.words
    then = pages.at(f"/models/flight/performance?{WINDOW}&as_of={to_iso(NOW)}")
    drawn = r'<svg class="plot".*?</svg>'
    assert re.findall(drawn, page.text) == re.findall(drawn, then.text) != []


def test_the_newest_values_are_those_of_the_rows(tasks: Bench) -> None:
    with tasks.app() as app:
        which = ChartedRows(window="1d", after=0, until=NOW, measures=("stability_index", "records"))
        found = app.store.charts.read_charted_values("flight", which)
        rows = newest_revisions(app.store.charts.read_charted_rows("flight", which))
        which = replace(which, measures=("roc_auc", "accuracy"))
        revised, of_them = (
            app.store.charts.read_charted_rows("flight", which),
            app.store.charts.read_charted_rows("flight", replace(which, newest=True)),
        )

    assert set(of_them) == set(newest_revisions(revised)) != set(revised)
    expected: dict[tuple[str, str], dict[int, float | None]] = {}
    for stored in rows:
        if not stored.row.against:
            expected.setdefault((stored.row.measure, stored.row.subject), {})[stored.row.window_end] = (
                stored.row.measurement.value
            )
    assert found == expected
    assert len(found) > 3


def test_differences_by_week_and_window_bear_their_signs_and_are_in_points(
    tasks: Bench, pages: Pages
) -> None:
    page = pages.at("/models/flight/compare").text
    rows = json.loads(pages.at("/models/flight/compare.json").text)

    told = [one for one in rows if "difference" in one["measure"] and one["value"] is not None]
    assert {one["measure"] for one in told} >= {
        "challenger_auc_difference",
        "outcome_rate_difference_always_valid",
    }
    for one in told:
        cell = re.escape(format_measure_difference(one["measure"], one["value"]))
        assert re.search(rf"\t{cell}\s", page), one["measure"]


@pytest.mark.parametrize("name", ["flight", "animal", "basket"])
def test_a_report_reads_the_main_measure_of_segments_with_its_difference(pages: Pages, name: str) -> None:
    data = pages.kept.data
    period, seen = resolve_report_period(data, name, AskedPeriod(window="1d", end=NOW - 2 * DAY), None)

    rows = [stored.row for stored in _period_rows(data, name, period, None, measure=seen.main)]

    assert {(row.measure, row.window_end) for row in rows} == {(seen.main, period.end)}
    assert all(row.segment for row in rows)
    assert {row.against for row in rows} == {"", "reference"}
