"""Where a cycle's time goes: seconds of its steps, by name."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StepClock:
    """Adds up the seconds that each step takes; a step that fails counts too."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time_step(self, step: str) -> Iterator[None]:
        """Time what runs meanwhile."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - began
