"""Commands that only read: they need no source and no password, make no store, and write none."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from serving import model, predictions, sqlite_bench

import monitor
from monitor.cli import main
from monitor.core.clock import DAY, from_iso
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.store_database import open_store

START = from_iso("2024-03-01")
OPTIONS = 'windows = ["1d"]\nhorizon = "20d"\nsettle_after = "1d"\nresamples = 20\n'
READ = (
    "show", "status", "alerts", "alerts --history", "changes", "budget", "export kept.csv",
    "report --model late --output late.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a configuration whose store has a cycle, and whose source asks for what nobody set."""
    directory = tmp_path_factory.mktemp("served")
    rows = predictions(300, START, START + 3 * DAY)
    bench = sqlite_bench(directory, rows, model(options=OPTIONS), labelled=START + 4 * DAY)
    done = bench.monitor("cycle", "--as-of", "2024-03-04")
    assert done.exit_code == 0, done.stderr
    text = bench.config.read_text(encoding="utf-8")
    text = text.replace(bench.database.url, "postgresql://reader:${NOT_SET}@db.example/log")
    text = text.replace(bench.store_url, "sqlite:///monitor.db")
    text += '\n[[notify]]\nname = "chat"\nurl = "${NOT_SET_EITHER}"\n'
    bench.config.write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize("line", READ)
def test_they_need_neither_source_nor_channel(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the store's path starts at the configuration, wherever one stands

    done = CliRunner().invoke(main, [*line.split(), "--config", str(served / "config.toml")])

    assert (done.exit_code, done.stderr) == (0, "")
    assert not (tmp_path / "monitor.db").exists()


@pytest.mark.parametrize("line", ["cycle", "run", "check"])
def test_who_opens_a_source_names_what_is_not_set(served: Path, line: str) -> None:
    done = CliRunner().invoke(main, [line, "--config", str(served / "config.toml")])

    assert done.exit_code == 2
    assert "sources.log.url: the environment variable NOT_SET is not set" in done.stderr


@pytest.mark.parametrize("line", READ)
def test_they_make_no_store(served: Path, tmp_path: Path, line: str) -> None:
    shutil.copy(served / "config.toml", tmp_path)
    before = set(tmp_path.iterdir())

    done = CliRunner().invoke(main, [*line.split(), "--config", str(tmp_path / "config.toml")])

    assert (done.exit_code, done.stdout) == (1, "")
    assert "monitor.db: there is no such file. If there was one, put it back or restore it" in done.stderr
    assert set(tmp_path.iterdir()) == before


@pytest.fixture
def for_all_to_read(served: Path) -> Iterator[Path]:
    """Directory of a copy of the store that only its owner may write."""
    with TemporaryDirectory() as name:  # directories of pytest are for their owner alone
        directory = Path(name)
        for file in ("config.toml", "monitor.db"):
            shutil.copy(served / file, directory)
            (directory / file).chmod(0o444)
        directory.chmod(0o755)
        yield directory


@pytest.fixture(scope="module")
def own_copy() -> Iterator[str]:
    """Directory of a package that anybody may read: a checkout may lie in a private folder."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        without = shutil.ignore_patterns("__pycache__", "demo")
        shutil.copytree(Path(monitor.__file__).parent, Path(name) / "monitor", ignore=without)
        yield name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_they_read_a_store_that_they_may_not_write(
    served: Path, for_all_to_read: Path, own_copy: str
) -> None:
    code = (
        "import os, sys; from monitor.store.store_database import open_to_read\n"
        "def read(url): return len(open_to_read(url, 'live').current.read_current())\n"
        "read(sys.argv[2]); os.setuid(65534); print(read(sys.argv[1]))"  # Python's own files may be private
    )

    urls = [f"sqlite:///{directory / 'monitor.db'}" for directory in (for_all_to_read, served)]
    done = subprocess.run(
        [sys.executable, "-c", code, *urls], cwd=own_copy, capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert int(done.stdout) > 100
    assert {path.name for path in for_all_to_read.iterdir()} == {"config.toml", "monitor.db"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_who_may_not_write_a_store_sees_what_is_written_later_also_as_frames(
    served: Path, for_all_to_read: Path, own_copy: str
) -> None:
    url = f"sqlite:///{for_all_to_read / 'monitor.db'}"
    code = (
        "import os, sys; from monitor.app.exports.export_files import read_snapshots;"
        "from monitor.store.store_database import open_to_read\n"
        "def read(store, url): return len(store.events.read_events()), len(read_snapshots(url))\n"
        "read(open_to_read(sys.argv[2], 'live'), sys.argv[2])\n"  # Python's own files may be private
        "os.setuid(65534); url = sys.argv[1]; store = open_to_read(url, 'live')\n"
        "for _ in sys.stdin: print(*read(store, url), flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, url, f"sqlite:///{served / 'monitor.db'}"],
        cwd=own_copy,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:

        def asked() -> list[int]:
            assert reader.stdin is not None
            assert reader.stdout is not None
            print(file=reader.stdin, flush=True)
            return [int(text) for text in reader.stdout.readline().split()]

        before = asked()
        store = open_store(url, "live")
        store.events.append_events([HistoryEvent(model="late", at=0, kind="accepted")])
        during = asked()
        store.close()
        after = asked()

    assert before[1] > 0
    assert during == after == [before[0] + 1, before[1]]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_a_store_in_a_directory_that_is_closed_to_them_is_told_so(for_all_to_read: Path) -> None:
    for_all_to_read.chmod(0o700)
    code = "import os, sys; from monitor.store.store_database import require_kept; os.setuid(65534); "
    code += "require_kept(sys.argv[1])"
    url = f"sqlite:///{for_all_to_read / 'monitor.db'}"

    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=False)

    assert f"StoreError: store {url}: cannot be read: Permission denied" in done.stderr


def test_a_store_of_another_version_is_left_alone(served: Path, tmp_path: Path) -> None:
    for name in ("config.toml", "monitor.db"):
        shutil.copy(served / name, tmp_path)
    with sqlite3.connect(tmp_path / "monitor.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0014'")

    done = CliRunner().invoke(main, ["show", "--config", str(tmp_path / "config.toml")])

    assert done.exit_code == 1
    assert "got 0014; run `monitor migrate`" in done.stderr


def test_help_names_exit_codes_and_the_environment() -> None:
    whole, one = (CliRunner().invoke(main, line) for line in (["--help"], ["show", "--help"]))

    assert "Exit codes: 0 done, 1 something failed, 2 usage or configuration." in whole.stdout
    assert "_MONITOR_COMPLETE=bash_source" in whole.stdout
    assert "env var: MONITOR_CONFIG" in one.stdout


@pytest.mark.parametrize("command", ["recount", "forget", "alerts accept", "alerts ack"])
def test_who_and_why_are_named_alike(command: str) -> None:
    done = CliRunner().invoke(main, [*command.split(), "--help"])

    assert "--by, --who TEXT" in done.stdout
    assert "--why TEXT" in done.stdout
