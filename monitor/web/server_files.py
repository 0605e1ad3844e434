"""What the server needs of files: certificate and secrets, read again when they change."""

import hashlib
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from monitor.core.errors import ConfigurationError
from monitor.specs.settings import HttpSpec

T = TypeVar("T")

_SHORTEST = 16  # characters of a secret: nobody shall guess it


class ReloadedValue(Generic[T]):
    """A value made of files, made anew when one of them changes; where that fails, the old one is kept.

    Parameters
    ----------
    key
        of the configuration, for messages.
    make
        makes it; raises OSError or ValueError.

    Raises
    ------
    ConfigurationError
        if it cannot be made to begin with.
    """

    def __init__(self, key: str, files: Sequence[Path], make: Callable[[], T]) -> None:
        self._key, self._files, self._make = key, files, make
        self._seen = self._file_stamps()
        try:
            self._value = make()
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                [f"{key}: {_file_error_words(error)}"]
            ) from None  # a cause could hold a secret

    def __call__(self) -> T:
        """As the files are now, or last were without a fault."""
        seen = self._file_stamps()
        if seen != self._seen:
            self._seen = seen  # a fault is told once
            log = structlog.stdlib.get_logger("monitor.web")
            try:
                self._value = self._make()
            except (OSError, ValueError) as error:
                fault = _file_error_words(error)
                log.error("changed file refused, the old one serves on", key=self._key, fault=fault)  # noqa: TRY400 -- a fault of the file
            else:
                log.info("changed file in use", key=self._key)
        return self._value

    def _file_stamps(self) -> list[tuple[int, int, int] | None]:
        return [_file_stamp(file) for file in self._files]


def make_certificate_reloader(http: HttpSpec, base: Path) -> ReloadedValue[ssl.SSLContext] | None:
    """TLS as configured; None: none.

    Parameters
    ----------
    base
        where relative paths start.

    Raises
    ------
    ConfigurationError
        if the files cannot be used.
    """
    if http.tls_certificate is None:
        return None
    chain = base / http.tls_certificate
    key = chain if http.tls_key is None else base / http.tls_key
    return ReloadedValue("http.tls_certificate, http.tls_key", (chain, key), lambda: _tls_context(chain, key))


def make_secrets_reloader(http: HttpSpec, base: Path) -> ReloadedValue[tuple[bytes, ...]] | None:
    """SHA-256 of each secret that is accepted; None: everybody is.

    Raises
    ------
    ConfigurationError
        if the file cannot be used.
    """
    if http.secret_file is None:
        return None
    file = base / http.secret_file
    return ReloadedValue("http.secret_file", (file,), lambda: _secret_digests(file))


def _tls_context(chain: Path, key: Path) -> ssl.SSLContext:
    for file in (chain, key):
        file.read_bytes()  # its errors name the file
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(chain, key, password=lambda: "")  # nobody is there to be asked for one
    except ssl.SSLError as error:
        files = str(chain) if key == chain else f"{chain}, {key}"
        raise ValueError(
            f"a PEM certificate with its chain, and its private key without a passphrase: got {files}"
            f" ({error.reason or 'not readable as PEM'})"
        ) from None
    return context


def _secret_digests(file: Path) -> tuple[bytes, ...]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError:
        raise ValueError(f"{file}: it is not UTF-8 text") from None
    secrets = [line for line in lines if line]
    if not secrets or min(map(len, secrets)) < _SHORTEST:
        raise ValueError(
            f"{file}: a secret a line, each of at least {_SHORTEST} characters, as of `openssl rand -hex 32`"
        )
    return tuple(hashlib.sha256(line.encode()).digest() for line in secrets)


def _file_stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _file_error_words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"the file {error.filename} cannot be read: {error.strerror}"
    return str(error)
