"""The daemon at a clock that stands, in processes made for being killed. Run by the tests.

Each line of standard input, `TIME LOG`, forks a daemon at that moment (microseconds) that logs to a file; its
process id is answered. Forking spares each of them the seconds that imports take.
"""

import os
import signal
import sys
from pathlib import Path

from monitor.app.clocks import standing_clock
from monitor.app.serve import serve
from monitor.app.wiring import opened
from monitor.config.load import settings_of


def run(config: Path, at: int, log: str) -> int:
    """Serve as `monitor run` does."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    with opened(settings_of(config, {}), config.parent) as app:
        return serve(app, clock=standing_clock(at))


def main(config: Path) -> None:
    """Fork until there is no more input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        at, log = line.split()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os._exit(run(config, int(at), log))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
