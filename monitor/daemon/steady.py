"""Whether the machine's clock goes evenly: a cycle by one that is wrong for a while is of a wrong time."""

import threading
import time

EVENLY = 26.0  # seconds for which it has to go evenly after a jump
_JUMP = 1.0  # seconds: a jump differs by more from the time that has passed
_AT_ONCE = 0.1  # seconds within which both clocks have to be read


class Steady:
    """Tells at each look whether the clock has not jumped for a while, back or ahead."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead, _ = _look()
        self._jumped: float | None = None

    def __call__(self) -> bool:
        """Look at the clock."""
        with self._lock:
            ahead, now = _look()
            if abs(ahead - self._ahead) > _JUMP:
                self._jumped = now
            self._ahead = ahead  # from look to look: one that is set right slowly goes evenly
            return self._jumped is None or now - self._jumped >= EVENLY


def _look() -> tuple[float, float]:
    """Seconds by which the clock is ahead of one that never jumps, and what that one says."""
    while True:
        before, wall, now = time.monotonic(), time.time(), time.monotonic()
        if now - before < _AT_ONCE:
            return wall - now, now
