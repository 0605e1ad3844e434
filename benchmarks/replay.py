"""What the demo's replay costs: CPU and memory of a process of its own, beside reading the same rows.

Prints seconds of CPU of `monitor demo --exit`, loading and starting apart, as shares of a budget and as a
multiple of what pandas takes to read both tables once; and its peak memory. Ends with 1 where a budget is
exceeded. On a quiet machine: python benchmarks/replay.py [DIRECTORY]
"""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

CPU_BUDGET = 60.0  # seconds
MEMORY_BUDGET = 500.0  # MB
UNTIL = "2013-03-02"  # a replay of a day: what loading and starting cost


def main() -> int:
    """Measure, print, compare with the budgets."""
    given = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=given) as directory:
        started, _ = _run(Path(directory) / "start", "--until", UNTIL)
        whole, memory = _run(Path(directory) / "whole")
        replay, plain = whole - started, _read_once(Path(directory) / "whole" / "flights.db")
    print(f"loading and starting {started:6.1f} s of CPU")
    print(f"replay               {replay:6.1f} s of CPU, {replay / CPU_BUDGET:.0%} of the budget")
    print(f"                     {replay / plain:6.1f} times what pandas takes to read both tables once")
    print(f"peak memory          {memory:6.0f} MB, {memory / MEMORY_BUDGET:.0%} of the budget")
    return int(replay > CPU_BUDGET or memory > MEMORY_BUDGET)


def _run(directory: Path, *options: str) -> tuple[float, float]:
    """CPU seconds, user and system, and peak MB of a demo."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "monitor.cli", "demo", "--directory", str(directory), "--exit", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, after.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _read_once(database: Path) -> float:
    connection = sqlite3.connect(database)
    began = time.process_time()
    for table in ("predictions", "labels"):
        pd.read_sql(f"SELECT * FROM {table}", connection)
    connection.close()
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
