"""A process that gets no memory says so, whoever is refused it."""

import subprocess
import sys
from pathlib import Path

import pytest
from serving import model, predictions, quick, sqlite_bench

from monitor.core.clock import DAY, HOUR, from_iso, to_iso

START = from_iso("2024-03-01")
END = START + 3 * DAY
MISNAMED = ("does not answer", "refuses a query", "damaged", "a fault of this program", "Traceback")
# a cycle over the first rows loads all libraries: what is refused is memory to count in, at whatever place
SCRIPT = """
import resource, sys
from contextlib import suppress
from pathlib import Path
from monitor.cli import main

config, room, first, then = sys.argv[1:]
with suppress(SystemExit):
    main(["cycle", "--as-of", first, "--config", config])
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(room), resource.RLIM_INFINITY))
main(["cycle", "--as-of", then, "--config", config])
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc: Linux")
@pytest.mark.parametrize("room", [5_000_000, pytest.param(20_000_000, marks=pytest.mark.slow)])
def test_a_cycle_without_memory_says_that_it_ran_out(tmp_path: Path, room: int) -> None:
    rows = predictions(150_000, START, END)
    bench = sqlite_bench(tmp_path, rows, labelled=END)
    bench.configure(model(options=quick("1h", horizon="20d")), batch_rows=150_000)

    # with less room still the driver of SQLite ends the process: nobody is left to say anything
    moments = (to_iso(START + HOUR), to_iso(END))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(bench.config), str(room), *moments],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert f'monitor: model "late" as of {to_iso(END)}: memory ran out: give this process more' in done.stderr
    assert not any(misnamed in done.stderr for misnamed in MISNAMED)
