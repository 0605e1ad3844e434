"""Do two revisions keep and show the same? `make same BASE=REV`: what is committed there, and this work tree.

Both replay the same logs, each in a process of its own. Then all that leaves the program is written down, a
line a fact, and compared with `==`: each stored row (floats by `repr`, blobs by SHA-256), `/metrics` of the
daemon, `monitor show --format json` and each page's JSON. What is worded for people (tables of commands,
`status`, HTML of pages) is a second dump: it fails only with TEXTS=1.

The logs: ten months of the demo; flights with repeats, odd values, late, corrected and retracted labels,
segments, versions and arms, binary and regression, by days and by hours; rodents of several classes; loans
whose labels come late, almost only for approved ones. Rodents and loans and their stores lie on PostgreSQL.

A step that means to change something names it: EXCEPT="TABLE.COLUMN TABLE show …" leaves that out, of both.

python benchmarks/compare_revisions.py BASE [--only CASE …] [--except NAME …] [--texts]
"""

import argparse
import difflib
import hashlib
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "e2e"))

import faulty_logs
import servers
import sqlalchemy as sa
from loans import day, loans
from sqlalchemy.pool import NullPool

from monitor.demo.load_flights import load_logs

ROOT = Path(__file__).parents[1]
PAGES = 60  # of a case that are looked at, HTML and JSON
SHOWN_DIFFERENCES, WIDTH = 8, 2_000
PATIENCE = 120.0  # seconds until the daemon serves
# What depends on when and where a program runs, and on its own code.
VOLATILE = {
    "alembic_version": (),
    "daemons": (),
    "leases": (),
    "outbox": (),
    "configurations": ("created",),
    "references_": ("created",),
}
NUMBERED = {"series", "row_sets", "details", "current_rows", "snapshot_rows"}  # their views have no numbers
OWN_METRICS = re.compile(
    r"^(# )?(HELP |TYPE )?(python_|process_|model_monitor_(build_info|start_time|config_|cycle|source_|store_"
    r"|lease|daemon|http_|pages_|last_|scrape|notif|exposition|log_lines|next_))"
)

RULES = re.compile(r"^default_alerts = false.*\n", re.MULTILINE)  # the oracle recomputes no days


@dataclass(frozen=True, slots=True)
class Case:
    """A log, a configuration, and the replay of it."""

    name: str
    spans: tuple[tuple[str, str, str], ...]  # from, to, time between cycles
    postgres: bool = False
    models: tuple[str, ...] = field(default=())  # that are replayed; none: all of the demo


DAYS_OF_LOANS = (
    (day(1).date().isoformat(), day(40).date().isoformat(), "6d"),
    (day(41).date().isoformat(), day(62).date().isoformat(), "1d"),
)
DAYS_THEN_HOURS = (("2013-03-01", "2013-03-20", "1d"), ("2013-03-20", "2013-03-22", "1h"))
CASES = {
    case.name: case
    for case in (
        Case("demo", ()),
        Case("flights", (("2013-03-01", "2013-05-08", "1d"),), models=("late", "delay")),
        Case(
            "hours",
            (("2013-03-01", "2013-03-20", "1d"), ("2013-03-20", "2013-03-22", "1h")),
            models=("late",),
        ),
        Case("rodents", (("1986-01-01", "1988-01-01", "90d"),), True, models=("level", "species")),
        Case("loans", DAYS_OF_LOANS, True, models=("loans",)),
    )
}


def write_flights(directory: Path, *, hourly: bool = False) -> None:
    """The oracle's flights, with the default rules."""
    faulty_logs.flights().since("2013-03-01").write(directory)
    text = RULES.sub("", (ROOT / "tests/e2e/oracle_flights.toml").read_text(encoding="utf-8"))
    if hourly:
        text = text[: text.index('[[models]]\nname = "delay"')]
        text = re.sub(r"^windows = .*$", 'windows = ["1d", "7d"]', text, flags=re.MULTILINE)
        text = text.replace('every = "1d"', 'every = "1h"').replace('horizon = "60d"', 'horizon = "14d"')
        text = text.replace('against = ["previous", "28d"]', "")
    (directory / "config.toml").write_text(text, encoding="utf-8")


def write_rodents(directory: Path) -> None:
    """The oracle's rodents, with the default rules."""
    faulty_logs.rodents().write(directory)
    text = RULES.sub("", (ROOT / "tests/e2e/oracle_rodents.toml").read_text(encoding="utf-8"))
    (directory / "config.toml").write_text(text, encoding="utf-8")


LOANS = """
[store]
url = "${STORE}"
[sources.log]
url = "${SOURCE}"
[[models]]
name = "loans"
source = "log"
task = "binary"
every = "1d"
pane = "1d"
windows = ["7d", "28d", "month"]
horizon = "60d"
segments = ["region", "channel"]
[models.predictions]
table = "loan_log"
id = "application"
event_time = "requested_at"
logged_at = "logged_at"
score = "default_score"
prediction = "decision"
[models.classes]
positive = "DEFAULT"
negative = "PAID"
names = { DEFAULT = ["decline"], PAID = ["approve"] }
[models.labels]
table = "loan_outcomes"
id = "application"
label = "outcome"
reported_at = "known_at"
only_for = ["approve"]
[models.reference]
file = "reference.parquet"
[models.features]
numeric = [
    "income", "debt", "amount", "age", "tenure", "utilisation", "inquiries", "arrears", "savings",
    "household",
]
categorical = ["region", "channel"]
"""


def write_loans(directory: Path) -> None:
    """A lender's log: late and selective labels, a unit that changes, a drift."""
    log = loans(75)
    log.write_reference(directory / "reference.parquet")
    (directory / "config.toml").write_text(LOANS, encoding="utf-8")


WRITERS: dict[str, Callable[[Path], None]] = {
    "flights": write_flights,
    "hours": lambda directory: write_flights(directory, hourly=True),
    "rodents": write_rodents,
    "loans": write_loans,
}


# Pages say when they were made.
_TODAY = datetime.now(UTC)
_NOW = re.compile(rf"{_TODAY:%Y-%m-%d}T[0-9:.]+Z|{_TODAY.day} {_TODAY:%b %Y} [0-9:]+")


_CODE = re.compile(r"0\.1\.0\+[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Revision:
    """A checkout whose program is run, and what it makes of a case."""

    name: str
    checkout: Path
    directory: Path
    source_url: str
    store_url: str

    @property
    def environ(self) -> dict[str, str]:
        """Environment of its commands: its own code, its own databases."""
        names = {"SOURCE": self.source_url, "STORE": self.store_url, "PYTHONPATH": str(self.checkout)}
        fixed = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONHASHSEED": "0", "USER": "somebody"}
        return {**os.environ, **names, **fixed}

    def run(self, *arguments: str) -> str:
        """Output of a command, without what names its place."""
        done = subprocess.run(
            [sys.executable, "-m", "monitor.cli", *arguments],
            cwd=self.directory,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 3, 4):
            raise SystemExit(f"{self.name}: monitor {' '.join(arguments)}: {done.stderr[-2_000:]}")
        return self.without_place(done.stdout)

    def without_place(self, text: str) -> str:
        """A text without the directories, databases and ports of this run."""
        for place in (self.source_url, self.store_url, str(self.directory)):
            text = text.replace(place, "PLACE")
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
        return _CODE.sub("CODE", _NOW.sub("NOW", text))

    def replay(self, case: Case) -> None:
        """Live the case's days."""
        if case.name == "demo":
            self.run("demo", "--exit", "--directory", str(self.directory))
            return
        self.run("migrate")
        for start, end, every in case.spans:
            for model in case.models:
                span = ("--from", start, "--to", end, "--every", every)
                self.run("replay", "--run", "live", "--model", model, *span)


def stored_rows(url: str) -> Iterator[tuple[str, str]]:
    """Names and lines of all that a store keeps."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    seen = sa.inspect(engine)
    with engine.connect() as connection:
        for name in sorted({*seen.get_table_names(), *seen.get_view_names()} - NUMBERED):
            left_out = VOLATILE.get(name)
            if left_out == ():
                continue
            quoted = engine.dialect.identifier_preparer.quote(name)
            for row in connection.execute(sa.text(f"SELECT * FROM {quoted}")).mappings():
                cells = {key: stored_cell(row[key]) for key in sorted(row) if key not in (left_out or ())}
                yield name, repr(cells)


def stored_cell(value: object) -> object:
    """A value as it is compared."""
    if isinstance(value, bytes | memoryview):
        return hashlib.sha256(bytes(value)).hexdigest()
    return value


def lines_without(names: Sequence[str], rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Stored rows without tables and columns (TABLE.COLUMN) that a step means to change."""
    tables = {name for name in names if "." not in name}
    columns: dict[str, set[str]] = {}
    for name in names:
        table, _, column = name.partition(".")
        columns.setdefault(table, set()).add(column)
    for table, row in rows:
        if table in tables:
            continue
        if table in columns:
            cells = eval(row, {"__builtins__": {}}, {"inf": float("inf"), "nan": float("nan")})  # noqa: S307
            row = repr({key: cells[key] for key in cells if key not in columns[table]})  # noqa: PLW2901
        yield f"{table} {row}"


class _Links(html.parser.HTMLParser):
    """Addresses that a page leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for key, value in attrs if key == "href" and value]


def fetch(url: str) -> tuple[int, str]:
    """Status and text of an answer."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 -- our own
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextmanager
def served(revision: Revision, ready: str, *command: str) -> Iterator[str]:
    """Address of a command that serves over HTTP, once it does."""
    port = command[command.index("--port") + 1]
    base = f"http://127.0.0.1:{port}"
    arguments = command if command[0] != "run" else ("run", "--config", configured_port(revision, port))
    with (revision.directory / "served.log").open("ab") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "monitor.cli", *arguments],
            cwd=revision.directory,
            env=revision.environ,
            stdout=log,
            stderr=log,
        )
    try:
        until = time.monotonic() + PATIENCE
        while not answers(f"{base}{ready}"):
            if time.monotonic() > until or running.poll() is not None:
                raise SystemExit(f"{revision.name}: {command[0]} does not serve: see {revision.directory}")
            time.sleep(0.2)
        yield base
    finally:
        running.terminate()
        running.wait(PATIENCE)


def configured_port(revision: Revision, port: str) -> str:
    """A configuration whose daemon listens there and makes up for no tick."""
    text = (revision.directory / "config.toml").read_text(encoding="utf-8")
    head = f'[http]\nport = {port}\n[daemon]\ncatch_up = "1s"\n'
    (revision.directory / "served.toml").write_text(head + text, encoding="utf-8")
    return "served.toml"


def answers(url: str) -> bool:
    """Whether somebody answers."""
    try:
        return fetch(url)[0] == 200
    except OSError:
        return False


def pages_of(revision: Revision) -> tuple[list[str], list[str]]:
    """JSON of the pages that can be reached from the first one, and their HTML as lines."""
    port = servers.free_port()
    plain: list[str] = []
    texts: list[str] = []
    with served(revision, "/", "view", "--port", str(port)) as base:
        waiting, known = ["/"], {"/"}
        for _ in range(PAGES):
            if not waiting:
                break
            path = waiting.pop(0)
            status, text = fetch(f"{base}{path}")
            texts += [f"page {path} {status} {line}" for line in page_lines(revision.without_place(text))]
            bare, _, query = path.partition("?")
            status, found = fetch(f"{base}{bare.rstrip('/') or '/index'}.json{'?' if query else ''}{query}")
            plain += [f"page {path} {line}" for line in json_lines(status, revision.without_place(found))]
            links = _Links()
            links.feed(text)
            for link in links.found:
                address = link.partition("#")[0]
                if address.startswith("/") and not address.startswith("/static") and address not in known:
                    known.add(address)
                    waiting.append(address)
    return plain, texts


def page_lines(text: str) -> list[str]:
    """A page's lines, without what changes with each build of the sheet."""
    text = re.sub(r"/static/[0-9a-f]+/", "/static/HASH/", text)
    return [line for line in re.sub(r">\s*<", ">\n<", text).split("\n") if line.strip()]


def json_lines(status: int, text: str) -> list[str]:
    """An answer's rows, a line each."""
    try:
        found = json.loads(text)
    except ValueError:
        return [f"{status} {text[:200]}"]
    rows = found if isinstance(found, list) else [found]
    return [f"{status} {json.dumps(row, sort_keys=True)}" for row in rows]


def metrics_of(revision: Revision, case: Case) -> list[str]:
    """`/metrics` of a daemon that has run no cycle of its own, but what tells of the daemon itself."""
    port = str(servers.free_port())
    command = ("run", "--port", port)
    if case.name == "demo":
        command = ("demo", "--directory", str(revision.directory), "--port", port)
    with served(revision, "/readyz", *command) as base:
        page = fetch(f"{base}/metrics")[1]
    return [f"metrics {line}" for line in page.splitlines() if not OWN_METRICS.match(line)]


@dataclass(frozen=True, slots=True)
class Dump:
    """What a revision made of a case: facts, and what is worded for people."""

    facts: list[str]
    texts: list[str]
    seconds: float  # of the replay


def dumped(revision: Revision, case: Case, left_out: Sequence[str]) -> Dump:
    """Replay a case and write down what came of it."""
    began = time.monotonic()
    revision.replay(case)
    seconds = time.monotonic() - began
    facts = sorted(map(revision.without_place, lines_without(left_out, stored_rows(revision.store_url))))
    for command in (
        ("show", "--all", "--explain", "--format", "json"),
        ("alerts", "--history", "--explain", "--format", "json"),
    ):
        if command[0] not in left_out:
            facts += [f"{command[0]} {line}" for line in json_lines(0, revision.run(*command))]
    plain, texts = pages_of(revision)
    facts += [] if "pages" in left_out else plain
    facts += [] if "metrics" in left_out else metrics_of(revision, case)
    for command in (
        ("status",),
        ("show", "--explain"),
        ("alerts", "--history", "--explain"),
        ("changes",),
        ("budget",),
        ("check",),
        ("export-rules",),
    ):
        texts += [f"{command[0]} {line}" for line in revision.run(*command).splitlines()]
    return Dump(facts, texts, seconds)


def told_differences(what: str, before: Sequence[str], after: Sequence[str]) -> int:
    """Print how many lines differ, and the first of them."""
    changed = [
        line
        for line in difflib.unified_diff(before, after, "before", "after", n=0, lineterm="")
        if line[:3] not in ("---", "+++", "@@ ")
    ] if before != after else []  # fmt: skip
    print(f"  {what}: {len(before):,} lines, {len(changed):,} differ", flush=True)
    for line in changed[:SHOWN_DIFFERENCES]:
        print(f"    {line[:WIDTH]}")
    return len(changed)


@contextmanager
def worktree(revision: str, directory: Path) -> Iterator[Path]:
    """A checkout of a revision."""
    subprocess.run(
        ["git", "worktree", "add", "--quiet", "--detach", str(directory), revision], cwd=ROOT, check=True
    )
    try:
        yield directory
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(directory)], cwd=ROOT, check=True)


def compare(case: Case, base: Path, directory: Path, left_out: Sequence[str], *, texts: bool) -> bool:
    """Replay a case by both revisions, side by side; whether they agree."""
    log = directory / case.name / "log"
    log.mkdir(parents=True)
    WRITERS.get(case.name, lambda _directory: None)(log)
    with ExitStack() as stack:
        server = stack.enter_context(servers.postgres()) if case.postgres else None
        revisions = []
        for name, checkout in (("before", base), ("after", ROOT)):
            place = directory / case.name / name
            shutil.copytree(log, place)
            source, store = (f"sqlite:///{place}/{file}.db" for file in ("log", "monitor"))
            if server is not None:
                source, store = (stack.enter_context(server.database()) for _ in range(2))
            load(case, log, source)
            revisions.append(Revision(name, checkout, place, source, store))
        with ThreadPoolExecutor(2) as both:
            before, after = both.map(lambda one: dumped(one, case, left_out), revisions)
    print(f"{case.name}: {before.seconds:.0f} s of replay before, {after.seconds:.0f} s after", flush=True)
    found = told_differences("facts", before.facts, after.facts)
    worded = told_differences("texts", before.texts, after.texts)
    return not found and not (texts and worded)


def load(case: Case, log: Path, url: str) -> None:
    """Load a case's log into the database of a revision's source."""
    if case.name == "loans":
        loans(75).load(url)
    elif case.name != "demo":
        load_logs(url, log)


def main() -> int:
    """Compare; 1 where the revisions differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base")
    parser.add_argument("--only", nargs="*", choices=sorted(CASES), default=sorted(CASES))
    parser.add_argument("--except", nargs="*", dest="left_out", default=[])
    parser.add_argument("--texts", action="store_true")
    asked = parser.parse_args()
    with TemporaryDirectory() as name, worktree(asked.base, Path(name) / "base") as base:
        agree = [
            compare(CASES[case], base, Path(name), asked.left_out, texts=asked.texts) for case in asked.only
        ]
    print("the same" if all(agree) else "NOT the same", flush=True)
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
