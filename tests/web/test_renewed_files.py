"""TLS and secrets from files that are replaced under the running server."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from pages import PAGE, make_certificate, serving

from monitor.core.errors import ConfigurationError
from monitor.specs.settings import HttpSpec
from monitor.web.server import ThreadedServer
from monitor.web.server_files import make_certificate_reloader, make_secrets_reloader

FILE = "secret"
RULE = "a PEM certificate with its chain, and its private key without a passphrase"
TLS = HttpSpec(tls_certificate="tls.pem", tls_key="tls.key", secret_file=FILE)
SECRET, NEXT = "0123456789abcdef", "fedcba9876543210-next"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of two names."""
    directory = tmp_path_factory.mktemp("certificates")
    for name in ("one", "two"):
        make_certificate(directory, name)
    return directory


@pytest.fixture
def files(tmp_path: Path, made: Path) -> Path:
    """Directory of the configuration: the certificate "one", and a secret."""
    install(made, "one", tmp_path)
    (tmp_path / "secret").write_text(f"{SECRET}\n", encoding="utf-8")
    return tmp_path


def install(made: Path, name: str, directory: Path) -> None:
    shutil.copy(made / f"{name}.pem", directory / "tls.pem")
    shutil.copy(made / f"{name}.key", directory / "tls.key")


@pytest.fixture
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def with_secrets(file: str) -> HttpSpec:
    return HttpSpec(secret_file=file)


def get(
    server: ThreadedServer, trusted: Path, path: str = "/metrics", secret: str | None = SECRET
) -> httpx.Response:
    """Answer on a new connection to a server that shows a trusted certificate."""
    context = ssl.create_default_context(cafile=trusted)
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    return httpx.get(
        f"https://127.0.0.1:{server.port}{path}", verify=context, headers=headers, timeout=20, trust_env=False
    )


def test_a_renewed_certificate_is_shown_to_the_next_connection(
    files: Path, made: Path, logged: list[MutableMapping[str, Any]]
) -> None:
    with serving(TLS, files) as server:
        before = get(server, made / "one.pem")
        install(made, "two", files)
        after = get(server, made / "two.pem")
        with pytest.raises(httpx.ConnectError):
            get(server, made / "one.pem")

    assert (before.content, after.content) == (PAGE, PAGE)
    assert {
        "event": "changed file in use",
        "key": "http.tls_certificate, http.tls_key",
        "log_level": "info",
    } in (logged)


def test_a_broken_certificate_is_refused_with_a_line_and_the_old_one_serves_on(
    files: Path, made: Path, logged: list[MutableMapping[str, Any]]
) -> None:
    with serving(TLS, files) as server:
        shutil.copy(made / "two.pem", files / "tls.pem")  # not yet its key
        answers = [get(server, made / "one.pem") for _ in range(3)]
        (files / "tls.pem").unlink()
        answers += [get(server, made / "one.pem") for _ in range(3)]
        install(made, "two", files)
        answers += [get(server, made / "two.pem")]

    assert {answer.status_code for answer in answers} == {200}
    assert [line["fault"] for line in logged if line["log_level"] == "error"] == [
        f"{RULE}: got {files}/tls.pem, {files}/tls.key (KEY_VALUES_MISMATCH)",
        f"the file {files}/tls.pem cannot be read: No such file or directory",
    ]


def test_secrets_are_read_again_and_several_hold_at_a_time(
    files: Path, made: Path, logged: list[MutableMapping[str, Any]]
) -> None:
    def statuses(server: ThreadedServer) -> tuple[int, int]:
        first, second = (get(server, made / "one.pem", secret=secret) for secret in (SECRET, NEXT))
        return first.status_code, second.status_code

    with serving(TLS, files) as server:
        found = [statuses(server)]
        for text in (f"{SECRET}\n{NEXT}\n", f"  {NEXT}\n\n", "short\n", ""):
            (files / "secret").write_text(text, encoding="utf-8")
            found.append(statuses(server))

    assert found == [(200, 401), (200, 200), (401, 200), (401, 200), (401, 200)]
    assert not [line for line in logged if SECRET in str(line) or NEXT in str(line) or "short" in str(line)]
    assert [line["log_level"] for line in logged if "changed" in line["event"]] == ["info"] * 2 + [
        "error"
    ] * 2


def test_a_key_may_stand_in_the_file_of_its_certificate(files: Path, made: Path) -> None:
    both = (made / "one.key").read_bytes() + (made / "one.pem").read_bytes()
    (files / "both.pem").write_bytes(both)

    with serving(HttpSpec(tls_certificate="both.pem"), files) as server:
        assert get(server, made / "one.pem").content == PAGE


def test_old_versions_of_tls_are_refused(files: Path) -> None:
    context = make_certificate_reloader(TLS, files)

    assert context is not None
    assert context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_what_does_not_speak_tls_gets_no_answer(files: Path) -> None:
    with serving(TLS, files) as server, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"http://127.0.0.1:{server.port}/healthz", timeout=20, trust_env=False)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            replace(TLS, tls_certificate="none.pem"),
            "http.tls_certificate, http.tls_key: the file {0}/none.pem cannot be read",
        ),
        (replace(TLS, tls_key="tls.pem"), "without a passphrase: got {0}/tls.pem ("),
        (replace(TLS, tls_key="locked.key"), "without a passphrase: got {0}/tls.pem, {0}/locked.key ("),
        (
            with_secrets("none"),
            "http.secret_file: the file {0}/none cannot be read: No such file",
        ),
        (with_secrets("."), "http.secret_file: the file {0} cannot be read: Is a directory"),
        (with_secrets("tls.der"), "http.secret_file: {0}/tls.der: it is not UTF-8 text"),
        (
            with_secrets("weak"),
            "http.secret_file: {0}/weak: a secret a line, each of at least 16 characters",
        ),
    ],
)
def test_files_that_cannot_be_used_are_named_with_their_key(
    files: Path, wrong: HttpSpec, message: str
) -> None:
    (files / "weak").write_text(f"{SECRET}\nhunter2\n", encoding="utf-8")
    (files / "tls.der").write_bytes(b"\xff\xfe")
    locking = ["openssl", "ec", "-in", "tls.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key"]
    subprocess.run(locking, cwd=files, check=True, capture_output=True)

    with pytest.raises(ConfigurationError) as caught:
        _ = make_secrets_reloader(wrong, files), make_certificate_reloader(wrong, files)

    (fault,) = caught.value.faults
    assert message.format(files) in fault
    assert "hunter2" not in fault
