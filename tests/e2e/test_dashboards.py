"""Every query of every dashboard, asked of a Prometheus that scrapes a daemon with three models."""

import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import process
import pytest
import servers
from boards import boards
from fleet_log import fleet
from rendering import rendered
from scraping import Prometheus, prometheus

from monitor.exposition.selection import exposed_as
from monitor.exposition.self_metrics import SelfMetrics
from monitor.measures.catalogue import CATALOGUE
from monitor.specs.protocols import CycleReport

COMMITTED = Path(__file__).parent.parent.parent / "docker" / "grafana" / "dashboards"
BOARDS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(COMMITTED.glob("*.json"))
}
UIDS = {"monitor-fleet", "monitor-shifts", "monitor-comparisons", "monitor-alerts", "monitor-itself"}
UIDS |= {f"monitor-model-{task}" for task in ("binary", "multiclass", "regression")}
MAY_BE_EMPTY = (  # nothing need be wrong, nor need 14 days have been learned
    *("model_monitor_alert_firing", "model_monitor_alert_pending"),
    *("model_monitor_evidence", "model_monitor_change"),
)
NAMES = ("flight", "animal", "basket")


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


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in panels(board) for target in panel["targets"]]


def test_what_is_committed_is_what_make_dashboards_writes() -> None:
    assert {board.uid: rendered(board) for board in boards()} == {
        path.stem: path.read_text(encoding="utf-8") for path in COMMITTED.glob("*.json")
    }


def test_dashboards_and_their_panels_are_known_by_fixed_and_unique_ids() -> None:
    assert {board["uid"] for board in BOARDS.values()} == UIDS == set(BOARDS)
    for board in BOARDS.values():
        ids = [panel["id"] for panel in board["panels"]]
        assert len(set(ids)) == len(ids)
        assert min(ids) > 0
    shifts = {panel["title"]: panel["id"] for panel in panels(BOARDS["monitor-shifts"])}
    assert shifts["Most shifted now"] == 158783983


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
    asked = set(re.findall(r"model_monitor_\w+", " ".join(itertools.chain(*map(queries, BOARDS.values())))))
    asked |= {f"model_monitor_{name}" for text in map(str, BOARDS.values()) for name in _alternatives(text)}
    health = SelfMetrics("1", 0.0, lambda: {"log": (1.0, 1, 0.0)})
    health.observe(CycleReport(model="late", as_of=0), at=1.0, newest_logged_at=0)
    health.stands_aside({"held": False})

    families = {exposed_as(measure) for measure in CATALOGUE} - {""}
    own = {sample.name for family in health.collect() for sample in family.samples}

    assert families - asked == set()
    assert {name for name in own if not name.endswith("_created")} - asked == set()
    known = families | own | set(MAY_BE_EMPTY) | {"model_monitor_as_of_seconds", "model_monitor_rule_series"}
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
    every = values | {"__rate_interval": "1m", "__range": "1m"}
    return re.sub(r"\$(\w*[a-z_]\w*)", lambda match: every[match[1]], expression)


def _alternatives(text: str) -> Iterator[str]:
    for group in re.findall(r"model_monitor_\(([\w|]+)\)", text):
        yield from group.split("|")
