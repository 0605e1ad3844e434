"""A database URL as it may be written down: its secrets as places to fill, and what fills them."""

import re
from urllib.parse import unquote, unquote_plus

from monitor.specs.urls import is_secret

_PASSWORD = re.compile(r"^([^:/?#]+://[^:/@]*:)(.*)(@)", re.DOTALL)
_PLACE = re.compile(r"\$\{[^{}]*\}")


def templated(url: str, name: str) -> tuple[str, dict[str, str]]:
    """URL with `${…}` for its password and for secrets of its query string, and their values by name.

    >>> templated("postgresql://ann:s%40t@db/app", "APP")
    ('postgresql://ann:${APP_PASSWORD}@db/app', {'APP_PASSWORD': 's@t'})
    >>> templated("postgresql://ann:${PW}@db/app", "APP")
    ('postgresql://ann:${PW}@db/app', {})
    """
    values: dict[str, str] = {}
    base, mark, query = url.partition("?")
    found = _PASSWORD.match(base)
    if found and found[2] and not _PLACE.fullmatch(found[2]):
        values[f"{name}_PASSWORD"] = unquote(found[2])
        base = f"{found[1]}${{{name}_PASSWORD}}@{base[found.end() :]}"
    parts = [_parameter(part, name, values) for part in query.split("&")] if mark else []
    return base + mark + "&".join(parts), values


def source_name(url: str) -> str:
    """Name for a source: that of its database, or of the place that is filled with its URL.

    >>> source_name("sqlite:////data/my flights.db"), source_name("postgresql://db.example/app?sslmode=on")
    ('my_flights', 'app')
    >>> source_name("${SERVING_URL}")
    'serving'
    """
    if _PLACE.fullmatch(url):
        return _word(re.sub(r"(?i)_?(url|uri|dsn)$", "", url.strip("${}").rpartition("/")[2]).lower())
    path = url.partition("?")[0].partition("://")[2].partition("/")[2]
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return _word(unquote(stem))


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "source"


def _parameter(text: str, name: str, values: dict[str, str]) -> str:
    key, mark, value = text.partition("=")
    if not mark or not is_secret(key) or _PLACE.fullmatch(value):
        return text
    place = f"{name}_{re.sub(r'[^A-Za-z0-9]+', '_', key).upper()}"
    values[place] = unquote_plus(value)
    return f"{key}=${{{place}}}"
