"""Times of work against other work: one after the other in turn, each ratio of two neighbours, medians kept.

Machines drift by half within an hour: what is compared is measured in one run, pair by pair.
"""

import gc
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Run:
    """CPU (user and system) and wall seconds, the process' peak in MB, seconds of a database's server."""

    cpu: float
    wall: float
    peak: float = 0.0
    server: float = 0.0
    told: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured of ours and of the other, in turn.

    Parameters
    ----------
    bar
        the ratio of CPU times that is aimed at; None: none.
    per
        units of work in a run, for seconds a unit.
    """

    name: str
    other: str
    runs: Sequence[tuple[Run, Run]]
    bar: float | None = None
    per: int = 1

    def figures(self) -> dict[str, Any]:
        """Medians of both, and of the ratios other / ours."""
        sides = list(zip(*self.runs, strict=True))
        names = ("cpu", "wall", "peak", "server")
        ours, other = (
            {name: _median([getattr(run, name) for run in side]) for name in names} for side in sides
        )
        ratios = {
            name: _median([getattr(b, name) / getattr(a, name) for a, b in self.runs])
            for name in ("cpu", "wall")
        }
        told = [side[-1].told for side in sides]
        return {
            "name": self.name,
            "against": self.other,
            "pairs": len(self.runs),
            "per": self.per,
            "ours": ours | told[0],
            "other": other | told[1],
            "ratio": ratios,
            "bar": self.bar,
        }

    def line(self) -> str:
        """The same, to be read."""
        found = self.figures()
        ours, other, ratio = found["ours"], found["other"], found["ratio"]
        bar = "" if self.bar is None else f" (bar {self.bar:g})"
        peak = f", peak {ours['peak']:.0f} / {other['peak']:.0f} MB" if ours["peak"] else ""
        server = f", server {ours['server']:.2f} / {other['server']:.2f} s" if ours["server"] else ""
        cpu = [side["cpu"] / self.per for side in (ours, other)]
        return (
            f"{self.name} against {self.other}: CPU {cpu[0]:.4g} / {cpu[1]:.4g} s, "
            f"{ratio['cpu']:.1f} times{bar}; wall {ratio['wall']:.1f} times{server}{peak}"
        )


def sizes(given: Sequence[str], rows: int, days: int) -> tuple[int, int]:
    """Rows and days as they are given, or the usual ones."""
    asked = [int(one) for one in given]
    return asked[0] if asked else rows, asked[1] if len(asked) > 1 else days


def timed(work: Callable[[], object]) -> Run:
    """One run of work in this process; its peak is that of the process so far."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    told = found if isinstance(found, dict) else {}
    return Run(time.process_time() - cpu, time.perf_counter() - wall, told=told)


def in_turn(
    name: str,
    ours: Callable[[], object],
    other: tuple[str, Callable[[], object]],
    *,
    pairs: int = 5,
    bar: float | None = None,
    per: int = 1,
) -> Pair:
    """Run both in turn in this process, after a first time each that is not counted."""
    timed(ours), timed(other[1])
    return Pair(name, other[0], [(timed(ours), timed(other[1])) for _ in range(pairs)], bar, per)


def tell(work: Callable[[], object]) -> None:
    """Run work in this process, a child's, and tell the parent by the last line."""
    run = timed(work)
    print(json.dumps(asdict(run) | {"peak": peak()}))


def peak() -> float:
    """MB that this program held at most; `getrusage` on Linux tells what its parent held, if that is more."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    (line,) = (line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3


def child(file: str, *arguments: object, server: Callable[[], float] = lambda: 0.0) -> Run:
    """Run a benchmark's part in a process of its own, which ends by `tell`.

    Parameters
    ----------
    server
        tells the CPU seconds that a database's server has used so far.
    """
    before = server()
    command = [sys.executable, file, "--only", *map(str, arguments)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Run(**json.loads(ended.stdout.splitlines()[-1]) | {"server": server() - before})


def save(name: str, pairs: Sequence[Pair], **figures: object) -> None:
    """Print what was measured; write it to `results/NAME.json`."""
    for pair in pairs:
        print(pair.line(), flush=True)
    for key, value in figures.items():
        print(f"{key}: {value}", flush=True)
    machine = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "at": datetime.now(UTC).isoformat(timespec="minutes"),
    }
    found = {"machine": machine, "pairs": [pair.figures() for pair in pairs], **figures}
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(_rounded(found), indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {key: _rounded(one) for key, one in value.items()}
        case list() | tuple():
            return [_rounded(one) for one in value]
        case _:
            return value
