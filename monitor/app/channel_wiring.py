"""Notices of alerts, wired: from the outbox to the configured channels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import structlog

from monitor.app.application import App
from monitor.app.notice_files import NoticeFiles
from monitor.core.clock import Clock
from monitor.core.errors import NotificationError
from monitor.daemon.notice_delivery import ChannelDeliverer, NoticeDelivery
from monitor.notify.channels import open_channel
from monitor.specs.protocols import Channel, ChannelReport, NoteMessage, no_message
from monitor.specs.settings import ChannelSpec
from monitor.specs.stored_rows import WaitingNotice
from monitor.web.answers import PageSource


@dataclass(frozen=True, slots=True)
class UnusableChannel:
    """A channel that cannot be used as it is configured: its notices wait."""

    why: str
    shows_files: ClassVar[bool] = False

    def send_notice(self, notice: WaitingNotice, note_message: NoteMessage = no_message) -> None:
        """Refuse a notice.

        Raises
        ------
        NotificationError
            always.
        """
        del notice, note_message
        raise NotificationError(self.why)


def open_channels(specs: Iterable[ChannelSpec]) -> Mapping[str, Channel]:
    """Channels by name; one that cannot be used is told of, and stops nothing."""
    channels: dict[str, Channel] = {}
    for spec in specs:
        try:
            channels[spec.name] = open_channel(spec.url)
        except NotificationError as error:
            log = structlog.stdlib.get_logger(__name__)
            log.error("channel cannot be used", channel=spec.name, reason=str(error))  # noqa: TRY400
            channels[spec.name] = UnusableChannel(str(error))
    return channels


class ConfiguredDelivery:
    """Delivery to the channels that are configured now.

    Parameters
    ----------
    observe
        takes what became of the notices of each channel.
    may
        whether this process may send.
    pages
        makes pictures and reports.
    """

    def __init__(
        self,
        app: App,
        clock: Clock,
        observe: Callable[[Mapping[str, ChannelReport]], None],
        may: Callable[[], bool],
        pages: PageSource,
    ) -> None:
        self._app = app
        self._in_use: tuple[ChannelSpec, ...] = ()
        prepare = NoticeFiles(pages).prepare_notice
        self._delivery = NoticeDelivery(app.store.outbox, clock, observe, may, prepare)

    def renew_channels(self) -> None:
        """Begin, or take other channels."""
        channels = self._app.settings.channels
        if channels != self._in_use:
            self._in_use = channels
            self._delivery.replace_channels(open_channels(channels))

    def wake_delivery(self) -> None:
        """Look at the outbox now."""
        self._delivery.wake_threads()

    def stop_delivery(self) -> None:
        """Send no more."""
        self._delivery.stop_threads()


def deliver_once(app: App, clock: Clock) -> dict[str, int]:
    """Send what is due, channel by channel; how many notices each did not take. For cycles by hand."""
    from monitor.app.pages.page_cache import KeptPages  # the daemon itself makes no page
    from monitor.app.pages.store_data import StoreData

    undelivered = {}
    prepare = NoticeFiles(KeptPages(StoreData(app, clock))).prepare_notice
    for name, channel in open_channels(app.settings.channels).items():
        deliverer = ChannelDeliverer(name, channel, app.store.outbox, clock, prepare=prepare)
        deliverer()
        if deliverer.report.waiting:
            undelivered[name] = deliverer.report.waiting
    return undelivered
