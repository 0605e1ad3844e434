"""URLs: their rules, what is filled into them, which parts are secret.

A place `${file:/path}` is filled anew for each connection, as passwords are rotated.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from monitor.core import secrets

_FILE = re.compile(r"\$\{file:([^{}]*)\}")
_PLACE = re.compile(r"\$\{[^{}]*\}")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://")
_SECRET = re.compile(
    r"pass(word|wd)?$|passphrase|pwd|secret|token|key|credential|odbc_connect", re.IGNORECASE
)
_PARAMETER = re.compile(r"[?&;]([^?&;=]*)=([^&;]*)")
_PASSWORD = re.compile(r"[^:@]*:(.*)@", re.DOTALL)
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%\w]+\]|[\w.,~%-]*)(?::([0-9]{0,5}))?")
_SPARK = ("sc", "spark", "k8s", "yarn", "local")  # several hosts, or none
_FILES = ("sqlite", "duckdb", "chdb")  # a path may hold any sign
PLACES = ("file", "s3", "gs", "az")  # schemes of the URLs of folders, whose entries are tables
# md: and motherduck: name databases of a service of DuckDB's makers
_RELATIVE = re.compile(
    rf"^((?:{'|'.join(_FILES)})(?:\+\w+)?:///)(?!/|:memory:|file:|md:|motherduck:|\?)([^?]+)(.*)$", re.DOTALL
)
_LAST_PORT = 65_535
_TOKEN = 12  # characters of a part of a channel's address from which on it is taken for a secret
_SQLITE = 'the file of a SQLite URL follows three slashes, its whole path four, as in "sqlite:///monitor.db"'
_AT = (
    'the sign "@" stands once in a URL, between password and host: write it as %40 anywhere else, '
    "and in user and password / as %2F, ? as %3F"
)
_PORT = (
    "behind the host of a URL stands its port, a number from 1 to 65535, as in "
    '"postgresql://db.example:5432/name"; in user and password write @ as %40, : as %3A, / as %2F'
)
_IN_BRACKETS = (
    'the host of a URL is a name, or an IPv6 address in brackets, as in "[::1]:5432"; '
    "in user and password write @ as %40, : as %3A, / as %2F"
)
# up to the last @: a password that was not percent-encoded may hold one itself
_TO_PASSWORD = re.compile(r"^([^:/?#]+://[^:/@]*):.*@", re.DOTALL)


def fill_url(url: str) -> str:
    """URL with the texts that its files hold now; its secrets are hidden from now on.

    Raises
    ------
    ValueError
        if a file cannot be read; names it.
    """
    address = _FILE.sub(lambda place: encode_in_url(text_of(place[1]), url, place.span()), url)
    learn_secrets(address)
    return address


def has_files(url: str) -> bool:
    """Whether a URL has such places."""
    return _FILE.search(url) is not None


def sqlite_file(database: str) -> Path:
    """File of the database of a SQLite URL, which may be a URI itself."""
    if database.startswith("file:"):
        database = unquote(database.removeprefix("file:").partition("?")[0])
    return Path(database)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by whatever links."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return one.resolve() == other.resolve()


def sqlite_url(file: Path) -> str:
    """URL of a SQLite file."""
    return f"sqlite:///{file}"


def resolve_url(url: str, directory: Path) -> str:
    """URL of a database whose file, where its path is relative, starts at a directory.

    >>> (resolve_url("sqlite:///monitor.db", Path("conf")),
    ... resolve_url("sqlite:////srv/monitor.db", Path("conf")))
    ('sqlite:///conf/monitor.db', 'sqlite:////srv/monitor.db')
    """
    match = _RELATIVE.match(url)
    return url if match is None else f"{match[1]}{directory / match[2]}{match[3]}"


def libpq_uri(
    username: str | None,
    password: str | None,
    host: str | None,
    port: int | None,
    database: str | None,
    query: Mapping[str, str | tuple[str, ...]],
) -> str:
    """URI for libpq: no driver name, an application name, everything encoded as libpq reads it.

    SQLAlchemy leaves spaces as they are, at which libpq refuses a URI and quotes it, or writes them as +,
    which means itself to libpq.
    """
    given = {"application_name": "monitor", "connect_timeout": "10", **query}
    values = {name: (value,) if isinstance(value, str) else value for name, value in sorted(given.items())}
    pairs = (f"{quote(name, safe='')}={quote(value, safe='')}" for name in values for value in values[name])
    account = "" if username is None else quote(username, safe="")
    account += "" if password is None else f":{quote(password, safe='')}"
    host = f"[{host}]" if ":" in (host or "") else host or ""
    behind = "" if port is None else f":{port}"
    name = "" if database is None else quote(database, safe="")
    return f"postgresql://{account}{'@' if account else ''}{host}{behind}/{name}?{'&'.join(pairs)}"


def text_of(path: str) -> str:
    """Text of a file, without its last line break.

    Raises
    ------
    ValueError
        if it cannot be read; names it.
    """
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f"the file {path} cannot be read: {why}") from None


def encode_in_url(value: str, text: str, span: tuple[int, int]) -> str:
    """Write a value as it stands at a place of a text.

    Between `://` and `@` of a URL, and as a secret of its query string, a value is taken as it would be typed
    at a prompt, and percent-encoded. What stands for user and password together is parted at its first colon.
    Anywhere else, as for a whole URL, it is written as it is.

    >>> (encode_in_url("a b", "db://ann:${PW}@host/x", (9, 14)),
    ... encode_in_url("ann:a@b", "db://${BOTH}@host", (5, 12)))
    ('a%20b', 'ann:a%40b')
    """
    start, end = span
    written = _PLACE.sub(lambda place: "_" * len(place[0]), text)  # a place may hold any sign itself
    scheme = _SCHEME.match(written)
    if scheme is None:
        return value
    account = re.match(r"[^@/?#]*(?=@)", written[scheme.end() :])
    if account is not None and scheme.end() <= start and end <= scheme.end() + account.end():
        user, colon, password = value.partition(":") if ":" not in account[0] else (value, "", "")
        return quote(user, safe="") + colon + quote(password, safe="")
    for parameter in _PARAMETER.finditer(written):
        if is_secret(parameter[1]) and parameter.start(2) <= start and end <= parameter.end(2):
            return quote(value, safe="")
    return value


def is_secret(parameter: str) -> bool:
    """Whether the value of a query parameter is not shown."""
    return _SECRET.search(parameter) is not None


def fault_of(url: str) -> str | None:
    """What is wrong with a database URL: a sentence that holds nothing of what stands behind its scheme.

    >>> fault_of("postgresql://ann:a%40b@db.example:5432/app") is None
    True
    >>> fault_of("sqlite://monitor.db")
    'the file of a SQLite URL follows three slashes, its whole path four, as in "sqlite:///monitor.db"'
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        return 'a database URL starts as in "sqlite:///monitor.db": got no scheme'
    if any(sign < " " or sign == "\x7f" for sign in url):
        return "a URL is one line without control characters: write a line break as %0A, a tab as %09"
    return _fault_behind(_engine_of_scheme(scheme), _FILE.sub("_", url[scheme.end() :]))


def _fault_behind(engine: str, rest: str) -> str | None:
    if engine == "sqlite" and rest[:1] not in ("", "/", "?"):
        return _SQLITE
    if engine in _FILES:
        return None
    account, at, behind = rest.rpartition("@")
    if at and re.search("[@/?]", account):
        return _AT
    return None if engine in _SPARK else _fault_of_host(re.split("[/?]", behind, maxsplit=1)[0])


def learn_secrets(url: str) -> None:
    """Hide the password of a database URL, and the secrets of its parameters, from now on."""
    password = _password_of(url)
    for written in (password, unquote(password)):
        secrets.learn(written, pieces=True)
    for name, value in _PARAMETER.findall(url):
        if is_secret(name):
            secrets.learn(value)


def has_short_password(url: str) -> bool:
    """Whether the password of a database URL is too short to be hidden wherever it stands."""
    return 0 < len(unquote(_password_of(url))) < secrets.SHORTEST


def _password_of(url: str) -> str:
    """Password as it is written, up to the last `@`; empty: there is none."""
    scheme = _SCHEME.match(url)
    if scheme is None or _engine_of_scheme(scheme) in _FILES:
        return ""
    password = _PASSWORD.match(url, scheme.end())
    return password[1] if password else ""


def learn_channel(url: str) -> None:
    """Hide the address of a channel from now on: whole, its password, its tokens."""
    account = url.partition("://")[2].rpartition("@")[0]
    tokens = (part for part in _parts_of_channel(url) if len(part) >= _TOKEN)
    for secret in (url, account.partition(":")[2], *tokens):
        secrets.learn(secret)


def without_channel(text: str, url: str) -> str:
    """What a channel's receiver said, without any part of its address: rather too much is hidden."""
    own = secrets.Secrets()
    for part in _parts_of_channel(url):
        own.learn_secret(part)
    return secrets.hide_secrets(own.hide_known_secrets(text))


def _parts_of_channel(url: str) -> list[str]:
    """Account, path and query of a channel, whole and in parts; of no webhook its host."""
    scheme, _, behind = url.partition("://")
    account, _, address = behind.rpartition("@")
    location = address.partition("/")[2] if scheme.lower() in ("http", "https") else address
    return [part for text in (account, location) for part in (text, *re.split(r"[/:@?&=#,+]", text))]


def _engine_of_scheme(scheme: re.Match[str]) -> str:
    return re.split(r"[+:]", scheme[0], maxsplit=1)[0]


def _fault_of_host(host: str) -> str | None:
    match = _HOST.fullmatch(host)
    if match is None:
        return _IN_BRACKETS if host.count(":") != 1 else _PORT
    port = match[1]
    return _PORT if port and not 0 < int(port) <= _LAST_PORT else None


def shown_url(url: str) -> str:
    """URL as it may be logged and shown: no password, no secret in its query string.

    A text that is no URL is hidden whole. Rather too much is hidden than too little.

    >>> shown_url("postgresql://ann:s3cret@db.example/app?sslmode=require&sslpassword=x")
    'postgresql://ann:***@db.example/app?sslmode=require&sslpassword=***'
    """
    if "://" not in url:
        return secrets.HIDDEN
    rest, mark, query = _TO_PASSWORD.sub(rf"\1:{secrets.HIDDEN}@", url).partition("?")
    rest = ";".join(map(_shown_parameter, rest.split(";")))  # as those of Spark Connect
    return rest + mark + "&".join(map(_shown_parameter, query.split("&")))


def _shown_parameter(text: str) -> str:
    name, mark, _ = text.partition("=")
    return f"{name}={secrets.HIDDEN}" if mark and is_secret(name) else text
