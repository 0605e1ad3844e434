"""Days of a model of house prices in regions, as they are counted and judged: the whole, and by region."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from synthetic import READING, START

from monitor.core.clock import DAY
from monitor.evidence.day_record import DayRecord
from monitor.evidence.day_values import day_values
from monitor.evidence.judging import AlertBudget, judge_day
from monitor.evidence.segment_attribution import without_repeats_of_whole
from monitor.evidence.watch import Watch, make_segment_watch, make_watch
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.states.strata import Strata
from monitor.windows.strata_folding import fold_strata

PRICES = ReadingOptions(
    task=ModelTask.REGRESSION,
    numeric=(),
    categorical=(),
    labelled=True,
    segments=("region",),
    pane=DAY,
    time_units=READING.time_units,
    names=READING.names,
    horizon=400 * DAY,
)
SCORES = replace(READING, numeric=(), categorical=(), segments=("region",), pane=DAY, horizon=400 * DAY)
REGIONS = ("east", "north", "south", "west", "centre")


@dataclass(frozen=True)
class Fault:
    """What is wrong in one region from a day on: predictions by a share, scores on their logits' scale."""

    region: str
    day: int
    by: float
    until: int = 10_000


def rows_of(
    rng: np.random.Generator,
    reading: ReadingOptions,
    days: int,
    per_day: int,
    faults: Sequence[Fault] = (),
    *,
    names: Sequence[str] = REGIONS,
    moves: tuple[float, float] = (0.0, 0.0),
) -> pa.Table:
    """Labelled rows; `moves`: standard deviations of effects of days, of all rows and of each region."""
    n = days * per_day
    day = np.repeat(np.arange(days), per_day)
    region = rng.integers(0, len(names), n)
    common = moves[0] * rng.normal(size=days)[day]
    common += moves[1] * rng.normal(size=(days, len(names)))[day, region]
    wrong = np.zeros(n)
    for fault in faults:
        at = (day >= fault.day) & (day < fault.until) & (np.asarray(names)[region] == fault.region)
        wrong[at] += fault.by
    event = START + day * DAY + (np.arange(n) % per_day) * (DAY // per_day)
    columns = {
        "id": pa.array([f"p{at}" for at in range(n)]),
        "event_time": pa.array(event),
        "logged_at": pa.array(event + 30_000_000),
        "segment:region": pa.array(np.asarray(names)[region]),
    }
    if reading.task is ModelTask.REGRESSION:
        usual = np.exp(12.3 + 0.15 * region + 0.35 * rng.normal(size=n) + common)
        columns["prediction"] = np.round(usual * (1 + wrong), 2)
        columns["label"] = pa.array([f"{x:.2f}" for x in usual * np.exp(0.1 * rng.normal(size=n))])
    else:
        logit = rng.normal(-0.8 + 0.2 * region + common, 0.8)
        columns["score"] = np.round(1 / (1 + np.exp(-(logit + wrong))), 6)
        columns["label"] = pa.array(np.where(rng.random(n) < 1 / (1 + np.exp(-1.5 * logit)), "1", "0"))
    return pa.table(columns)


def counted(
    reading: ReadingOptions, reference: pa.Table, rows: pa.Table, days: int
) -> tuple[Counting, dict[PaneHalf, list[Strata]]]:
    """Counters of each day."""
    counting = reference_of(reference.drop_columns(["id"]), reading).counting
    panes, end = START + np.arange(days) * DAY, START + (days + 9) * DAY
    labelled = rows.append_column("reported_at", pa.array(np.asarray(rows["event_time"]) + 4 * DAY))
    labelled = labelled.append_column("revision", pa.array(np.zeros(rows.num_rows)))
    return counting, {
        PaneHalf.RECORDS: [
            one.strata
            for one in count_records(rows.drop_columns(["label"]), counting, panes=panes, as_of=end)
        ],
        PaneHalf.LABELS: [one.strata for one in count_labels(labelled, counting, panes=panes, as_of=end)],
    }


def judged(
    counting: Counting, part: PaneHalf, strata: Sequence[Strata], budget: AlertBudget | None = None
) -> Iterator[tuple[int, str, str]]:
    """(day, segment, subject) of each change that is told, as a cycle judges days; segment "": the whole."""
    pooled = fold_strata(counting.layout_of(part), strata[:FEWEST_DAYS])
    whole, parts = make_watch(counting, part, pooled), make_segment_watch(counting, part, pooled)
    rows: dict[bool, list[DayRecord]] = {False: [], True: []}
    for day, each in enumerate(strata):
        number = START // DAY + day
        for watch in (whole, parts):
            values = day_values(watch, counting, each, number)
            row = judge_day(watch, rows[watch.segmented], values, budget=budget or AlertBudget()).record
            if watch.segmented:
                row = without_repeats_of_whole(watch, row, whole, rows[False][-1])
            rows[watch.segmented].append(row)
            yield from told(watch, row, day)


def told(watch: Watch, row: DayRecord, day: int) -> Iterator[tuple[int, str, str]]:
    """Changes that are told on a day."""
    for at in np.flatnonzero((row.since > 0) & (row.evidence_from == row.day) & (row.evidence > 1)):
        name = watch.subjects[at]
        yield (day, name, watch.groups[at].value) if watch.segmented else (day, "", name)
