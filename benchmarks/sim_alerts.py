"""Alerts that keep a budget: the gates, by simulation and on real logs; writes a part of docs/evidence.md.

Cells that are known are kept in FILE: what was interrupted goes on, what is deleted is run again.
python benchmarks/sim_alerts.py FILE [--runs 60] [--seed 1]
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from alert_gates import found, in_order, page, quiet, rules
from alert_gates.logs import FLIGHTS, RODENTS, Log

from monitor.evidence.judging import AlertBudget

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "generators"))
from page_parts import write_part  # noqa: E402

EACH = 4  # incidents of a run
AT_ONCE = 10  # runs of a task
LOGS = {"flights": FLIGHTS, "rodents": RODENTS}
Task = Callable[[], Any]


def tasks(runs: int, seed: int) -> dict[str, Task]:
    """Every cell, in pieces, by name."""
    made: dict[str, Task] = {}
    pieces = [(number, min(AT_ONCE, runs - number * AT_ONCE)) for number in range(-(-runs // AT_ONCE))]
    for name, cell in cells().items():
        for number, some in pieces:
            made[f"quiet|{name}|{number}"] = partial(quiet.false_alerts, cell, 1_000 * seed + number, some)
    for name, (change, _) in quiet.CHANGES.items():
        for number, some in pieces:
            made[f"change|{name}|{number}"] = partial(quiet.found_after, change, 1_000 * seed + number, some)
    for log in LOGS:
        kinds = found.drawn(np.random.default_rng(seed), runs, EACH)
        for number, some in pieces:
            first = number * AT_ONCE
            made[f"incidents|{log}|{number}"] = partial(dealt, log, seed, first, kinds[first : first + some])
            made[f"twice|{log}|{number}"] = partial(again, log, seed, first, some // 2)
            made[f"nothing|{log}|{number}"] = partial(nothing, log, seed, first, some // 2)
        made[f"matched|{log}|0"] = partial(matched, log, seed, max(1, runs // 5))
    return made | {f"in order|{name}|0": partial(in_order.ordered, name) for name in in_order.SERIES}


def cells() -> dict[str, quiet.Quiet]:
    """Cells of the first two gates, and of the dial."""
    made = {}
    for noise in quiet.NOISES:
        for records in (500, 5_000, 50_000):
            for features in (25, 100):
                cell = quiet.Quiet(noise, records, features, AlertBudget(smallest=0.0))
                made[f"1|{noise.name}|{records}|{features}"] = cell
    for alerts in (1 / 3, 3.0):
        budget = AlertBudget(false_alerts=alerts, smallest=0.0)
        made[f"dial {alerts:.2f}|{quiet.NOISES[1].name}|5000|25"] = quiet.Quiet(
            quiet.NOISES[1], 5_000, 25, budget
        )
    for noise in quiet.STRESSES:
        for smallest in (0.1, 0.0):
            cell = quiet.Quiet(noise, 5_000, 100, AlertBudget(smallest=smallest))
            made[f"2 {smallest}|{noise.name}|5000|100"] = cell
    return made


def dealt(log: str, seed: int, first: int, kinds: list[list[str]]) -> dict[str, Any]:
    """What we, and the field's rules, find of incidents in dealt rows."""
    said: dict[str, Any] = {"days": 0, "incidents": [], "false": dict.fromkeys(("ours", *rules.RULES), 0)}
    for number, some in enumerate(kinds):
        run = found.incidents(LOGS[log], (seed, first + number), some)
        by = {"ours": list(found.alerts(run.dirty))}
        by |= {rule: rules.told_by(rule, run.dirty) for rule in rules.RULES}
        said["days"] += run.days - rules.LEARN
        for name, told in by.items():
            said["false"][name] += len(run.false([one for one in told if one.day >= rules.LEARN]))
        outcomes = {name: run.outcomes(told) for name, told in by.items()}
        for at, one in enumerate(run.struck):
            said["incidents"].append(
                {
                    "kind": one.kind,
                    "about": one.about,
                    "length": one.length,
                    "labels": one.of_labels,
                    "age": run.dirty.age,
                    "size": round(run.sizes[at], 2),
                    "delay": {name: outcomes[name][at].delay for name in by},
                }
            )
    return said


def again(log: str, seed: int, first: int, runs: int) -> list[tuple[str, bool, bool]]:
    """Broken twice."""
    return [found.twice(LOGS[log], (seed, 7, first + number)) for number in range(runs)]


def nothing(log: str, seed: int, first: int, runs: int, days: int = 134) -> dict[str, Any]:
    """Alerts where nothing happens."""
    count = dict.fromkeys(("ours", *rules.RULES), 0)
    for number in range(runs):
        of: Log = LOGS[log]
        made = found.dealt(of, days, np.random.default_rng((seed, 8, first + number)))
        counted = found.counted(of, made, days)
        by = {"ours": list(found.alerts(counted))}
        by |= {rule: rules.told_by(rule, counted) for rule in rules.RULES}
        for name, told in by.items():
            count[name] += len([one for one in told if one.day >= rules.LEARN])
    return {"days": runs * (days - rules.LEARN), "alerts": count}


def matched(log: str, seed: int, runs: int) -> dict[str, Any]:
    """What we find, and the field's statistics with limits that make as many false alerts as ours."""
    quiet_days, of = 134, LOGS[log]
    quiet = [
        found.counted(of, found.dealt(of, quiet_days, np.random.default_rng((seed, 8, number))), quiet_days)
        for number in range(runs)
    ]
    ours = sum(one.day >= rules.LEARN for days in quiet for one in found.alerts(days))
    limits = {name: rules.limit_of(name, quiet, max(1, ours)) for name in rules.STATISTICS}
    pairs = []
    for number, kinds in enumerate(found.drawn(np.random.default_rng(seed + 1), runs, EACH)):
        run = found.incidents(of, (seed, 9, number), kinds)
        by = {"ours": list(found.alerts(run.dirty))}
        for name, limit in limits.items():
            by[name] = rules.told(list(rules.STATISTICS[name](run.dirty)), limit, run.dirty.age)
        outcomes = {name: run.outcomes(told) for name, told in by.items()}
        pairs += [
            {name: outcomes[name][at].delay for name in by}
            for at, one in enumerate(run.struck)
            if run.sizes[at] >= 1 and not one.of_labels
        ]
    return {"days": runs * (quiet_days - rules.LEARN), "alerts": ours, "limits": limits, "delays": pairs}


def main() -> int:
    """Run what is not known, write its part of the page."""
    parser = argparse.ArgumentParser(description="Gates of alerts that keep a budget.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=60, help="of each cell: 240 months")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names that begin so")
    chosen = parser.parse_args()
    known = json.loads(chosen.file.read_text()) if chosen.file.exists() else {}
    made = tasks(chosen.runs, chosen.seed)
    wanted = {name: task for name, task in made.items() if name not in known and name.startswith(chosen.only)}
    with ProcessPoolExecutor(2) as pool:
        waiting = {pool.submit(task): name for name, task in wanted.items()}
        for number, done in enumerate(as_completed(waiting), 1):
            known[waiting[done]] = done.result()
            chosen.file.write_text(json.dumps(known, sort_keys=True) + "\n")
            print(f"{number} of {len(wanted)}: {waiting[done]}", file=sys.stderr, flush=True)
    text = page.page(json.loads(chosen.file.read_text()))
    write_part(ROOT / "docs" / "evidence.md", "make sim-alerts", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
