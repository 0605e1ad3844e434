"""Every query of every dashboard, asked of a Prometheus that scrapes a daemon with three models."""

import itertools
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import process
import pytest
import servers
from boards import boards
from click.testing import CliRunner
from fleet_log import fleet
from prometheus_client import Metric, parser
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.samples import Sample
from rendering import rendered
from scraping import Prometheus, prometheus

from monitor.app.kept_run import open_kept_run
from monitor.app.model_cycles import run_single_cycle
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, SECOND, from_iso
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.exposition.series_selection import exposed_family_name
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.specs.protocols import CycleReport

read_text: Callable[[str], Iterable[Metric]] = parser.text_string_to_metric_families
read_openmetrics: Callable[[str], Iterable[Metric]] = openmetrics.text_string_to_metric_families
COMMITTED = Path(__file__).parent.parent.parent / "docker" / "grafana" / "dashboards"
BOARDS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(COMMITTED.glob("*.json"))
}
UIDS = {"monitor-fleet", "monitor-shifts", "monitor-comparisons", "monitor-alerts", "monitor-itself"}
UIDS |= {f"monitor-model-{task}" for task in ("binary", "multiclass", "regression")}
MAY_BE_EMPTY = (  # nothing need be wrong, nor need 14 days have been learned
    *("model_monitor_alert_firing", "model_monitor_alert_pending"),
    *("model_monitor_evidence", "model_monitor_change", "model_monitor_silence_limit"),
)
ANSWERS = {  # panels that answer a board's question, below one another on the first screen
    "monitor-fleet": ("Open incidents", "Failed cycles, last day", "Each model"),
    "monitor-model": ("Labelled", "Age of the settled window", "Open incidents", "Evidence of change"),
    "monitor-shifts": (
        "PSI of outputs, and its critical value",
        "Most shifted now",
        "PSI of each feature",
    ),
    "monitor-comparisons": ("Outcome difference always valid", "Sample ratio p-value always valid"),
    "monitor-alerts": ("What fires", "When it fired", "Not checked"),
    "monitor-history": ("First said, and known now", "Revisions of one window"),
    "monitor-itself": ("Up", "Cycles a minute", "Time since the last success"),
}
EXPORT = ("export", "--format", "openmetrics")
BLOCKS = ("tsdb", "create-blocks-from", "--max-block-duration=9000h", "openmetrics")
NOT_KEPT = {  # what is so now, of the daemon, of the log, of rules and budgets: (title, legend)
    *(("Daemons up", "number"), ("Failed cycles, last day", "number"), ("Settling age", "settling age")),
    *(("Each model", "last success"), ("Each model", "next settles in")),
    ("What rules say", "{{model}} {{rule}} {{verdict}}"),
    ("Changes in 30 days, and the budget", "{{model}} alerts 30d"),
    ("Changes in 30 days, and the budget", "{{model}} false alert budget"),
}
NONE_PENDING = {("What is pending", "number")}  # at the last moment
OF_FEW_DAYS = NONE_PENDING | {("Evidence of change", "{{subject}}"), ("Size of changes", "{{subject}}")}
NOT_OF_THE_DEMO = NONE_PENDING | {  # it has no model of numbers, and its scores are probabilities
    *(("RMSE, settled", "{{model}}"), ("Out of range rate", "{{subject}}")),
}
NAMES = ("flight", "animal", "basket")
OPENS = {  # windows of 7 and 30 days, a month of alerts, two days of cycles, a year of revisions
    **dict.fromkeys(UIDS, "now-90d"),
    "monitor-alerts": "now-30d",
    "monitor-itself": "now-2d",
    "monitor-history": "now-1y",
}
UNMARKED = {"monitor-itself", "monitor-history"}
GONE_WORDS = (
    r"told|tells?|judge[ds]?|mends?|beyond chance|surely|odd|verdicts?|nothing to do|somebody|the whole|kept"
)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, after some scrapes of a daemon that has measured its three models."""
    directory, port = tmp_path_factory.mktemp("fleet"), servers.free_port()
    fleet(directory, time.time_ns() // 1_000, port)
    with process.daemon(directory / "config.toml", port) as daemon, prometheus(directory, port) as server:
        daemon.started()
        daemon.wait(lambda: len(server.values("model_monitor_as_of_seconds", "model")) == 3, "three models")
        daemon.wait(
            lambda: bool(server.query("min(count_over_time(model_monitor_cycles_total[1m])) > 1")), "scrapes"
        )
        yield server


@dataclass(frozen=True, slots=True)
class Past:
    """A Prometheus that has never scraped, with blocks of what a store keeps up to a moment."""

    server: Prometheus
    directory: Path
    days: int
    end: int
    step: int  # seconds, as Grafana chooses it for so many days

    def finds(self, target: dict[str, Any], values: dict[str, str]) -> bool:
        """Whether a panel's target finds data, asked as Grafana asks."""
        spans = {"__rate_interval": f"{self.step + 15}s", "__range": f"{self.days}d"}
        text = substituted(target["expr"], values | spans)
        start, end = (str(moment // SECOND) for moment in (self.end - self.days * DAY, self.end))
        if target.get("instant"):
            return bool(self.server.ask("query", query=text, time=end)["result"])
        asked = {"query": text, "start": start, "end": end, "step": str(self.step)}
        return bool(self.server.ask("query_range", **asked)["result"])

    def empty(self, uid: str) -> set[tuple[str, str]]:
        """(title, legend) of what finds nothing on a board, whatever is chosen."""
        board = BOARDS[uid]
        chosen = list(choices(self.server, board))
        return {
            (panel["title"], target["legendFormat"])
            for panel in panels(board)
            for target in panel["targets"]
            if not any(self.finds(target, values) for values in chosen)
        }


@contextmanager
def loaded(directory: Path) -> Iterator[Prometheus]:
    """Prometheus with what a configuration's store keeps."""
    exported = [*EXPORT, str(directory / "past.om"), "--config", str(directory / "config.toml")]
    done = CliRunner().invoke(main, exported)
    assert done.exit_code == 0, done.output
    promtool = servers.program("promtool", package="prometheus")
    subprocess.run([promtool, *BLOCKS, "past.om", "data"], cwd=directory, check=True, capture_output=True)
    with prometheus(directory, servers.free_port(), "--storage.tsdb.retention.time=100y") as server:
        yield server


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """What three models have kept in four days."""
    directory, end, days = tmp_path_factory.mktemp("past"), from_iso("2024-04-10"), 4
    bench = fleet(directory, end, servers.free_port())
    text = bench.config.read_text(encoding="utf-8")  # windows that overlap are not all kept
    bench.config.write_text(text.replace('step = "6h"', 'step = "1d"'), encoding="utf-8")
    with bench.app() as app:
        for name, day in itertools.product(NAMES, range(days, -1, -1)):
            assert run_single_cycle(app, name, end - day * DAY).error is None
    with loaded(directory) as server:
        yield Past(server, directory, days + 1, end, step=600)


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in panels(board) for target in panel["targets"]]


def test_what_is_committed_is_what_make_dashboards_writes() -> None:
    assert {board.uid: rendered(board) for board in boards()} == {
        path.stem: path.read_text(encoding="utf-8") for path in COMMITTED.glob("*.json")
    }


def test_dashboards_and_their_panels_are_known_by_fixed_and_unique_ids() -> None:
    assert {board["uid"] for board in BOARDS.values()} == UIDS | {"monitor-history"} == set(BOARDS)
    for board in BOARDS.values():
        ids = [panel["id"] for panel in board["panels"]]
        assert len(set(ids)) == len(ids)
        assert min(ids) > 0
    shifts = {panel["title"]: panel["id"] for panel in panels(BOARDS["monitor-shifts"])}
    assert shifts["Most shifted now"] == 253914335


def test_a_board_has_at_most_sixteen_panels_and_its_question_is_answered_on_the_first_screen() -> None:
    for board in BOARDS.values():
        first, *others = (panel["gridPos"]["y"] for panel in board["panels"] if panel["type"] == "row")
        answered = [one["title"] for one in panels(board) if one["gridPos"]["y"] < others[0]]

        assert len(panels(board)) <= 16
        assert first == 0
        assert others[0] <= 21  # units of 38 pixels: below the head of a browser on a screen of 1,080
        (answers,) = (some for uid, some in ANSWERS.items() if board["uid"].startswith(uid))
        assert set(answered) >= set(answers)


def test_panels_about_models_and_alerts_link_to_their_pages() -> None:
    for board in BOARDS.values():
        (pages,) = (one for one in board["templating"]["list"] if one["name"] == "pages")
        assert pages["type"] == "textbox"
        links = [link for one in panels(board) for link in one["fieldConfig"]["defaults"].get("links", [])]
        assert all(link["url"].startswith(("${pages}/models/$", "${pages}/alerts")) for link in links)
        assert bool(links) == (board["uid"] != "monitor-itself")
        for values in re.findall(r"\$\{(?!pages)[^}]*\}", " ".join(link["url"] for link in links)):
            assert values.endswith(":percentencode}")


def test_a_board_opens_on_several_of_its_windows_and_leads_to_its_page() -> None:
    for uid, board in BOARDS.items():
        assert board["time"] == {"from": OPENS[uid], "to": "now"}
        (pages,) = (link for link in board["links"] if link["title"] == "Pages")
        assert pages["url"].startswith("${pages}/")
        assert ("/models/${model:percentencode}" in pages["url"]) == ("Model:" in board["title"]) or (
            uid in {"monitor-shifts", "monitor-comparisons", "monitor-history"}
        )


def test_the_fleet_lists_open_incidents_and_the_main_measure_beside_that_of_training() -> None:
    (fleet_table,) = (one for one in panels(BOARDS["monitor-fleet"]) if one["type"] == "table")
    columns = [target["legendFormat"] for target in fleet_table["targets"]]

    assert columns[:4] == ["critical", "warnings", "main measure", "in training"]
    assert [one["displayName"] for one in fleet_table["options"]["sortBy"]] == ["critical", "warnings"]
    assert all(one["desc"] for one in fleet_table["options"]["sortBy"])


def test_a_line_stands_at_1_where_evidence_is_drawn() -> None:
    drawn = [
        one
        for board in BOARDS.values()
        for one in panels(board)
        if one["type"] == "timeseries" and re.search("model_monitor_(evidence|change)", str(one["targets"]))
    ]

    assert {one["title"] for one in drawn} >= {"Evidence of change", "Size of changes"}
    for one in drawn:
        defaults = one["fieldConfig"]["defaults"]
        assert [step["value"] for step in defaults["thresholds"]["steps"]] == [None, 1]
        assert defaults["custom"]["thresholdsStyle"]["mode"] == "dashed"
        assert defaults["custom"]["axisSoftMin"] == 0
        assert defaults["custom"]["axisSoftMax"] > 1  # else the axis would end below the line


def test_what_chance_explains_has_no_colour() -> None:
    index = r"model_monitor_stability_index\b|'stability_index'"
    coloured = [
        (board["uid"], one["title"], str(one["targets"]))
        for board in BOARDS.values()
        for one in panels(board)
        if len(one["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", ())) > 1
        and re.search(index, str(one["targets"]))
    ]

    assert len({uid for uid, *_ in coloured}) == 3  # fleet, shifts, history
    for uid, title, asked in coloured:
        assert "stability_index_critical" in asked, (uid, title)


def test_incidents_and_versions_are_marked_in_charts_of_models() -> None:
    for uid, board in BOARDS.items():
        marks = {one["name"]: one for one in board.get("annotations", {}).get("list", [])}
        assert set(marks) == (set() if uid in UNMARKED else {"Critical incident", "Incident", "Version"})
        for name, one in marks.items():
            assert one["enable"]
            assert one["useValueForTime"] == (name == "Version")
            assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@pytest.mark.promtool
def test_marks_of_versions_stand_at_their_first_records(scraped: Prometheus) -> None:
    marks = {one["name"]: one["expr"] for one in BOARDS["monitor-fleet"]["annotations"]["list"]}
    found = scraped.query(substituted(marks["Version"], {"model": ".+"}))

    assert {(one["metric"]["model"], one["metric"]["version"]) for one in found} == set(
        itertools.product(NAMES, ("a-1", "a-2"))
    )
    for one in found:  # milliseconds, as Grafana reads them
        assert time.time() - 17 * 86_400 < float(one["value"][1]) / 1_000 < time.time()
    for name in ("Critical incident", "Incident"):
        assert scraped.query(substituted(marks[name], {"model": ".+"})) is not None


@pytest.mark.promtool
def test_marks_of_incidents_last_as_long_as_their_alerts(past: Past) -> None:
    marks = {one["name"]: one["expr"] for one in BOARDS["monitor-fleet"]["annotations"]["list"]}
    start, end = (str(moment // SECOND) for moment in (past.end - 4 * DAY, past.end))
    text = substituted(marks["Incident"], {"model": "basket"})
    asked = {"query": text, "start": start, "end": end, "step": "3600"}
    found = past.server.ask("query_range", **asked)["result"]
    opened = past.server.ask("query", query='model_monitor_incidents_open{model="basket"}', time=end)[
        "result"
    ]

    assert found
    for one in found:
        moments = [moment for moment, _ in one["values"]]
        assert one["metric"].keys() == {"model", "incident"}
        assert {after - before for before, after in itertools.pairwise(moments)} == {3_600}  # one mark
        assert moments[-1] == int(end)
    warned = {one["metric"]["severity"]: int(one["value"][1]) for one in opened}
    assert warned == {"critical": 0, "warning": len(found)}


def test_titles_and_texts_speak_as_people_do() -> None:
    for board in BOARDS.values():
        texts = [board["description"]]
        texts += [f"{one['title']}. {one.get('description', '')}" for one in board["panels"]]
        plain = [text.split(" Exactly: ")[0] for text in texts]
        assert [text for text in plain if re.search(rf"\b({GONE_WORDS})\b", text, re.IGNORECASE)] == []
        assert [text for text in plain if re.search(r"\w+_\w+", text) and "max_series" not in text] == []
        assert [
            sentence
            for text in plain
            for sentence in re.split(r"[.:?!] ", text)
            if len(sentence.split()) > 20
        ] == []


def test_panels_do_not_overlap_and_fill_their_rows() -> None:
    for board in BOARDS.values():
        taken = [
            (x, y)
            for panel in board["panels"]
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        assert len(set(taken)) == len(taken)
        assert max(x for x, _ in taken) == 23


def test_every_family_that_is_exposed_stands_on_a_dashboard() -> None:
    asked = set(re.findall(r"model_monitor_\w+", str(BOARDS)))
    asked |= {f"model_monitor_{name}" for name in _alternatives(str(BOARDS))}
    families, own = {exposed_family_name(measure) for measure in CATALOGUE} - {""}, own_families()

    assert families - asked == set()
    assert own - asked == set()
    known = families | own | set(MAY_BE_EMPTY) | {"model_monitor_as_of_seconds", "model_monitor_rule_series"}
    known |= {"model_monitor_incidents_open"}
    endings = ("_lower", "_upper", "_reference")
    assert {name for name in asked - known if not name.endswith(endings)} == {
        *(
            "model_monitor_absent_measurements",
            "model_monitor_dropped_series",
            "model_monitor_window_end_seconds",
        )
    }


@pytest.mark.promtool
@pytest.mark.parametrize("uid", sorted(UIDS))
def test_every_query_of_every_panel_finds_data(scraped: Prometheus, uid: str) -> None:
    board = BOARDS[uid]
    chosen = list(choices(scraped, board))

    empty = []
    for panel, expression in [(p["title"], t["expr"]) for p in panels(board) for t in p["targets"]]:
        found = any(scraped.query(substituted(expression, values)) for values in chosen)
        if not found and not any(family in expression for family in MAY_BE_EMPTY):
            empty.append(f"{panel}: {expression}")

    assert empty == []
    assert chosen


@pytest.mark.promtool
@pytest.mark.parametrize("uid", sorted(UIDS - {"monitor-itself"}))  # the daemon's own health is not kept
def test_every_query_of_every_panel_finds_what_was_kept(past: Past, uid: str) -> None:
    there = {
        (panel["title"], one["legendFormat"]) for panel in panels(BOARDS[uid]) for one in panel["targets"]
    }

    assert past.empty(uid) == there & (NOT_KEPT | OF_FEW_DAYS)


@pytest.mark.promtool
def test_what_was_kept_last_is_what_is_served(past: Past) -> None:
    text = (past.directory / "past.om").read_text(encoding="utf-8")
    kept = {series_of(one): one.value for family in read_openmetrics(text) for one in family.samples}
    settings = settings_of(past.directory / "config.toml", {})
    page = Exposition(settings.models, SelfMetrics("1", 0.0))
    with open_kept_run(settings, past.directory) as run:
        for spec in settings.models:
            store, rows = run.store, run.store.current.read_current(spec.name)
            alerts = [alert for _, alert in store.alerts.read_alerts(spec.name)]
            incidents = [incident for _, incident in store.incidents.read_incidents(spec.name)]
            found = [stored.row for stored in rows]
            page.publish_model(spec.name, past.end, found, alerts, None, incidents)
    text = page.render_page()[0].decode()
    served = {series_of(one): one.value for family in read_text(text) for one in family.samples}

    assert len({name for name, _ in kept.keys() & served.keys()}) > 100
    assert {one: value for one, value in kept.items() if one in served and served[one] != value} == {}
    lacking = {name for name, labels in served.keys() - kept.keys() if ("truth", "nowcast") not in labels}
    of_now = [
        exposed_family_name(one)
        for one in CATALOGUE
        if one.family in (MeasureFamily.LOG, MeasureFamily.DAILY)
    ]
    of_now_alone = {f"{name}{ending}" for name in of_now for ending in ("", "_lower", "_upper")}
    of_now_alone |= {f"model_monitor_{name}" for name in ("absent_measurements", "dropped_series")}
    of_now_alone |= {"model_monitor_rule_series", *own_families()}
    of_now_alone |= {f"model_monitor_alert_{name}_timestamp_seconds" for name in ("since", "said")}
    assert {name for name in lacking if not name.startswith("model_monitor_window_")} <= of_now_alone
    assert kept.keys() - served.keys() == set()


def own_families() -> set[str]:
    """Names of the daemon's metrics about itself."""
    health = SelfMetrics("1", 0.0, lambda: {"log": (1.0, 1, 0.0)})
    health.observe_cycle(CycleReport(model="late", as_of=0), at=1.0, newest_logged_at=0)
    health.note_standing_aside({"held": False})
    samples = (sample for family in health.collect() for sample in family.samples)
    return {sample.name for sample in samples if not sample.name.endswith("_created")}


def series_of(sample: Sample) -> tuple[str, frozenset[tuple[str, str]]]:
    """Name and labels; one without a value is none."""
    return sample.name, frozenset((name, text) for name, text in sample.labels.items() if text)


@pytest.mark.long
@pytest.mark.promtool
def test_the_boards_show_the_demos_ten_months(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["demo", "--exit", "--directory", str(tmp_path)])
    assert told.exit_code == 0, told.output

    with loaded(tmp_path) as server:
        ten_months = Past(server, tmp_path, 306, from_iso("2014-01-01"), step=6 * 3_600)
        uids = ("fleet", "model-binary", "shifts", "comparisons", "alerts")
        empty = set().union(*(ten_months.empty(f"monitor-{uid}") for uid in uids))

    assert empty == NOT_KEPT | NOT_OF_THE_DEMO


def choices(server: Prometheus, board: dict[str, Any]) -> Iterator[dict[str, str]]:
    """What the variables may be: all at once where that is offered, else each value."""
    found: list[dict[str, str]] = [{}]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            found = [
                known | {variable["name"]: value}
                for known in found
                for value in values_of(server, variable, known)
            ]
    return iter(found)


def values_of(server: Prometheus, variable: dict[str, Any], known: dict[str, str]) -> list[str]:
    wanted = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
    assert wanted is not None
    selector, label = substituted(wanted[1], known), wanted[2]
    values = server.values(selector, label)
    assert values or any(family in selector for family in MAY_BE_EMPTY), selector
    return [variable["allValue"]] if variable.get("includeAll") else values


def substituted(expression: str, values: dict[str, str]) -> str:
    every = {"__rate_interval": "1m", "__range": "1m"} | values
    return re.sub(r"\$\{?(\w*[a-z_]\w*)\}?", lambda match: every[match[1]], expression)


def _alternatives(text: str) -> Iterator[str]:
    for group in re.findall(r"model_monitor_\(([\w|]+)\)", text):
        yield from group.split("|")
