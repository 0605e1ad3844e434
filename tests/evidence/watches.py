"""Small watches and days, made by hand or counted by the real counting functions."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Floats
from monitor.core.clock import DAY
from monitor.evidence.day_record import DayRecord, DayValues
from monitor.evidence.day_values import day_values
from monitor.evidence.describing import SubjectVerdict, describe_subjects
from monitor.evidence.judging import AlertBudget, JudgedDay, judge_day
from monitor.evidence.watch import (
    DailyStatistic,
    SubjectGroup,
    Watch,
    WatchedFault,
    WatchedSeries,
    make_watch,
)
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.windows.strata_folding import fold_strata

MONDAY = 20_003  # 7 October 2024, in days since 1970
BUDGET = AlertBudget()
READING = ReadingOptions(
    task=ModelTask.REGRESSION,
    numeric=("constant", "width"),
    categorical=("color",),
    versioned=True,
    names=(("logged_at", "logged_at"),),
    time_units=(("event_time", "us"), ("logged_at", "us")),
    pane=DAY,
)


def watch(traits: Sequence[DailyStatistic] = (DailyStatistic.LEVEL,), weight: float = 0.1) -> Watch:
    """A watch of one number, its faults, and the records."""
    return Watch(
        PaneHalf.RECORDS,
        ("feature:width", "records"),
        (SubjectGroup.FEATURE, SubjectGroup.RECORDS),
        (
            *(WatchedSeries(0, trait, 0, weight) for trait in traits),
            WatchedSeries(1, DailyStatistic.RECORDS, 1, 0.05),
        ),
        (WatchedFault(0, "invalid", 0.01), WatchedFault(0, "missing", 0.01, 0.05)),
        2,
        {},
    )


def day(number: int, *values: float, n: int = 1_000, invalid: int = 0) -> DayValues:
    """A day of such a watch, with so many records."""
    return DayValues(
        MONDAY + number,
        np.asarray([*values, np.log(n)], dtype=np.float32),
        np.asarray([n, n], dtype=np.float32),
        np.asarray([invalid, 0], dtype=np.int32),
        np.asarray([n, n], dtype=np.int32),
    )


def run(of: Watch, days: Sequence[DayValues], **options: object) -> list[JudgedDay]:
    """Judge days, one after the other."""
    rows: list[DayRecord] = []
    judged = []
    for one in days:
        judged.append(judge_day(of, rows, one, budget=BUDGET, **options))  # type: ignore[arg-type]
        rows.append(judged[-1].record)
    return judged


def quiet(days: int, seed: int = 3, sd: float = 0.04) -> Floats:
    """Levels of days on which nothing happens."""
    return np.random.default_rng(seed).normal(0, sd, days)


def rows(number: int, n: int, seed: int = 0, **columns: object) -> pa.Table:
    """Rows of a day; columns by name replace the usual ones (`width` for `feature:width`)."""
    rng = np.random.default_rng([seed, number + 1])
    time = np.full(n, (MONDAY + number) * DAY)
    usual: dict[str, object] = {
        "id": [f"{number}-{at}" for at in range(n)],
        "event_time": time,
        "logged_at": time + 5_000_000,
        "version": ["v1"] * n,
        "prediction": rng.normal(size=n),
        "feature:constant": np.full(n, 7.0),
        "feature:width": rng.normal(size=n),
        "feature:color": np.asarray(["red", "green", "blue"])[rng.choice(3, n, p=[0.6, 0.3, 0.1])],
    }
    named = {
        (f"feature:{name}" if f"feature:{name}" in usual else name): each for name, each in columns.items()
    }
    return pa.table({name: pa.array(each, from_pandas=True) for name, each in (usual | named).items()})


def counting() -> Counting:
    """Grids of two thousand such rows."""
    return reference_of(rows(-1, 2_000), READING).counting


def counted(tables: Sequence[pa.Table], on: Counting) -> list[PanePart]:
    """One pane a day; a table is that of its day."""
    return [
        count_records(table, on, panes=np.asarray([(MONDAY + at) * DAY]), as_of=10**17)[0]
        for at, table in enumerate(tables)
    ]


def judged_rows(tables: Sequence[pa.Table], on: Counting, learn: int = 28) -> list[list[SubjectVerdict]]:
    """What is said of every subject on each day."""
    parts = counted(tables, on)
    of = make_watch(
        on, PaneHalf.RECORDS, fold_strata(on.records_layout, [part.strata for part in parts[:learn]])
    )
    days = [day_values(of, on, part.strata, MONDAY + at) for at, part in enumerate(parts)]
    return [describe_subjects(of, one, BUDGET) for one in run(of, days)]
