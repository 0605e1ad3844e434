"""Addresses of the page of an incident, and of an alert on it, as messages and pages link to them."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

from monitor.alerts.alert_rules import AlertedSeries
from monitor.core.text import content_hash

RUNBOOK = "/runbook"  # page of the runbook, from the root


def page_address(path: Iterable[str], query: Mapping[str, str | int | None]) -> str:
    """Address of a page, from the root; whatever a name holds, it stays one part of the path.

    >>> page_address(("models", "a/b"), {"end": "2013-12-01", "as_of": None})
    '/models/a%2Fb?end=2013-12-01'
    """
    given = {name: value for name, value in query.items() if value not in (None, "")}
    text = "/" + "/".join(quote(part, safe="") for part in path)
    return f"{text}?{urlencode(given)}" if given else text


def incident_page_path(model: str, address: str) -> tuple[str, ...]:
    """Path of the page of an incident, part by part."""
    return "models", model, "incidents", address


def incident_link(url: str, model: str, address: str) -> str:
    """Address of an incident's page, from outside, where one decides on it.

    `url`: which `http.url` gives.
    """
    return f"{url}{page_address(incident_page_path(model, address), {})}#decide"


def alert_anchor(series: AlertedSeries, since: int) -> str:
    """Where on the page of its incident one alert stands."""
    return f"alert-{content_hash([str(series), str(since)])[:10]}"
