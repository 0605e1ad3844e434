"""Which channel a URL is."""

from monitor.notify.apprise_url import AppriseUrl, apprise_service_name
from monitor.notify.webhook import SCHEMES, Webhook


def open_channel(url: str) -> Webhook | AppriseUrl:
    """Channel of a URL: a webhook for http and https, else what Apprise makes of it.

    Raises
    ------
    NotificationError
        if it cannot be used; it is not told.
    """
    scheme = url.partition("://")[0].lower()
    return Webhook(url) if scheme in SCHEMES else AppriseUrl.from_url(url)


def service_behind(url: str) -> str | None:
    """Name of the service whose own address an http URL is, which wants messages of its own kind."""
    return apprise_service_name(url) if url.partition("://")[0].lower() in SCHEMES else None
