"""Each fault of a log is a figure of its model: in the store, in `show` and on the metrics page."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from lived import MODEL, START, Lived, simulated, template
from mixes import SHARES, SLOW, shares
from prometheus_client.parser import text_string_to_metric_families as parse_text
from simulation import Mix

from monitor.cli import main
from monitor.core.clock import DAY, HOUR
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.exposition.series_selection import exposed_family_name
from monitor.measures.catalogue import BY_NAME

MIX = replace(
    Mix(per_day=400, positives=SLOW, negatives=SLOW, stale_after=5 * DAY),
    **shares(SHARES, 0.05) | {"hidden": 0.9},
)
FAULTS = {
    "duplicate_records",
    "repeated_ids",
    "corrected_labels",
    "retracted_labels",
    "orphan_labels",
    "early_labels",
    "stale_labels",
    "future_records",
    "stale_log_records",
    "rows_without_id",
    "rows_without_time",
    "missing_rate",
    "invalid_rate",
    "late_visible_records",
    "late_visible_labels",
    "panes_waiting",
    "longest_wait",
}
OF_WAITING = {"panes_waiting", "longest_wait", "stale_labels"}  # no pane waits where labels are added at once
BY_HAND = (
    "UPDATE predictions SET temp = NULL WHERE id % 20 = 1",
    "UPDATE predictions SET score = 7 WHERE id % 20 = 2",
    "UPDATE predictions SET id = NULL WHERE id % 50 = 3",
    "UPDATE predictions SET event_time = NULL WHERE id % 50 = 4",
)


def told(figures: Iterable[tuple[str, float | None]]) -> dict[str, set[float]]:
    """Those of faults that are more than nothing."""
    found: dict[str, set[float]] = {}
    for name, value in figures:
        if name in FAULTS and value:
            found.setdefault(name, set()).add(value)
    return found


def stored(lived: Lived) -> dict[str, set[float]]:
    """Figures of the whole model."""
    rows = [
        stored.row
        for stored in lived.app.store.current.read_current(MODEL)
        if stored.row.version is stored.row.segment is None
    ]
    return told((row.measure, row.measurement.value) for row in rows)


def shown(lived: Lived) -> dict[str, set[float]]:
    """The same, as the command prints them."""
    known = {"SOURCE": lived.url, "STORE": lived.store_url, "HORIZON": lived.horizon, "PANE": lived.pane}
    config = str(template() / "config.toml")
    done = CliRunner().invoke(main, ["show", "--config", config, "--all", "--format", "json"], env=known)
    rows = [row for row in json.loads(done.stdout) if row["version"] is row["segment"] is None]
    return told((row["measure"], row["value"]) for row in rows)


def scraped(lived: Lived) -> dict[str, set[float]]:
    """The same, on the page."""
    page = Exposition([lived.app.find_spec(MODEL)], SelfMetrics("1", 0.0))
    page.publish_model(
        MODEL, lived.as_of, [stored.row for stored in lived.app.store.current.read_current(MODEL)]
    )
    names = {exposed_family_name(BY_NAME[name]): name for name in FAULTS}
    samples = [sample for family in parse_text(page.render_page()[0].decode()) for sample in family.samples]
    whole = [sample for sample in samples if sample.labels.get("version") == ""]
    return told((names.get(sample.name, ""), sample.value) for sample in whole)


@pytest.mark.parametrize(
    ("append_only", "expected"), [(False, FAULTS), (None, FAULTS - OF_WAITING)], ids=["whole", "difference"]
)
def test_every_fault_of_a_log_is_told_in_the_store_by_show_and_on_the_page(
    append_only: bool | None,  # noqa: FBT001 -- a parameter of the test
    expected: set[str],
) -> None:
    seen: set[str] = set()
    with simulated(MIX, 5, 8, horizon="5d", pane="1d", append_only=append_only) as lived:
        for hours in (57, 169, 170, 171, 206):
            lived.advance(START + hours * HOUR)
            with lived.engine.begin() as connection:
                for statement in BY_HAND:
                    connection.execute(sa.text(statement))
            lived.cycle(START + hours * HOUR)

            kept, served = stored(lived), scraped(lived)

            assert shown(lived) == kept
            assert all(values <= kept[name] for name, values in served.items())
            seen |= served.keys()

    assert seen == expected
