"""A clock of the machine that is wrong by as much as it is told, for all that a schedule goes by."""

import datetime as dt
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from monitor.cli import main as monitor
from monitor.core.clock import SECOND

MODULES = ("apscheduler.schedulers.base", "apscheduler.triggers.interval", "monitor.daemon.schedule")
_time, _time_ns = time.time, time.time_ns


def wrong_by(seconds: Callable[[], float]) -> tuple[dict[str, Any], SimpleNamespace]:
    """What stands for `datetime` in the modules that ask it what time it is, and for the module `time`."""

    class Shifted(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Shifted":
            return dt.datetime.now(tz) + dt.timedelta(seconds=seconds())  # type: ignore[return-value]

    clock = SimpleNamespace(
        time=lambda: _time() + seconds(),
        time_ns=lambda: _time_ns() + round(seconds() * 1_000) * 1_000_000,
        monotonic=time.monotonic,
    )
    return dict.fromkeys(MODULES, Shifted), clock


def microseconds(clock: SimpleNamespace) -> Callable[[], int]:
    """The clock that cycles go by."""
    return lambda: round(clock.time() * SECOND)


def main(file: Path, arguments: list[str]) -> None:
    """Run `monitor` on a machine whose clock is wrong by the seconds that a file holds."""
    modules, clock = wrong_by(lambda: float(file.read_text(encoding="utf-8") or 0))
    for name, shifted in modules.items():
        importlib.import_module(name).datetime = shifted  # type: ignore[attr-defined]
    time.time, time.time_ns = clock.time, clock.time_ns
    monitor(arguments)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
