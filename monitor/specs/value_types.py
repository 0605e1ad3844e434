"""Types of the configuration's values: parsed from the file, with messages of their own."""

import re
from datetime import date
from ipaddress import ip_address
from typing import Annotated, Literal, TypeAlias, TypeVar, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
)

from monitor.alerts.alert_rules import Severity
from monitor.core.clock import DAY, format_duration, from_iso, parse_duration
from monitor.core.text import unquote_table
from monitor.records.reading import canonical_name
from monitor.specs.fault_words import did_you_mean, quote_value
from monitor.specs.urls import fault_of
from monitor.windows.window_ends import LONGEST, PREVIOUS, WEEK

STRICT = ConfigDict(
    extra="forbid",
    strict=True,
    frozen=True,
    hide_input_in_errors=True,
    defer_build=True,  # tables are validated as parts of a whole: not one builds a validator at import
)

_FIRST = date(1970, 1, 1)
_LONGEST = 36_500 * DAY  # a century: sums of durations stay far below the ends of int64

_THRESHOLD = 'a limit is a number, a share of the earlier value as in "-5%", or "critical": got '
_ADDRESS = r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[A-Za-z0-9._~%/-]*)?"
_STORES = ("sqlite", "postgresql", "postgres")


def _parse_duration(value: object) -> int:
    duration = parse_duration(value if isinstance(value, str) else str(value))
    if duration > _LONGEST:
        raise ValueError(f"a duration is at most {format_duration(_LONGEST)}: got {quote_value(value)}")
    return duration


def _check_length(value: object) -> object:
    if not isinstance(value, str) or value in LONGEST:
        return value
    try:
        _parse_duration(value)
    except ValueError as error:
        if any(sign.isdigit() for sign in value):
            raise
        units = ", ".join(map(quote_value, LONGEST))
        hint = did_you_mean(value, LONGEST)
        raise ValueError(f"{error}{hint}" if hint else f"{error}; or a calendar unit ({units})") from None
    return value


def _parse_against(value: object) -> object:
    """What is compared with: the window before, or a span of whole weeks, as days."""
    if not isinstance(value, str) or value == PREVIOUS:
        return value
    rule = f'{quote_value(PREVIOUS)} or a trailing span of whole weeks, as in "28d": got {quote_value(value)}'
    try:
        span = _parse_duration(value)
    except ValueError:
        raise ValueError(f"{rule}{did_you_mean(value, [PREVIOUS])}") from None
    if span == 0 or span % WEEK:
        raise ValueError(rule)
    return f"{span // DAY}d"


def _parse_alert_limit(value: object) -> object:
    """A number, a share of what is compared with, or the critical value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(_THRESHOLD + quote_value(value))  # noqa: TRY004 -- as in _class_value
    if isinstance(value, str) and value != "critical" and not re.fullmatch(r"[+-]?\d+(\.\d+)?%", value):
        raise ValueError(_THRESHOLD + quote_value(value))
    return float(value) if isinstance(value, int) else value


def _parse_moment(value: object) -> int:
    try:
        return from_iso(value.isoformat() if isinstance(value, date) else str(value))
    except ValueError:
        raise ValueError(
            f'a time is an ISO-8601 date or time, as in "2013-03-01": got {quote_value(value)}'
        ) from None


def _parse_days(value: object) -> object:
    """A day, or a span of them, both ends included, as numbers of days since 1970-01-01."""
    text = value.isoformat() if isinstance(value, date) else str(value)
    first, _, last = text.partition("/")
    try:
        ends = date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        rule = 'a day is a date, or two with a stroke between them, as in "2026-12-25/2027-01-06"'
        raise ValueError(f"{rule}: got {quote_value(text)}") from None
    if ends[1] < ends[0]:
        raise ValueError(f"the last day is not before the first: got {quote_value(text)}")
    return tuple((day - _FIRST).days for day in ends)


def _check_name(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(r"(?!\.{1,2}$)[A-Za-z0-9_.-]+", value):
        raise ValueError(f"a name is made of letters, digits, _, . and -: got {quote_value(value)}")
    return value


def _check_page_name(name: str) -> str:
    if name.endswith(".json"):
        raise ValueError(
            f'a name that is part of an address does not end in ".json": got {quote_value(name)}'
        )
    return name


def _check_label(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", value):
        raise ValueError(
            f"a label's name is made of letters, digits and _, no digit first: got {quote_value(value)}"
        )
    return value


def _check_zone(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        hint = did_you_mean(value, available_timezones())
        raise ValueError(
            f'a time zone has an IANA name, as in "Europe/Vienna": got {quote_value(value)}{hint}'
        ) from None
    return value


def _check_url(value: object) -> object:
    if isinstance(value, str) and (fault := fault_of(value)):
        raise ValueError(fault)
    return value


def _channel_url(value: object) -> object:
    if isinstance(value, str) and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://.", value):
        raise ValueError('a channel\'s URL starts as in "https://" or "slack://"; it is not shown here')
    return value


def _parse_link_address(value: object) -> object:
    """Address to which links add a path: http(s), a host, perhaps a port and a path; no user."""
    if isinstance(value, str) and not _is_address(value):
        raise ValueError(
            "an address is http:// or https://, a host, perhaps a port and a path, without user, query and "
            'fragment, as in "https://monitor.example"; it is not shown here'
        )
    return value.rstrip("/") if isinstance(value, str) else value


def _is_address(text: str) -> bool:
    try:
        return re.fullmatch(_ADDRESS, text) is not None and urlsplit(text).port != 0
    except ValueError:  # no port, or no address of IPv6
        return False


def _store_url(value: object) -> object:
    scheme = str(_check_url(value)).partition("://")[0].partition("+")[0]
    if isinstance(value, str) and scheme not in _STORES:
        hint = did_you_mean(scheme, _STORES)
        raise ValueError(f"a store is SQLite or PostgreSQL: got {quote_value(scheme)}{hint}")
    return value


def _unquote_table(value: object) -> object:
    return unquote_table(value) if isinstance(value, str) else value


def _check_id(value: object) -> object:
    """One column, or a list of several."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"an id is a column, or a list of columns: got {quote_value(value)}")
    if "" in names or len(set(names)) < len(names):
        raise ValueError(f"the columns of an id have names, each once: got {quote_value(value)}")
    return names[0] if len(names) == 1 else list(names)


def _class_value(value: object) -> str:
    if not isinstance(value, str | int | float):
        raise ValueError(  # noqa: TRY004 -- a TypeError would not be collected with the other faults
            f"a class is text, a number, true or false: got {quote_value(value)}"
        )
    return canonical_name(str(value))


def _class_keys(value: object) -> object:
    if not isinstance(value, dict):
        return value
    by_class = {canonical_name(key): item for key, item in value.items()}
    if len(by_class) < len(value):
        raise ValueError(f"classes differ (1, 1.0 and true are the same): got {', '.join(value)}")
    return by_class


def _parse_range(value: object) -> object:
    match value:
        case [int() | float() as lower, int() | float() as upper] if lower < upper:
            return (float(lower), float(upper))
        case _:
            raise ValueError(
                f"a range is [lowest, highest], the lowest below the highest: got {quote_value(value)}"
            )


def as_table(value: object) -> object:
    """Read a window's length as its table."""
    if isinstance(value, str):
        return {"length": value}
    if isinstance(value, dict | BaseModel):
        return value
    units = ", ".join(map(quote_value, LONGEST))
    raise ValueError(
        f"a window is a duration, a calendar unit ({units}), or a table of length and step: "
        f"got {quote_value(value)}"
    )


def _key_of_certificate(value: str | None, info: ValidationInfo) -> str | None:
    if value is not None and info.data.get("tls_certificate", "") is None:
        raise ValueError("a key belongs to a certificate: tls_certificate is missing")
    return value


def _header_of_proxy(value: str | None, info: ValidationInfo) -> str | None:
    """Whoever reaches the port past the proxy could send the header, and be anybody."""
    if value is None:
        return None
    if not re.fullmatch(r"[A-Za-z0-9-]+", value) or value.lower().startswith(_OF_BROWSERS):
        raise ValueError(
            f'a header that the proxy alone sets, as "X-Forwarded-User": got {quote_value(value)}'
        )
    if info.data.get("secret_file", "") is None and not _is_loopback_name(info.data.get("host", "")):
        raise ValueError(
            "whoever reaches the port could send this header: let host be 127.0.0.1, where the proxy is, or "
            "give secret_file, of which the proxy sends a secret"
        )
    return value


def _is_loopback_name(host: str) -> bool:
    try:
        return host in ("", "localhost") or ip_address(host).is_loopback
    except ValueError:
        return False


_OF_BROWSERS = (
    "host",
    "origin",
    "referer",
    "user-agent",
    "authorization",
    "cookie",
    "accept",
    "content-",
    "sec-",
)
_AS_DURATION = WithJsonSchema({"type": "string", "pattern": r"^\d+[smhdw]$|\$\{"})  # as the file writes it
_AS_CLASS = WithJsonSchema({"type": ["string", "number", "boolean"]})

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(gt=0)]
Proportion: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
_T = TypeVar("_T")
Row: TypeAlias = Annotated[tuple[_T, ...], Field(strict=False)]  # a list in the file
SeverityName: TypeAlias = Literal["critical", "warning", "info"]
LeastSeverity: TypeAlias = Annotated[
    Severity, Field(strict=False), WithJsonSchema({"enum": [*get_args(SeverityName)], "type": "string"})
]
TlsKey: TypeAlias = Annotated[Text | None, AfterValidator(_key_of_certificate)]
ProxyHeader: TypeAlias = Annotated[Text | None, AfterValidator(_header_of_proxy)]
Name: TypeAlias = Annotated[str, BeforeValidator(_check_name)]
PageName: TypeAlias = Annotated[Name, AfterValidator(_check_page_name)]
Label: TypeAlias = Annotated[str, BeforeValidator(_check_label)]
Url: TypeAlias = Annotated[str, BeforeValidator(_check_url)]
ChannelUrl: TypeAlias = Annotated[str, BeforeValidator(_channel_url)]
OutsideUrl: TypeAlias = Annotated[str, BeforeValidator(_parse_link_address)]
TableName: TypeAlias = Annotated[Text, BeforeValidator(_unquote_table)]
StoreUrl: TypeAlias = Annotated[str, BeforeValidator(_store_url)]
Zone: TypeAlias = Annotated[str, BeforeValidator(_check_zone)]
Id: TypeAlias = Annotated[str | list[str], BeforeValidator(_check_id)]
Duration: TypeAlias = Annotated[int, BeforeValidator(_parse_duration), _AS_DURATION]
Positive: TypeAlias = Annotated[int, Field(gt=0), BeforeValidator(_parse_duration), _AS_DURATION]
Length: TypeAlias = Annotated[str, BeforeValidator(_check_length)]
Against: TypeAlias = Annotated[
    str,
    BeforeValidator(_parse_against),
    WithJsonSchema({"type": "string", "pattern": r"^previous$|^\d+[dw]$|\$\{"}),
]
Threshold: TypeAlias = Annotated[
    float | str,
    BeforeValidator(_parse_alert_limit),
    WithJsonSchema({"type": ["number", "string"], "pattern": r"^critical$|^[+-]?\d+(\.\d+)?%$|\$\{"}),
]
Moment: TypeAlias = Annotated[int, BeforeValidator(_parse_moment), WithJsonSchema({"type": "string"})]
Days: TypeAlias = Annotated[tuple[int, int], BeforeValidator(_parse_days), WithJsonSchema({"type": "string"})]
Class: TypeAlias = Annotated[str, BeforeValidator(_class_value), _AS_CLASS]
Range: TypeAlias = Annotated[tuple[float, float], BeforeValidator(_parse_range)]
ByClass: TypeAlias = Annotated[dict[str, Text], BeforeValidator(_class_keys)]
Words: TypeAlias = Annotated[
    dict[str, Annotated[list[Class], Field(min_length=1)]], BeforeValidator(_class_keys)
]
Amounts: TypeAlias = Annotated[dict[str, float], BeforeValidator(_class_keys)]
Matrix: TypeAlias = Annotated[dict[str, Amounts], BeforeValidator(_class_keys)]
