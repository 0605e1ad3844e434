"""Other monitors: a day's drift of 25 columns, its performance where they have it, ours and theirs in turn.

Every peer runs in an environment of its own (peers/PEER.txt), on the same rows and reference in memory, made
ready for the reference before it is timed, after a first run that is not counted. Of ours there are the
headline measures, and all that are the default, with critical values and intervals, from hourly states that
are there, as in a cycle; and all with the counting of the day's rows in memory. Ends with 1 where values
differ.
Environments are in DIRECTORY/peers/PEER, results go to results/peers-PEER.json.
python benchmarks/monitors.py DIRECTORY [PEER ...]
"""

import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import data
import days
import numpy as np
import pyarrow as pa
import reading
import watched
from timing import Pair, Run, peak, save, timed

from monitor.core.clock import DAY, HOUR
from monitor.measures.evaluate import (
    make_expected_cells,
    measure_performance,
    measure_quality,
    measure_shifts,
)
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.pipeline.cycle_model import CycleModel
from monitor.records.pane import PaneHalf, PanePart
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range
from monitor.states.counters import Counters

PAIRS = 3
STARTS = [data.START + at * DAY for at in range(10)]  # days of ours in a run
PARTS = {"drift": PaneHalf.RECORDS, "performance": PaneHalf.LABELS}
HOW = {"headline": "headline measures", "all": "all", "rows": "all, rows counted"}
HEADLINES = {
    "drift": days.HEADLINES,
    "performance": replace(days.HEADLINES, families=MeasureOptions().families),
}
WIDE = 20  # levels, above which we merge some, and cells are not the same
BY_CELL = ("chi_squared", "jensen_shannon_distance", "largest_share_distance")

Values = dict[str, dict[str, float]]
"""By column ("": the model) and measure."""


@dataclass(frozen=True)
class Peer:
    """Another monitor.

    Parameters
    ----------
    days
        in a run: few of the slow ones; all where a cost is shared by the days.
    parts
        what its script times besides drift.
    """

    name: str
    days: int
    bar: float | None
    parts: tuple[str, ...] = ()

    @contextlib.contextmanager
    def running(self, directory: Path) -> Iterator["Running"]:
        """Its process, as long as it is needed."""
        script = Path(__file__).parent / "peers" / f"with_{self.name.replace('-', '_')}.py"
        python = directory / "peers" / self.name / "bin" / "python"
        command = [python, script, data.reference(directory), data.parquet(directory), self.days]
        pipe = subprocess.PIPE
        with subprocess.Popen(list(map(str, command)), text=True, stdin=pipe, stdout=pipe) as process:
            yield Running(self, process)


@dataclass(frozen=True, slots=True)
class Running:
    """A peer whose process waits to be told what to do."""

    peer: Peer
    process: subprocess.Popen[str]

    def run(self, part: str) -> Run:
        """One run of a part; seconds are of a day."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(part, file=self.process.stdin, flush=True)
        line = next(line for line in self.process.stdout if line.startswith('{"cpu"'))
        return _a_day(Run(**json.loads(line)), self.peer.days)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("nannyml", data.DAYS, 15, ("performance",)),
        Peer("popmon", data.DAYS, 15, ("states",)),
        Peer("whylogs", 3, 30, ("states",)),
        Peer("evidently", 1, 100, ("performance",)),
        Peer("alibi-detect", 10, None),
    )
}


@dataclass(frozen=True)
class InMemory:
    """Rows of each day as the source hands them over, read before."""

    monitored: CycleModel
    tables: dict[tuple[PaneHalf, int], pa.Table] = field(default_factory=dict)

    def records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The day's predictions."""
        key = PaneHalf.RECORDS, ranges[0][0]
        if key not in self.tables:
            self.tables[key] = self.monitored.source.read_records(model, ranges)
        return self.tables[key]

    def labelled(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The same with their labels."""
        key = PaneHalf.LABELS, ranges[0][0]
        if key not in self.tables:
            self.tables[key] = self.monitored.source.read_records_with_labels(model, ranges)
        return self.tables[key]


class Ours:
    """Our side, in this process: hourly states of some days, and their rows in memory."""

    def __init__(self, directory: Path) -> None:
        config = watched.configure(
            Path(tempfile.mkdtemp(dir=directory)),
            f"sqlite:///{data.sqlite(directory)}",
            watched.model(data.reference(directory)),
        )
        self.monitored = watched.opened(config).find_cycle_model("scored")
        reference = self.monitored.reference
        assert reference is not None
        self.expected = make_expected_cells(self.monitored.counting, reference.records)
        self.rows = InMemory(self.monitored)
        self.states = {part: {start: self._count(part, start) for start in STARTS} for part in PaneHalf}

    def measure(
        self, part: PaneHalf, options: MeasureOptions, *, from_rows: bool = False
    ) -> list[list[MeasureResult]]:
        """Measurements of each day."""
        states = self.states[part]
        hours = ((start, self._count(part, start) if from_rows else states[start]) for start in STARTS)
        return [self._measured(part, reading.merged(found, start), options) for start, found in hours]

    def run(self, part: str, how: str) -> Run:
        """One run; seconds are of a day, the peak is that of this process."""
        options = HEADLINES[part] if how == "headline" else MeasureOptions()
        rows = how == "rows"
        found = timed(lambda: {"measurements": len(self.measure(PARTS[part], options, from_rows=rows)[-1])})
        return replace(_a_day(found, len(STARTS)), peak=peak())

    def values(self) -> dict[tuple[str, str], MeasureResult]:
        """Of the first day, by column and measure."""
        found = [one for part in PaneHalf for one in self.measure(part, MeasureOptions())[0]]
        by_name = {(one.subject.removeprefix("feature:"), one.measure): one for one in found}
        positive = {("", one.measure): one for one in found if one.subject == "class:1"}
        return positive | by_name

    def _measured(self, part: PaneHalf, day: Counters, options: MeasureOptions) -> list[MeasureResult]:
        counting = self.monitored.counting
        if part is PaneHalf.LABELS:
            return measure_performance(counting, day, options)
        return [*measure_shifts(counting, self.expected, day, options), *measure_quality(counting, day)]

    def _count(self, part: PaneHalf, start: int) -> list[PanePart]:
        panes, end = np.arange(start, start + DAY, HOUR), STARTS[-1] + DAY
        spec, counting = self.monitored.spec, self.monitored.counting
        ranges = [(start, start + DAY)]
        return list(
            SqlSource.count_panes(self.rows, spec, part, ranges, counting, panes=panes, as_of=end).parts
        )


def differences(ours: Mapping[tuple[str, str], MeasureResult], theirs: Values) -> dict[str, Any]:
    """Values that both tell: how many, the largest difference, and those that our cells do not explain."""
    same: dict[str, list[float]] = {}
    wrong = []
    levels = dict(zip(data.CATEGORICAL, data.LEVELS, strict=True))
    for column, measures in theirs.items():
        for name, value in measures.items():
            if name in BY_CELL and levels.get(column, 0) > WIDE:
                continue
            found = ours[column, name].measurement
            if found.value is None:
                continue
            away = abs(found.value - value)
            same.setdefault(name, []).append(away)
            if not away <= found.resolution + 1e-6 * max(1.0, abs(value)):
                wrong.append(f"{column} {name}: {found.value} against {value}")
    largest = {name: {"values": len(away), "largest": max(away)} for name, away in same.items()}
    return {"compared": largest, "differ": wrong}


def compared(ours: Ours, peer: Running) -> Iterator[Pair]:
    """Ours from states and with the counting of rows, the peer, in turn; the peer's own states with ours."""
    for part in ("drift", *(part for part in peer.peer.parts if part in PARTS)):
        turns = [[*(ours.run(part, how) for how in HOW), peer.run(part)] for _ in range(PAIRS)]
        title = f"{peer.peer.name} {turns[0][-1].told['version']}"
        bars = peer.peer.bar if part == "drift" else None, None, None
        for at, (said, bar) in enumerate(zip(HOW.values(), bars, strict=True)):
            yield Pair(f"a day's {part}, {said}", title, [(turn[at], turn[-1]) for turn in turns], bar)
    if "states" in peer.peer.parts:
        states = [(ours.run("drift", "all"), peer.run("states")) for _ in range(PAIRS)]
        yield Pair("a day's drift, all", f"{peer.peer.name} from its own states", states)


def _a_day(run: Run, days: int) -> Run:
    return replace(run, cpu=run.cpu / days, wall=run.wall / days)


def main() -> int:
    """Measure, compare, print."""
    directory = Path(sys.argv[1])
    asked = [PEERS[name] for name in sys.argv[2:]] or list(PEERS.values())
    ours = Ours(directory)
    known = ours.values()
    for part, how in itertools.product(PARTS, HOW):
        ours.run(part, how)  # not counted
    wrong = 0
    for peer in asked:
        with peer.running(directory) as running:
            told: Values = {}
            for part in ("values", *(part for part in peer.parts if part in PARTS)):
                told |= running.run(part).told.get("values", {})
            agreement = differences(known, told)
            wrong += len(agreement["differ"])
            save(f"peers-{peer.name}", list(compared(ours, running)), **agreement)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
