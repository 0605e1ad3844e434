"""Waiting for what other threads and processes do."""

import threading
import time
from collections.abc import Callable, Iterable


def wait_for(condition: Callable[[], bool], timeout: float = 20.0) -> None:
    """Wait until something holds; a test that waits in vain fails."""
    until = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def at_once(calls: Iterable[Callable[[], object]]) -> None:
    """Make all calls at the same time, each in a thread of its own, and wait for them."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
