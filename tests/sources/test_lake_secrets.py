"""Keys and tokens of lakes: whatever they are made of, and whoever quotes them, nothing says one."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from odd_passwords import odd_passwords, traces
from serving import model

from monitor.cli import main
from monitor.core import secrets
from monitor.setup.first_config import template_url

PASSWORDS = odd_passwords()
LONG = [pytest.param(PASSWORDS[::5], id="some"), pytest.param(PASSWORDS, marks=pytest.mark.long, id="all")]
S3 = "s3://lake/ml?endpoint={server}&region=us-east-1"
PLACES = {
    "access_key": S3 + "&access_key={secret}&secret_key=abcdefgh",
    "secret_key": S3 + "&access_key=AKIAABCD&secret_key={secret}",
    "session_token": S3 + "&access_key=AKIAABCD&secret_key=abcdefgh&session_token={secret}",
    "account_key": "az://c/ml?endpoint={server}&account=acc&account_key={secret}",
}
CATALOGS = {
    "token": "{server}/?warehouse=ml&token={secret}",
    "credential": "{server}/?warehouse=ml&credential=client:{secret}",
    "password": "postgresql+psycopg://odd:{secret}@127.0.0.1:1/catalog",
}
WAYS = ("environment", "file", "written")


class _Quoting(ThreadingHTTPServer):
    """Refuses each request, and says the secret in every form that it knows."""

    secret, asked = "", 0


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        secret = self.server.secret  # type: ignore[attr-defined]
        self.server.asked += 1  # type: ignore[attr-defined]
        plain = "".join(sign if sign not in "<&>" else f"&#{ord(sign)};" for sign in secret)
        text = f"refused {plain} {quote(secret, safe='')} {self.headers.get('Authorization', '')}"
        body = f"<Error><Code>AccessDenied</Code><Message>{text}</Message></Error>"
        if "/v1/" in self.path:
            said = {"message": f"refused {secret}", "type": "NotAuthorizedException", "code": 401}
            body = json.dumps({"error": said})
        self.send_response(403)
        self.send_header("Content-Type", "application/json" if "/v1/" in self.path else "application/xml")
        encoded = body.encode()
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(encoded)

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 -- names of the library

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[_Quoting]:
    """A service that quotes what it was given."""
    found = _Quoting(("127.0.0.1", 0), _Answer)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    secrets.forget()


def held(directory: Path, secret: str, way: str) -> tuple[str, dict[str, str]]:
    """What stands in a URL for a secret, and the environment."""
    if way == "environment":
        return "${ODD_SECRET}", {"ODD_SECRET": secret}
    if way == "file":
        (directory / "held").write_text(f"{secret}\n", encoding="utf-8")
        return f"${{file:{directory}/held}}", {}
    return quote(secret, safe=""), {}


def told_by(directory: Path, url: str, catalog: str | None, environ: dict[str, str]) -> str:
    """All that the commands say of such a source, and all that they keep."""
    config, store = directory / "config.toml", directory / "monitor.db"
    store.unlink(missing_ok=True)
    named_by = "" if catalog is None else f"catalog = {json.dumps(catalog)}\n"
    config.write_text(
        f'[store]\nurl = "sqlite:///{store}"\n[log]\nformat = "json"\nlevel = "debug"\n'
        f"[sources.log]\nurl = {json.dumps(url)}\n{named_by}{model()}",
        encoding="utf-8",
    )
    init = ["init", "--url", url, "--predictions", "scores", "--labels", "outcomes"]
    init += [] if catalog is None else ["--catalog", catalog]
    runner, texts = CliRunner(), []
    others = [[one, "--config", str(config)] for one in ("migrate", "check", "cycle", "status")]
    for command in (init, *others):
        done = runner.invoke(main, command, env=environ)
        unforeseen = done.exception is not None and not isinstance(done.exception, SystemExit)
        texts += [done.output, repr(done.exception) if unforeseen else ""]
    return "\n".join([*texts, store.read_bytes().decode("utf-8", "replace")])


@pytest.mark.parametrize("passwords", LONG)
@pytest.mark.parametrize("option", PLACES)
def test_keys_of_a_place(server: _Quoting, tmp_path: Path, option: str, passwords: list[str]) -> None:
    address = f"http://127.0.0.1:{server.server_address[1]}"
    for at, secret in enumerate(passwords):
        server.secret = secret
        written, environ = held(tmp_path, secret, WAYS[at % 3])

        said = told_by(tmp_path, PLACES[option].format(server=address, secret=written), None, environ)

        assert (option, WAYS[at % 3], traces(secret, said)) == (option, WAYS[at % 3], []), said[:2000]
        assert "a fault of this program" not in said, said[:2000]
    assert server.asked  # by those that are keys, as Azure's are of a certain form


@pytest.mark.lakes
@pytest.mark.parametrize("passwords", LONG)
@pytest.mark.parametrize("option", CATALOGS)
def test_secrets_of_a_catalogue(server: _Quoting, tmp_path: Path, option: str, passwords: list[str]) -> None:
    pytest.importorskip("pyiceberg")
    address = f"http://127.0.0.1:{server.server_address[1]}"
    for at, secret in enumerate(passwords):
        server.secret = secret
        written, environ = held(tmp_path, secret, WAYS[at % 3])
        catalog = CATALOGS[option].format(server=address, secret=written)

        said = told_by(tmp_path, tmp_path.as_uri(), catalog, environ)

        assert (option, WAYS[at % 3], traces(secret, said)) == (option, WAYS[at % 3], []), said[:2000]
        assert "a fault of this program" not in said, said[:2000]


def test_what_init_writes_holds_the_place_of_a_key_alone() -> None:
    """A key of a store may hold the sign +, which is no space there."""
    for secret in [*PASSWORDS, "ab+cd/ef=="]:
        url = S3.format(server="http://minio:9000") + f"&access_key=AKIA&secret_key={quote(secret, safe='')}"

        written, values = template_url(url, "ML")

        assert values == {"ML_ACCESS_KEY": "AKIA", "ML_SECRET_KEY": secret}
        assert written.endswith("&access_key=${ML_ACCESS_KEY}&secret_key=${ML_SECRET_KEY}")
    assert template_url("s3://b?secret_key=ab+cd/e", "ML")[1] == {"ML_SECRET_KEY": "ab+cd/e"}
