"""A log whose columns, versions, segments and categories are hostile, and commands about it."""

import sqlite3
import time
from pathlib import Path

import servers
from click.testing import CliRunner, Result
from hostile_texts import CORPUS, FORGED, assert_quiet
from serving import predictions

from monitor.cli import main
from monitor.core.clock import DAY, floor_to
from monitor.core.text import double_quoted

AMOUNT = f"amount\x1b[31m\n{FORGED}\u202e=[x](http://evil.example)"
GROUP = f"@group\r{FORGED}\x9b\u2028<!channel>"
GONE = f"gone\n{FORGED}\x1b[2J"  # of the reference alone
NAMES = tuple(name for name in CORPUS if "\x00" not in name)  # SQLite's own text ends there
CONFIG = """
[store]
url = "sqlite:///{directory}/monitor.db"

[http]
port = {port}

[log]
format = "{form}"
level = "debug"

[sources.log]
url = "sqlite:///{directory}/log.db"

[[models]]
name = "late"
source = "log"
task = "binary"
every = "1d"
windows = ["7d"]
horizon = "10d"
settle_after = "0s"
resamples = 20
segments = [{group}]
max_series = 100_000

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
score = "score"
prediction = "pred"
version = "version"

[models.labels]
table = "labels"
id = "id"
label = "late"

[models.reference]
table = "reference"

[models.features]
numeric = [{amount}, {gone}]
categorical = [{group}]

[[models.alerts]]
name = "busy"
measure = "records"
segment = "*"
above = 1

[[models.alerts]]
name = "old"
measure = "records"
version = "*"
above = 1

[[models.alerts]]
name = "shifted"
measure = "stability_index"
subject = "feature:*"
features = "each"
above = -1.0
"""


class Hostile:
    """A log of hostile names, and commands about it."""

    def __init__(self, directory: Path, form: str) -> None:
        self.port, self.directory = servers.free_port(), directory
        self.end = floor_to(time.time_ns() // 1_000, DAY)
        self.config = directory / "config.toml"
        places = {"directory": directory, "port": self.port, "form": form}
        names = {"group": GROUP, "amount": AMOUNT, "gone": GONE}
        text = CONFIG.format(**places, **{name: double_quoted(column) for name, column in names.items()})
        self.config.write_text(text, encoding="utf-8")
        with sqlite3.connect(directory / "log.db") as log:
            features = f'"{AMOUNT}" REAL, "{GROUP}" TEXT'
            ids, outputs = "id TEXT, event_time TEXT", "score REAL, pred TEXT"
            log.execute(f"CREATE TABLE predictions ({ids}, {outputs}, version TEXT, {features})")
            log.execute("CREATE TABLE labels (id TEXT, late INTEGER)")
            log.execute(f'CREATE TABLE reference ({outputs}, {features}, "{GONE}" REAL)')
            log.execute(f'CREATE INDEX "ix\n{FORGED}\x1b[2J" ON predictions (event_time)')
            rows = predictions(len(NAMES) * 12, self.end - 10 * DAY, self.end)
            made = [
                (one["id"], one["event_time"], one["score"], one["pred"], name, one["amount"], name)
                for at, one in enumerate(rows)
                if (name := NAMES[at % len(NAMES)])
            ]
            log.executemany("INSERT INTO predictions VALUES (?, ?, ?, ?, ?, ?, ?)", made)
            log.executemany("INSERT INTO labels VALUES (?, ?)", [(one[0], int(one[2] > 0.5)) for one in made])
            kept = [(*one[2:4], *one[5:]) for one in made]
            log.executemany("INSERT INTO reference VALUES (?, ?, ?, ?, 1.5)", kept)
        log.close()

    def run(self, command: str, *arguments: str) -> Result:
        """A command; what it says is quiet."""
        done = CliRunner().invoke(main, [command, "--config", str(self.config), *arguments])
        assert_quiet(done.stdout)
        assert_quiet(done.stderr)
        return done
