"""``python -m monitor.cli``."""

from monitor.cli import main

main()
