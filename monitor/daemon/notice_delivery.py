"""Delivery of notices: a thread for each channel, so that a dead one holds up no other, and no cycle."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import structlog

from monitor.core.clock import DAY, SECOND, Clock, to_iso
from monitor.core.errors import MonitorError, NotificationError, error_line
from monitor.core.text import readable_text
from monitor.daemon.due_cycles import backoff_seconds
from monitor.specs.protocols import Channel, ChannelReport
from monitor.specs.stored_rows import WaitingNotice
from monitor.store.coordination.outbox import OutboxRepository

LOOK = 30.0  # seconds between looks at the outbox, for what others left there
GIVE_UP = DAY  # after it was written: what has not been told by then is no news
_CLAIM = 60 * SECOND  # after which a notice that was being sent by a process that died is sent again
_DEAD = 3  # failures in a row after which a channel is left alone for a while
_SHORTEST, _UNREADABLE = 0.1, 5.0  # seconds: between looks; after a look that failed
_LOG = "monitor.daemon"


Preparation: TypeAlias = Callable[[WaitingNotice, Channel], WaitingNotice]


@dataclass(slots=True)
class ChannelDeliverer:
    """Sends what one channel is owed.

    Notices of one incident go in their order: its end is not told before its beginning. A notice is
    sent again, with its key, if nobody noted that it was taken.
    """

    name: str
    channel: Channel
    outbox: OutboxRepository
    clock: Clock  # tells the time that cycles go by
    stopping: Callable[[], bool] = lambda: False  # asked between notices
    # makes what goes with a notice: its pictures and files, for channels that show them.
    prepare: Preparation = lambda notice, _channel: notice
    luck: Callable[[], float] = random.random  # random numbers in [0, 1)
    report: ChannelReport = field(default_factory=ChannelReport)
    _failures: int = 0  # in a row
    # messages that were posted, and that no store could note, by incident
    _unnoted: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def is_resting(self) -> bool:
        """Whether the channel is left alone until it is time to look again, whatever comes."""
        return self._failures >= _DEAD

    def __call__(self) -> float:
        """Send what is due; seconds after which to look again."""
        self._give_up()
        # A channel that rests is tried once a round, so that it is found when it answers again.
        most = self._failures + (1 if self.is_resting else _DEAD)
        sent = True
        # Of each incident only its oldest notice may go: what was taken makes way for the next one.
        while sent and not self._is_round_over(most):
            sent = False
            due = [
                owed for owed in next_notices(self.outbox.read_waiting_notices(self.name)) if owed.wait <= 0
            ]
            for notice in sorted(due, key=lambda waiting: (waiting.attempts, waiting.as_of)):
                if self._is_round_over(most):
                    break
                sent |= self._send_notice(notice)
        return self._pause_seconds(self.outbox.read_waiting_notices(self.name))

    def _is_round_over(self, most: int) -> bool:
        return self._failures >= most or self.stopping()

    def _give_up(self) -> None:
        old = self.outbox.give_up(self.name, GIVE_UP)
        if old:
            self.report = replace(self.report, given_up=self.report.given_up + old)
            log = structlog.stdlib.get_logger(_LOG)
            log.error("notices given up: too old", channel=self.name, notices=old)

    def _send_notice(self, notice: WaitingNotice) -> bool:
        """Whether the channel took it."""
        prepared = self._prepare_notice(notice)  # before it is claimed, as it takes a while
        if not self.outbox.claim_notice(notice, _CLAIM):
            return False
        if isinstance(prepared, Exception):
            self._note_failed(notice, prepared)
            return False
        try:
            self.channel.send_notice(prepared, partial(self._note_message, notice))
        except Exception as error:  # noqa: BLE001 -- whatever a channel does, the next notice is tried
            self._note_failed(notice, error)
            return False
        self.outbox.note_delivered(notice)
        self._failures = 0
        self.report = replace(self.report, delivered=self.report.delivered + 1)
        structlog.stdlib.get_logger(_LOG).info("notified", **_logged_fields(notice))
        return True

    def _prepare_notice(self, notice: WaitingNotice) -> WaitingNotice | Exception:
        """What is sent, or why nothing can be."""
        known = self._unnoted.get((notice.model, notice.incident), notice.message)
        if known != notice.message:
            self._note_message(notice, known)  # the store was away as it was posted
        try:
            return self.prepare(replace(notice, message=known), self.channel)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the next notice is tried
            return error

    def _note_message(self, notice: WaitingNotice, message: str) -> None:
        """Note it at once: whoever sends this notice again, or the next one, edits this message."""
        self._unnoted[notice.model, notice.incident] = message
        self.outbox.note_message(notice, message)
        del self._unnoted[notice.model, notice.incident]

    def _note_failed(self, notice: WaitingNotice, error: Exception) -> None:
        self._failures += 1
        self.report = replace(self.report, failed=self.report.failed + 1)
        reason = readable_text(str(error)) if isinstance(error, NotificationError) else type(error).__name__
        after = backoff_seconds(notice.attempts + 1, self.luck())
        self.outbox.note_undelivered(notice, reason, round(after * SECOND))
        log = structlog.stdlib.get_logger(_LOG)
        log.warning("not notified", error=reason, retry_in=round(after, 1), **_logged_fields(notice))

    def _pause_seconds(self, waiting: Sequence[WaitingNotice]) -> float:
        age = max((self.clock() - notice.as_of for notice in waiting), default=0) / SECOND
        self.report = replace(self.report, waiting=len(waiting), age=age)
        if self.is_resting:
            return backoff_seconds(self._failures, self.luck())
        soonest = min((notice.wait / SECOND for notice in next_notices(waiting)), default=LOOK)
        return min(LOOK, max(_SHORTEST, soonest))


class NoticeDelivery:
    """A thread for each channel: see `ChannelDeliverer`. Nothing runs where there are no channels.

    Parameters
    ----------
    observe
        takes what became of the notices of each channel, whenever that changed.
    may
        whether this process may send: another configuration may know other channels.
    prepare
        makes what goes with a notice: see `ChannelDeliverer`.
    """

    def __init__(
        self,
        outbox: OutboxRepository,
        clock: Clock,
        observe: Callable[[Mapping[str, ChannelReport]], None],
        may: Callable[[], bool] = lambda: True,
        prepare: Preparation = lambda notice, _channel: notice,
    ) -> None:
        self._outbox = outbox
        self._prepare = prepare
        self._clock = clock
        self._observe = observe
        self._may = may
        self._lock = threading.Lock()
        self._reports: dict[str, ChannelReport] = {}
        self._threads: dict[str, _DeliveryThread] = {}

    def replace_channels(self, channels: Mapping[str, Channel]) -> None:
        """Send to these channels from now on; what is just being sent comes to its end."""
        before = self._threads
        for thread in before.values():
            thread.stop_thread()
        with self._lock:
            self._reports = {name: self._reports.get(name, ChannelReport()) for name in channels}
        self._threads = {  # whole at once: cycles walk it to wake them
            name: _DeliveryThread(
                ChannelDeliverer(
                    name,
                    channel,
                    self._outbox,
                    self._clock,
                    prepare=self._prepare,
                    report=self._reports[name],
                ),
                self._keep_report,
                self._may,
            )
            for name, channel in channels.items()
        }
        for thread in self._threads.values():
            thread.start_thread()
        if before or channels:
            self._observe(dict(self._reports))

    def wake_threads(self) -> None:
        """Look at the outbox now: a cycle may have written something."""
        for thread in self._threads.values():
            thread.wake_thread()

    def stop_threads(self, timeout: float = 2.0) -> None:
        """Send no more; what is being sent has so many seconds to end."""
        for thread in self._threads.values():
            thread.stop_thread()
        until = time.monotonic() + timeout
        for thread in self._threads.values():
            thread.join_thread(until - time.monotonic())

    def _keep_report(self, name: str, report: ChannelReport) -> None:
        with self._lock:
            if name not in self._reports or self._reports[name] == report:
                return
            self._reports[name] = report
            reports = dict(self._reports)
        self._observe(reports)


class _DeliveryThread:
    """Calls a deliverer again and again."""

    def __init__(
        self,
        deliverer: ChannelDeliverer,
        report: Callable[[str, ChannelReport], None],
        may: Callable[[], bool],
    ) -> None:
        self._ended, self._woken = threading.Event(), threading.Event()
        deliverer.stopping = self._ended.is_set
        self._deliverer, self._report, self._may = deliverer, report, may
        self._thread = threading.Thread(target=self._run_loop, name=f"notify {deliverer.name}", daemon=True)

    def start_thread(self) -> None:
        self._thread.start()

    def wake_thread(self) -> None:
        self._woken.set()

    def stop_thread(self) -> None:
        self._ended.set()
        self._woken.set()

    def join_thread(self, timeout: float) -> None:
        self._thread.join(max(0.0, timeout))

    def _run_loop(self) -> None:
        while not self._ended.is_set():
            self._woken.clear()
            pause = self._deliver_once() if self._may() else LOOK
            (self._ended if self._deliverer.is_resting else self._woken).wait(pause)

    def _deliver_once(self) -> float:
        log = structlog.stdlib.get_logger(_LOG)
        try:
            pause = self._deliverer()
        except MonitorError as error:
            log.debug("the outbox does not answer", reason=str(error))
            return _UNREADABLE
        except Exception as error:  # noqa: BLE001 -- the channel's thread must not die
            log.error("notices were not delivered", reason=error_line(error))  # noqa: TRY400 -- in one line
            return LOOK
        self._report(self._deliverer.name, self._deliverer.report)
        return pause


def next_notices(waiting: Iterable[WaitingNotice]) -> list[WaitingNotice]:
    """Of each incident the notice that is next."""
    first: dict[tuple[str, str], WaitingNotice] = {}
    for notice in waiting:
        first.setdefault((notice.model, notice.incident), notice)
    return list(first.values())


def _logged_fields(notice: WaitingNotice) -> dict[str, str]:
    return {
        "channel": notice.channel,
        "model": notice.model,
        "incident": notice.incident,
        "kind": notice.kind,
        "as_of": to_iso(notice.as_of),
        "notice": notice.key,
    }
