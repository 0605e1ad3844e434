"""A lender's story: what `init` writes, unedited but for the training data, is judged day by day.

Labels come 5 to 40 days late and almost only for approved loans. A feature's unit changes on day 45, what the
score says of a default changes in two regions on day 62. Each is told in time, and nothing else of
performance before; so it is where all loans are labelled, and where both classes come at one pace.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from loans import BROKEN, START, day, loans
from sqlalchemy.pool import NullPool

from monitor.cli import main
from monitor.core.clock import DAY, from_iso

DAYS, UNIT_ERROR, DRIFT = 95, 45, 62
_OWN_DAYS = re.compile(r"\[models\.reference\][^\n]*\nfrom = [^\n]*\nto = [^\n]*\n")
_FIRED = """
SELECT rule, subject, segment, severity, fired_at FROM alerts WHERE fired_at IS NOT NULL ORDER BY fired_at
"""


@dataclass(frozen=True)
class Fired:
    """An alert, and the day of the log at whose end it fired."""

    rule: str
    subject: str
    segment: str
    severity: str
    day: float


@dataclass(frozen=True)
class Bank:
    """A lender's directory: its training data, the configuration, the store."""

    directory: Path

    def monitor(self, *arguments: str) -> Result:
        """A command on its configuration."""
        return CliRunner().invoke(main, [*arguments, "--config", str(self.directory / "config.toml")])

    def begin(self, url: str) -> str:
        """Let `init` write the configuration, name the training data in it; return it."""
        tables = ["--predictions", "loan_log", "--labels", "loan_outcomes", "--name", "loans"]
        file = self.directory / "config.toml"
        done = CliRunner().invoke(main, ["init", "--url", url, *tables, "--output", str(file)])
        assert done.exit_code == 0, done.output
        written = file.read_text(encoding="utf-8")
        named, times = _OWN_DAYS.subn('[models.reference]\nfile = "reference.parquet"\n', written)
        assert times == 1
        store = f'[store]\nurl = "sqlite:///{self.directory / "monitor.db"}"\n'
        file.write_text(store + named, encoding="utf-8")
        return written

    def fired(self) -> list[Fired]:
        """Alerts in the order in which they fired."""
        engine = sa.create_engine(f"sqlite:///{self.directory / 'monitor.db'}", poolclass=NullPool)
        with engine.connect() as connection:
            rows = connection.execute(sa.text(_FIRED)).all()
        start = from_iso(START.isoformat())
        return [
            Fired(rule, subject, segment, severity, (at - start) / DAY)
            for rule, subject, segment, severity, at in rows
        ]


@pytest.mark.parametrize(
    ("database", "story", "every"),
    [
        pytest.param("postgres_url", {}, "3d", marks=pytest.mark.postgres, id="selective"),
        pytest.param("", {}, "1d", marks=pytest.mark.long, id="selective, daily"),
        pytest.param("", {"selective": False}, "1d", marks=pytest.mark.long, id="complete"),
        pytest.param("", {"equal_pace": True}, "1d", marks=pytest.mark.long, id="equal pace"),
    ],
)
def test_a_unit_error_and_a_drift_are_told_in_time_and_nothing_falsely(
    database: str, story: dict[str, bool], every: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(database) if database else f"sqlite:///{tmp_path / 'loans.db'}"
    log = loans(DAYS, unit_error_day=UNIT_ERROR, drift_day=DRIFT, **story)
    log.load(url)
    log.write_reference(tmp_path / "reference.parquet")
    bank = Bank(tmp_path)
    written = bank.begin(url)
    assert ("only_for" in written) == story.get("selective", True)

    paces = ((1, 40, "13d"), (UNIT_ERROR - 1, UNIT_ERROR + 3, "1d"), (UNIT_ERROR + 4, DRIFT + 22, every))
    for first, last, pace in paces:
        span = ["--from", day(first).date().isoformat(), "--to", day(last).date().isoformat()]
        replayed = bank.monitor("replay", *span, "--every", pace, "--run", "live")
        assert replayed.exit_code == 0, replayed.output

    fired = bank.fired()
    of_income = [alert for alert in fired if alert.subject == f"feature:{BROKEN}"]
    unit_error = [alert.day for alert in of_income if alert.severity != "info"]  # told, not shown alone
    performance = [alert for alert in fired if alert.rule.startswith("performance")]
    assert unit_error
    assert UNIT_ERROR < unit_error[0] <= UNIT_ERROR + 2
    assert [alert for alert in performance if alert.day <= DRIFT] == []
    nowcast = [alert.day for alert in performance if alert.rule == "performance_nowcast"]
    assert nowcast
    assert DRIFT < nowcast[0] <= DRIFT + 22
