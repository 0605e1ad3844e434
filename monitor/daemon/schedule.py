"""When cycles run: a ticker in UTC. What a tick does is handed in."""

import hashlib
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_SCHEDULER_STARTED, JobSubmissionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.interval import IntervalTrigger

from monitor.core.clock import MINUTE, SECOND, Clock, floor_to, to_datetime

EVENLY = 26.0  # seconds for which it has to go evenly after a jump
_JUMP = 1.0  # seconds: a jump differs by more from the time that has passed
_AT_ONCE = 0.1  # seconds within which both clocks have to be read

_LOG = "monitor.daemon"
_LOOK = 1.0  # seconds between looks at the clock
_START_TIMEOUT = 10.0
_CENTURY = 5_218  # weeks
_AT_START, _AGAIN = " at the start", " again"  # no name of a model holds a blank


class ClockJumpDetector:
    """Tells at each look whether the clock has not jumped for a while, back or ahead."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead, _ = _read_clock_lead()
        self._jumped: float | None = None

    def __call__(self) -> bool:
        """Look at the clock."""
        with self._lock:
            ahead, now = _read_clock_lead()
            if abs(ahead - self._ahead) > _JUMP:
                self._jumped = now
            self._ahead = ahead  # from look to look: one that is set right slowly goes evenly
            return self._jumped is None or now - self._jumped >= EVENLY


def _read_clock_lead() -> tuple[float, float]:
    """Seconds by which the clock is ahead of one that never jumps, and what that one says."""
    while True:
        before, wall, now = time.monotonic(), time.time(), time.monotonic()
        if now - before < _AT_ONCE:
            return wall - now, now


class Schedule:
    """Calls `run(model, as_of)` once a tick of each model, in threads of its source.

    A source whose models all hang stops no other: its threads are its own, and no more of them. After a jump
    of the clock nothing is run until it has gone evenly for a while; then `note_resumed` is called.

    A tick falls on the UTC multiples of the model's `every`, later by its jitter, and once at the start.
    Its as of is the clock's time floored to `every`, whatever the jitter or delay. A tick that comes
    while the model's cycle still runs, or whose as of has been run already, is left out; of several
    late ticks one is run, however late.

    Parameters
    ----------
    models
        name and `every`, microseconds; none: nothing ever ticks.
    run
        what is due at a tick; it handles its own failures. Seconds after which to try again before the
        next tick, or None.
    clock
        tells the time that cycles go by.
    stopping
        set when cycles shall end; they look at it between their transactions.
    skipped
        told of a tick that was left out because a cycle still ran.
    idle
        told of a tick whose as of has been run already, as when the clock stands.
    pace
        real seconds between ticks, from the start on, where the clock is not the real one.
    workers
        cycles of one source that run at the same time.
    source
        name of a model's source.
    """

    def __init__(
        self,
        models: Mapping[str, int],
        run: Callable[[str, int], float | None],
        clock: Clock,
        *,
        stopping: threading.Event,
        skipped: Callable[[str], None] = lambda _model: None,
        idle: Callable[[str], None] = lambda _model: None,
        pace: float | None = None,
        workers: int = 4,
        source: Callable[[str], str] = lambda _model: "",
    ) -> None:
        self._every: dict[str, int] = dict(models)
        self._run = run
        self._clock = clock
        self._stopping = stopping
        self._skipped = skipped
        self._idle = idle
        self._held = False
        self.resumed: Callable[[], None] = lambda: None
        self._pace = pace
        self._running = {model: threading.Lock() for model in models}
        self._last: dict[str, int] = {}
        self._changing = threading.Lock()
        self._started = threading.Event()
        self._workers, self._source = workers, source
        self._threads: set[str] = set()
        self._steady = ClockJumpDetector()
        self._scheduler = BlockingScheduler(timezone=UTC)
        self._thread = threading.Thread(target=self._scheduler.start, name="schedule", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether ticks come."""
        return self._thread.is_alive()

    def start_ticks(self) -> None:
        """Let the ticks begin; returns once they do."""
        self._scheduler.add_listener(self._note_overrun, EVENT_JOB_MAX_INSTANCES)
        self._scheduler.add_listener(lambda _event: self._started.set(), EVENT_SCHEDULER_STARTED)
        for model, every in self._every.items():
            self._add_model(model, every)
        self._thread.start()
        self._started.wait(_START_TIMEOUT)
        threading.Thread(target=self._watch_clock, name="clock", daemon=True).start()

    def replace_models(self, models: Mapping[str, int], *, changed: Collection[str]) -> None:
        """Tick for other models from now on; a cycle that runs comes to its end.

        Parameters
        ----------
        changed
            those to run at once, where no cycle of theirs runs; so are new ones.
        """
        with self._changing:
            before, self._every = self._every, dict(models)
            for model in models:
                self._running.setdefault(model, threading.Lock())
            again = {model for model in models if model in changed or before.get(model) != models[model]}
            gone, restarted = before.keys() - models.keys(), again & before.keys()
            for model in gone | restarted:
                self._remove_model(model)
            for model in sorted(again):
                # What changed is measured as of the same moment again.
                self._last.pop(model, None)
                self._add_model(model, models[model])
            for source in self._threads - {_source_thread_name(self._source(model)) for model in models}:
                self._threads.discard(source)
                # What runs there comes to its end.
                self._scheduler.remove_executor(source, shutdown=False)

    def stop_ticks(self, timeout: float) -> bool:
        """End the ticks, and wait at most `timeout` seconds for running cycles.

        Returns
        -------
        bool
            whether no cycle runs any more.
        """
        self._stopping.set()
        if not self._started.is_set():
            return True
        self._scheduler.shutdown(wait=False)
        until = time.monotonic() + timeout
        self._thread.join(timeout)
        # A lock that is taken here is kept: no cycle of its model begins any more.
        return all(
            lock.acquire(timeout=max(0.0, until - time.monotonic())) for lock in [*self._running.values()]
        )

    def _add_model(self, model: str, every: int, *, again: bool = False) -> None:
        """Tick now and from now on; again: where its cycle runs just now, nothing is left out."""
        now = datetime.now(UTC)
        if self._pace is not None:
            self._add_job(model, IntervalTrigger(seconds=self._pace, timezone=UTC), next_run_time=now)
            return
        if again:
            self._schedule_retry(model, 0.0)
        else:
            self._add_job(model, _single_run_trigger(), id=_start_job_id(model), next_run_time=now)
        self._add_job(model, aligned_trigger(model, every))

    def _remove_model(self, model: str) -> None:
        for job in (model, _start_job_id(model), _retry_job_id(model)):
            with suppress(JobLookupError):
                self._scheduler.remove_job(job)

    def _add_job(self, model: str, trigger: IntervalTrigger, **options: object) -> None:
        options = {"id": model, "coalesce": True, "max_instances": 1, "misfire_grace_time": None} | options
        name = _source_thread_name(self._source(model))
        if name not in self._threads:
            pool = ThreadPoolExecutor(self._workers, {"thread_name_prefix": name})
            self._scheduler.add_executor(pool, name)
            self._threads.add(name)
        self._scheduler.add_job(self._handle_tick, trigger, [model], executor=name, **options)

    def _watch_clock(self) -> None:
        """Have the scheduler ask the clock again and again: how long it waits was told by one that jumps."""
        while not self._stopping.wait(_LOOK):
            steady = self._steady()
            if not steady and not self._held:
                log = structlog.stdlib.get_logger(_LOG)
                log.warning("the clock has jumped: no cycle begins until it has gone evenly", seconds=EVENLY)
            if steady and self._held:
                self._restart_ticks()
            self._held = not steady
            self._scheduler.wakeup()

    def _restart_ticks(self) -> None:
        """After a jump of the clock: when ticks come was computed by a wrong one."""
        structlog.stdlib.get_logger(_LOG).info("the clock goes evenly again: ticks are set anew")
        self.resumed()
        self._held = False
        with self._changing:
            for model, every in self._every.items():
                self._remove_model(model)
                self._add_model(model, every, again=True)

    def _handle_tick(self, model: str, *, retry: bool = False) -> None:
        now = self._clock()
        # Asked after the time: a jump in between is noticed.
        if self._held or not self._steady():
            return
        lock = self._running[model]
        if not lock.acquire(blocking=False):
            if not retry:
                self._report_overrun(model)
            return
        try:
            every = self._every.get(model)
            if every is not None and not self._stopping.is_set():
                self._run_due(model, floor_to(now, every))
        finally:
            lock.release()

    def _run_due(self, model: str, as_of: int) -> None:
        if as_of == self._last.get(model):
            self._idle(model)
            return
        later = self._run(model, as_of)
        if later is None:
            self._last[model] = as_of
        elif not self._stopping.is_set():
            with self._changing:
                if model in self._every:
                    self._schedule_retry(model, later)

    def _schedule_retry(self, model: str, after: float) -> None:
        self._add_job(
            model,
            _single_run_trigger(),
            id=_retry_job_id(model),
            kwargs={"retry": True},
            next_run_time=datetime.now(UTC) + timedelta(seconds=after),
            replace_existing=True,
            max_instances=2,  # one that asks for the next is not over yet
        )

    def _note_overrun(self, event: JobSubmissionEvent) -> None:
        job = str(event.job_id)
        if not job.endswith(_AGAIN):
            self._report_overrun(job.removesuffix(_AT_START))

    def _report_overrun(self, model: str) -> None:
        if not self._stopping.is_set():
            self._skipped(model)


def _source_thread_name(source: str) -> str:
    """Name of the threads in which a source's cycles run."""
    return f"cycles of {source}"


def _single_run_trigger() -> IntervalTrigger:
    """Never again: a job without a next time is removed, and that fails while the scheduler is shut down."""
    return IntervalTrigger(weeks=_CENTURY, timezone=UTC)


def _start_job_id(model: str) -> str:
    return f"{model}{_AT_START}"


def _retry_job_id(model: str) -> str:
    return f"{model}{_AGAIN}"


def tick_jitter(model: str, every: int) -> int:
    """Microseconds by which a model's ticks are late: fixed, from its name, at most 10 % of `every` or 60 s.

    Models of the same `every` do not all read at the same moment.
    """
    digest = hashlib.sha256(model.encode()).digest()
    return int.from_bytes(digest[:8]) % (min(every // 10, MINUTE) + 1)


def aligned_trigger(model: str, every: int) -> IntervalTrigger:
    """Fire at the multiples of `every` since 1970-01-01 UTC, later by the model's jitter."""
    start = to_datetime(tick_jitter(model, every))
    return IntervalTrigger(seconds=every / SECOND, start_date=start, timezone=UTC)
