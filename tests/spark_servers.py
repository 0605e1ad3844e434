"""A real Spark cluster on loopback: master, workers, a server of Spark Connect."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import servers

ROOT = Path(__file__).parents[1]
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_TIMEOUT = 120.0
_OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "1g",
    "spark.pyspark.python": sys.executable,
    "spark.sql.shuffle.partitions": "8",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master, and one worker of one core for each process."""

    master: str
    workers: list[subprocess.Popen[bytes]]

    @property
    def url(self) -> str:
        """URL of a source."""
        return f"{self.master}?{'&'.join(f'{name}={value}' for name, value in _OPTIONS.items())}"

    def kill_a_worker(self) -> None:
        """SIGKILL the first worker, its executors and their Python processes."""
        os.killpg(self.workers[0].pid, signal.SIGKILL)
        self.workers[0].wait()


@contextlib.contextmanager
def cluster(directory: Path, *, workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers; end them."""
    with contextlib.ExitStack() as stack:
        port = servers.free_port()
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        stack.enter_context(_started(directory, "master", _MASTER, *here, "--port", str(port)))
        _wait_for(port, directory / "master")
        master = f"spark://127.0.0.1:{port}"
        started = [
            stack.enter_context(
                _started(
                    directory, f"worker{at}", _WORKER, *here, "--cores", "1", "--memory", "1g",
                    "--work-dir", str(directory / f"work{at}"), master,
                )
            )
            for at in range(workers)
        ]  # fmt: skip
        for at in range(workers):
            _wait_for_text(directory / f"worker{at}", "Successfully registered")
        yield Cluster(master, started)


@contextlib.contextmanager
def connect_server(directory: Path, master: str) -> Iterator[str]:
    """Start a server of Spark Connect on a cluster; yield its URL."""
    port = servers.free_port()
    options = {**_OPTIONS, "spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false"}
    given = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    submit = ("org.apache.spark.deploy.SparkSubmit", "--master", master, *given, "--class", _CONNECT)
    with _started(directory, "connect", *submit, "spark-internal"):
        _wait_for(port, directory / "connect")
        yield f"sc://127.0.0.1:{port}"


@contextlib.contextmanager
def _started(directory: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        servers.missing("needs pyspark, of the extra spark")
    servers.program("java", package="openjdk-17-jre-headless")
    home = Path(spec.origin).parent
    environment = {
        "PATH": os.environ["PATH"],
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_PYTHON": sys.executable,
    }
    if "JAVA_HOME" in os.environ:
        environment["JAVA_HOME"] = os.environ["JAVA_HOME"]
    with (directory / name).open("wb") as log:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(port: int, log: Path) -> None:
    until = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def _wait_for_text(log: Path, text: str) -> None:
    until = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < until:
        if text in log.read_text(errors="replace"):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the worker did not register: {log.read_text(errors='replace')[-2000:]}")
