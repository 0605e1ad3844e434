"""Emulators of services: programs in environments of their own, which `make` installs and tests start."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import servers

PLACE = Path(os.environ.get("MONITOR_EMULATORS", Path(__file__).parents[1] / ".venv-emulators"))
_START_TIMEOUT = 60.0


def find_emulator(name: str, pattern: str) -> Path:
    """Program of an emulator, by its place there; skips the test, with CI=true fails it, without one."""
    program = next((PLACE / name).glob(pattern), None)
    return program or servers.missing(f"{servers.NEEDS}{name}: make .venv-emulators/{name}/installed")


@contextlib.contextmanager
def running_emulator(command: Sequence[str], directory: Path, port: int) -> Iterator[None]:
    """Start it, wait until its port of loopback answers, and end it; `directory` is its home."""
    environment = {**os.environ, "HOME": str(directory)}
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        until = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                break
            time.sleep(0.1)
        else:
            raise RuntimeError(f"the emulator did not start: {(directory / 'log').read_text()[-2000:]}")
        yield
    finally:
        process.kill()
        process.wait()
