"""Do people who look at pages delay a scrape or a cycle? Fifty of them beside a real daemon of the demo.

Phases with and without them take turns, so that what else the machine does is in both. A browser asks for a
page of the model each second and sends the ETag of what it has. A scrape each second; a cycle, which makes
every page anew, each two seconds. python benchmarks/browsers.py DIRECTORY [PHASES [SECONDS]]
"""

import http.client
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers
from e2e import process

BROWSERS = 50
UNTIL = "2013-04-15"
PATHS = (
    *("/", "/models/late", "/models/late?window=1d", "/models/late/performance", "/models/late/features"),
    *("/models/late/feature?name=temp_f", "/models/late/compare", "/models/late/segments"),
    *("/models/late/log", "/models/late/alerts"),
)


@dataclass(slots=True)
class Phase:
    """What was measured while nobody looked, or while all did: milliseconds."""

    scrapes: list[float] = field(default_factory=list)
    cycles: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)


def main(directory: Path, phases: int = 6, seconds: int = 20) -> None:
    """Replay, look at pages in every second phase, and print both."""
    port = servers.free_port()
    command = process.monitor(
        *("demo", "--directory", str(directory), "--until", UNTIL, "--pace", "2s", "--port", str(port))
    )
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = (Phase(), Phase())
    try:
        awaited(port)
        for at in range(phases):
            measured(port, found[at % 2], seconds, browsers=BROWSERS * (at % 2))
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(30)
    print("                          median    95 %   largest")
    for name, phase in zip(("nobody looks", f"{BROWSERS} browsers"), found, strict=True):
        for what in ("scrapes", "cycles", "pages"):
            told(f"{name}, {what}", getattr(phase, what))
    print(f"answers: {dict(sorted(found[1].answers.items()))}")


def awaited(port: int) -> None:
    """Wait until the replay is over and the daemon serves."""
    while True:
        try:
            if asked(port, "/metrics")[0] == 200:
                return
        except OSError:
            time.sleep(1)


def measured(port: int, phase: Phase, seconds: int, *, browsers: int) -> None:
    """Scrape each second while so many browsers look."""
    over = threading.Event()
    looking = [threading.Thread(target=look, args=(port, at, phase, over)) for at in range(browsers)]
    for thread in looking:
        thread.start()
    time.sleep(2)  # the first page of each is none of the phase
    last = -1.0
    for _ in range(seconds):
        before = time.perf_counter()
        _, _, body = asked(port, "/metrics")
        phase.scrapes.append(1_000 * (time.perf_counter() - before))
        values = dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#"))
        as_of, took = (
            float(values[f'model_monitor_{name}{{model="late"}}'])
            for name in ("as_of_seconds", "cycle_duration_seconds")
        )
        if as_of != last and last >= 0:
            phase.cycles.append(1_000 * took)
        last = as_of
        time.sleep(max(0.0, 1 - (time.perf_counter() - before)))
    over.set()
    for thread in looking:
        thread.join()


def look(port: int, number: int, phase: Phase, over: threading.Event) -> None:
    """Ask for a page each second, as a browser that has the one before."""
    path, tag = PATHS[number % len(PATHS)], ""
    over.wait(number / BROWSERS)
    while not over.is_set():
        before = time.perf_counter()
        status, tag, _ = asked(port, path, tag)
        took = 1_000 * (time.perf_counter() - before)
        phase.pages.append(took)
        phase.answers[status] += 1
        over.wait(max(0.0, 1 - took / 1_000))


def asked(port: int, path: str, tag: str = "") -> tuple[int, str, bytes]:
    """Status, ETag and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={"If-None-Match": tag, "Accept-Encoding": "identity"})
        answer = connection.getresponse()
        return answer.status, answer.headers.get("ETag", tag), answer.read()
    finally:
        connection.close()


def told(name: str, took: list[float]) -> None:
    """A line of milliseconds."""
    if took:
        median, most = np.percentile(took, [50, 95])
        print(f"{name:24} {median:7.0f} {most:7.0f} {max(took):9.0f} ms  n {len(took)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
