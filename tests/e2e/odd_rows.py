"""A log of odd rows, and the documented rule applied to it row by row (docs/tables.md, docs/concepts.md).

The database is read back by its own driver, value by value: what a column made of a value is its own affair.
"""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import psycopg
from oracle import Log
from sqlalchemy import make_url

ZONE = "Africa/Casablanca"  # in 2013 its clocks went back on 7 July and forward again on 10 August
START, DAYS, A_DAY = datetime(2013, 7, 1, tzinfo=UTC), 42, 48
MAIN = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)?", re.ASCII)  # format of the log's times
IDS: tuple[Any, ...] = (
    *("", " ", "a1", "A1", "a1 ", " a1", "a1\t", "7", "07", "7.0", " 7", "+7", "7e0", "true", "TRUE"),
    *("é", "e\u0301", "\ufffd", "1,5", "1\\,5", "'", '"', "%", "NULL", "nan", "x" * 5_000),
)
NUMBERS = (7.0, -7, 7, 7.5, 2**53, 2**53 + 1, 2**63 - 1, 1, 1.0)
BYTES = (b"7", b"a1", b"\xff\x00", b"\xfe\x00", b"\xff", b"\xfe")  # blobs
BROKEN = (b"k\xff", b"k\xfe", b"k\xc3", b"n\x00ul", b"n\x00il")  # texts that are no UTF-8, or hold a NUL
TIMES: tuple[Any, ...] = (  # of 3 August, at 14:00 and about
    *("2013-08-03T14:00:00", "2013-08-03 14:00:00Z", "2013-08-03 14:00:00+00", "2013-08-03 14:00:00+00:00"),
    *("2013-08-03 24:00:00", "2013-08-03 14:00:60", "2013-08-03 14:60:00", "2013-08-03 14:00"),
    *("2013-08-03", "2013-08-03 14:00:00 ", " 2013-08-03 14:00:00", "2013-08-03  14:00:00"),
    *("2013-08-03 14:00:00.", "2013-08-03 14:00:00,5", "2013-08-03t14:00:00", "2013-08-32 14:00:00"),
    *("2013-08-03 14:00:00.1", "2013-08-03 14:00:00.9999999", "2013-08-03 14:59:59.99999999999"),
    *("2013-08-03 15:00:00.0000004", "03/08/2013 14:00", "20130803 140000", "1375538400", "n/a", "", " "),
    *("2013-02-29 14:00:00", "\uff12013-08-03 14:00:00", None),
)
TIME_BYTES = (b"2013-08-03 14:00:00", b"\xff", b"2013-08-03 14:00:0\xff")
CLOCKS: tuple[str, ...] = (
    "2013-07-07 02:00:00",
    "2013-07-07 02:30:00",
    "2013-07-07 03:00:00",
    "2013-07-07 01:59:59.9999999",
)
CLOCKS += ("2013-08-10 02:00:00", "2013-08-10 02:30:00.5", "2013-08-10 03:00:00", "2013-08-10 01:59:59")
Raw: TypeAlias = "str | bytes | int | float | None"  # bytes: a blob, or a text that is no UTF-8
Tables: TypeAlias = dict[str, list[tuple[Any, ...]]]
Cells: TypeAlias = list[tuple[str, Raw]]  # kind and value of each row


@dataclass(frozen=True, slots=True)
class OddLog:
    """Where the log is, and how its ids are declared.

    Parameters
    ----------
    ids
        type of the column in both tables; in SQLite none, too.
    """

    url: str
    ids: str

    @property
    def file(self) -> str | None:
        """Path of SQLite's file; None: PostgreSQL."""
        url = make_url(self.url)
        return url.database if url.get_backend_name() == "sqlite" else None

    @property
    def of_numbers(self) -> bool:
        """Whether most ids are numbers."""
        return self.ids in ("INTEGER", "")

    def fill(self) -> None:
        """Create the tables, with the indexes by which labels are added by difference."""
        columns = (
            'event_time TEXT, logged_at TEXT, model_version TEXT, "group" TEXT, score DOUBLE PRECISION, '
        )
        columns += "pred TEXT, temp DOUBLE PRECISION, carrier TEXT"
        statements = ["CREATE EXTENSION IF NOT EXISTS citext"] if self.ids == "citext" else []
        statements += [
            f"CREATE TABLE predictions (prediction_id {self.ids}, {columns})",
            f"CREATE TABLE labels (prediction_id {self.ids}, late TEXT, reported_at TEXT, revision INTEGER)",
            "CREATE INDEX by_time ON predictions (event_time)",
            "CREATE INDEX by_id ON predictions (prediction_id)",
            "CREATE INDEX by_label ON labels (prediction_id)",
        ]
        rows = {"predictions": predictions(self), "labels": labels(self)}
        if self.file is not None:
            _fill_sqlite(self.file, statements, rows)
        else:
            _fill_postgresql(self.url, statements, rows)

    def column(self, table: str, column: str) -> Cells:
        """Each value as the database holds it, with its kind: text, blob, number, null."""
        if self.file is None:
            with psycopg.connect(self.url.replace("+psycopg", "")) as server:
                rows = server.execute(f"SELECT {column} FROM {table} ORDER BY ctid".encode()).fetchall()
            return [(_kind(value), value) for (value,) in rows]
        with sqlite3.connect(self.file) as log:
            log.text_factory = bytes
            sql = f"SELECT typeof({column}), {column} FROM {table} ORDER BY rowid"
            found = [(kind.decode(), value) for kind, value in log.execute(sql)]
        log.close()
        return [(_KINDS.get(kind, kind), value) for kind, value in found]


def _fill_sqlite(file: str, statements: Sequence[str], rows: Tables) -> None:
    with sqlite3.connect(file) as log:
        for statement in statements:
            log.execute(statement)
        for name, some in rows.items():
            for row in some:
                holes = ["CAST(? AS TEXT)" if isinstance(one, Text) else "?" for one in row]
                values = [one.raw if isinstance(one, Text) else one for one in row]
                log.execute(f"INSERT INTO {name} VALUES ({', '.join(holes)})", values)
    log.close()


def _fill_postgresql(url: str, statements: Sequence[str], rows: Tables) -> None:
    with psycopg.connect(url.replace("+psycopg", "")) as server, server.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.encode())
        for name, some in rows.items():
            with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in some:
                    copy.write_row(row)


_KINDS = {"integer": "number", "real": "number"}


def _kind(value: object) -> str:
    return "null" if value is None else "text" if isinstance(value, str) else "number"


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes that SQLite shall hold as a text."""

    raw: bytes


def odd_ids(log: OddLog) -> list[Any]:
    """Ids of which each differs from another by case, space, spelling, type or a byte; and none."""
    of_file = [*NUMBERS, *map(Text, BROKEN)] if log.file else []
    blobs = BYTES if log.file and not log.ids else ()
    return [None, None, *IDS, *of_file, *blobs]


def odd_times(log: OddLog) -> list[tuple[Any, Any]]:
    """Id and time of rows whose times are odd."""
    of_file = [*TIME_BYTES, *map(Text, TIME_BYTES)] if log.file else []
    times = [*TIMES, *CLOCKS, *CLOCKS, *of_file]
    return [(5_000_000 + at if log.of_numbers else f"t{at}", moment) for at, moment in enumerate(times)]


def predictions(log: OddLog) -> list[tuple[Any, ...]]:
    """Rows of the predictions.

    An odd id is twice in one pane, logged in either order, and in another pane. One whose time is odd has a
    row with a time, too; some rows are logged at an odd time.
    """
    rng = np.random.default_rng(20130707)
    dated = [
        (plain_id(log, at), local(at / A_DAY), later(local(at / A_DAY), 2)) for at in range(DAYS * A_DAY)
    ]
    for key in odd_ids(log):
        for hours, seconds in ((0.1, 30), (0.2, 2), (30.0, 2)):
            event = local(10 + hours / 24)
            dated.append((key, event, later(event, seconds)))
    for at, (key, moment) in enumerate(odd_times(log)):
        dated += [(key, moment, local(34)), (key, local(33.2), later(local(33.2), 2))]
        dated += [(key, local(33.3), moment)] if at % 3 == 0 else []
    rows = []
    for at, (key, event, logged) in enumerate(dated):
        score = round(float(rng.uniform()), 3)
        outputs = (
            score,
            str(int(score > 0.5)),
            float(rng.normal(60, 9)),
            str(rng.choice(["UA", "AA", "DL"])),
        )
        arm = ("control", "treatment", "holdout")[at % 3]
        rows.append((key, event, logged, f"v{1 + (at > DAYS * A_DAY or at % 2)}", arm, *outputs))
    return rows


def labels(log: OddLog) -> list[tuple[Any, ...]]:
    """Rows of the labels: those of odd ids come on several days, and some at odd times."""
    rng = np.random.default_rng(20130810)
    reports: list[tuple[Any, Any, int]] = []
    for at in range(DAYS * A_DAY):
        days = at / A_DAY
        reports += [(plain_id(log, at), local(days + 1.01 + at % 5), 0)] if at % 7 else []
        reports += [(plain_id(log, at), local(days + 8), 1)] if at % 50 == 0 else []
    for at, key in enumerate(odd_ids(log)):
        days_of = ((23.5,), (12.5, 16.5, 23.5), (12.6,), (16.5,))[at % 4]
        reports += [(key, local(days), int(days)) for days in days_of]
    for key, moment in odd_times(log):
        reports += [(key, moment, 1), (key, local(35.5), 2)]
    return [(key, str(int(rng.uniform() < 0.4)), at, revision) for key, at, revision in reports]


def plain_id(log: OddLog, at: int) -> Any:
    """Id of a row that is not odd."""
    return 1_000_000 + at if log.of_numbers else f"p{at}"


def local(days: float) -> str:
    """Local time, so many days after the first."""
    moment = pd.Timestamp(START) + pd.Timedelta(round(days * 86_400), "s")
    return moment.tz_convert(ZoneInfo(ZONE)).strftime("%Y-%m-%d %H:%M:%S")


def later(event: Any, seconds: int) -> str:
    """A time some seconds after another, if that is one."""
    us = moment_of("text", event)[0] if isinstance(event, str) else None
    if us is None:
        return local(34)
    moment = pd.Timestamp(us, unit="us", tz="UTC") + pd.Timedelta(seconds, "s")
    return moment.tz_convert(ZoneInfo(ZONE)).strftime("%Y-%m-%d %H:%M:%S")


def id_of(kind: str, value: Raw) -> str | None:
    """An id is its text; bytes that are no text are hexadecimal digits; NULL is none."""
    if value is None:
        return None
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return str(value)


def moment_of(kind: str, value: Raw) -> tuple[int | None, bool]:
    """Microseconds of a text in the main format, and whether a change of clocks touched it; else none."""
    if isinstance(value, bytes) and kind == "text":
        value = value.decode(errors="replace")
    match = MAIN.fullmatch(value) if kind == "text" and isinstance(value, str) else None
    if match is None:
        return None, False
    try:
        naive = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 -- local
        if naive.second != int(match[1][-2:]):  # :60
            return None, False
    except ValueError:
        return None, False
    micros = int(f"{(match[2] or '.')[1:7]:0<6}")  # what is finer is cut
    moment = pd.Timestamp(naive.replace(microsecond=micros))
    first = moment.tz_localize(ZONE, ambiguous=True, nonexistent="shift_forward")
    last = moment.tz_localize(ZONE, ambiguous=False, nonexistent="shift_backward")
    return int((first - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(1, "us")), bool(first != last)


def text_of(kind: str, value: Raw) -> str:
    """Text by which times are ordered; a blob is none."""
    if kind == "blob":
        return ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def log_of(log: OddLog, plain: Log) -> Log:
    """The log as the documented rule has it.

    Parameters
    ----------
    plain
        what else is known of it: reference, classes, features.
    """

    def times(table: str, column: str) -> tuple[pd.Series, list[bool], list[bool]]:
        cells = log.column(table, column)
        found = [moment_of(*cell) for cell in cells]
        invalid = [us is None and kind != "null" for (us, _), (kind, _) in zip(found, cells, strict=True)]
        moments = pd.Series([us for us, _ in found], dtype="Int64")
        return moments, [adjusted for _, adjusted in found], invalid

    def ids(table: str) -> dict[str, Any]:
        cells = log.column(table, "prediction_id")
        # pandas below 3 groups texts by what stands before a NUL
        found = [None if (key := id_of(*cell)) is None else key.replace("\0", "\u2400") for cell in cells]
        return {"id": found, "key": cells}

    def values(table: str, column: str) -> list[Any]:
        return [
            value.decode() if isinstance(value, bytes) else value for _, value in log.column(table, column)
        ]

    event, adjusted, invalid = times("predictions", "event_time")
    logged, _, _ = times("predictions", "logged_at")
    names = {"version": "model_version", "arm": '"group"', "score": "score", "prediction": "pred"}
    names |= {"temp": "temp", "carrier": "carrier"}
    frame = pd.DataFrame(
        {
            **ids("predictions"),
            "event_time": event,
            "logged_at": logged,
            "adjusted": adjusted,
            "said": [text_of(*cell) for cell in log.column("predictions", "event_time")],
            **{role: values("predictions", column) for role, column in names.items()},
        }
    )
    there = event.notna()
    labels = pd.DataFrame(
        {
            **ids("labels"),
            "label": values("labels", "late"),
            "reported_at": times("labels", "reported_at")[0],
            "revision": pd.array(values("labels", "revision"), dtype="Int64"),
        }
    )
    return replace(
        plain,
        predictions=frame[there].astype({"event_time": "int64"}).reset_index(drop=True),
        labels=labels,
        invalid=frame.loc[invalid, ["id", "version", "logged_at", "said"]],
        timeless=logged[~there & ~pd.Series(invalid)],
    )


def reference(directory: Path) -> pd.DataFrame:
    """The reference, and its file."""
    rng = np.random.default_rng(7)
    score = np.round(rng.uniform(size=900), 3)
    frame = pd.DataFrame(
        {
            "score": score,
            "pred": np.where(score > 0.5, "1", "0"),
            "late": np.where(rng.uniform(size=900) < score, "1", "0"),
            "temp": rng.normal(60, 9, 900),
            "carrier": rng.choice(["UA", "AA", "DL"], 900),
        }
    )
    frame.to_parquet(directory / "reference.parquet")
    return frame
