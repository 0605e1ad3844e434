"""Database URLs without their secrets."""

import re

from monitor.core.secrets import HIDDEN
from monitor.specs.urls import is_secret

# up to the last @: a password that was not percent-encoded may hold one itself
_PASSWORD = re.compile(r"^([^:/?#]+://[^:/@]*):.*@", re.DOTALL)


def shown(url: str) -> str:
    """URL as it may be logged and shown: no password, no secret in its query string.

    A text that is no URL is hidden whole. Rather too much is hidden than too little.

    >>> shown("postgresql://ann:s3cret@db.example/app?sslmode=require&sslpassword=x")
    'postgresql://ann:***@db.example/app?sslmode=require&sslpassword=***'
    """
    if "://" not in url:
        return HIDDEN
    rest, mark, query = _PASSWORD.sub(rf"\1:{HIDDEN}@", url).partition("?")
    rest = ";".join(map(_parameter, rest.split(";")))  # as those of Spark Connect
    return rest + mark + "&".join(map(_parameter, query.split("&")))


def _parameter(text: str) -> str:
    name, mark, _ = text.partition("=")
    return f"{name}={HIDDEN}" if mark and is_secret(name) else text
