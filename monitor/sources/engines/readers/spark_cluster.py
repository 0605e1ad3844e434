"""A Spark cluster, reached by PySpark: its SQL, and our counting on its workers."""

import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa

from monitor.core.errors import SourceError, SourceUnavailable, without_quotes
from monitor.core.version import install_command
from monitor.records.reading import ReadingOptions
from monitor.records.winning_rows import Batches
from monitor.records.worker_counts import COUNTED, PANE, append_pane_starts, count_batches
from monitor.sources.engines import spark
from monitor.sources.engines.engine import DriverText, Engine
from monitor.sources.engines.schemes import SCHEMES, engine_of_cluster
from monitor.sources.sql.scan import RowScan
from monitor.sources.sql.statements import TYPES, Statement
from monitor.specs.model_spec import SourceSpec
from monitor.specs.urls import fill_url

_COUNTED = ", ".join(f"`{field.name}` {'binary' if field.name == 'blob' else 'long'}" for field in COUNTED)
_REFUSED = {"AnalysisException", "ParseException", "IllegalArgumentException"}
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_THEIRS = ("pyspark", "py4j", "grpc")  # packages whose errors tell of the cluster
_OURS = DriverText(
    "pyspark", "SourceError: ", "a worker's error, of rows that cannot be read, comes as a trace, as text"
)
_NO_MODULE = DriverText(
    "pyspark", "ModuleNotFoundError", "a worker's Python lacks monitor: its errors come as a trace, as text"
)


@dataclass(frozen=True, slots=True)
class SparkSqlSession:
    """A cluster's session: what it reads comes at once."""

    spark: Any

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        table = (
            self._data_frame(statement)
            .toArrow()
            .rename_columns([output.name for output in statement.outputs])
        )
        return table.cast(pa.schema([(output.name, TYPES[output.kind]) for output in statement.outputs]))

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement: all at once, since the workers find them together."""
        yield self.read_table(statement)

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        return [tuple(row) for row in self.spark.sql(sql).collect()]

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names of a query's columns, and their types."""
        return dict(self.spark.sql(sql).dtypes)

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        self.spark.sql(sql).collect()

    def count_on_workers(
        self, scan: RowScan, reading: ReadingOptions, panes: list[int], job: str
    ) -> pa.Table:
        """Parts of panes, counted by the workers: the rows of a pane come together on one of them.

        Returns
        -------
        table
            columns of `COUNTED`.
        """
        if not scan.statements:
            return COUNTED.empty_table()
        frame = reduce(lambda left, right: left.unionAll(right), map(self._data_frame, scan.statements))
        at = [output.name for output in scan.outputs].index("event_time")
        us = spark.micros_of_column(
            f"c{at}", scan.outputs[at].kind, reading.unit_of("event_time"), reading.zone
        )
        if us is None:
            typed = type(frame.schema)(list(frame.schema.fields))  # `add` changes what it is called of
            frame = frame.mapInArrow(partial(append_pane_starts, job=job), typed.add(PANE, "long"))
        else:
            frame = frame.selectExpr("*", f"{us} - pmod({us}, {reading.pane}) AS {PANE}")
            frame = frame.where(f"{PANE} IN ({', '.join(map(str, panes))})")
        together = frame.repartition(PANE).sortWithinPartitions(PANE)
        return together.mapInArrow(partial(count_batches, job=job), _COUNTED).toArrow().cast(COUNTED)

    def _data_frame(self, statement: Statement) -> Any:
        return self.spark.sql(statement.sql_text())


class SparkReader:
    """A cluster by its URL; the session is made when it is first asked for.

    Parameters
    ----------
    spec
        `url`: that of a master (spark://, k8s://, yarn://), of Spark Connect (sc://), or local://THREADS;
        `?spark.executor.memory=4g&…` are options.
    """

    def __init__(self, spec: SourceSpec) -> None:
        self.engine: Engine = engine_of_cluster()
        scheme = SCHEMES.get(spec.url.partition("://")[0])
        if scheme is None or not isinstance(self.engine, scheme.engine):
            raise SourceError('engine = "spark" needs a URL as in "sc://host:15002" or "spark://host:7077"')
        self._written = spec.url
        self._shown = spec.url.partition("?")[0].partition(";")[0].rstrip("/")
        self._lock = threading.Lock()
        self._spark: Any = None

    @contextmanager
    def open_session(self) -> Iterator[SparkSqlSession]:
        """The one session, which several threads share.

        Raises
        ------
        SourceUnavailable
            if the cluster does not answer.
        SourceError
            if it refuses a statement.
        """
        _require_pyspark()
        try:
            yield SparkSqlSession(self._opened_session())
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in _THEIRS:
                raise
            raise self._translate_error(error) from error

    def close(self) -> None:
        """End a session of Spark Connect. One in this process serves all of its sources, and ends with it."""
        with self._lock:
            if self._spark is not None and self._written.startswith("sc://"):
                with suppress(Exception):
                    self._spark.stop()
            self._spark = None

    def _opened_session(self) -> Any:
        with self._lock:
            if self._spark is None:
                self._spark = self._open_spark()
            return self._spark

    def _open_spark(self) -> Any:
        from pyspark.sql import SparkSession

        try:
            url = fill_url(self._written)
        except ValueError as error:
            raise SourceUnavailable(f"{self._shown}: {error}") from None
        if url.startswith("sc://"):
            return _connect_session(SparkSession.builder.remote(url))
        return _prepare_session(
            self._classic_session(SparkSession.builder.appName("monitor"), *url.split("?", 1))
        )

    def _classic_session(self, builder: Any, url: str, options: str = "") -> Any:
        """A session of its own in the one context of this process."""
        scheme, _, rest = url.partition("://")
        master = {"local": f"local[{rest}]", "yarn": "yarn"}.get(scheme, url)
        settings = {**_DEFAULTS, **dict(parse_qsl(options))}
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.master(master).getOrCreate()
        running = session.sparkContext.master
        if running != master:
            raise SourceError(
                f"{self._shown}: this process is connected to {running}, and to one master at most: "
                "use Spark Connect (sc://) for others"
            )
        if python := settings.get("spark.pyspark.python", sys.executable if scheme == "local" else None):
            session.sparkContext.pythonExec = python  # as spark-submit would
        return session.newSession()

    def _translate_error(self, error: Exception) -> SourceError:
        """What a cluster's error says of it or of the statement."""
        error_text, names = str(error), {kind.__name__ for kind in type(error).__mro__}
        if _OURS.text in error_text:
            return SourceError(f"{self._shown}: {error_text.rpartition(_OURS.text)[2].splitlines()[0]}")
        if _NO_MODULE.text in error_text:
            return SourceError(
                f"{self._shown}: the workers' Python lacks monitor, or what it needs: "
                "say which one has it, ?spark.pyspark.python=/path/to/python, or install it there"
            )
        if names & _REFUSED:
            part = next(iter(getattr(error, "__notes__", ())), "a query")
            return SourceError(f"{self._shown} refuses {part}: {_first_line(error_text)}")
        return SourceUnavailable(f"{self._shown} does not answer: {without_quotes(_first_line(error_text))}")


def _require_pyspark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise SourceError(f'engine = "spark" needs PySpark 4: {install_command("spark")}') from error
    # of mapInArrow too, which needs no pandas
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # an error follows


def _connect_session(builder: Any) -> Any:
    """A session of Spark Connect that tries for some seconds, not for ten minutes, to reach its server."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session = builder.create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=4)])
    try:
        return _prepare_session(session)
    except Exception:
        session.client.close()  # an open one would ask the server again, for seconds, as the process ends
        raise


def _prepare_session(session: Any) -> Any:
    """A session with what our statements rely on."""
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.ansi.enabled", "true")
    return session


def _first_line(text: str) -> str:
    """What an error says in a line; of an error of gRPC its details."""
    details = re.search(r'details = "([^"\n]*)', text)
    return details[1] if details else next(iter(text.strip().splitlines()), "an error without words")
