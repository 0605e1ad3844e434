"""`check`, the start and the log on the port: its files, and who can reach it."""

import json
from pathlib import Path

import process
import pytest
import servers
from click.testing import CliRunner, Result
from serving import model, predictions, sqlite_bench

from monitor.cli import main
from monitor.core.clock import DAY, from_iso

START = from_iso("2024-03-01")
ANYWHERE = '[http]\nhost = "::"\nport = 0\n'
WARNING = (
    'http.host: "::" is reached from other machines: everything is sent in clear text (tls_certificate), '
    "whoever reaches the port is answered, but not shown pages (secret_file)"
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A sound configuration, to which [http] is added."""
    rows = predictions(48, START, START + DAY)
    sqlite_bench(tmp_path, rows, model(), labelled=START + 2 * DAY)
    return tmp_path / "config.toml"


def add(config: Path, text: str) -> None:
    config.write_text(text + config.read_text(encoding="utf-8"), encoding="utf-8")


def run(*arguments: str, config: Path) -> Result:
    return CliRunner().invoke(main, [arguments[0], "--config", str(config), *arguments[1:]])


@pytest.mark.parametrize("arguments", [[], ["--offline"]])
def test_a_port_that_others_reach_is_a_warning(config: Path, arguments: list[str]) -> None:
    add(config, ANYWHERE)

    done = run("check", *arguments, config=config)

    assert f"warning: {WARNING}" in done.stderr.splitlines()
    assert done.exit_code == 0


def test_files_that_cannot_be_used_are_faults_and_end_the_start(config: Path) -> None:
    add(config, '[http]\ntls_certificate = "none.pem"\nsecret_file = "weak"\n')
    config.with_name("weak").write_text("hunter2\n", encoding="utf-8")
    certificate = f"the file {config.parent}/none.pem cannot be read: No such file or directory"
    secret = f"{config.parent}/weak: a secret a line, each of at least 16 characters"
    faults = [
        f"http.tls_certificate, http.tls_key: {certificate}",
        f"http.secret_file: {secret}, as of `openssl rand -hex 32`",
    ]

    checked, started = run("check", "--format", "json", config=config), run("run", config=config)

    assert [one["text"] for one in json.loads(checked.stdout)["faults"]] == faults
    assert (checked.exit_code, started.exit_code) == (2, 2)
    assert set(started.stderr.splitlines()) & set(faults)


def test_the_log_warns_of_a_port_that_others_reach(config: Path) -> None:
    port = servers.free_port()
    add(config, f'{ANYWHERE.replace("port = 0", f"port = {port}")}[log]\nformat = "json"\n')

    with process.daemon(config, port) as running:
        running.start()
        running.wait(lambda: bool(running.logged(WARNING)), "the warning")

    assert [line["level"] for line in running.logged(WARNING)] == ["warning"]
