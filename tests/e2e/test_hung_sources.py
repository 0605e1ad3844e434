"""Sources that never answer, or fall silent: in the real daemon, beside a healthy one."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import httpx
import process
import pytest
import servers
from serving import Database, fill_tables, model, predictions, quick
from silent_servers import Proxy, proxy, silent

from monitor.core.clock import DAY, HOUR, SECOND, floor_to, from_iso

EVERY = 3 * SECOND
OPTIONS = quick("3s", horizon="1d")
CALM = "calm-0"


@dataclass(frozen=True, slots=True)
class Fleet:
    """A daemon, ways to the servers of its sources, and names of models by source."""

    running: process.Process
    ways: tuple[Proxy, ...]
    models: dict[str, list[str]]

    def health(self) -> tuple[int, str]:
        """Status and text of `/healthz`."""
        answer = httpx.get(f"http://127.0.0.1:{self.running.port}/healthz", timeout=10)
        return answer.status_code, answer.text

    def ticks(self, name: str) -> list[int]:
        """As of of a model's successful cycles."""
        return [from_iso(line["as_of"]) for line in self.running.logged("cycle", model=name)]

    def silent(self, source: str) -> float:
        """Seconds for which a source has not answered, by its gauge."""
        return self.running.value("source_silent_seconds", source=source) or 0.0

    def has_gone_on(self, name: str, since: int) -> bool:
        """Whether a model has had a successful cycle as of a moment or later."""
        return self.ticks(name)[-1] >= since

    def follows_on(self, name: str, since: int, until: int) -> bool:
        """Whether no tick of a model was left out between two moments."""
        ticks = [tick for tick in self.ticks(name) if since <= tick <= until]
        ends = ticks[0] <= since + EVERY and ticks[-1] >= until - EVERY
        return ends and all(after - before == EVERY for before, after in pairwise(ticks))


@contextmanager
def fleet(directory: Path, urls: dict[str, str], *, of_each: int) -> Iterator[Fleet]:
    """A healthy model on SQLite, and models on sources that may hang; `deaf` is one that never answers."""
    now, port = time.time_ns() // 1_000, servers.free_port()
    rows = predictions(300, floor_to(now, DAY) - 6 * HOUR, now + HOUR)
    for url in urls.values():
        log = Database(f"{url}?sql_mode=ANSI_QUOTES" if url.startswith("m") else url)
        fill_tables(log, rows, labelled=now)
    with ExitStack() as stack:
        ways = {name: stack.enter_context(proxy(url)) for name, url in urls.items() if name != "calm"}
        reached = {name: ways[name].url(url) if name in ways else url for name, url in urls.items()}
        reached["deaf"] = f"postgresql://ann:s3cret@127.0.0.1:{stack.enter_context(silent())}/app"
        sources = "".join(
            f'[sources.{name}]\nurl = "{url}"\nstatement_timeout = "1s"\n' for name, url in reached.items()
        )
        names = {name: [f"{name}-{at}" for at in range(1 if name == "calm" else of_each)] for name in reached}
        models = "".join(
            model(one, options=OPTIONS).replace('source = "log"', f'source = "{name}"')
            for name, several in names.items()
            for one in several
        )
        head = f'[http]\nport = {port}\n[log]\nformat = "json"\n[store]\nurl = "sqlite:///{directory}/monitor.db"\n'
        (directory / "config.toml").write_text(head + sources + models, encoding="utf-8")
        running = stack.enter_context(process.daemon(directory / "config.toml", port))
        running.started()
        yield Fleet(running, tuple(ways.values()), names)


def hang_and_return(hung: Fleet, *, until: int) -> None:
    """All that was asked for: with the ways closed until health answers so, and opened again."""
    running = hung.running
    stuck = [source for source in hung.models if source not in ("calm", "deaf")]
    for source in stuck:
        for name in hung.models[source]:
            running.first_cycle(name)

    time.sleep(2 * EVERY / SECOND)
    held = time.time_ns() // 1_000 - EVERY
    for way in hung.ways:
        way.hold()
    running.wait(lambda: all(hung.silent(one) > 0 for one in [*stuck, "deaf"]), "silence")
    running.wait(lambda: hung.health()[0] == until, f"health {until}")
    status, told = hung.health()
    before = len(hung.ticks(CALM))
    running.wait(lambda: len(hung.ticks(CALM)) >= before + 3, "ticks of the healthy model")

    assert status == until
    for source in [*stuck, "deaf"]:
        assert f'source "{source}": no answer for' in told
        failed = {line["model"] for line in running.logged("cycle failed", source=source)}
        assert failed
        assert failed <= {*hung.models[source]}
    assert "calm" not in told
    assert "s3cret" not in told
    assert hung.silent("calm") == 0
    assert hung.follows_on(CALM, held, hung.ticks(CALM)[-1])

    back = time.time_ns() // 1_000
    for way in hung.ways:
        way.forward()
    for source in stuck:
        for name in hung.models[source]:
            running.wait(partial(hung.has_gone_on, name, back), f"a cycle of {name}")
            assert hung.follows_on(name, held, back)  # later ones may be too many for a busy machine
    running.wait(lambda: all(hung.silent(one) == 0 for one in stuck), "answers")
    assert hung.silent("deaf") > 0


@pytest.mark.slow
@pytest.mark.postgres
def test_a_healthy_source_keeps_its_ticks_beside_twelve_hung_models_and_they_go_on_by_themselves(
    tmp_path: Path, postgres_url: str
) -> None:
    urls = {"calm": f"sqlite:///{tmp_path}/log.db", "stuck": postgres_url}
    with fleet(tmp_path, urls, of_each=6) as hung:
        hang_and_return(hung, until=200)
        for way in hung.ways:
            way.hold()
        time.sleep(2 * EVERY / SECOND)

        code, took = hung.running.stop()

    assert code == 0
    assert took < 15


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.long
def test_health_fails_by_the_names_of_the_sources_that_hang(
    tmp_path: Path, postgres_url: str, mariadb_url: str
) -> None:
    urls = {"calm": f"sqlite:///{tmp_path}/log.db", "stuck": postgres_url, "mute": mariadb_url}
    with fleet(tmp_path, urls, of_each=4) as hung:
        hang_and_return(hung, until=503)
        hung.running.stop()
