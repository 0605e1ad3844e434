"""Which channel a URL is."""

from monitor.notify.apprise_url import AppriseUrl, apprise_service_name
from monitor.notify.discord import DiscordRoom
from monitor.notify.living_messages import LivingMessages
from monitor.notify.slack import SlackRoom
from monitor.notify.telegram import TelegramRoom
from monitor.notify.webhook import SCHEMES, Webhook


def open_channel(url: str) -> Webhook | LivingMessages | AppriseUrl:
    """Channel of a URL: a webhook for http and https; a chat whose messages can be edited; else by Apprise.

    A chat's URL that has options, or several receivers, goes by Apprise: it knows them.

    Raises
    ------
    NotificationError
        if it cannot be used; it is not told.
    """
    if url.partition("://")[0].lower() in SCHEMES:
        return Webhook(url)
    room = SlackRoom.from_url(url) or DiscordRoom.from_url(url) or TelegramRoom.from_url(url)
    return AppriseUrl.from_url(url) if room is None else LivingMessages(url, room)


def service_behind(url: str) -> str | None:
    """Name of the service whose own address an http URL is, which wants messages of its own kind."""
    return apprise_service_name(url) if url.partition("://")[0].lower() in SCHEMES else None
