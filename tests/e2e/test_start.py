"""The commands of the first page, one after another on a bank's tables: the fault is named, and its day."""

import re
import shlex
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from monitor.cli import main
from monitor.core.array_types import Floats

PAGE = (Path(__file__).parents[2] / "docs" / "start.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
TODAY, BROKEN = pd.Timestamp("2026-11-24"), pd.Timestamp("2026-11-16")
A_DAY = 150


def applications(first: pd.Timestamp, days: int, seed: int) -> pd.DataFrame:
    """Scores, features and what turned out; the score knows the income that is logged."""
    rng, n = np.random.default_rng(seed), days * A_DAY
    at = first + pd.to_timedelta(np.sort(rng.uniform(0, days * 86_400, n)), unit="s")
    income, debt = np.exp(rng.normal(10.4, 0.5, n)), rng.beta(2, 5, n)
    logged = np.where(at >= BROKEN, income / 12, income)

    def risk(of: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(2.2 + (np.log(of) - 10.4) - 5 * (debt - 0.28))))

    return pd.DataFrame(
        {
            "app_id": [f"{seed}-{at}" for at in range(n)],
            "scored_at": at,
            "pd_score": risk(logged).round(5),
            "income": logged.round(2),
            "debt_ratio": debt.round(4),
            "region": rng.choice(["north", "south"], n),
            "defaulted": (rng.random(n) < risk(income)).astype(int),
            "known_at": at + pd.to_timedelta(rng.uniform(2, 14, n), unit="D"),
        }
    )


def texts(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Some columns, times as texts of a database."""
    times = {name: frame[name].dt.strftime("%Y-%m-%d %H:%M:%S") for name in names if name.endswith("_at")}
    return frame[list(names)].assign(**times)


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables and the test set."""
    monkeypatch.chdir(tmp_path)
    log = applications(pd.Timestamp("2026-10-11"), 44, seed=1)
    with sqlite3.connect("bank.db") as connection:
        texts(log, "app_id", "scored_at", "pd_score", "income", "debt_ratio", "region").to_sql(
            "scores", connection, index=False
        )
        texts(log[log["known_at"] < TODAY], "app_id", "defaulted", "known_at").to_sql(
            "outcomes", connection, index=False
        )
    reference = applications(pd.Timestamp("2026-08-01"), 30, seed=2)
    reference.drop(columns=["scored_at", "known_at"]).to_csv("testset.csv", index=False)
    return tmp_path


def said(command: str) -> str:
    """What a command of the page says; a status of 3 says that action is needed."""
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, (command, result.output, result.stderr)
    return result.output


def test_the_commands_of_the_first_page_lead_to_the_alert(bank: Path) -> None:
    told = {}
    for command in COMMANDS:
        if command == "monitor run":
            continue
        told[command.split()[1]] = said(command.replace("--from 2026-10-25", "--from 2026-11-19"))  # as long
        if command.startswith("monitor init"):
            file = bank / "config.toml"
            text = re.sub(r"threshold = .*", "threshold = 0.2", file.read_text(encoding="utf-8"))
            file.write_text(text.replace("[models.labels]", "[models.labels]\nappend_only = true"), "utf-8")

    assert list(told) == ["init", "check", "replay", "status", "alerts", "report"]
    assert "no faults" in told["check"]
    assert "credit: Warning" in told["status"]
    assert re.search(r"What changed .* income .* 16 Nov", " ".join(told["status"].split()))
    assert "labels_stopped" not in told["status"] + told["alerts"]
    assert (bank / "credit.html").stat().st_size > 20_000
