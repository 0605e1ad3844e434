"""A report: one file that opens with its period, what was known then beside what is known now."""

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import compare_cases, compare_text
from looked_at import END, copied, looking, visible_text
from serving import Bench

from monitor.alerts.alert_rules import ACKNOWLEDGED, Severity
from monitor.app.pages.store_data import StoreData
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.pages.alert_lists import make_alert_line
from monitor.pages.model_report import render_report_html
from monitor.pages.page_request import PageRequest
from monitor.pages.report_periods import AskedPeriod
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import REPLAYED, HistoryEvent

MONTH = AskedPeriod(window="month")


def test_a_report_is_one_file_that_asks_for_nothing_and_the_same_each_time(
    bench: Bench, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("one.html", "two.html")]
    for file in files:
        done = bench.monitor("report", "--model", "late", "--window", "month", "--output", str(file))
        assert done.exit_code == 0, done.stderr
    text = files[0].read_text(encoding="utf-8")

    assert text == files[1].read_text(encoding="utf-8")
    asking = r"<script|<link|<form|<button|<a (?!class=\"skip\")|src=|url\((?!#hatch)|@import|://"
    assert not re.search(asking, text)
    assert re.search(
        r'http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src', text
    )
    assert re.search(r"<h1>late [^<]* in March 2024\.", text)


@pytest.mark.parametrize("then", [(), ("--as-of", "2024-04-05")])
def test_a_window_s_page_leads_to_the_file_that_the_command_writes(
    bench: Bench, tmp_path: Path, then: tuple[str, ...]
) -> None:
    file, query = tmp_path / "report.html", "window=month&end=2024-04-01"
    query += f"&as_of={then[1]}" if then else ""
    named = ("--window", "month", "--end", "2024-04-01", *then)
    with looking(bench) as pages:
        links = [
            str(attributes["href"])
            for tag, attributes in pages.at(f"/models/late/performance?{query}").elements
            if tag == "a" and "end=2024-04-01" in (attributes.get("href") or "").partition("/report?")[2]
        ]
        (link,) = links
        found, rows = pages.at(link), pages.at(link.replace("/report?", "/report.json?")).plain()
        refused = pages.at("/models/late/report?window=mont")
    written = [
        bench.monitor("report", "--model", "late", *named, "--output", str(path)).exit_code
        for path in (file, file.with_suffix(".json"))
    ]

    assert written == [0, 0]
    assert found.text == file.read_text(encoding="utf-8")
    name = "report-late-month-2024-04-01T00-00-00Z" + ("-2024-04-05" if then else "")
    assert found.answer.headers["Content-Disposition"] == f'attachment; filename="{name}.html"'
    assert rows == json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    assert (refused.status, 'got "mont"' in refused.words) == (400, True)


def test_a_report_says_where_a_replay_kept_all_of_it(bench: Bench, tmp_path: Path) -> None:
    copy = copied(bench, tmp_path)
    with copy.app() as app:
        app.store.events.append_events([HistoryEvent(model="late", at=END, kind=REPLAYED)])
    with looking(copy) as pages:
        told = [render_report_html(pages.kept.data, "late", MONTH, then) for then in (None, END - 4 * DAY)]
    with looking(bench) as pages:
        lived = render_report_html(pages.kept.data, "late", MONTH, None)

    assert all(
        "A replay measured all up to 10 Apr 2024 afterwards: nobody got its alerts then." in text
        for text in told
    )
    assert "a replay" not in lived


def test_a_report_as_json_has_the_rows_of_its_window(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    end = ("--end", "2024-04-01")
    done = bench.monitor("report", "--model", "late", "--window", "month", *end, "--output", str(file))
    shown = bench.monitor(
        "show", "--model", "late", "--window", "month", "--as-of", to_iso(END), "--format", "json"
    )

    assert done.exit_code == 0
    assert json.loads(file.read_text(encoding="utf-8")) == [
        row for row in json.loads(shown.stdout)
        if row["window_end"] == "2024-04-01T00:00:00Z" and not (row["segment"] or row["version"])
    ]  # fmt: skip


REFUSED = [
    "--model lat",
    "--model late --window mont",
    "--model late --end 2024-03-02T01:00",
    "--model late --window month --end 2024-04-02",
    "--model never",
    "--model late --window quarter",
    "--model late --window month --end 2024-04-01 --as-of 2024-03-31",
]


@pytest.mark.texts
def test_a_report_of_what_is_not_there_is_refused(bench: Bench, tmp_path: Path) -> None:
    file, cases = tmp_path / "report.html", []
    for options in REFUSED:
        done = bench.monitor("report", *options.split(), "--output", str(file))
        assert done.exit_code in (1, 2)
        cases.append((options, done.stderr))

    assert not file.exists()
    compare_cases("report_refused", cases)


@pytest.mark.texts
def test_what_reports_say(bench: Bench) -> None:
    """Of a month; of a week as it was known at its end, as it was known later, and as it is known now."""
    end, later = from_iso("2024-03-21"), from_iso("2024-03-25")
    reports = {
        "month": (MONTH, None),
        "then": (AskedPeriod(window="7d", end=end), end),
        "later": (AskedPeriod(window="7d", end=end), later),
        "now": (AskedPeriod(window="7d", end=end), None),
        "over": (AskedPeriod(window="7d", end=from_iso("2024-03-07")), None),
        "days": (AskedPeriod(first=from_iso("2024-03-02"), last=from_iso("2024-03-05")), None),
    }
    with looking(bench) as found:
        for name, asked in reports.items():
            text = render_report_html(found.kept.data, "late", *asked)
            compare_text(f"report_{name}", visible_text(text))


def test_a_figure_is_the_same_on_report_page_tile_and_status(bench: Bench) -> None:
    status = bench.monitor("status", "--model", "late", "--as-of", to_iso(END), "--format", "json")
    (told,) = json.loads(status.stdout)
    (figure,) = [one for one in told["figures"] if one["title"] == "ROC AUC"]
    with looking(bench) as found:
        page = found.at("/models/late/performance")
        overview = found.at("/models/late")
        report = found.at("/models/late/report")
        rows = found.at("/models/late/report.json").plain()
    kept = [
        row["value"]
        for row in rows
        if (row["measure"], row["truth"]) == ("roc_auc", "settled") and not (row["against"] or row["subject"])
    ]

    assert figure["value"]
    assert f'<span class="k">ROC AUC</span><span class="v">{figure["value"]}' in page.text
    assert f"ROC AUC {figure['value']} in the " in page.words
    assert figure["value"] in overview.words
    assert all(f"{value:.3f}" in report.words for value in kept)


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("period=2024-03", "window=month&end=2024-04-01"),
        ("from=2024-03-01&to=2024-04-01", "window=month&end=2024-04-01"),
    ],
)
def test_a_period_that_is_a_kept_window_is_that_window(bench: Bench, asked: str, same: str) -> None:
    with looking(bench) as found:
        of_days, of_window = (found.at(f"/models/late/report?{each}") for each in (asked, same))
        rows = [found.at(f"/models/late/report.json?{each}").plain() for each in (asked, same)]

    assert of_days.text == of_window.text
    assert rows[0] == rows[1] != []


def test_any_days_are_counted_together(bench: Bench) -> None:
    with looking(bench) as found:
        query = "from=2024-03-02&to=2024-03-05"
        report = found.at(f"/models/late/report?{query}")
        page = found.at(f"/models/late/performance?{query}")
        rows = found.at(f"/models/late/report.json?{query}").plain()
        same = found.at(f"/models/late/performance.json?{query}").plain()
    (area,) = [row["value"] for row in rows if row["measure"] == "roc_auc" and not row["subject"]]

    assert rows == same
    assert f'<span class="v">{area:.3f}' in page.text
    assert f'<span class="v">{area:.3f}' in report.text
    assert "from 2 to 4 Mar 2024" in report.words


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("period=2024-13", "a year, a quarter, a month or a week"),
        ("period=2024-W54", "a year, a quarter, a month or a week"),
        ("period=2024-03&window=7d", "not of two of them"),
        ("from=2024-03-02", "from and to go together"),
        ("period=2031", "after what is known"),
        ("from=2024-03-02T00:07&to=2024-03-05", "whole panes"),
    ],
)
def test_a_period_that_cannot_be_is_refused(bench: Bench, query: str, said: str) -> None:
    with looking(bench) as found:
        page = found.at(f"/models/late/report?{query}")

    assert page.status in (400, 404)
    assert said in page.words


def test_two_pages_hold_what_somebody_signs(bench: Bench) -> None:
    """Their parts stand in order, each once; details begin a page of their own."""
    with looking(bench) as found:
        text = render_report_html(found.kept.data, "late", MONTH, None)
    parts = [
        "<h2>Performance</h2>", "Prepared by", '<section class="card pagebreak"><h2>Inputs</h2>',
        "<h2>Segments</h2>",
        "<h2>Incidents and decisions</h2>", "<h2>What was not watched</h2>",
        '<section class="part pagebreak">\n<h2>Details</h2>', "Does it rank well?",
    ]  # fmt: skip

    assert [text.count(part) for part in parts] == [1] * len(parts)
    assert sorted(map(text.index, parts)) == list(map(text.index, parts))


class OwnedModels(StoreData):
    """A store whose models have an owner, of whom anything may be said."""

    def list_specs(self) -> Sequence[ModelSpec]:
        return [spec.with_keys(owner="<b>Risk</b>\x1b[2J, 4th floor") for spec in super().list_specs()]


def test_the_owner_stands_on_the_first_page_and_stays_text(bench: Bench) -> None:
    with looking(bench) as found:
        data = found.kept.data
        text, without = (
            render_report_html(of, "late", MONTH, None) for of in (OwnedModels(data.app, data.clock), data)
        )

    assert "<dt>Owner</dt><dd>&lt;b&gt;Risk&lt;/b&gt;\\x1b[2J, 4th floor</dd>" in text
    assert "Owner" not in without


def test_a_report_is_light(bench: Bench) -> None:
    with looking(bench) as found:
        page, report = (
            len(gzip.compress(found.at(f"/models/late/{name}?window=month&end=2024-04-01").text.encode()))
            for name in ("performance", "report")
        )

    assert page <= 60_000
    assert report <= 60_000


def test_what_is_known_now_stands_beside_what_was_known_then(bench: Bench) -> None:
    end = from_iso("2024-03-21")
    with looking(bench) as found:
        then = render_report_html(found.kept.data, "late", AskedPeriod(window="7d", end=end), end)
        now = render_report_html(found.kept.data, "late", AskedPeriod(window="7d", end=end), None)

    assert "<h3>Known then, known now</h3>" in then
    assert "Known then" not in now


def test_decisions_that_came_after_the_last_cycle_are_in_the_report(bench: Bench, tmp_path: Path) -> None:
    why = "the new partner, " + "word " * 30
    with looking(copied(bench, tmp_path)) as found:
        bench_store = found.kept.data.app.store
        (busy,) = found.kept.data.list_alerts("late", None)
        seen = {"subject": str(busy.alert.series), "who": "ada", "why": why}
        detail = f'{{"since": {busy.alert.since}}}'
        bench_store.events.append_events(
            [HistoryEvent(model="late", at=END + 9 * DAY, kind=ACKNOWLEDGED, detail=detail, **seen)]
        )
        now = render_report_html(found.kept.data, "late", AskedPeriod(), None)
        then = render_report_html(found.kept.data, "late", AskedPeriod(), END - DAY)

    assert now.count(f"ada acknowledged it: {why.strip()}") == 1
    assert why.strip() not in then


def test_an_alert_says_what_it_was_told_with_first(bench: Bench) -> None:
    with looking(bench) as found:
        (busy,) = found.kept.data.list_alerts("late", None)
    first = replace(busy.alert.breach, value=77.0)
    moved = replace(busy, alert=replace(busy.alert, told=((busy.alert.fired_at or 0, first),)))

    line = make_alert_line(PageRequest(()), moved, "UTC")

    assert re.match(r"fired first, \d+ Mar 2024: .*77.*\. Last, up to \d+ \w+ 2024: ", line.what)
    for untold in ({"severity": Severity.INFO}, {"fired_at": None}):
        quiet = replace(moved, alert=replace(moved.alert, **untold))
        assert make_alert_line(PageRequest(()), quiet, "UTC").what.startswith("first, ")
