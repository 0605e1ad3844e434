"""Every query of the board of kept history, asked of a store on PostgreSQL by the role for it."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from row_examples import firing
from sqlalchemy.engine import make_url
from store_examples import START, commit, row

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.clock import DAY, to_iso
from monitor.measures.measurement_row import LabelTruth
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.store_database import migrate_store, open_store

ROOT = Path(__file__).parent.parent.parent
BOARD = json.loads((ROOT / "docker/grafana/dashboards/monitor-history.json").read_text(encoding="utf-8"))
PANELS = {one["title"]: one for one in BOARD["panels"] if one["type"] != "row"}
ASKED = {one["name"]: one["query"] for one in BOARD["templating"]["list"] if one["type"] == "query"}
MODEL = "late's"  # a quote in a name is no end of a text
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def reader(postgres_server: Any) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """What Grafana's role is connected to: a store with a window that was said, and revised."""
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    made = re.search(r"<!-- sql of the boards -->\n```sql\n(.*?)```", page, re.DOTALL)
    assert made is not None
    with postgres_server.database() as url:
        plain = make_url(url).set(drivername="postgresql")
        with psycopg.connect(plain.render_as_string(hide_password=False), autocommit=True) as owner:
            owner.execute("CREATE SCHEMA monitor")
            owner.execute(f'ALTER DATABASE "{plain.database}" SET search_path = monitor')
            migrate_store(url)
            fill(url)
            owner.execute(made[1].encode())
            asked = plain.set(username="monitor_boards", password=re.findall("PASSWORD '(.+?)'", made[1])[0])
            with psycopg.connect(asked.render_as_string(hide_password=False), autocommit=True) as connection:
                yield connection
            owner.execute("DROP OWNED BY monitor_boards")
            owner.execute("DROP ROLE monitor_boards")


def fill(url: str) -> None:
    store = open_store(url, "live")
    index = row("stability_index", 0.2, subject="feature:temp", truth=LabelTruth.NONE)
    breach = Verdict(outcome=Outcome.BREACH, window_end=START, value=0.2, n=1)
    alert = firing(AlertedSeries("moved", window="7d", subject="feature:temp"), breach, START)
    event = HistoryEvent(model=MODEL, at=START, kind="accepted", subject="score", who="ann", why="known")
    for at, value, truth in ((START, 0.5, LabelTruth.PROVISIONAL), (START + DAY, 0.75, LabelTruth.SETTLED)):
        said = row("roc_auc", value, truth=truth, subject="")
        one = commit(at, current=(said,), snapshots=(said, index))
        store.commit_cycle(MODEL, replace(one, alerts=(alert,)))
    store.events.append_events([event])
    store.close()


def expanded(text: str) -> str:
    """SQL as Grafana sends it: variables quoted, a macro's argument up to the first closing bracket."""
    chosen = {"run": "live", "model": MODEL, "window": "7d", "measure": "roc_auc", "end": str(START)}
    text = re.sub(
        r"\$\{(\w+):sqlstring\}", lambda found: "'" + chosen[found[1]].replace("'", "''") + "'", text
    )
    begin, end = (f"'{to_iso(moment)}'" for moment in (START - DAY, START + 2 * DAY))
    macros = {"__timeFilter": f"{{}} BETWEEN {begin} AND {end}", "__timeFrom": begin, "__timeTo": end}
    text = re.sub(r"\$(__\w+)\(([^)]*)\)", lambda found: macros[found[1]].format(found[2]), text)
    assert "$" not in text
    return text


def found(reader: psycopg.Connection[tuple[Any, ...]], text: str) -> Rows:
    return reader.execute(expanded(text).encode()).fetchall()


def panel(reader: psycopg.Connection[tuple[Any, ...]], title: str) -> Rows:
    (target,) = PANELS[title]["targets"]
    return found(reader, target["rawSql"])


@pytest.mark.postgres
def test_every_panel_and_every_variable_finds_rows(reader: psycopg.Connection[tuple[Any, ...]]) -> None:
    assert [title for title in PANELS if not panel(reader, title)] == []
    assert {name: [str(one[-1]) for one in found(reader, query)] for name, query in ASKED.items()} == {
        "run": ["live"],
        "model": [MODEL],
        "window": ["7d"],
        "measure": ["roc_auc"],
        "end": [str(START)],
    }


@pytest.mark.postgres
def test_what_was_said_first_stands_beside_what_is_known_now(
    reader: psycopg.Connection[tuple[Any, ...]],
) -> None:
    assert {one[1:] for one in panel(reader, "First said, and known now")} == {
        ("first said", 0.5),
        ("known now", 0.75),
    }
    assert [one[1:] for one in panel(reader, "How far it moved")] == [("moved", 0.25)]
    assert [one[1:] for one in panel(reader, "Revisions")] == [(2,)]
    assert [one[0] for one in panel(reader, "Revisions of one window")] == [1, 2]
    assert {one[1:] for one in panel(reader, "$measure, as known now")} == {
        ("settled", 0.75),
        ("settled lower", 0.75 - 0.1),
        ("settled upper", 0.75 + 0.1),
    }


@pytest.mark.postgres
@pytest.mark.parametrize("text", ["SELECT 1 FROM panes", "SELECT 1 FROM outbox", "DELETE FROM alerts"])
def test_the_role_sees_no_more_and_writes_nothing(
    reader: psycopg.Connection[tuple[Any, ...]], text: str
) -> None:
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)):
        reader.execute(text.encode())
