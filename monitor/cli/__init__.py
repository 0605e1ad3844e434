"""The commands. Exit codes: 0 done, 1 something failed, 2 usage or configuration."""

from monitor.cli.alerts import alerts
from monitor.cli.commands import main

main.add_command(alerts)

__all__ = ["main"]
