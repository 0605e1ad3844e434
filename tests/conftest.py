"""Servers that tests share, and a loud word on those that the machine lacks."""

from collections.abc import Iterator

import pytest
import servers


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.PostgresServer]:
    """One PostgreSQL server a test process."""
    with servers.postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: servers.PostgresServer) -> Iterator[str]:
    """URL of a fresh, empty PostgreSQL database."""
    with postgres_server.database() as url:
        yield url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what to install where tests were skipped for want of a program."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    lacking = servers.skipped_for_programs(reasons)
    if lacking:
        terminalreporter.section("TESTS WERE SKIPPED: programs are missing", sep="!", red=True, bold=True)
        for reason, count in lacking.items():
            terminalreporter.line(f"{count} tests: {reason}", red=True, bold=True)
