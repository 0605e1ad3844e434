"""What every peer reads: the reference and the first days of the log, as frames of pandas in memory.

A peer's script names its parts: each makes ready what can be made once (of the reference), and gives the work
that is timed. Runs in the peer's own environment: NumPy, pandas and PyArrow are all it needs.
echo PART | python benchmarks/peers/with_PEER.py REFERENCE LOG DAYS
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))

from timing import peak, timed

DAY = 86_400_000_000
THRESHOLD = 0.5
Told = dict[str, Any]


@dataclass(frozen=True)
class Frames:
    """Rows of the reference and of some days, with their time as a timestamp and the predicted class.

    Parameters
    ----------
    log
        all the days in one.
    """

    reference: pd.DataFrame
    days: Sequence[pd.DataFrame]
    log: pd.DataFrame
    numeric: tuple[str, ...] = field(default_factory=lambda: tuple(f"n{at:02}" for at in range(20)))
    categorical: tuple[str, ...] = field(default_factory=lambda: tuple(f"c{at}" for at in range(5)))

    @classmethod
    def read(cls, reference: Path, log: Path, days: int) -> "Frames":
        """Read the first days."""
        first = pq.read_table(log, columns=["event_time"])["event_time"][0].as_py() // DAY * DAY
        some = _prepared(pd.read_parquet(log, filters=[("event_time", "<", first + days * DAY)]))
        by_day = [day for _, day in some.groupby(some["event_time"].dt.floor("D"))]
        return cls(_prepared(pd.read_parquet(reference)), by_day, some)

    @property
    def columns(self) -> list[str]:
        """The 25 whose drift is asked for."""
        return [*self.numeric, *self.categorical]


Part = Callable[[Frames], Callable[[], Told]]


def run(peer: str, parts: Mapping[str, Part]) -> None:
    """Time each part that a line of the input names, after a first day that is not counted, and tell it."""
    reference, log, days = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    about = {"version": version(peer), "python": sys.version.split()[0]}
    day, rows = (Frames.read(reference, log, some) for some in (1, days))
    work: dict[str, Callable[[], Told]] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in work:
            first = parts[name](day)
            first()
            work[name] = first if name == "values" else parts[name](rows)
        found = timed(work[name])
        print(json.dumps(asdict(found) | {"peak": peak(), "told": found.told | about}), flush=True)


def _prepared(frame: pd.DataFrame) -> pd.DataFrame:
    frame["event_time"] = pd.to_datetime(frame["event_time"], unit="us")
    frame["predicted"] = (frame["score"] >= THRESHOLD).astype("int64")
    return frame
