"""What `check` says will be watched: every rule now, later or never, and when windows settle first."""

import json
import re
from pathlib import Path

import pytest
from serving import Bench, model, predictions, sqlite_bench

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

    again = f"; to live its days again: monitor replay --model late {told} --every 1d" if told else ""
    newest = (START + int(days * DAY) - 1) // DAY * DAY
    assert line == f'model "late": log: rows from 2024-03-01 to {to_iso(newest)[:10]}{again}'


def test_segments_that_share_the_budget_are_named(tmp_path: Path) -> None:
    line = "watched of segments of group: of the 20 largest the level of the output, and performance"
    told: dict[str, str] = {}
    for options in ("", 'segments = ["group"]\n'):
        (tmp_path / f"at{len(told)}").mkdir()
        told[options] = bench_of(tmp_path / f"at{len(told)}", options).monitor("check").stdout

    assert [line in text for text in told.values()] == [False, True], told


@pytest.mark.parametrize(
    ("options", "settles"),
    [
        (
            'settle_after = "5d"',
            (
                "a window settles about 5 days after its end; "
                "the first window 1d of this log settles about 2024-03-07"
            ),
        ),
        (
            "",
            (
                "by the delays seen so far, which are short in a young log, a window settles about a day "
                "after its end; the first window 1d of this log settles with its first cycles"
            ),
        ),
    ],
)
def test_the_first_settling_is_that_of_the_delays_or_what_is_configured(
    tmp_path: Path, options: str, settles: str
) -> None:
    text = bench_of(tmp_path, options).monitor("check").stdout

    assert f'model "late": first settling: {settles}\n' in text


def test_that_settling_is_not_known_is_said_with_what_helps(tmp_path: Path) -> None:
    bench = sqlite_bench(tmp_path, predictions(300, START, END), model(options=OPTIONS))

    text = bench.monitor("check").stdout

    assert "first settling: not known: too few delays of labels are seen yet; wait for labels" in text


def test_that_performance_is_not_watched_without_labels_is_said(tmp_path: Path) -> None:
    configured = re.sub(r"\[models\.labels\]\n(\w+ = .*\n)+", "", model(options=OPTIONS))
    bench = sqlite_bench(tmp_path, predictions(300, START, END), configured)

    text = bench.monitor("check").stdout

    assert "not watched: performance, for no labels are configured; give [models.labels]\n" in text


def test_the_end_says_what_is_watched_and_what_is_to_be_expected(tmp_path: Path) -> None:
    *_, watched, now, later, never, _, expected, summary = (
        bench_of(tmp_path).monitor("check").stdout.splitlines()
    )

    assert watched == (
        'model "late": watched: 1 numeric and 1 categorical features, scores, predictions, labels; '
        "windows 1d; a cycle each 1h"
    )
    assert now.startswith('model "late": rules judged from the first cycle on: ')
    assert later.startswith('model "late": rules judged later: ')
    assert never.startswith('model "late": rules that can never be judged: worth (')
    assert re.fullmatch(
        r'model "late": expected: about \d+ rows a day; about \d+ series for Prometheus, .* at most',
        expected,
    )
    assert summary.endswith("1 model, no faults, 1 warning")


def test_offline_it_says_what_the_file_alone_tells(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    seen = bench.monitor("check").stdout.splitlines()
    (tmp_path / "log.db").unlink()

    lines = bench.monitor("check", "--offline").stdout.splitlines()
    (found,) = json.loads(bench.monitor("check", "--offline", "--format", "json").stdout)["models"]

    assert lines[0] in seen
    assert lines[1].startswith('model "late": rules judged from the first cycle on: log_stopped')
    assert "performance" in lines[2]
    assert lines[4] == (
        'model "late": first settling: not known from the file alone: without --offline the delays of labels '
        "are looked at"
    )
    assert (found["model"], found["settles_after"]) == ("late", None)
    assert {*found["rules_never"]} == {"worth"}


def test_a_rule_on_volume_is_judged_at_once_where_the_log_reaches_back_far_enough(tmp_path: Path) -> None:
    log = predictions(300, START - 20 * DAY, END)
    bench = sqlite_bench(tmp_path, log, model(options=OPTIONS) + VOLUME)

    (found,) = json.loads(bench.monitor("check", "--format", "json").stdout)["models"]

    assert "volume" in found["rules_now"]
