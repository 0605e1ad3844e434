"""Hostile inputs: configurations with anything in them, and what a command may answer."""

import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner, Result

from monitor.cli import main

LONGEST = 2_000  # characters of a line
_BUG = re.compile(r"Traceback|a fault of this program|\(\w+\.py:\d+\)")
VALUES = (
    "0", "-1", "1", "true", "nan", "inf", "-inf", "1e400", "9" * 30, "9" * 5_000, "-0.0", "0x" + "f" * 40,
    '""', '" "', '"\\u0000"', '"\\u007f"', '"a\\nb"', '"${NONE}"', '"${file:/none}"', '"${"', '"$${"',
    "'''x'''", '"' + "x" * 3_000 + '"', '"é☃\\U0001F600"', '"a.b"', '"%"', '"feature:*"', '"../.."', '"/"',
    '"\\\\"', "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00", "[]", "{}", "[[]]", "[{}]", '[""]', "[1, 'a', 2.5]",
    "{ a = { b = { c = 1 } } }", '{ "" = "" }', "[0, 1]", "[1, 0]", '"1d"', '"0d"',
    '"99999999999999999999d"', '"\u0661d"', '"1h"', '"month"', '"7x"', "['1d', '1d']", "[nan, inf]",
    '"sqlite://"', '"sqlite:///"', '"sqlite:////"', '"sqlite:///none/x.db"', '"sqlite:///."',
    '"http://[::1"', '"postgresql://h:p@:x/y"', '"postgresql://127.0.0.1:1/x"', '"mysql://"', '"://"',
    '"nonsense"', '"spark://x"', '"sqlite:///log.db?mode=ro&uri=true&x=y"',
    '"sqlite:///file:log.db?uri=true"', '"sqlite:///\\u0000"', '"UTC"', '"Europe/Vienna"', '"../UTC"',
    '"Mars/Phobos"', '"0001-01-01"', '"9999-12-31"', '"2024-03-01"', '"score"', '"id"', '"event_time"',
    '"group"', '"late"', '"predictions"', '"labels"', '"binary"', '"regression"', '"SELECT 1"',
    '"SELECT * FROM predictions"', '"DROP TABLE predictions"', '"1 = 1; --"', '"("', "12", "0.5",
)  # fmt: skip
LINES = (
    "[store]", "[http]", "[log]", "[daemon]", "[defaults]", "[sources.log]", "[sources]", "[[sources.log]]",
    "[models]", "[[models]]", "[[models.alerts]]", "[models.predictions]", "[models.labels]",
    "[models.reference]", "[[notify]]", "[models.features]", "[models.control]", "[models.challenger]",
    "[models.profit]", "[models.classes]", "[", '[models."a.b"]', "[models.reference.versions.x]",
    '[models.reference.versions."a\\u0001"]', "= 1", "a", '"', "'''", 'include = ["*.toml"]',
    'include = ["part.toml"]', 'include = ["part.d/*"]', 'include = ["/"]', 'include = ["**"]',
    'include = ["secret.toml"]', 'include = ["bytes.toml"]', 'include = ["directory.toml"]',
    'include = ["../../../../*"]', 'include = ["[", "a\\u0000b"]', "x = " + "[" * 3_000,
    "x = " + "{a=" * 500, "a" + ".a" * 2_000 + " = 1", "a.a = 1", 'segments = ["nothing"]',
    'segments = ["group"]', "default_alerts = true", 'against = ["previous"]',
    "default_alerts = { above = 1 }", 'windows = ["1d", { length = "3d", step = "1d" }, "month"]',
    "resamples = 1", 'from = "2024-03-01"', 'to = "2024-03-02"', 'file = "reference.csv"', 'file = "."',
    'file = "log.db"', "table = 'none'", 'horizon = "100000000d"', 'pane = "1s"', 'every = "1s"',
    "scale = 1e-300", "level = 1e-300", 'retention = "1s"',
)  # fmt: skip


class Answer(NamedTuple):
    """What a command did: its exit code, what it said of failures, and why that is not right, or nothing."""

    code: int
    stderr: str
    wrong: str


def answered(code: int, stderr: str, stdout: str = "") -> Answer:
    """Judge: 0, 1, 2; a sentence for 1 and 2, of bounded length; no traceback, no fault of the program."""
    wrong = ""
    if code not in (0, 1, 2):
        wrong = f"exit code {code}"
    elif _BUG.search(stderr):
        wrong = "a bug is told"
    elif code and not stderr.strip() and not stdout.startswith('{\n  "config"'):  # of check, as JSON
        wrong = f"exit code {code} and nothing is said"
    elif any(len(line) > LONGEST for line in stderr.splitlines()):
        wrong = f"a line of {max(map(len, stderr.splitlines()))} characters"
    return Answer(code, stderr, wrong)


def invoke(*arguments: str) -> Answer:
    """Run a command in this process."""
    done: Result = CliRunner().invoke(main, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return Answer(done.exit_code, done.stderr, f"raised {done.exception!r}")
    if b"Traceback" in done.stdout_bytes:
        return Answer(done.exit_code, done.stdout, "a traceback on standard output")
    return answered(done.exit_code, done.stderr, done.stdout)


def spawned(directory: Path, *arguments: str) -> Answer:
    """Run a command in a process of its own; a daemon that serves is ended after a while."""
    command, serves = [sys.executable, "-m", "monitor.cli", *arguments], arguments[0] == "run"
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=10 if serves else 120, cwd=directory, check=False
        )
    except subprocess.TimeoutExpired as error:
        return answered(0 if serves else -1, (error.stderr or b"").decode())
    return answered(done.returncode, done.stderr.decode(), done.stdout.decode())


def attacked(
    seed: int, cases: int, attack: Callable[[random.Random], Sequence[str]], codes: set[int]
) -> list[tuple[int, Sequence[str], Answer]]:
    """Answers that are not right, of so many cases; an attack does harm and says which command follows."""
    answers = []
    for case in range(cases):
        command = attack(random.Random(f"{seed}/{case}"))  # noqa: S311 -- not for secrets
        answers.append((case, command, invoke(*command)))
    assert codes <= {answer.code for _, _, answer in answers}
    return [told for told in answers if told[-1].wrong]


def mutated(text: bytes, rng: random.Random) -> bytes:
    """A configuration after one to four of the changes that people, editors and disks make."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        text = rng.choice(_CHANGES)(text, rng)
    return text


def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n")


def _value(text: bytes, rng: random.Random) -> bytes:
    lines = _lines(text)
    at = rng.choice([at for at, line in enumerate(lines) if b"=" in line] or [0])
    lines[at] = lines[at].partition(b"=")[0] + b"= " + rng.choice(VALUES).encode()
    return b"\n".join(lines)


def _nested_value(text: bytes, rng: random.Random) -> bytes:
    """Another value in place of a text, number or word, wherever it stands."""
    found = list(re.finditer(rb'"[^"\n]*"|\b\d[\w.]*|\btrue\b|\bfalse\b', text))
    if not found:
        return text
    start, end = rng.choice(found).span()
    return text[:start] + rng.choice(VALUES).encode() + text[end:]


def _alike(text: bytes, rng: random.Random) -> bytes:
    """A text in place of a text, a number in place of a number: well-formed, and meant otherwise."""
    kind = rng.choice((rb'"[^"\n]*"', rb"(?<![\w.\"-])\d[\d.]*(?![\w\"-])"))
    found = list(re.finditer(kind, text))
    if not found:
        return text
    start, end = rng.choice(found).span()
    other = (
        rng.choice(found)[0]
        if rng.random() < 0.8
        else rng.choice((b"0", b"1", b"2", b"0.5", b"-1", b"100000"))
    )
    return text[:start] + other + text[end:]


def _token(text: bytes, rng: random.Random) -> bytes:
    """A word in place of another one."""
    found = list(re.finditer(rb"\w+", text))
    if not found:
        return text
    (start, end), word = rng.choice(found).span(), rng.choice(found)[0]
    return text[:start] + word + text[end:]


def _line(
    change: Callable[[list[bytes], int, random.Random], None],
) -> Callable[[bytes, random.Random], bytes]:
    def apply(text: bytes, rng: random.Random) -> bytes:
        lines = _lines(text)
        change(lines, rng.randrange(len(lines)), rng)
        return b"\n".join(lines)

    return apply


def _dropped(lines: list[bytes], at: int, _: random.Random) -> None:
    del lines[at : at + 1]


def _doubled(lines: list[bytes], at: int, _: random.Random) -> None:
    lines.insert(at, lines[at])


def _moved(lines: list[bytes], at: int, rng: random.Random) -> None:
    lines.insert(rng.randrange(len(lines)), lines[at])


def _added(lines: list[bytes], at: int, rng: random.Random) -> None:
    lines.insert(at, rng.choice(LINES).encode())


def _bytes(text: bytes, rng: random.Random) -> bytes:
    changed = bytearray(text or b"x")
    for _ in range(rng.choice((1, 3, 20))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(text: bytes, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _whole(text: bytes, rng: random.Random) -> bytes:
    """What is hardly a configuration any more."""
    mixed, utf_16 = rng.randbytes(300), text.decode("utf-8", "replace").encode("utf-16")
    lines = text.replace(b"\n", b"\r\n"), text.replace(b"\n", b"\r")
    return rng.choice((b"\xef\xbb\xbf" + text, utf_16, b"", b"\0" * 100, *lines, text + text, mixed))


_CHANGES: Sequence[Callable[[bytes, random.Random], bytes]] = (
    _value, _value, _value, _value, _nested_value, _nested_value, _nested_value, _token, _token, _alike,
    _alike, _alike, _alike, _alike, _alike, _alike, _line(_dropped), _line(_dropped), _line(_doubled),
    _line(_moved), _line(_added), _line(_added), _line(_added), _bytes, _cut, _whole,
)  # fmt: skip


def surroundings(directory: Path) -> None:
    """Files beside a configuration that it may include, or name as a reference."""
    (directory / "part.d").mkdir()
    (directory / "directory.toml").mkdir()
    (directory / "part.toml").write_text('[sources.other]\nurl = "sqlite:///log.db"\n', encoding="utf-8")
    (directory / "part.d" / "one.toml").write_text("[[models]]\nname = 3\n", encoding="utf-8")
    (directory / "bytes.toml").write_bytes(b"\xff\xfe[[models]]\n")
    (directory / "secret.toml").write_text("", encoding="utf-8")
    (directory / "secret.toml").chmod(0)
    (directory / "reference.csv").write_bytes(b"score,pred,amount,group,late\n0.5,1,2,\xff,1\n")
