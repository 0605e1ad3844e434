"""Pages of a store: what they say is what commands say of the same moment."""

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import compare_cases
from looked_at import END, Looked, Pages, assert_whole, copied, looking, visible_text
from serving import Bench, model, predictions, sqlite_bench

from monitor.alerts.alert_links import incident_link
from monitor.alerts.default_rules import NAMES
from monitor.app.model_cycles import run_single_cycle
from monitor.app.pages import window_counts
from monitor.app.pages.window_counts import KeptReferences, sum_span_panes, sum_window_panes
from monitor.core.clock import DAY, HOUR, from_iso, to_iso
from monitor.core.measurement import Interval
from monitor.exposition.forwarding import OWN_RULE
from monitor.exposition.prometheus_rules import ITSELF
from monitor.measures.measurement_row import newest_revisions
from monitor.measures.value_words import format_interval_bounds, format_measure_value
from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import ChartedRows
from monitor.states.strata import Strata
from monitor.store.store_connections import write_transaction

ADDRESSES = [
    "/",
    "/alerts",
    "/models/late",
    "/models/late?window=1d&measure=accuracy&range=90d",
    "/models/late?as_of=2024-03-21",
    "/models/late/performance",
    "/models/late/performance?window=7d&end=2024-04-04",
    "/models/late/performance?window=7d&end=2024-03-21&as_of=2024-03-25",
    "/models/bare/performance",
    "/models/never/performance",
    "/models/late/features",
    "/models/late/features?show=missing&against=usual&sort=-name&q=a",
    "/models/late/feature?name=amount",
    "/models/late/feature?name=group&window=7d&end=2024-03-21&as_of=2024-03-25",
    "/models/late/compare",
    "/models/late/segments",
    "/models/late/segments?measure=records&window=month&as_of=2024-04-05",
    "/models/late/performance?from=2024-03-05&to=2024-03-20",
    "/models/late/performance?from=2024-03-05&to=2024-03-20&as_of=2024-03-25",
    "/models/bare/performance?from=2024-03-05&to=2024-03-20",
    "/models/late/measures",
    "/models/late/measures?window=log",
    "/models/late/measures?q=amount&as_of=2024-03-25",
    "/models/late/measures?q=nothing+has+this+name",
    "/models/never/measures",
    "/models/late/measures/roc_auc?window=1d&range=all",
    "/models/late/measures/stability_index?subject=feature:amount&as_of=2024-03-25",
    "/models/late/measures/nothing",
    "/models/late/log",
    "/models/late/log?window=7d&range=all&as_of=2024-04-05",
    "/models/bare/compare",
    "/models/never/segments",
    "/models/never/log",
    "/models/late/alerts",
    "/models/bare",
    "/models/bare/features",
    "/models/bare/alerts",
    "/models/never",
    "/models/nobody",
]


@pytest.fixture(scope="module")
def pages(bench: Bench) -> Iterator[Pages]:
    with looking(bench) as found:
        yield found


def told(bench: Bench, *arguments: str) -> list[dict[str, Any]]:
    """JSON that a command prints."""
    done = bench.monitor(*arguments, "--format", "json")
    assert done.exit_code == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("moment", ["", "2024-03-21"])
def test_the_verdicts_of_the_fleet_are_those_of_status_word_for_word(
    bench: Bench, pages: Pages, moment: str
) -> None:
    now = ("--as-of", moment or to_iso(END))
    status = told(bench, "status", *now)
    query = f"?as_of={moment}" if moment else ""
    fleet = pages.at(f"/{query}")

    assert pages.at(f"/.json{query}").plain() == status
    assert [one["model"] for one in status] == re.findall(r'<a class="model" [^>]*>([^<]+)<', fleet.text)
    for one in status:
        assert str(one["state"]) in fleet.words
        for incident in one["incidents"]:
            assert str(incident["headline"]) in fleet.words


@pytest.mark.parametrize("name", ["late", "bare", "never"])
def test_a_model_says_what_status_says_of_it(bench: Bench, pages: Pages, name: str) -> None:
    """Headlines, the four figures, what changed, and what is told on demand."""
    (status,) = told(bench, "status", "--model", name, "--as-of", to_iso(END))
    page = pages.at(f"/models/{name}")

    for incident in status["incidents"]:
        said = re.sub(r" (?=[,.])", "", page.words)  # behind a link
        assert all(incident[part] in said for part in ("headline", "consequence", "next"))
    if not status["incidents"]:
        assert all(sentence in page.words for sentence in status["because"])
    for figure in status["figures"]:
        words = (" · ".join(filter(None, (figure["title"], figure["days"]))), figure["value"], figure["note"])
        assert all(text in page.words for text in words)
    for changed in status["changed"]:
        assert changed["subject"].removeprefix("feature:") in page.words
    assert all(" ".join(sentences) in page.words for sentences in status["sections"].values())


@pytest.mark.parametrize("name", ["late", "bare"])
def test_the_rows_of_a_model_are_those_of_show(bench: Bench, pages: Pages, name: str) -> None:
    shown = told(bench, "show", "--model", name, "--all")
    rows = pages.at(f"/models/{name}.json").plain()

    def key(row: dict[str, object]) -> str:
        return json.dumps({**row, "detail": None}, sort_keys=True)

    assert sorted(map(key, rows)) == sorted(map(key, shown))


def test_alerts_are_those_of_the_command(bench: Bench, pages: Pages) -> None:
    shown = told(bench, "alerts", "--model", "late", "--history")

    assert pages.at("/models/late/alerts.json").plain() == shown


def test_the_tiles_of_a_window_are_those_of_show_and_the_curve_is_theirs(bench: Bench, pages: Pages) -> None:
    rows = told(bench, "show", "--model", "late", "--window", "month", "--as-of", to_iso(END))
    kept = {
        row["measure"]: row for row in rows
        if row["window_end"] == "2024-04-01T00:00:00Z" and row["truth"] == "settled"
        and not (row["subject"] or row["against"] or row["segment"] or row["version"])
    }  # fmt: skip
    page = pages.at("/models/late/performance?window=month&end=2024-04-01")

    shown = tiles(page)
    for measure in ("roc_auc", "accuracy", "precision", "recall", "brier_score"):
        bounds = Interval(float(str(kept[measure]["lower"])), float(str(kept[measure]["upper"])))
        value = float(str(kept[measure]["value"]))
        exact = f"{measure} {format_interval_bounds(measure, bounds)} of {kept[measure]['n']:,}"
        assert shown[measure] == (format_measure_value(measure, value), exact)
    assert "November" not in page.words
    questions = ("Does it rank well?", "Is the threshold right?", "Can its probabilities be trusted?")
    assert re.findall(r'<div class="q"><h2>([^<]*)</h2>', page.text) == list(questions)
    plain = pages.at("/models/late/performance.json?window=month&end=2024-04-01").plain()
    assert {
        row["measure"]: row["value"]
        for row in plain
        if row["measure"] in kept and row["truth"] == "settled" and not (row["subject"] or row["against"])
    } == {name: row["value"] for name, row in kept.items()}


def tiles(page: Looked) -> dict[str, tuple[str, str]]:
    """Value of each tile of a window, and what stands one step further, by code name."""
    tile = r'<div class="tile" title="((\w+)[^"]*)"><span class="k">[^<]*</span><span class="v">([^<]*?)\s*<'
    return {name: (html.unescape(value), exact) for exact, name, value in re.findall(tile, page.text)}


@pytest.mark.parametrize("as_of", ["2024-03-21", "2024-03-22", "2024-03-25", "2024-04-10"])
def test_each_figure_of_a_window_of_the_past_is_that_of_show(bench: Bench, pages: Pages, as_of: str) -> None:
    """One page, one answer: what is known by now stands behind it, with its moment."""

    def kept(moment: str) -> dict[str, dict[str, Any]]:
        of = ("--model", "late", "--window", "7d", "--as-of", moment, "--all")
        rows = [
            row for row in told(bench, "show", *of) if row["window_end"] == "2024-03-21T00:00:00Z"
            and not (row["subject"] or row["against"] or row["segment"] or row["version"])
        ]  # fmt: skip
        ranks = (None, "provisional", "nowcast", "settled")
        return {row["measure"]: row for row in sorted(rows, key=lambda row: ranks.index(row["truth"]))}

    query = "window=7d&end=2024-03-21"
    then, now = kept(as_of), kept(to_iso(END))
    page = tiles(pages.at(f"/models/late/performance?{query}&as_of={as_of}"))
    shown = tiles(pages.at(f"/models/late/performance?{query}"))

    assert len(page) > 4
    for name, (value, _) in page.items():
        assert value == format_measure_value(name, then[name]["value"])
        assert shown[name][0] == format_measure_value(name, now[name]["value"])


def test_what_is_counted_now_stands_nowhere_beside_what_was_kept(bench: Bench, tmp_path: Path) -> None:
    changed = copied(bench, tmp_path)
    with changed.app() as app, write_transaction(app.store.engine) as connection:
        connection.exec_driver_sql(f"DELETE FROM panes WHERE start < {from_iso('2024-03-06')}")
    address = "/models/late/performance?window=month&end=2024-04-01"
    with looking(changed) as found:
        page = found.at(address)
    with looking(bench) as found:
        same = found.at(address)

    assert tiles(page) == tiles(same)
    assert "counted now" not in page.words


@pytest.mark.parametrize("vs", ["", "reference", "2024-03-14", "2024-03-01"])
def test_a_window_is_compared_with_the_reference_and_another(pages: Pages, vs: str) -> None:
    """By default the window before; what stands beside is what that window's own page says."""
    query = "window=7d&end=2024-03-21"
    page = pages.at(f"/models/late/performance?{query}" + (f"&vs={vs}" if vs else ""))
    if vs == "2024-03-01":
        assert (page.status, "vs is reference, the end of another 7d window" in page.words) == (400, True)
        return
    region = page.text.partition('aria-label="Measures"')[2].partition("</table>")[0]
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)<", region)
    before = tiles(pages.at("/models/late/performance?window=7d&end=2024-03-14"))

    assert ("There" in heads) is (vs != "reference")
    if vs != "reference":
        rows = re.findall(
            r'title="(\w+) [^"]*">[^<]*</th><td class="num"><b>.*?</td><td class="num">([^<]*)<', region
        )
        assert {name: dict(rows)[name] for name in ("roc_auc", "accuracy")} == {
            name: before[name][0] for name in ("roc_auc", "accuracy")
        }


def test_an_alert_says_what_the_command_explains(bench: Bench, pages: Pages) -> None:
    done = bench.monitor("alerts", "--model", "late", "--explain", "--history")
    page = pages.at("/models/late/incidents/2024-03-08-records")

    sentence = next(line.strip() for line in done.stdout.splitlines() if line.startswith("  records"))
    assert sentence in page.words
    assert "monitor alerts ack --model late --rule busy --by NAME --why WHY" in page.words


def test_links_of_notices_and_of_prometheus_lead_to_the_page_of_their_incident_or_alert(
    bench: Bench, pages: Pages
) -> None:
    with bench.app() as app:
        kept = [one for _, one in app.store.incidents.read_incidents("late", ended=True)]

    assert {member.series.rule for one in kept for member in one.members} >= {"busy"}
    for one in kept:
        (told_of,) = pages.at(incident_link("", "late", one.address).replace("#decide", ".json")).plain()
        assert (told_of["incident"], told_of["opened_at"]) == (one.address, to_iso(one.opened_at))


def test_an_alert_that_is_asked_for_by_its_rule_stands_on_the_page_of_its_incident(
    bench: Bench, pages: Pages
) -> None:
    """Addresses of earlier versions, with and without the parameters that name one of several."""
    (alert,) = (one for one in told(bench, "alerts", "--model", "late") if one["rule"] == "busy")
    since = from_iso(str(alert["since"]))

    for asked in ("", "?segment=&subject=&version=", f"?since={since}"):
        moved = pages.at(f"/models/late/alerts/busy{asked}")
        path, _, anchor = moved.answer.headers["Location"].partition("#")
        page = pages.at(path)

        assert (moved.status, path) == (303, "/models/late/incidents/2024-03-08-records")
        assert anchor in [given.get("id") for _, given in page.elements]
    rows = pages.at("/models/late/alerts/busy.json")
    assert (rows.status, rows.answer.headers["Location"]) == (303, "/models/late/alerts.json")
    assert pages.at("/models/late/alerts/bus").status == 404
    assert pages.at("/models/late/alerts/busy?since=1").status == 404


def test_the_features_against_training_are_in_the_order_of_their_newest_values(
    bench: Bench, pages: Pages
) -> None:
    rows = told(
        bench,
        "show",
        "--model",
        "late",
        "--measure",
        "stability_index",
        "--window",
        "7d",
        "--as-of",
        to_iso(END),
    )
    now = {
        str(row["subject"]).removeprefix("feature:"): float(str(row["value"])) for row in rows
        if str(row["subject"]).startswith("feature:") and not row["segment"]
        and not row["version"] and not row["against"]
    }  # fmt: skip
    page = pages.at("/models/late/features?against=training&window=7d")
    names = re.findall(r'<th scope="row"><a href="[^"]*">([^<]*)</a>', page.text)
    judged = [name for name in names if f"{name}, PSI by window, now cannot be checked" not in page.text]

    assert set(names) == set(now)
    assert judged == sorted(judged, key=lambda name: -now[name])


def test_values_of_the_table_of_windows_are_those_of_show(bench: Bench, pages: Pages) -> None:
    rows = told(
        bench, "show", "--model", "late", "--measure", "roc_auc", "--window", "month", "--as-of", to_iso(END)
    )
    (march,) = (
        row for row in rows
        if row["window_end"] == "2024-04-01T00:00:00Z" and row["truth"] == "settled"
        and not (row["against"] or row["segment"] or row["version"])
    )  # fmt: skip

    page = pages.at("/models/late")
    assert f"Mar 2024 {march['value']:.3f} " in page.words
    assert f'title="[{march["lower"]:.3f}, {march["upper"]:.3f}]"' in page.text


@pytest.mark.parametrize("as_of", [END, END - 20 * DAY])
def test_the_newest_revisions_are_those_of_the_history(bench: Bench, as_of: int) -> None:
    with bench.app() as app:
        for window in ("1d", "7d", "month"):
            kept = app.store.snapshots.read_snapshot_rows(
                model="late", window=window, segment="", version="", as_of=as_of
            )
            which = ChartedRows(window=window, after=0, until=END, as_of=as_of, details=True)
            drawn = newest_revisions(app.store.charts.read_charted_rows("late", which))

            assert sorted(map(str, drawn)) == sorted(map(str, kept))
            assert app.store.charts.read_charted_rows("late", replace(which, newest=True)) == drawn


def test_a_page_as_of_a_moment_is_the_page_of_a_store_that_ends_there(pages: Pages, tmp_path: Path) -> None:
    """Charts and table; what is current is told by status in another way of the past."""
    from looked_at import BUSY, OPTIONS, START
    from serving import model, predictions, sqlite_bench

    from monitor.app.model_cycles import run_single_cycle

    moment = START + 20 * DAY
    late = model(options=OPTIONS) + BUSY
    stopped = sqlite_bench(tmp_path, predictions(1_600, START, END), late, labelled=END)
    with stopped.app() as app:
        for day in range(4, 21, 4):
            assert run_single_cycle(app, "late", START + day * DAY).error is None
    with looking(stopped, moment) as then:
        old = then.at("/models/late")
    new = pages.at(f"/models/late?as_of={to_iso(moment)}")

    def drawn(page: Looked) -> list[str]:
        text = re.sub(r' href="[^"]*"', "", page.text)  # links keep the moment
        return re.findall(r'<svg class="plot".*?</svg></svg>|<svg class="plot".*?</svg>', text)

    assert drawn(old)
    assert drawn(old) == drawn(new)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_is_whole_and_holds_nothing_from_elsewhere(pages: Pages, address: str) -> None:
    assert_whole(pages.at(address))


def test_every_link_of_a_page_leads_to_a_page(pages: Pages) -> None:
    probes = {"/metrics", "/healthz", "/readyz"}
    seen: set[str] = set()
    waiting = ["/"]
    while waiting:
        address = waiting.pop()
        page = pages.at(address)
        assert page.status == 200, (address, page.words)
        for tag, attributes in page.elements:
            link = (attributes.get("href") or "").partition("#")[0]
            if tag in ("a", "link") and link.startswith("/") and link not in seen | probes and len(seen) < 40:
                seen.add(link)
                waiting.append(link)

    assert {"/", "/models/late", "/models/bare"} <= seen


WRONG = [
    "/models/lat",
    "/models/late/performance?end=2024-03-02",
    "/models/late/features?show=auc",
    "/models/late/alerts/bus",
    "/models/late/alerts/busy?since=1",
    "/model/late",
    "/models/late/nothing",
    "/models/bare/segments?measure=records",
    "/models/late?windw=7d",
    "/models/late?window=8d",
    "/models/late?as_of=soon",
    "/models/late?window=1d&window=7d",
    f"/{'x' * 3000}",
    "/static/0/pages.css",
    "/static/../config.toml",
    "/%2e%2e/%2e%2e/config.toml",
    "/models/%00%e2%80%ae",
]


@pytest.mark.texts
def test_an_address_that_no_page_has_is_told_so(pages: Pages) -> None:
    found = [(address, pages.at(address)) for address in WRONG]

    assert {page.status for _, page in found} == {400, 404}
    cases = []
    for address, page in found:
        lines = visible_text(page.text).split("\n")
        cases.append((f"{page.status} {address[:60]}", lines[4:6] or lines))
    compare_cases("page_no_such_address", cases)


def test_the_runbook_has_a_section_for_whatever_an_alert_points_to(pages: Pages) -> None:
    page = pages.at("/runbook")

    anchors = set(re.findall(r'<h3 id="([^"]+)">', page.text))
    assert anchors == {*NAMES, OWN_RULE, *(name.lower() for name in ITSELF)}
    page = pages.at("/models/late/incidents/2024-03-08-records")
    assert page.text.count('href="/runbook#a_rule_of_your_own"') == 2  # of the card, and of its alert


def test_a_wrong_question_is_told_in_json_where_json_is_asked_for(pages: Pages) -> None:
    page = pages.at("/models/late.json?windw=7d")

    assert (page.status, list(page.plain())) == (400, ["error"])


@pytest.mark.parametrize("address", ["/", "/models/late", "/models/late/performance", "/models/late/alerts"])
def test_the_csv_of_a_page_has_the_rows_of_its_json(pages: Pages, address: str) -> None:
    rows = pages.at(f"{'' if address == '/' else address}/.json").plain()
    page = pages.at(f"{'' if address == '/' else address}/.csv")

    assert page.answer.content_type == "text/csv; charset=utf-8"
    assert len(list(csv.DictReader(io.StringIO(page.text)))) == len(rows)
    assert "attachment" in page.answer.headers["Content-Disposition"]


class Emptied(KeptReferences):
    """References that another thread empties after each look."""

    def __contains__(self, key: object) -> bool:
        there = super().__contains__(key)
        self.clear()
        return there


def test_references_that_another_page_lets_go_are_read_again(bench: Bench) -> None:
    known = Emptied()
    with bench.app() as app:
        start, end = END - 7 * DAY, END
        windows = [
            sum_window_panes(app.store, app.find_spec("late"), start, end, PaneHalf.RECORDS, known)
            for _ in range(2)
        ]

    assert windows[0].reference is not None
    assert windows[0].reference == windows[1].reference


def test_a_window_of_more_panes_than_are_held_at_once_is_counted_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = [END - 7 * DAY, END - 3 * DAY, END]
    with bench.app() as app:
        spec = app.find_spec("late")

        def read() -> tuple[Strata, int, list[list[int] | None]]:
            window = sum_window_panes(app.store, spec, bounds[0], bounds[-1], PaneHalf.RECORDS, {})
            parts = sum_span_panes(app.store, spec.name, window, "score", bounds)
            return window.strata, window.lost, [None if one is None else one.tolist() for one in parts]

        whole = read()
        for most in (1, 5, 24, 167, 168):
            monkeypatch.setattr(window_counts, "MOST_PANES", most)
            assert read() == whole
    assert whole[1] == 0


def test_a_page_that_the_client_has_is_not_sent_again(pages: Pages) -> None:
    first = pages.at("/models/late").answer
    again = pages.at("/models/late", known=first.headers["ETag"]).answer
    other = pages.at("/models/late?window=1d").answer

    assert (again.status, again.body) == (304, b"")
    assert other.headers["ETag"] != first.headers["ETag"]


def test_the_filter_works_without_a_script(pages: Pages) -> None:
    def shown(address: str) -> list[str]:
        rows = re.findall(r'<tr data-state="\w+">.*?</tr>', pages.at(address).text, re.DOTALL)
        return [name for row in rows for name in re.findall(r'<a class="model" [^>]*>([^<]+)<', row)]

    assert shown("/?q=BARE") == ["bare"]
    assert "No model matches. Clear" in pages.at("/?q=nothing+at+all").words
    assert shown("/?state=none") == ["never"]
    assert shown("/?sort=-model") == ["never", "late", "bare"]


def test_a_model_that_never_ran_or_has_no_labels_says_so(pages: Pages) -> None:
    never, bare = pages.at("/models/never"), pages.at("/models/bare")

    assert "No cycle has run yet: start the daemon, or run `monitor cycle`." in never.words
    assert "the picture begins with the first one" in never.words
    assert "No labels are configured." in bare.words
    assert pages.at("/models/never.json").plain() == []


def test_what_was_known_then_bears_a_banner_and_is_kept_by_links(pages: Pages) -> None:
    page = pages.at("/?as_of=2024-03-21")
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a" and "href" in attributes]

    assert "You see what was known on 21 Mar 2024." in page.words
    assert "/models/late?as_of=2024-03-21" in links
    assert "You see what was known" not in pages.at("/").words


def test_a_store_that_is_away_is_told_as_health_does(tmp_path: Path, bench: Bench) -> None:
    with looking(bench) as found:
        found.kept.data.app.store.engine.dispose()
        moved = tmp_path / "gone.db"
        file = Path(str(found.kept.data.app.store.engine.url.database))
        file.rename(moved)
        try:
            answer = found.at("/").answer
        finally:
            moved.rename(file)

    assert answer.status == 503
    assert answer.headers["Retry-After"] == "10"


def test_a_range_that_was_dragged_is_named_and_left_again(pages: Pages) -> None:
    part, whole = pages.at("/models/late?from=2024-03-10&to=2024-03-20"), pages.at("/models/late")

    assert "10–19 Mar Reset" in part.words
    assert "Reset" not in whole.words
    assert part.text.count('class="dot main"') < whole.text.count('class="dot main"')
    assert ("a", {"href": "/models/late"}) in part.elements


def test_the_newest_point_leads_nowhere_where_its_window_is_not_kept(tmp_path: Path) -> None:
    """A cycle within a day measures a week that ends within it; those that end with a day are kept."""
    options = 'every = "6h"\npane = "1h"\nwindows = ["7d"]\nhorizon = "30d"\nsettle_after = "1d"\n'
    rows = predictions(600, END - 14 * DAY, END)
    bench = sqlite_bench(tmp_path, rows, model(options=options), labelled=END)
    with bench.app() as app:
        for hours in (48, 24, 1):
            assert run_single_cycle(app, "late", END - hours * HOUR).error is None
    with looking(bench) as pages:
        page = pages.at("/models/late?window=7d")
        found = re.findall(r'href="(/models/late/performance\?[^"]*end=[^"]*)', page.text)
        points = re.findall(r'<circle class="dot ', page.text)
        links = set(map(html.unescape, found))
        assert 1 <= len(links) < len(points)
        assert [link for link in links if pages.at(link).status != 200] == []
