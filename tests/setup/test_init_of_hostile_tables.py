"""`init` on tables of any names and values: `check --offline` reads what it writes, or it says why not."""

import random
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hostile import invoke

from monitor.core.clock import HOUR, from_iso, to_iso

START, ROWS = from_iso("2024-03-01"), 200
NAMES = (
    "a.b", "a b", "", " ", '"', "'", "\\", "\n", "\r\n", "\t", "\0x", "\x01", "\x1b[31m", "\x7f", "\x85",
    "\u200b", "\u2028", "\ufeff", "é", "☃", "\U0001f600", "\ud7ff", "select", "order", "window", "from",
    "table", "rowid", "NULL", "1", "-1", "true", "${HOME}", "${", "$${A}", "#", "# x", "[x]", "]]", "=",
    "a=b", "'''", '"""', "%s", "%(x)s", ":x", "?", ";", "--", "/*", "{}", "{0}", "feature:x", "class:x",
    "probability:a", "segment:b", "id:0", "p_", "x" * 300, "é" * 5_000, "*", "a.*", "..", "p.score",
    "l.label", "r.lo", "score", "Score", "SCORE", "event_time", "logged_at", "version", "group", "arm",
    "json", "ünïcödé", "\u202eabc", "\u0301", "\u017f", "\u212a", "\u0131", "a\nb = 1",
    'x"\n[store]\nurl = "sqlite:///stolen.db"\n#',
)  # fmt: skip
ROLES = ("prediction_id", "event_time", "score", "model_version", "group", "late", "reported_at")


def name_of(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(NAMES)
    if kind < 0.8:
        return "".join(
            chr(rng.choice((rng.randrange(1, 128), rng.randrange(0xD7FF))))
            for _ in range(rng.randrange(1, 9))
        )
    return rng.choice(ROLES) + rng.choice(NAMES)


def value_of(rng: random.Random) -> object:
    """A class, a group, a version, a feature."""
    return rng.choice(
        (rng.choice(NAMES), rng.choice(NAMES), None, 1, 0.5, "1e400", float("inf"), 2**62, b"\xff\0", "v1")
    )


def columns_of(rng: random.Random) -> dict[str, list[object]]:
    """Columns by name: those of a log, some under other names, with some odd values, and others."""
    a_few = [value_of(rng) for _ in range(rng.choice((2, 2, 3, 12)))]
    moments = [to_iso(START + at * HOUR) for at in range(ROWS)]
    made: dict[str, list[object]] = {
        "prediction_id": [
            f"{rng.choice(NAMES)[:20]}{at}" if rng.random() < 0.1 else f"p{at}" for at in range(ROWS)
        ],
        "event_time": list(moments),
        "score": [rng.random() for _ in range(ROWS)],
    }
    if rng.random() < 0.7:
        made["late"] = [rng.choice(a_few) for _ in range(ROWS)]
    for name in ("model_version", "group", "shadow", "predicted", "created_at"):
        if rng.random() < 0.5:
            made[name] = [rng.choice(a_few) for _ in range(ROWS)]
    for _ in range(rng.choice((0, 1, 5))):
        made[name_of(rng)] = [value_of(rng) for _ in range(ROWS)]
    for name in rng.sample(list(made), k=rng.choice((0, 1, 2)) if len(made) > 1 else 0):
        made[name_of(rng)] = made.pop(name)
    return made


def created(file: Path, table: str, columns: dict[str, list[object]]) -> bool:
    """Make a table of a fresh file; False: SQLite has no such names."""
    file.unlink(missing_ok=True)
    quoted = ['"' + name.replace('"', '""') + '"' for name in (table, *columns)]
    with closing(sqlite3.connect(file)) as connection:
        try:
            connection.execute(f"CREATE TABLE {quoted[0]} ({', '.join(quoted[1:])})")
            places = ", ".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO {quoted[0]} VALUES ({places})", list(zip(*columns.values(), strict=True))
            )
        except (sqlite3.Error, ValueError, OverflowError):
            return False
        connection.commit()
    return True


def attacked(directory: Path, seeds: Iterator[int]) -> list[tuple[int, str]]:
    """What is wrong with the answers, by seed."""
    wrong = []
    file, config = directory / "hostile.db", directory / "config.toml"
    for seed in seeds:
        rng = random.Random(seed)  # noqa: S311 -- not for secrets
        table = "log" if rng.random() < 0.6 else name_of(rng)
        if not created(file, table, columns_of(rng)):
            continue
        config.unlink(missing_ok=True)
        answer = invoke("init", "--url", f"sqlite:///{file}", "--predictions", table, "--output", str(config))
        if answer.wrong:
            wrong.append((seed, f"{answer}"))
        if not config.exists():
            continue
        text = config.read_bytes().decode()
        try:
            written = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            wrong.append((seed, f"{error}"))
            continue
        if "store" in written:
            wrong.append((seed, "a name became a table of the configuration"))
        checked = invoke("check", "--offline", "--config", str(config))
        if checked.wrong or (
            checked.code and "fill in" not in answer.stderr and "fault: " not in answer.stderr
        ):
            wrong.append((seed, f"{checked}"))
    return wrong


def test_what_is_written_of_hostile_tables_is_read_or_it_is_said_why_not(tmp_path: Path) -> None:
    assert attacked(tmp_path, iter(range(60))) == []


@pytest.mark.long
def test_what_is_written_of_many_hostile_tables_is_read_or_it_is_said_why_not(tmp_path: Path) -> None:
    assert attacked(tmp_path, iter(range(10_000, 11_000))) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_feature_is_written_so_that_it_is_read(name: str, tmp_path: Path) -> None:
    columns: dict[str, list[object]] = {
        "prediction_id": [f"p{at}" for at in range(ROWS)],
        "event_time": [to_iso(START + at * HOUR) for at in range(ROWS)],
        "score": [at / ROWS for at in range(ROWS)],
        "group": [("a", name)[at % 2] for at in range(ROWS)],
    }
    if name.lower() in columns or not created(
        tmp_path / "log.db", "log", {**columns, name: [float(at % 7) for at in range(ROWS)]}
    ):
        pytest.skip("SQLite has no such name")
    config = tmp_path / "config.toml"

    answer = invoke(
        "init", "--url", f"sqlite:///{tmp_path / 'log.db'}", "--predictions", "log", "--output", str(config)
    )
    checked = invoke("check", "--config", str(config))

    assert (answer.wrong, checked.wrong) == ("", "")
    assert checked.code == 0 or "fill in before use: " in answer.stderr or not config.exists()


def test_two_thousand_columns_are_written(tmp_path: Path) -> None:
    columns: dict[str, list[object]] = {
        "prediction_id": [f"p{at}" for at in range(50)],
        "event_time": [to_iso(START + at * HOUR) for at in range(50)],
        "score": [at / 50 for at in range(50)],
    }
    columns |= {f"{at}_\x01\n{'x' * 40}": [float(one % 7) for one in range(50)] for at in range(1_990)}
    assert created(tmp_path / "wide.db", "log", columns)

    answer = invoke(
        "init",
        "--url",
        f"sqlite:///{tmp_path / 'wide.db'}",
        "--predictions",
        "log",
        "--output",
        str(tmp_path / "w.toml"),
    )

    assert (answer.wrong, answer.code) == ("", 0)
    assert invoke("check", "--offline", "--config", str(tmp_path / "w.toml")).code == 0
