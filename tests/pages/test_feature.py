"""The page of one feature: its charts are its counts, its figures those of show."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from looked_at import END, OPTIONS, START, Pages, assert_whole, copied, looking
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.model_cycles import run_single_cycle
from monitor.app.pages.window_counts import sum_span_panes
from monitor.charts.plot import draw_plot
from monitor.core.clock import DAY, HOUR, from_iso, to_datetime
from monitor.core.text import number_text
from monitor.measures.value_words import approximate_text, format_measure_value
from monitor.pages.features import feature_charts
from monitor.pages.features.feature_charts import ComparedCells
from monitor.pages.features.feature_series import express_in_unit
from monitor.pages.figures import Figure
from monitor.pages.page_request import ChartedDay, CountedWindow
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


@pytest.fixture(scope="module")
def judged(inputs: Bench) -> Iterator[Pages]:
    with looking(inputs) as found:
        yield found


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


def moved_of(text: str) -> dict[str, list[str]]:
    """Rows of the table of what moved: by name the share before and now."""
    table = text[text.index("Where it moved") :].partition("</table>")[0]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table)
    return {name: re.findall(r'<td class="num">(?:<b>)?(.*?)(?:</b>)?</td>', rest) for name, rest in rows}


def shares(rows: list[dict[str, Any]]) -> dict[str, str]:
    counted = Counter(row["group"] for row in rows)
    return {
        name: format_measure_value("missing_rate", counted[name] / len(rows)) if rows else ""
        for name in "abc"
    }


def test_where_it_moved_is_counted_from_the_log(pages: Pages) -> None:
    rows = predictions(1_600, START, END)
    day = from_iso("2024-04-03")
    of_days = {
        at: [row for row in rows if at <= from_iso(row["event_time"]) < at + DAY]
        for at in range(START, END, DAY)
    }
    page = pages.at("/models/late/feature?name=group&end=2024-04-04")
    found = re.search(r"line: (\d+) Wednesdays before", page.words)
    assert found is not None
    many = int(found[1])
    before = [row for week in range(1, many + 1) for row in of_days[day - 7 * week * DAY]]

    assert many >= 2
    assert moved_of(page.text) == {
        name: [shares(before)[name], shares(of_days[day])[name]] for name in moved_of(page.text)
    }
    assert set(moved_of(page.text)) == {"a", "b", "c"}


def test_the_bands_of_a_day_are_counted_from_the_log(pages: Pages) -> None:
    rows = [
        row
        for row in predictions(1_600, START, END)
        if from_iso("2024-04-03") <= from_iso(row["event_time"]) < from_iso("2024-04-04")
    ]
    text = pages.at("/models/late/feature?name=group&end=2024-04-04").text
    table = text[text.index("Bands, day by day") :].partition("</table>")[0]
    told = dict(re.findall(r'<th scope="row">(\w+)</th>.*?<td class="num">(.*?)</td>', table))

    assert told == shares(rows)
    assert f"Wed 3 Apr · a: {shares(rows)['a']} of the records" in text


def test_the_shares_of_a_month_are_those_of_its_records(pages: Pages) -> None:
    march = [row for row in predictions(1_600, START, END) if row["event_time"] < "2024-04-01"]
    page = pages.at(GROUP)

    assert {name: told[1] for name, told in moved_of(page.text).items()} == shares(march)
    assert "bar: March 2024 · line: training" in page.words, "no day before it is known"


def test_the_days_of_a_number_are_its_exact_means(judged: Pages) -> None:
    rows = predictions(2_400, START, END)
    page = judged.at("/models/late/feature?name=amount&of=level")
    numbers = page.text[page.text.index('aria-label="Numbers: Mean by day"') :].partition("</pre>")[0]
    told = re.findall(r"\n(\w{3} \d+ \w{3})\s*\t([\d.]+)\s*\t(\S+)", numbers)
    by_day: dict[str, list[float]] = {}
    for row in rows:
        by_day.setdefault(_day_name(from_iso(row["event_time"])), []).append(row["amount"])

    assert len(told) >= 30
    assert [value for _, value, _ in told] == [
        approximate_text(float(np.mean(by_day[day]))) for day, *_ in told
    ]
    assert {known for _, _, known in told[:14]} == {"not"}, "the first days are learned from"


charted_levels = st.lists(
    st.tuples(st.floats(-3, 3), st.one_of(st.none(), st.floats(-2, 2)), st.floats(-0.3, 0.3)),
    min_size=10, max_size=40,
)  # fmt: skip


@given(charted_levels, st.floats(0.01, 100), st.floats(-1e3, 1e3))
def test_a_mean_is_on_the_side_of_its_band_on_which_it_was_judged_to_be(
    drawn: list[tuple[float, float | None, float]], scale: float, centre: float
) -> None:
    """Means follow levels up to what far numbers add."""
    nan = math.nan
    levels = [
        ChartedDay(at, at, at + 1, value, nan if band is None else band, nan if band is None else band + 1)
        for at, (value, band, _) in enumerate(drawn)
    ]
    means = {at: centre + scale * (value + noise) for at, (value, _, noise) in enumerate(drawn)}
    found = express_in_unit(levels, means)

    if found is None:
        values = [value for value, *_ in drawn], list(means.values())
        assert min(map(np.ptp, values)) < 1e-6 or np.corrcoef(*values)[0, 1] < 0.9
        return
    assert [one.value for one in found] == list(means.values())
    slack = 1e-9 * (abs(centre) + 100 * scale)
    for before, after in zip(levels, found, strict=True):
        if math.isnan(before.low):
            assert math.isnan(after.low)
        elif before.low + 1e-6 < before.value < before.high - 1e-6:
            assert after.low - slack <= after.value <= after.high + slack
        elif before.value > before.high + 1e-6:
            assert after.value > after.high - slack
        elif before.value < before.low - 1e-6:
            assert after.value < after.low + slack


def test_levels_that_a_few_far_numbers_would_lead_astray_stay_levels() -> None:
    rng = np.random.default_rng(5)
    levels = [
        ChartedDay(at, at, at + 1, float(value), -1.0, 1.0) for at, value in enumerate(rng.normal(size=40))
    ]

    assert express_in_unit(levels, {at: float(10 ** abs(rng.normal(0, 3))) for at in range(40)}) is None
    assert express_in_unit(levels, dict.fromkeys(range(5), 2.0)) is None


def _day_name(moment: int) -> str:
    date = to_datetime(moment)
    return f"{date:%a} {date.day} {date:%b}"


def test_what_is_as_expected_says_the_value_and_what_is_usual(judged: Pages) -> None:
    page = judged.at("/models/late/feature?name=group")

    assert "group is as expected" in page.words
    assert re.search(
        r"Share of . [\d.]+ % on Tue 9 Apr; Tuesdays are usually [\d.]+ % to [\d.]+ %", page.words
    )
    assert_whole(page)


def test_what_changed_is_said_first_with_its_incident(judged: Pages) -> None:
    page = judged.at("/models/late/feature?name=amount")

    assert "Warning since 8 Apr" in page.words
    assert "amount is missing in every record since 8 Apr" in page.words
    assert "/models/late/incidents/2024-04-08-inputs-missing" in page.text
    assert "Missing by day" in page.words
    assert_whole(page)


def test_a_day_of_the_past_is_named_and_leads_back(judged: Pages) -> None:
    page = judged.at("/models/late/feature?name=amount&of=level&end=2024-04-04")

    assert re.search(r"Mean [\d.]+ on Wed 3 Apr; Wednesdays are usually", page.words)
    assert 'href="/models/late/feature?name=amount">Newest day' in page.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("end=2024-05-01", "end is a moment by 2024-04-10T00:00:00Z"),
        ("of=median", "of is one of"),
        ("range=1d", "range is one of"),
        ("by=mean", "no parameter"),
    ],
)
def test_what_the_page_does_not_know_is_refused(judged: Pages, query: str, said: str) -> None:
    page = judged.at(f"/models/late/feature?name=amount&{query}")

    assert page.status in (400, 404)
    assert said in page.words


def test_as_known_then_distributions_are_not_shown(pages: Pages) -> None:
    page = pages.at("/models/late/feature?name=amount&window=7d&end=2024-03-21&as_of=2024-03-25")

    assert "Distributions are counted as of now: as known then they are not shown." in page.words
    assert "Where it moved" not in page.words


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
def test_a_drawn_distribution_is_the_counts(seed: int, apart: float, kind: str) -> None:
    rng = np.random.default_rng(seed)
    then, now = rng.normal(size=2_000), rng.normal(apart, 1.0, size=500)
    if kind == "heavy":
        then, now = np.exp(3 * then), np.exp(3 * now)
    if kind == "few":
        then, now = np.round(then), np.round(now)
    compared, _ = compared_of(then, now)
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


def test_the_days_before_are_drawn_beside(pages: Pages) -> None:
    compared, _ = compared_of(np.linspace(0, 1, 1_000), np.linspace(0, 1, 90))
    beside = replace(compared, before=compared.then, days_before="6 Tuesdays before", kind="warning")
    figure = feature_charts.draw_distribution(beside)

    assert [key.text for key in figure.legend] == ["now", "6 Tuesdays before", "reference"]
    assert [key.kind for key in figure.legend] == ["warning", "main", "reference"]
    assert read_back(figure, "line main") == read_back(figure, "line reference")
    assert all(before == then for *_, before, then in figure.rows)


def test_where_versions_have_references_of_their_own_distributions_are_not_shown(tmp_path: Path) -> None:
    own = '[models.reference.versions.a]\nquery = "SELECT * FROM reference WHERE amount > 100"\n'
    text = model(options=OPTIONS, predictions='version = "group"').replace(
        "[models.features]", own + "[models.features]"
    )
    bench = sqlite_bench(tmp_path, predictions(400, START, START + 8 * DAY), text)
    with bench.app() as app:
        assert run_single_cycle(app, "late", START + 8 * DAY).error is None

    with looking(bench, START + 8 * DAY) as pages:
        page = pages.at("/models/late/feature?name=amount&window=7d")

    assert page.status == 200
    assert "each version has a reference of its own" in page.words
    assert "Its days are compared from the 14th day on." in page.words


def test_against_training_says_the_index_that_is_kept(bench: Bench, pages: Pages) -> None:
    done = bench.monitor("show", "--model", "late", "--all", "--window", "7d", "--format", "json")
    (index,) = (
        row["value"] for row in json.loads(done.stdout)
        if (row["measure"], row["subject"]) == ("stability_index", "feature:amount")
        if not (row["version"] or row["segment"] or row["against"])
    )  # fmt: skip
    page = pages.at("/models/late/feature?name=amount")

    assert f"PSI {format_measure_value('stability_index', index)} in the week to" in page.words


def test_with_a_season_the_page_says_what_rules_judge(bench: Bench, tmp_path: Path) -> None:
    seasonal = copied(bench, tmp_path)
    text = seasonal.config.read_text(encoding="utf-8")
    reference = 'table = "reference"\n'
    seasonal.config.write_text(text.replace(reference, f'{reference}season = "week"\n', 1), encoding="utf-8")

    with looking(seasonal) as pages:
        assert pages.at(AMOUNT).status == 200
