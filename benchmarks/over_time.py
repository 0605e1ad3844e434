"""What lines over time of a frame cost: seconds of CPU and by the clock, peak of the process' memory.

A million rows of 28 columns over 52 weeks, the first 13 the reference: 20 numbers, 4 categories, a score, a
label, an id, a time. Made by another process, so that the peak is of the measuring. Ends with 1 where it
takes more than 15 s of CPU, or more than 1 GB. On a quiet machine: python benchmarks/over_time.py
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import monitor

ROWS, WEEKS = 1_000_000, 52
MOST_SECONDS, MOST_MEGABYTES = 15.0, 1_000.0


def main() -> int:
    """Make the frame, measure it in a process of its own; or, told where it lies, do so."""
    if len(sys.argv) > 1:
        return _measure(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "frame.parquet"
        _make_frame().to_parquet(path, row_group_size=50_000)
        return subprocess.run([sys.executable, __file__, str(path)], check=False).returncode


def _measure(path: Path) -> int:
    frame = pd.read_parquet(path)
    before = _peak_megabytes()
    print(f"the frame: {frame.shape[0]:,} x {frame.shape[1]}, {frame.memory_usage().sum() / 1e6:.0f} MB")
    began = time.process_time(), time.perf_counter()
    result = monitor.evaluate(
        frame,
        reference=0.25,
        score="score",
        threshold=0.5,
        label="late",
        time="timestamp",
        every="7d",
        id="id",
    )
    counted = time.process_time()
    over = result.over_time()
    measured = time.process_time()
    size = len(result.report().text)
    cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
    print(
        f"counted {counted - began[0]:.1f} s, {len(over.windows)} windows {measured - counted:.1f} s of CPU"
    )
    print(f"with the report of {size / 1e3:.0f} kB {cpu:.1f} s of CPU, {wall:.1f} s by the clock")
    peak = _peak_megabytes()
    print(f"peak of the process {peak:.0f} MB, {before:.0f} MB once the frame was read")
    return int(cpu > MOST_SECONDS or peak > MOST_MEGABYTES)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    score = rng.beta(2, 4, ROWS)
    moment = np.sort(rng.integers(0, WEEKS * 7 * 86_400, ROWS))
    columns = {
        "id": np.arange(ROWS),
        "timestamp": pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(moment, unit="s"),
        "score": score,
        "late": (rng.random(ROWS) < score).astype(np.int8),
    }
    numbers = {f"x{at:02}": rng.normal(size=ROWS) for at in range(20)}
    classes = {f"c{at}": pd.Categorical(rng.choice(list("abcdefgh"), ROWS)) for at in range(4)}
    return pd.DataFrame(columns | numbers | classes)


if __name__ == "__main__":
    sys.exit(main())
