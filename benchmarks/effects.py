"""What effect tables cost: seconds of CPU to fit one with its folds, bytes kept, microseconds a window.

Features go together (correlation 0.3), as in a table of a lender or a shop: that takes the most passes. Ends
with 1 where 200 features of 50,000 rows take more than 10 s, or more than 200 kB. On a quiet machine:
python benchmarks/effects.py
"""

import sys
import time

import numpy as np
import pyarrow as pa

from monitor.core.measurement import LEVEL
from monitor.measures.shift.score_effects import ScoreEffects
from monitor.records.effect_table import effect_target, make_effect_cells, pack_effects
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import Reference, reference_of, with_effects

SIZES = ((25, 20_000), (25, 50_000), (25, 200_000), (200, 20_000), (200, 50_000))
MOST_SECONDS, MOST_BYTES = 10.0, 200_000
WINDOWS = 50


def main() -> int:
    """Measure, print, compare with the bars."""
    seconds, size = 0.0, 0
    print("features     rows   fit (s of CPU)   kept (kB)   window (µs)    R²")
    for features, rows in SIZES:
        table, reading = _table_of(features, rows)
        counted = reference_of(table, reading)
        began = time.process_time()
        reference = with_effects(counted, table)
        seconds = time.process_time() - began
        if reference.effects is None:
            return 1
        size = len(pack_effects(reference.effects))
        window = _seconds_of_window(reference)
        print(
            f"{features:8} {rows:8,} {seconds:16.2f} {size / 1000:11.0f} {window * 1e6:13.0f} "
            f"{reference.effects.r2:5.2f}"
        )
    return int(seconds > MOST_SECONDS or size > MOST_BYTES)


def _table_of(features: int, rows: int) -> tuple[pa.Table, ReadingOptions]:
    """Normal numbers that share a part, and a score that is a logistic function of their sum."""
    rng = np.random.default_rng(1)
    common, names = rng.normal(size=rows), tuple(f"x{at:03}" for at in range(features))
    columns = {name: np.sqrt(0.3) * common + np.sqrt(0.7) * rng.normal(size=rows) for name in names}
    total = sum(rng.normal() * column for column in columns.values()) / np.sqrt(features)
    table = {"score": 1 / (1 + np.exp(-np.asarray(total)))}
    reading = ReadingOptions(
        task=ModelTask.BINARY,
        classes=("0", "1"),
        has_score=True,
        score_range=(0.0, 1.0),
        threshold=0.5,
        numeric=names,
    )
    return pa.table(table | {f"feature:{name}": column for name, column in columns.items()}), reading


def _seconds_of_window(reference: Reference) -> float:
    if reference.effects is None:
        return 0.0
    counting, records = reference.counting, reference.records
    cells = make_effect_cells(counting, records)
    effects = ScoreEffects(counting, effect_target(counting, records), reference.effects, cells, records)
    began = time.process_time()
    for _ in range(WINDOWS):
        effects.explain_move(records, None, LEVEL)
    return (time.process_time() - began) / WINDOWS


if __name__ == "__main__":
    sys.exit(main())
