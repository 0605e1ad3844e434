"""The commands. Exit codes: 0 done, 1 something failed, 2 usage or configuration; 3, 4: see `status`."""

from monitor.cli.alert_commands import alerts, backtest, incidents
from monitor.cli.commands import main
from monitor.cli.page_commands import report, view
from monitor.cli.prometheus_commands import export_rules
from monitor.cli.status_commands import budget, changes, status
from monitor.cli.upkeep_commands import forget, migrate, recount

main.add_command(alerts)
main.add_command(backtest)
main.add_command(budget)
main.add_command(changes)
main.add_command(export_rules)
main.add_command(forget)
main.add_command(incidents)
main.add_command(migrate)
main.add_command(recount)
main.add_command(report)
main.add_command(status)
main.add_command(view)

__all__ = ["main"]
