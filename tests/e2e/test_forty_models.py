"""Forty models on one source, in the real daemon."""

import time
from pathlib import Path

import process
import psycopg
import pytest
import servers
from serving import Bench, Database, create_tables, labels, model, predictions, quick

from monitor.core.clock import DAY, SECOND, floor_to

OPTIONS = quick("10s", pane="1h", windows='"1d"')
NAMES = [f"model-{at:02}" for at in range(40)]
BROKEN = "model-07"


def configured(name: str) -> str:
    text = model(name, options=OPTIONS)
    return text.replace('"predictions"\nid', '"nowhere"\nid') if name == BROKEN else text


@pytest.mark.slow
@pytest.mark.postgres
def test_forty_models_cycle_on_few_connections_and_a_broken_one_stops_no_other(
    tmp_path: Path, postgres_url: str
) -> None:
    now = time.time_ns() // 1_000
    bench = Bench(tmp_path, Database(postgres_url), f"sqlite:///{tmp_path}/monitor.db")
    rows = predictions(200, floor_to(now, DAY) - DAY, now - 60 * SECOND)
    create_tables(bench.database)
    bench.database.run("CREATE INDEX ON predictions (event_time)", "CREATE INDEX ON labels (id)")
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=now))
    bench.configure()
    config, port = tmp_path / "config.toml", servers.free_port()
    head = f'include = ["models.d/*.toml"]\n[http]\nport = {port}\n[log]\nformat = "json"\n'
    config.write_text(head + config.read_text() + "max_connections = 2\n")
    (tmp_path / "models.d").mkdir()
    for name in NAMES:
        (tmp_path / "models.d" / f"{name}.toml").write_text(configured(name))
    most = 0

    with process.daemon(config, port) as running, psycopg.connect(_plain(postgres_url)) as server:
        running.started()

        def all_cycled_twice() -> bool:
            nonlocal most
            most = max(most, _connections(server))
            done = dict.fromkeys(NAMES, 0)
            for line in running.logged("cycle"):
                done[line["model"]] += 1
            return all(count >= 2 for name, count in done.items() if name != BROKEN)

        running.wait(all_cycled_twice, "two cycles of each model")
        series = running.series()
        failed = running.logged("cycle failed")

    measured = {dict(labels_)["model"] for name, labels_ in series if name == "window_records"}
    assert measured == {*NAMES} - {BROKEN}
    assert {line["model"] for line in failed} == {BROKEN}
    assert "nowhere" in failed[0]["error"]
    assert 1 <= most <= 2
    assert series["source_rows_total", process.labelled({"source": "log"})] >= 39 * 200
    assert series["source_query_seconds_total", process.labelled({"source": "log"})] > 0


def _plain(url: str) -> str:
    return url.replace("+psycopg", "")


def _connections(server: psycopg.Connection[tuple[int]]) -> int:
    """Connections of the daemon to the source."""
    found = server.execute(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE application_name = 'monitor' AND datname = current_database()"
    ).fetchone()
    server.rollback()
    assert found is not None
    return found[0]
