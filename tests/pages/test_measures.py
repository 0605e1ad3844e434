"""Any measure over time, any whole days: figures are those of `monitor show`, and no page is heavy."""

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from kept_texts import compare_cases
from looked_at import Pages, looking, visible_text
from serving import Bench

from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_row import newest_revisions
from monitor.measures.value_words import format_measure_value
from monitor.pages.page_templates import ASSETS, figure_numbers, read_asset
from monitor.specs.stored_rows import ChartedRows

NAMES = "window_end", "truth", "segment", "version", "measure", "subject", "against"
VALUES = "value", "reason", "n", "lower", "upper"
MOST_BYTES = 60_000  # packed, with sheet and script


@pytest.fixture(scope="module")
def pages(bench: Bench) -> Iterator[Pages]:
    with looking(bench) as found:
        yield found


@pytest.fixture(scope="module")
def shown(bench: Bench) -> list[dict[str, Any]]:
    """All current rows, as the command prints them."""
    done = bench.monitor("show", "--model", "late", "--all", "--format", "json")
    assert done.exit_code == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def figures(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps([row[name] for name in (*NAMES, *VALUES)]) for row in rows)


@pytest.mark.parametrize("window", ["1d", "7d", "month", "log"])
def test_all_measures_of_a_window_are_those_of_show(
    pages: Pages, shown: list[dict[str, Any]], window: str
) -> None:
    own = [row for row in shown if (row["window"] or "log") == window]
    page = pages.at(f"/models/late/measures?window={window}")

    assert own
    found = pages.at(f"/models/late/measures.json?window={window}").plain()
    assert figures(found) == figures(own)
    assert [row for row in own if row not in found] == []  # field by field, what stands behind them too
    for row in own:
        told = (
            f"({row['reason']})"
            if row["value"] is None
            else format_measure_value(row["measure"], row["value"])
        )
        assert row["against"] or f"{told}" in page.words


def test_the_filter_finds_a_feature_and_its_links_lead_to_what_they_name(
    pages: Pages, shown: list[dict[str, Any]]
) -> None:
    page = pages.at("/models/late/measures?window=7d&q=FEATURE:amount")
    links = [
        str(attributes["href"])
        for tag, attributes in page.elements
        if tag == "a" and "/measures/" in (attributes.get("href") or "")
    ]
    own = [row for row in shown if (row["window"], row["subject"]) == ("7d", "feature:amount")]

    assert len(links) == len(own) > 10
    for link, row in zip(links, own, strict=True):
        of = pages.at(link)
        assert (link, of.status) == (link, 200)
        assert f"/measures/{row['measure']}?" in link
        assert "subject=feature%3Aamount" in link


@pytest.mark.parametrize(
    ("query", "which"),
    [
        ("roc_auc?window=1d&range=all", {}),
        ("roc_auc?window=1d&range=all&against=reference", {"against": "reference"}),
        ("stability_index?window=7d&range=all&subject=feature:amount", {"subject": "feature:amount"}),
    ],
)
def test_a_measure_over_time_is_what_was_kept_of_it(
    bench: Bench, pages: Pages, query: str, which: dict[str, str]
) -> None:
    measure, window = query.partition("?")[0], query.partition("window=")[2].partition("&")[0]
    asked = ChartedRows(
        window=window,
        after=0,
        until=1 << 62,
        measures=[measure],
        subjects=(which.get("subject", ""),),
        against=(which.get("against", ""),),
    )
    with bench.app() as app:
        kept = newest_revisions(app.store.charts.read_charted_rows("late", asked))
    page, path = pages.at(f"/models/late/measures/{query}"), query.replace("?", ".json?")
    rows = pages.at(f"/models/late/measures/{path}").plain()

    assert len(rows) == len(kept) > 3
    assert sorted((row["window_end"], row["truth"] or "", row["value"]) for row in rows) == sorted(
        (pair["window_end"], pair["truth"] or "", pair["value"]) for pair in plainly(kept)
    )
    assert BY_NAME[measure].definition.partition(". ")[0].rstrip(".").replace("`", "") in page.words
    assert page.text.count('class="plot"') == 1
    assert ("critical value" in page.words) == (measure == "stability_index")


def plainly(kept: Any) -> Iterator[dict[str, Any]]:
    from monitor.show.plain_rows import plain_row

    yield from map(plain_row, kept)


def test_any_whole_days_are_counted_as_a_window_of_them_is(pages: Pages) -> None:
    month = pages.at("/models/late/performance.json?window=month&end=2024-04-01").plain()
    counted = pages.at("/models/late/performance.json?from=2024-03-01&to=2024-04-01").plain()
    settled = {
        (row["measure"], row["subject"]): row
        for row in month
        if row["truth"] == "settled" and not row["against"]
    }

    same = [row for row in counted if (row["measure"], row["subject"]) in settled]
    assert len(same) > 30
    for row in same:
        kept = settled[row["measure"], row["subject"]]
        assert [row[name] for name in VALUES] == [kept[name] for name in VALUES]


def test_whole_days_have_their_charts_and_their_neighbours(pages: Pages) -> None:
    page = pages.at("/models/late/performance?from=2024-03-05&to=2024-03-20")
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a" and "href" in attributes]

    assert "5 – 19 Mar 2024" in page.words
    assert re.search(r"[\d,]+ labelled records, counted as of 10 Apr 2024\.", page.words)
    assert page.text.count('class="plot"') > 7
    assert "/models/late/performance?window=7d" in links


def test_any_span_is_answered_by_its_newest_panes(pages: Pages) -> None:
    far = pages.at("/models/late/performance?from=1970-01-02&to=2199-01-01")
    all_of_it = pages.at("/models/late/performance.json?from=2024-03-01&to=2024-04-10").plain()
    newest = pages.at("/models/late/performance.json?from=1970-01-02&to=2024-04-10").plain()

    assert (far.status, "No pane of these days has been counted." in far.words) == (200, True)
    assert [row["value"] for row in newest] == [row["value"] for row in all_of_it]


def test_whole_days_as_known_then_are_not_those_of_now(pages: Pages) -> None:
    query = "from=2024-03-05&to=2024-03-20&as_of=2024-03-25"
    page = pages.at(f"/models/late/performance?{query}")

    assert pages.at(f"/models/late/performance.json?{query}").plain() == []
    assert "nothing is stored of them as known then" in page.words
    assert 'class="plot"' not in page.text
    assert 'class="tiles"' not in page.text


WRONG = [
    "measures?window=8d",
    "measures/roc_auk",
    "measures/orphans",
    "measures/stability_index?subject=feature:amuont",
    "performance?from=2024-03-05",
    "performance?from=2024-03-05T01:00Z&to=2024-03-20",
    "performance?from=2024-03-20&to=2024-03-05",
    "performance?from=2024-03-05&to=2024-03-20&window=7d",
]


@pytest.mark.texts
def test_what_cannot_be_shown_is_named(pages: Pages) -> None:
    found = [(address, pages.at(f"/models/late/{address}")) for address in WRONG]

    said = [
        (f"{page.status} {address}", visible_text(page.text).split("Log\n")[-1]) for address, page in found
    ]
    compare_cases("page_wrong_addresses", said)


def test_numbers_of_a_figure_are_text_of_as_many_lines() -> None:
    rows = [(f"{at} Jan", "<b>" if at else "", "0.7") for at in range(61)]
    lines = figure_numbers(("day", "interval", "roc_auc"), rows).split("\n")

    assert [[cell.strip() for cell in line.split("\t")] for line in lines] == [
        ["day", "interval", "roc_auc"],
        *([day, "&lt;b&gt;" if interval else "", value] for day, interval, value in rows),
    ]


def test_no_page_is_heavy(pages: Pages) -> None:
    assets = sum(len(gzip.compress(read_asset(name))) for name in ASSETS)
    for address in (
        "",
        "?window=1d&range=all",
        "/performance",
        "/features?against=training&window=1d",
        "/feature?name=amount",
        "/segments",
        "/compare",
        "/measures",
        "/measures/roc_auc?window=1d",
        "/log",
    ):
        page = pages.at(f"/models/late{address}")
        assert page.status == 200
        assert len(gzip.compress(page.answer.body)) + assets <= MOST_BYTES, address
