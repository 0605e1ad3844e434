"""What `check` says will be watched: every rule now, later or never, and when windows settle first."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from kept_texts import compare_cases
from serving import Bench, model, predictions, sqlite_bench

from monitor.cli import main
from monitor.core.clock import DAY, from_iso, to_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "20d"\nresamples = 20\ndefault_alerts = true\n'
NEVER = """
[[models.alerts]]
name = "worth"
measure = "profit"
below = 10
"""
VOLUME = """
[[models.alerts]]
name = "volume"
measure = "volume_ratio"
window = "1d"
outside = [0.5, 2]
bound = "lower"
"""


def bench_of(directory: Path, options: str = "", rules: str = NEVER) -> Bench:
    """Three days of a log, all of it labelled within hours."""
    configured = model(options=OPTIONS + options) + rules
    return sqlite_bench(directory, predictions(300, START, END), configured, labelled=END + DAY)


UNLABELLED = re.sub(r"\[models\.labels\]\n(\w+ = .*\n)+", "", model(options=OPTIONS))


@pytest.mark.texts
def test_what_is_said_of_what_will_be_watched(tmp_path: Path) -> None:
    benches = {
        "delays of labels": partial(bench_of, rules=NEVER + VOLUME),
        "segments": partial(bench_of, options='segments = ["group"]\n'),
        "a settling that is configured": partial(bench_of, options='settle_after = "5d"'),
    }
    cases = []
    for name, made in benches.items():
        directory = tmp_path / name
        directory.mkdir()
        cases.append((name, made(directory).monitor("check").stdout))
    for name, text in (("no label yet", model(options=OPTIONS)), ("no labels", UNLABELLED)):
        directory = tmp_path / name
        directory.mkdir()
        bench = sqlite_bench(directory, predictions(300, START, END), text)
        cases.append((name, bench.monitor("check").stdout))
    first = tmp_path / "delays of labels"
    (first / "log.db").unlink()
    offline = CliRunner().invoke(main, ["check", "--offline", "--config", str(first / "config.toml")])
    cases.append(("from the file alone", offline.stdout))

    compare_cases("check_watched", cases)


def test_every_rule_is_judged_now_later_or_never(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, rules=NEVER + VOLUME)

    (found,) = json.loads(bench.monitor("check", "--format", "json").stdout)["models"]

    assert "log_stopped" in found["rules_now"]
    assert found["rules_later"]["performance"].startswith("once a window 1d has settled, about ")
    assert found["rules_later"]["volume"] == "once the log reaches back 15 days"
    assert found["rules_never"] == {"worth": "nothing says what a record is worth: give [models.profit]"}
    assert not {*found["rules_now"]} & {*found["rules_later"]}


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (14.9, ""),
        (17.5, "--from 2024-03-16 --to 2024-03-19"),
    ],
)
def test_the_first_and_the_newest_row_are_told_and_what_lives_the_days_again(
    tmp_path: Path, days: float, told: str
) -> None:
    log = predictions(300, START + DAY // 2, START + int(days * DAY))
    bench = sqlite_bench(tmp_path, log, model(options=OPTIONS), labelled=START + 20 * DAY)

    (line,) = (line for line in bench.monitor("check").stdout.splitlines() if ": log: " in line)

    again = f"; to replay its history: monitor replay --model late {told} --every 1d" if told else ""
    newest = (START + int(days * DAY) - 1) // DAY * DAY
    assert line == f'model "late": log: rows from 2024-03-01 to {to_iso(newest)[:10]}{again}'


def test_a_rule_on_volume_is_judged_at_once_where_the_log_reaches_back_far_enough(tmp_path: Path) -> None:
    log = predictions(300, START - 20 * DAY, END)
    bench = sqlite_bench(tmp_path, log, model(options=OPTIONS) + VOLUME)

    (found,) = json.loads(bench.monitor("check", "--format", "json").stdout)["models"]

    assert "volume" in found["rules_now"]
