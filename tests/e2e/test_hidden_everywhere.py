"""Ways past the log and the errors: threads that end, unexpected errors, libraries, SQL with a secret."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from serving import bench_in, fill_tables, model, predictions

from monitor.cli import main
from monitor.core.clock import DAY, from_iso

START = from_iso("2024-03-01")
ODD = 'correct horse"b@ttery'
PREAMBLE = """
import logging, sys, threading
from monitor.cli import main
from monitor.core import secrets
from monitor.daemon import log_setup
secrets.learn({secret!r}, pieces=True)
"""
"""What a process does before a secret stands in something that nobody foresaw."""


def said(code: str) -> str:
    """Everything that a process writes."""
    text = PREAMBLE.format(secret=ODD) + code.replace("SECRET", repr(f'no {ODD} horse"b ttery'))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            (
                "log_setup.configure_logging(log_setup.LogFormat.JSON)\nlog_setup.log_thread_failures()\n"
                "def fail(): raise ValueError(SECRET)\n"
                "one = threading.Thread(target=fail, name='lost')\none.start()\none.join()"
            ),
            "a thread ended",
        ),
        (
            (
                "from monitor.cli.command_options import exit_on_error\n"
                "@exit_on_error\ndef command(): raise ValueError(SECRET)\ncommand()"
            ),
            "ValueError",
        ),
        (
            (
                "import click\nfrom click.testing import CliRunner\n"
                "CliRunner().invoke(main, ['check', '--config', 'none.toml'])\n"
                "logging.getLogger('library').error('cannot %s', SECRET)"
            ),
            "cannot",
        ),
        (
            (
                "import structlog\nlog_setup.configure_logging(log_setup.LogFormat.CONSOLE)\n"
                "try:\n    raise RuntimeError(SECRET) from KeyError(SECRET)\n"
                "except RuntimeError:\n"
                "    structlog.stdlib.get_logger('monitor.daemon').exception('failed', a={'b': [SECRET]})\n"
                "    logging.getLogger('library').exception(SECRET)"
            ),
            "RuntimeError",
        ),
    ],
)
def test_what_nobody_foresaw_is_said_without_the_secret(code: str, expected: str) -> None:
    text = said(code)

    assert expected in text
    assert "horse" not in text
    assert "ttery" not in text
    assert "correct" not in text


def test_a_value_that_stands_in_sql_is_told_kept_and_explained_as_its_place(tmp_path: Path) -> None:
    tenant = "acme-4711"
    bench = bench_in(tmp_path)
    rows = predictions(200, START, START + 2 * DAY)
    fill_tables(bench.database, rows, labelled=START + 2 * DAY)
    text = model(options='windows = ["1d"]', predictions="where = \"'${TENANT}' <> id\"")
    bench.configure(
        text.replace('table = "reference"', "query = \"SELECT * FROM reference WHERE '${TENANT}' <> pred\"")
    )
    asked = ["--config", str(tmp_path / "config.toml")]
    environ = {"TENANT": tenant}

    explained = CliRunner().invoke(main, ["check", "--explain", *asked], env=environ)
    cycled = CliRunner().invoke(main, ["cycle", "--as-of", "2024-03-03", *asked], env=environ)
    shown = CliRunner().invoke(main, ["show", "--provenance", *asked], env=environ)
    broken = tmp_path / "config.toml"
    broken.write_text(broken.read_text(encoding="utf-8").replace("<> id", "<> nosuch"), encoding="utf-8")
    refused = CliRunner().invoke(main, ["check", *asked], env=environ)

    assert [explained.exit_code, cycled.exit_code, shown.exit_code, refused.exit_code] == [0, 0, 0, 2]
    assert "'${TENANT}' <> id" in explained.stdout
    assert "'${TENANT}' <> pred" in shown.stdout
    for one in (explained, cycled, shown, refused):
        assert tenant not in one.output
    assert tenant.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("monitor.db*"))
