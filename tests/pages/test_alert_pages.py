"""Pages of alerts: where their links lead, and what of them was known then."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from looked_at import END, Pages, looking
from row_examples import firing
from serving import Bench

from monitor.alerts.lifecycle import Alert
from monitor.alerts.rules import Series
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.measurement import Detail
from monitor.measures.catalogue.daily import CHANGED
from monitor.measures.rows import CUMULATIVE
from monitor.store import alerts
from monitor.store.connections import writing

CAUSE = Detail(CHANGED, (tuple("missing" if name == "what" else None for name in CHANGED),))


@contextmanager
def with_alerts(bench: Bench, directory: Path, *others: Alert) -> Iterator[Pages]:
    """Pages of a copy of the store that has these alerts too."""
    shutil.copy(bench.directory / "monitor.db", directory / "monitor.db")
    copied = Bench(directory, bench.database, f"sqlite:///{directory}/monitor.db")
    text = bench.config.read_text(encoding="utf-8").replace(bench.store_url, copied.store_url)
    copied.config.write_text(text, encoding="utf-8")
    with copied.app() as app, writing(app.store.engine) as connection:
        alerts.write(connection, "live", "late", others)
    with looking(copied) as pages:
        yield pages


def changed(subject: str) -> Alert:
    """A feature that changed on the last day."""
    verdict = Verdict(outcome=Outcome.BREACH, window_end=END, value=3.0, cause=CAUSE)
    return firing(Series("changed", window=CUMULATIVE, subject=subject), verdict, END)


def test_an_alert_of_a_feature_that_changed_leads_to_the_page_of_the_feature_on_that_day(
    bench: Bench, tmp_path: Path
) -> None:
    with with_alerts(bench, tmp_path, changed("feature:amount")) as pages:
        page = pages.at("/models/late/alerts/changed?subject=feature:amount")
        links = [one["href"] for tag, one in page.elements if tag == "a" and "/feature?" in str(one["href"])]
        (feature,) = [pages.at(str(link)) for link in links]

    assert feature.status == 200
    assert "9 Apr 2024" in feature.words
