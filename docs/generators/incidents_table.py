"""The incidents of the demo's ten months: the table of `docs/alerts.md`.

    python docs/generators/incidents_table.py DIRECTORY

writes it from the demo that was replayed into a directory (`monitor demo --exit --directory DIRECTORY`).
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from monitor.alerts.incident_life import IncidentTurn
from monitor.app.alert_decisions import list_incidents
from monitor.app.kept_run import open_kept_run
from monitor.config.config_loading import settings_of
from monitor.sentences.time_words import day_words
from monitor.show.incident_tables import ShownIncident

PAGE = Path(__file__).parents[1] / "alerts.md"
_HEAD = ("| opened | over | incident | severity | alerts, notices | what happened |", "| --- " * 6 + "|")


def incidents_of(directory: Path) -> list[ShownIncident]:
    """Incidents of a replayed demo, in the order in which they opened."""
    with open_kept_run(settings_of(directory / "config.toml", {}), directory, "live") as kept_run:
        found = list_incidents(kept_run)
    return sorted(found, key=lambda shown: (shown.kept.opened_at, shown.kept.address))


def table(incidents: Sequence[ShownIncident]) -> str:
    """Lines of the table."""
    return "\n".join([*_HEAD, *map(_line, incidents)]) + "\n"


def table_in(page: str) -> str:
    """The table that a page has."""
    start = page.index(_HEAD[0])
    return page[start : page.index("\n\n", start) + 1]


def _line(shown: ShownIncident) -> str:
    kept = shown.kept
    told = sum(step.turn is not IncidentTurn.RESOLVED for step in kept.steps)
    over = "open" if kept.resolved_at is None else day_words(kept.resolved_at, kept.opened_at)
    cells = (
        day_words(kept.opened_at, kept.first_day),
        over,
        f"`{kept.address}`",
        kept.worst.value,
        f"{len(kept.members)}, {told + (kept.resolved_at is not None)}",
        shown.headline.replace(" 2013", ""),
    )
    return f"| {' | '.join(cells)} |"


def main(directory: str) -> None:
    """Write the table anew."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.replace(table_in(page), table(incidents_of(Path(directory)))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
