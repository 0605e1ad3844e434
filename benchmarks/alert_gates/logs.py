"""Real logs: as they are, or their rows dealt anew over days on which nothing happens."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from monitor.core.clock import DAY, SECOND
from monitor.core.measurement import Reason
from monitor.evidence.day_values import day_values
from monitor.evidence.describing import DayContext, SubjectVerdict, describe_subjects
from monitor.evidence.judging import AlertBudget, JudgedDay, judge_day
from monitor.evidence.watch import Watch, make_watch
from monitor.measures.statistics.label_delays import delay_quantile
from monitor.records.count_records import count_records
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.states.views import DelayTable
from monitor.windows.strata_folding import fold_strata

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
UNITS = (("event_time", "us"), ("logged_at", "us"), ("reported_at", "us"))
FIRST = 19_726 * DAY  # Thursday, 4 January 2024
_COMMON = ReadingOptions(
    task=ModelTask.BINARY,
    has_score=True,
    score_range=(0.0, 1.0),
    labelled=True,
    versioned=True,
    names=(("logged_at", "logged_at"),),
    time_units=UNITS,
    pane=DAY,
    horizon=60 * DAY,
)
_COMING = 0.6  # share of the labels that come that a day waits for
_SPECIES = ("DM", "DO", "DS", "NL", "OL", "OT", "PE", "PF", "PP", "RM", "other")


@dataclass(frozen=True)
class Log:
    """A log: how it is read, its columns by role, and how many rows a day are dealt."""

    name: str
    reading: ReadingOptions
    columns: tuple[tuple[str, str], ...]
    label: str
    per_day: int
    by_weekday: bool


FLIGHTS = Log(
    "flights",
    replace(
        _COMMON,
        classes=("0", "1"),
        threshold=0.3,
        numeric=(
            "dep_hour",
            "distance_mi",
            "humid_pct",
            "origin_hour_load",
            "plane_age_yr",
            "precip_in",
            "pressure_mb",
            "recent_dep_delay_min",
            "sched_block_min",
            "temp_f",
            "visib_mi",
            "wind_mph",
        ),
        categorical=("carrier", "dest", "origin"),
    ),
    (("score", "score"),),
    "late",
    400,
    by_weekday=True,
)
RODENTS = Log(
    "rodents",
    replace(
        _COMMON,
        task=ModelTask.MULTICLASS,
        classes=_SPECIES,
        probabilities=_SPECIES,
        numeric=("hindfoot_mm", "weight_g"),
        categorical=("plot_type", "sex"),
    ),
    (*((f"probability:{name}", f"p_{name}") for name in _SPECIES), ("prediction", "predicted")),
    "level",
    60,
    by_weekday=False,
)


@lru_cache(maxsize=2)
def rows(log: Log) -> pd.DataFrame:
    """Rows by role: one a prediction, with its first label and that which corrected it, if any."""
    predictions = pd.read_parquet(EXAMPLES / log.name / "predictions.parquet")
    labels = pd.read_parquet(EXAMPLES / log.name / "labels.parquet")
    columns = {role: predictions[column] for role, column in log.columns}
    columns |= {
        f"feature:{name}": predictions[name] for name in (*log.reading.numeric, *log.reading.categorical)
    }
    made = pd.DataFrame(columns | {"version": predictions["model_version"]})
    made["id"] = predictions["prediction_id"].astype(str)
    for name in ("event_time", "logged_at"):
        made[name] = _us(predictions[name])
    for name in log.reading.numeric:
        made[f"feature:{name}"] = made[f"feature:{name}"].astype(float)
    for name in log.reading.categorical:
        made[f"feature:{name}"] = made[f"feature:{name}"].astype(object)
    labels = labels[labels[log.label].notna()].sort_values("revision")
    first, second = labels[labels["revision"] == 0], labels[labels["revision"] > 0]
    for suffix, many in (("", first), ("_later", second)):
        some = many.drop_duplicates("prediction_id")
        some.index = some["prediction_id"].astype(str)
        text = some[log.label] if log.reading.classes == _SPECIES else some[log.label].astype(int)
        made[f"label{suffix}"] = made["id"].map(text.astype(str))
        made[f"reported_at{suffix}"] = made["id"].map(_us(some["reported_at"]))
    return made.sort_values("event_time", ignore_index=True)


def dealt(log: Log, days: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of random days of the log, dealt over days from FIRST on: the clock kept, and the weekday."""
    whole = rows(log)
    day = whole["event_time"].to_numpy() // DAY
    chosen = []
    pools = [np.flatnonzero((day % 7 == weekday) | (not log.by_weekday)) for weekday in range(7)]
    for number in range(days):
        pool = pools[(FIRST // DAY + number) % 7]
        size = int(rng.poisson(log.per_day))
        some = whole.iloc[rng.choice(pool, size, replace=False)].copy()
        moved = FIRST + number * DAY - some["event_time"] // DAY * DAY
        for name in ("event_time", "logged_at", "reported_at", "reported_at_later"):
            some[name] = some[name] + moved
        some["day"] = number
        chosen.append(some)
    made = pd.concat(chosen, ignore_index=True)
    made["id"] = [str(number) for number in range(len(made))]
    return made


@lru_cache(maxsize=2)
def counting_of(log: Log) -> Counting:
    """Grids of the reference that comes with the log's rows: 20,000 of them at random."""
    whole = rows(log)
    some = whole.iloc[np.random.default_rng(1).choice(len(whole), min(20_000, len(whole)), replace=False)]
    return reference_of(_table(some), log.reading).counting


@lru_cache(maxsize=2)
def reference_counting(log: Log) -> Counting:
    """Grids of the reference file that comes with the log."""
    read = pd.read_parquet(EXAMPLES / log.name / "reference.parquet")
    columns = {role: read[column] for role, column in log.columns}
    columns |= {f"feature:{name}": read[name].astype(float) for name in log.reading.numeric}
    columns |= {f"feature:{name}": read[name].astype(object) for name in log.reading.categorical}
    return counting_from(pd.DataFrame(columns), log)


def counting_from(rows: pd.DataFrame, log: Log) -> Counting:
    """Grids of rows by role."""
    return reference_of(_table(rows), log.reading).counting


@dataclass(frozen=True)
class Counted:
    """Days of a log, counted as of when they entered."""

    counting: Counting
    first: int  # day
    age: int
    records: list[PanePart]
    labels: list[PanePart]


def counted(
    log: Log, made: pd.DataFrame, days: int, *, first: int = FIRST // DAY, counting: Counting | None = None
) -> Counted:
    """Count days: records as of two hours after their end, labels as of their age."""
    on = counting or counting_of(log)
    panes = (first + np.arange(days, dtype=np.int64)) * DAY
    due = (made["event_time"] // DAY + 1) * DAY + DAY // 12
    visible = made[made["logged_at"] <= due]
    records = count_records(_table(visible), on, panes=panes, as_of=10**17)
    age = _age(made)
    later = made[made["label_later"].notna()]
    joined = [_joined(made, "", age), *([_joined(later, "_later", age)] if len(later) else [])]
    labels = count_labels(pa.concat_tables(joined), on, panes=panes, as_of=10**17)
    return Counted(on, first, age, records, labels)


def judged(
    of: Counted,
    part: PaneHalf,
    budget: AlertBudget,
    unusual: frozenset[int] = frozenset(),
    *,
    learn: int = 28,
) -> Iterator[tuple[int, Watch, JudgedDay, list[SubjectVerdict]]]:
    """Judge the days of a part, one after the other; the day is that on which it is judged."""
    parts = of.records if part is PaneHalf.RECORDS else of.labels
    watch = make_watch(
        of.counting, part, fold_strata(of.counting.layout_of(part), [one.strata for one in parts[:learn]])
    )
    history = []
    for number, one in enumerate(parts):
        values = day_values(watch, of.counting, one.strata, of.first + number)
        known = of.first + number in unusual
        found = judge_day(watch, history[-56:], values, budget=budget, unusual=known)
        history.append(found.record)
        late = 0 if part is PaneHalf.RECORDS else of.age
        yield number + late, watch, found, describe_subjects(watch, found, budget, DayContext(unusual=known))


def _age(made: pd.DataFrame) -> int:
    delays = (made["reported_at"] - made["event_time"]).dropna().to_numpy() / 1e6
    cells = np.searchsorted(DELAY_EDGES, delays[: len(delays) // 3], side="right")
    usual = delay_quantile(
        DelayTable(DELAY_EDGES, np.bincount(cells, minlength=len(DELAY_EDGES) + 1)), _COMING, Reason.NO_LABELS
    )
    return 1 if usual.value is None else max(1, int(np.ceil(usual.value * SECOND / DAY)))


def _joined(made: pd.DataFrame, suffix: str, age: int) -> pa.Table:
    """Records with the labels that were reported by their age; of the later ones those alone that were."""
    label, reported_at = made[f"label{suffix}"], made[f"reported_at{suffix}"]
    late = reported_at > (made["event_time"] // DAY + 1 + age) * DAY
    revision = pa.array(np.full(len(made), float(bool(suffix))), mask=late.to_numpy())
    table = _table(made.assign(label=label.mask(late), reported_at=reported_at.mask(late)))
    table = table.append_column("revision", revision)
    return table.filter(pa.array(~late.to_numpy())) if suffix else table


def _table(made: pd.DataFrame) -> pa.Table:
    columns = {}
    for name in made.columns:
        if name in ("day", "label_later", "reported_at_later"):
            continue
        column = made[name]
        if name in ("event_time", "logged_at", "reported_at"):
            columns[name] = pa.array(column.astype("Int64"), from_pandas=True).cast(pa.int64())
        else:
            columns[name] = pa.array(column, from_pandas=True)
    return pa.table(columns)


def _us(times: pd.Series) -> pd.Series:
    return times.astype("datetime64[us, UTC]").astype("int64")
