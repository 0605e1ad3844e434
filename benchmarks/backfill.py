"""A year of backfill: `monitor replay` over 365 daily ticks of a log of 25 features.

Prints CPU, wall and peak memory of the command, rows a second of CPU, and the size of the store.
python benchmarks/backfill.py DIRECTORY [ROWS [DAYS]]
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import data
import watched
from timing import save, sizes

from monitor.core.clock import DAY, to_iso

ROWS = 1_000_000
DAYS = 365
OPTIONS = 'every = "1d"\nsettle_after = "1d"'


def main() -> None:
    """Measure, print."""
    directory = Path(sys.argv[1])
    rows, days = sizes(sys.argv[2:], ROWS, DAYS)
    with ProcessPoolExecutor(1) as apart:  # what this process holds counts as held by the command too
        source = f"sqlite:///{apart.submit(data.sqlite, directory, rows, days).result()}"
    model = watched.model(data.reference(directory), windows=("1d", "7d", "30d"), options=OPTIONS)
    with tempfile.TemporaryDirectory(dir=directory) as name:
        config = watched.configure(Path(name), source, model)
        watched.opened(config).close_all()
        span = "--from", to_iso(data.START + DAY), "--to", to_iso(data.START + days * DAY)
        command = [
            sys.executable,
            "-m",
            "monitor.cli",
            "replay",
            "--config",
            str(config),
            *span,
            "--every",
            "1d",
        ]
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
        assert process.returncode == 0, process.returncode
        store = sum(file.stat().st_size for file in Path(name).glob("monitor.db*"))
    save(
        "backfill",
        [],
        rows=rows,
        days=days,
        cpu=cpu,
        wall=wall,
        peak_mb=used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),
        cpu_a_tick=cpu / days,
        rows_a_second=rows / cpu,
        store_mb=store / 1e6,
    )


if __name__ == "__main__":
    main()
