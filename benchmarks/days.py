"""A day's drift of 25 columns, and a day's performance: ours from hourly states, the script from rows.

Both sides have what they need in memory: ours 24 states of an hour, which it merges; the script a frame of
the day's rows. Values that both know are compared. Ours with all intervals and critical values that it makes
by default (400 resamples), then without resampling, as the script has none. Ends with 1 where values differ.
python benchmarks/days.py DIRECTORY [ROWS [DAYS]]
"""

import functools
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import data
import pandas as pd
import pyarrow.parquet as pq
import reading
import script
import watched
from timing import in_turn, save, sizes

from monitor.core.clock import DAY
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import make_expected_cells, measure_performance, measure_shifts
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.pipeline.cycle_model import CycleModel
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart

DAYS_MEASURED = 5
ASK = MeasureOptions()
HEADLINES = replace(ASK, resamples=0, whole=False, families=frozenset({MeasureFamily.SHIFT}))
SAME = {
    "roc_auc": "roc_auc",
    "average_precision": "average_precision",
    "log_loss": "log_loss",
    "brier_score": "brier",
    "accuracy": "accuracy",
    "average_class_accuracy": "balanced_accuracy",
    "matthews_corrcoef": "matthews",
}


def drift_of(
    counting: Counting,
    expected: ExpectedCells,
    parts: Sequence[PanePart],
    starts: Sequence[int],
    options: MeasureOptions,
) -> list[list[MeasureResult]]:
    """Drift of each day."""
    return [
        measure_shifts(counting, expected, reading.merged(list(parts), start), options) for start in starts
    ]


def performance_of(
    counting: Counting, parts: Sequence[PanePart], starts: Sequence[int], options: MeasureOptions
) -> list[list[MeasureResult]]:
    """Performance of each day."""
    return [measure_performance(counting, reading.merged(list(parts), start), options) for start in starts]


def differing(ours: list[MeasureResult], scripts: script.Report) -> list[str]:
    """Measures of which both tell values that are further apart than the cells explain."""
    values = {one.measure: one.measurement for one in ours if one.subject == ""}
    wrong = []
    for name, theirs in SAME.items():
        found = values.get(name)
        if found is None or found.value is None:
            wrong.append(f"{name}: ours is absent")
        elif abs(found.value - scripts[theirs]) > (found.resolution or 0.0) + 1e-9:
            wrong.append(f"{name}: {found.value} against {scripts[theirs]}")
    return wrong


def counted_log(directory: Path, rows: int, days: int) -> tuple[CycleModel, dict[PaneHalf, list[PanePart]]]:
    """The model, and its hours."""
    config = watched.configure(
        Path(tempfile.mkdtemp(dir=directory)),
        f"sqlite:///{data.sqlite(directory, rows, days)}",
        watched.model(data.reference(directory)),
    )
    monitored = watched.opened(config).find_cycle_model("scored")
    return monitored, reading.counted(monitored, days, rows)


def main() -> int:
    """Measure, compare, print."""
    directory = Path(sys.argv[1])
    rows, days = sizes(sys.argv[2:], data.ROWS, data.DAYS)
    known = pd.read_parquet(data.reference(directory))
    monitored, found = counted_log(directory, rows, days)
    counting, reference = monitored.counting, monitored.reference
    assert reference is not None
    expected = make_expected_cells(counting, reference.records)
    n = min(days, DAYS_MEASURED)
    starts = [data.START + at * DAY for at in range(n)]
    frames = list(script.by_day(pq.read_table(data.parquet(directory, rows, days)).to_pandas()).values())[:n]

    ours = functools.partial(drift_of, counting, expected, found[PaneHalf.RECORDS], starts)
    other = (
        "the script, in memory",
        lambda: [script.drift(known, one, data.NUMERIC, data.CATEGORICAL) for one in frames],
    )
    pairs = [
        in_turn("a day's drift, headline measures", lambda: ours(HEADLINES), other, pairs=3, bar=25, per=n),
        in_turn("a day's drift, all of them", lambda: ours(ASK), other, pairs=3, per=n),
    ]
    by_labels = functools.partial(performance_of, counting, found[PaneHalf.LABELS], starts)
    scripts = "the script, in memory", lambda: [script.performance(one) for one in frames]
    plain = replace(ASK, resamples=0)
    few = replace(plain, whole=False)
    pairs += [
        in_turn("a day's performance, headline measures", lambda: by_labels(few), scripts, bar=40, per=n),
        in_turn("a day's performance, without intervals", lambda: by_labels(plain), scripts, bar=40, per=n),
        in_turn("a day's performance, with intervals", lambda: by_labels(ASK), scripts, per=n),
    ]
    wrong = differing(by_labels(ASK)[0], script.performance(frames[0]))
    measured = {"drift": [len(ours(options)[0]) for options in (HEADLINES, ASK)]}
    measured["performance"] = [len(by_labels(options)[0]) for options in (few, plain, ASK)]
    save("days", pairs, rows_a_day=len(frames[0]), measurements=measured, values_that_differ=wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
