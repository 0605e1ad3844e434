"""A report: one file that opens with its period, what was known then beside what is known now."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import compare_cases, compare_text
from looked_at import END, copied, looking, visible_text
from row_examples import row_of
from serving import Bench

from monitor.alerts.alert_rules import ACKNOWLEDGED, Severity
from monitor.alerts.lifecycle import EndReason
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.measurement import Measurement
from monitor.pages.alert_lists import arrange_alerts, make_alert_line
from monitor.pages.fleet_page import missing_share_words
from monitor.pages.model_report import _alert_lines, render_report_html
from monitor.pages.page_request import PageRequest
from monitor.specs.stored_rows import REPLAYED, HistoryEvent


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
    assert "<h1>late, March 2024</h1>" in text


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
        told = [
            render_report_html(pages.kept.data, "late", "month", None, then) for then in (None, END - 4 * DAY)
        ]
    with looking(bench) as pages:
        lived = render_report_html(pages.kept.data, "late", "month", None, None)

    assert all(
        "A replay measured all up to 10 Apr 2024 afterwards: what alerts say, nobody was told then." in text
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
        "month": ("month", None, None),
        "then": ("7d", end, end),
        "later": ("7d", end, later),
        "now": ("7d", end, None),
        "over": ("7d", from_iso("2024-03-07"), None),
    }
    with looking(bench) as found:
        for name, asked in reports.items():
            text = render_report_html(found.kept.data, "late", *asked)
            compare_text(f"report_{name}", visible_text(text))


def test_the_measures_of_a_report_are_those_that_were_kept(bench: Bench) -> None:
    with looking(bench) as found:
        text = render_report_html(found.kept.data, "late", "7d", from_iso("2024-03-21"), None)

    (kept,) = set(re.findall(r"kept \d+ Mar 2024: roc_auc (0\.\d+), n", text))
    assert re.search(rf"<dt>roc_auc</dt><dd>{kept} ", text)
    assert "Charts and tables count the labels of " in text


def test_decisions_that_came_after_the_last_cycle_are_in_the_report(bench: Bench, tmp_path: Path) -> None:
    why = "the new partner, " + "word " * 30
    with looking(copied(bench, tmp_path)) as found:
        bench_store = found.kept.data.app.store
        (busy,) = found.kept.data.list_alerts("late", None, ended=True)
        seen = {"subject": str(busy.alert.series), "who": "ada", "why": why}
        detail = f'{{"since": {busy.alert.since}}}'
        bench_store.events.append_events(
            [HistoryEvent(model="late", at=END + 9 * DAY, kind=ACKNOWLEDGED, detail=detail, **seen)]
        )
        now = render_report_html(found.kept.data, "late", "month", None, None)
        then = render_report_html(found.kept.data, "late", "month", None, END - DAY)

    assert now.count(why.strip()) == 3  # in the sentence, beside the alert, in what happened
    assert why.strip() not in then


def test_an_alert_says_what_it_was_told_with_first(bench: Bench) -> None:
    with looking(bench) as found:
        (busy,) = found.kept.data.list_alerts("late", None, ended=True)
    first = replace(busy.alert.breach, value=77.0)
    moved = replace(busy, alert=replace(busy.alert, told=((busy.alert.fired_at or 0, first),)))

    (line,) = arrange_alerts([moved], PageRequest(()), "late").standing

    assert re.match(r"fired first, \d+ Mar 2024: .*77.*\. Last, up to \d+ \w+ 2024: ", line.what)
    for untold in ({"severity": Severity.INFO}, {"fired_at": None}):
        quiet = replace(moved, alert=replace(moved.alert, **untold))
        assert make_alert_line(PageRequest(()), quiet, "UTC").what.startswith("first, ")


def test_an_alert_has_one_day_in_the_models_zone(bench: Bench) -> None:
    with looking(bench) as found:
        (busy,) = found.kept.data.list_alerts("late", None, ended=True)
    fired, day = from_iso("2024-03-20T23:30"), from_iso("2024-03-20T23:00")  # 21 March in Berlin
    late = replace(busy, alert=replace(busy.alert, since=fired - DAY, fired_at=fired))
    zone = "Europe/Berlin"

    told = list(_alert_lines([late], day, day + DAY, zone))
    before = arrange_alerts([late], PageRequest(()), "late", (day - DAY, day), zone=zone)
    (line,) = arrange_alerts([late], PageRequest(()), "late", (day, day + DAY), zone=zone).standing

    assert told == ["Told: busy (critical, 21 Mar 2024 00:30)"]
    assert line.told == "21 Mar 2024 00:30"
    assert before.standing == ()


def test_alerts_that_ended_in_a_period_are_named_with_their_day(bench: Bench) -> None:
    day = from_iso("2024-03-21")
    with looking(bench) as found:
        (busy,) = found.kept.data.list_alerts("late", None, ended=True)
    over = replace(busy, alert=replace(busy.alert, resolved_at=day))
    quiet = replace(over, alert=replace(over.alert, severity=Severity.INFO))

    told = list(_alert_lines([over, quiet], day, day + DAY, "UTC"))

    assert told == [
        "No alert that calls for somebody was told",
        "Ended: busy (21 Mar 2024)",
        "For information alone: 0 fired, 1 ended",
    ]
    usual = replace(over, alert=replace(over.alert, ended=EndReason.USUAL))
    assert "Still there, but expected by now, and no longer told: busy (21 Mar 2024)" in list(
        _alert_lines([usual], day, day + DAY, "UTC")
    )
    assert list(_alert_lines([over], day + DAY, day + 2 * DAY, "UTC")) == told[:1]
    breach = replace(over.alert.breach, window_end=day + 2 * DAY)
    late = replace(over, alert=replace(over.alert, breach=breach, fired_at=day + 9 * DAY, resolved_at=None))
    assert list(_alert_lines([late], day + DAY, day + 2 * DAY, "UTC")) == [
        *told[:1], f"Told after it, of days in it: busy ({over.alert.severity}, 30 Mar 2024)",
    ]  # fmt: skip
    assert list(_alert_lines([late], day + 2 * DAY, day + 3 * DAY, "UTC")) == told[:1]


@pytest.mark.parametrize(("share", "words"), [(0.3922, "39.2 % missing"), (0.004, "")])
def test_beside_a_shift_stands_how_many_values_are_missing(share: float, words: str) -> None:
    assert missing_share_words(row_of("missing_rate", Measurement(share, n=900), subject="score")) == words
    assert missing_share_words(None) == ""
