"""The page of one feature: its charts are its counts, its figures those of show."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from looked_at import END, OPTIONS, START, Pages, copied, looking
from serving import Bench, model, predictions, reference, sqlite_bench

from monitor.app.model_cycles import run_single_cycle
from monitor.app.pages.window_counts import sum_span_panes
from monitor.charts.plot import draw_plot
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.core.text import number_text
from monitor.measures.value_words import format_measure_value
from monitor.pages.features import feature_charts
from monitor.pages.features.cell_weeks import MOST, WEEK
from monitor.pages.features.feature_charts import ComparedCells
from monitor.pages.figures import Figure
from monitor.pages.page_request import CountedWindow
from monitor.records.pane import PanePart
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import make_plain_counting
from monitor.states.counters import Counters
from monitor.states.grids import NumericGrid, feature_grid
from monitor.states.strata import WHOLE

AMOUNT = "/models/late/feature?name=amount&window=month&end=2024-04-01"
GROUP = "/models/late/feature?name=group&window=month&end=2024-04-01"


@pytest.fixture(scope="module")
def pages(bench: Bench) -> Iterator[Pages]:
    with looking(bench) as found:
        yield found


def kept(bench: Bench, subject: str) -> dict[str, dict[str, Any]]:
    """What show says of a feature in March."""
    done = bench.monitor(
        "show", "--model", "late", "--window", "month", "--all", "--history", "--format", "json"
    )
    return {
        row["measure"]: row
        for row in json.loads(done.stdout)
        if row["subject"] == subject
        and row["window_end"] == "2024-04-01T00:00:00Z"
        and not (row["against"] or row["segment"] or row["version"])
    }


def test_an_hour_without_records_leaves_its_weeks_counts_as_they_are() -> None:
    counting = make_plain_counting(
        ReadingOptions(task=ModelTask.BINARY, classes=("0", "1"), has_score=True, score_range=(0.0, 1.0))
    )
    layout, name = counting.records_layout, counting.records_layout.blocks[0].name
    ones = Counters.from_dense(layout, np.ones(layout.size, dtype=np.int64))
    panes = {at * HOUR: PanePart(at * HOUR, {WHOLE: ones} if at % 2 else {}) for at in range(4)}
    window = CountedWindow(counting=counting, strata={}, reference=None, panes=panes, lost=0)
    store: Any = SimpleNamespace(panes=SimpleNamespace(load_panes=lambda *_given: {}))

    first, second = sum_span_panes(store, "late", window, name, [0, 4 * HOUR, 5 * HOUR])

    assert first is not None
    assert first.tolist() == (2 * ones.dense_block(name)).tolist()
    assert second is None


def cells_of(text: str) -> list[list[str]]:
    """Rows of the table of cells: name, index, window, reference."""
    table = text[text.index('aria-label="What bands of values add to the stability index"') :].partition(
        "</table>"
    )[0]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", table)
    return [[name, *re.findall(r'<td class="num">(.*?)</td>', rest)] for name, rest in rows]


@pytest.mark.parametrize(("address", "subject"), [(AMOUNT, "feature:amount"), (GROUP, "feature:group")])
def test_the_tiles_of_a_feature_are_those_of_show(
    bench: Bench, pages: Pages, address: str, subject: str
) -> None:
    rows, page = kept(bench, subject), pages.at(address)
    names = {"stability_index", "ks_distance", "mean", "missing_rate", "unseen_rate", "invalid_rate"} & set(
        rows
    )
    tiles = dict(re.findall(r'<div class="tile"><dt>(.*?)</dt><dd>(.*?) <span', page.text))

    assert {"stability_index", "missing_rate"} <= names
    assert {name: tiles[name].replace("&lt;", "<") for name in names} == {
        name: format_measure_value(name, rows[name]["value"]) for name in names
    }
    plain = {row["measure"]: row["value"] for row in pages.at(address.replace("?", ".json?")).plain()}
    assert {name: plain[name] for name in names} == {name: rows[name]["value"] for name in names}


def test_the_cells_of_a_category_are_counted_from_the_log(bench: Bench, pages: Pages) -> None:
    march = [row["group"] for row in predictions(1_600, START, END) if row["event_time"] < "2024-04-01"]
    now, then = Counter(march), Counter(row["group"] for row in reference())
    told = {name: cells for name, *cells in cells_of(pages.at(GROUP).text)}

    assert {name: cells[1:] for name, cells in told.items()} == {
        name: [
            format_measure_value("missing_rate", now[name] / len(march)),
            format_measure_value("missing_rate", then[name] / sum(then.values())),
        ]
        for name in now
    }


def test_all_cells_of_the_index_add_up_to_it(bench: Bench, pages: Pages) -> None:
    index = kept(bench, "feature:amount")["stability_index"]["value"]
    told = [cells[1] for cells in cells_of(pages.at(AMOUNT).text)]
    parts = [0.0 if part == "&lt; 0.0001" else float(part) for part in told]

    assert len(parts) == 10
    assert parts == sorted(parts, reverse=True)
    assert 0.999 * index <= sum(parts) + 0.0001 * parts.count(0.0) <= 1.001 * index + 0.0001


def test_the_weeks_of_a_feature_are_counted_from_the_log(pages: Pages) -> None:
    rows = predictions(1_600, START, END)
    begins = [END - at * WEEK for at in range(MOST, 0, -1)]
    weeks = [[row["group"] for row in rows if at <= from_iso(row["event_time"]) < at + WEEK] for at in begins]
    weeks = [week for week in weeks if week]
    text = pages.at(GROUP).text
    table = text[text.index('aria-label="Shares of the bands by week"') :].partition("</table>")[0]
    heads = re.findall(r'<th scope="col">(.*?)</th>', table)[1:]
    body = [re.findall(r"<td>(.*?)</td>", row)[1:] for row in table.split("<tr>")[2:]]

    assert body == [
        [format_measure_value("missing_rate", Counter(week)[name] / len(week)) for name in heads]
        for week in weeks
    ]


def test_as_known_then_a_feature_has_what_was_kept(pages: Pages) -> None:
    page = pages.at("/models/late/feature?name=amount&window=7d&end=2024-03-21&as_of=2024-03-25")

    assert "Counts are those of now alone: as known then only what was kept is shown." in page.words
    assert "stability_index of windows of 7d" in page.words
    assert "Cumulative distribution" not in page.words


def test_an_unknown_feature_is_told_so(pages: Pages) -> None:
    page = pages.at("/models/late/feature?name=amuont")

    assert page.status == 404
    assert 'there is no feature "amuont": there is "amount", "group"; did you mean "amount"?' in page.words


def test_the_features_lead_to_their_pages_and_the_tab_stays(pages: Pages) -> None:
    links = [
        attributes.get("href") or ""
        for tag, attributes in pages.at("/models/late/features").elements
        if tag == "a" and "/feature?" in (attributes.get("href") or "")
    ]
    page = pages.at(links[0])

    assert len(links) == 2
    assert page.status == 200
    assert re.search(r'aria-current="page">Inputs<', page.text)


def read_back(figure: Figure, mark: str) -> list[tuple[float, float]]:
    """Points of a path, from the picture, in the units of its axes."""
    plot = figure.plot
    path = re.search(rf'<path class="{mark}" d="M([^"Z]*)', draw_plot(plot))
    assert path is not None
    points = [tuple(map(float, pair.split())) for pair in path[1].split("L")]
    wide, tall = plot.x.high - plot.x.low, plot.y.high - plot.y.low
    return [(plot.x.low + x / 1000 * wide, plot.y.low + (1 - y / plot.height) * tall) for x, y in points]


def compared_of(then: np.ndarray, now: np.ndarray) -> tuple[ComparedCells, NumericGrid]:
    grid = feature_grid(then)
    none = np.zeros(1, dtype=bool)
    counted = [
        np.bincount(grid.value_cells(values, none.repeat(len(values))), minlength=grid.size)[
            : grid.regular_size
        ]
        for values in (now, then)
    ]
    compared = ComparedCells.from_counts("x", grid, counted[0], counted[1], "now")
    assert compared is not None
    return compared, grid


@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from(["normal", "heavy", "few"])
)
def test_a_drawn_distribution_is_the_counts_and_the_distance_scipys(
    seed: int, apart: float, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    then, now = rng.normal(size=2_000), rng.normal(apart, 1.0, size=500)
    if kind == "heavy":
        then, now = np.exp(3 * then), np.exp(3 * now)
    if kind == "few":
        then, now = np.round(then), np.round(now)
    compared, grid = compared_of(then, now)
    curve = read_back(feature_charts.draw_cumulative(compared, "d"), "line main")
    then_curve = read_back(feature_charts.draw_cumulative(compared, "d"), "line reference")
    apart_most = max(abs(a[1] - b[1]) for a, b in zip(curve, then_curve, strict=True))
    exact = scipy.stats.ks_2samp(then, now).statistic
    edges = np.asarray(grid.edges)
    at_edges = max(abs(np.mean(now < edge) - np.mean(then < edge)) for edge in edges)

    assert apart_most == pytest.approx(at_edges, abs=1e-3)
    assert apart_most <= exact + 1e-3
    figure = feature_charts.draw_distribution(compared)
    if kind == "few":
        first = [row[0] for row in figure.rows].index("0")
        assert figure.rows[first][1:] == tuple(
            format_measure_value("missing_rate", float(np.mean(x == 0))) for x in (now, then)
        )
        return
    outline = read_back(figure, "line main")
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(outline))
    low, high = outline[0][0], outline[-1][0]
    wide = (high - low) / 1000
    assert np.mean((now >= low + wide) & (now < high - wide)) - 0.02 <= area
    assert area <= np.mean((now >= low - wide) & (now < high + wide)) + 0.02
    assert len(outline) <= 4 * 31


def test_tails_that_take_most_of_the_room_are_told_in_words() -> None:
    then = np.concatenate([np.linspace(0, 1, 2_000), [1e6]])
    compared, _ = compared_of(then, np.concatenate([np.linspace(0, 1, 90), np.full(10, 1e5)]))
    figure = feature_charts.draw_distribution(compared)

    assert figure.plot.x.high <= 1
    beyond = figure.plot.x.high
    now, before = 10 / 100 + np.mean(np.linspace(0, 1, 90) >= beyond) * 0.9, np.mean(then >= beyond)
    told = [format_measure_value("missing_rate", float(share)) for share in (now, before)]
    assert f"; {told[0]} lie from {number_text(beyond)} on (reference {told[1]})" in figure.note


def test_a_constant_is_drawn_as_one_value() -> None:
    compared, _ = compared_of(np.full(100, 4.0), np.full(30, 4.0))
    figure = feature_charts.draw_distribution(compared)

    assert figure.rows == (("4", "100 %", "100 %"),)
    assert draw_plot(feature_charts.draw_cumulative(compared, "0").plot)


def test_where_versions_have_references_of_their_own_the_figures_are_the_kept_ones(tmp_path: Path) -> None:
    own = '[models.reference.versions.a]\nquery = "SELECT * FROM reference WHERE amount > 100"\n'
    text = model(options=OPTIONS, predictions='version = "group"').replace(
        "[models.features]", own + "[models.features]"
    )
    bench = sqlite_bench(tmp_path, predictions(400, START, START + 8 * DAY), text)
    with bench.app() as app:
        assert run_single_cycle(app, "late", START + 8 * DAY).error is None
    done = bench.monitor("show", "--all", "--window", "7d", "--subject", "feature:amount", "--format", "json")
    (index,) = (
        row["value"] for row in json.loads(done.stdout)
        if row["measure"] == "stability_index" and not (row["version"] or row["segment"] or row["against"])
    )  # fmt: skip

    with looking(bench, START + 8 * DAY) as pages:
        page = pages.at("/models/late/feature?name=amount&window=7d")

    tiles = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*?) <span", page.text))
    assert tiles["stability_index"] == format_measure_value("stability_index", index)
    assert "each version has a reference of its own" in page.words


def test_with_a_season_pages_say_what_rules_judge(bench: Bench, tmp_path: Path) -> None:
    seasonal = copied(bench, tmp_path)
    text = seasonal.config.read_text(encoding="utf-8")
    reference = 'table = "reference"\n'
    seasonal.config.write_text(text.replace(reference, f'{reference}season = "week"\n', 1), encoding="utf-8")
    said = "The season is the same phase of earlier weeks."

    with looking(seasonal) as pages:
        assert said in pages.at(AMOUNT).words
        assert said in pages.at("/models/late/features").words
