"""The incidents of the demo's ten months: the table of the documents, and what any day's row says of them."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from incidents_table import PAGE, incidents_of, table, table_in

from monitor.alerts.incident_life import JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.lifecycle import AlertState, alert_at_moment
from monitor.app.kept_run import open_kept_run
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, from_iso


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole demo: more than a minute."""
    directory = tmp_path_factory.mktemp("demo")
    done = CliRunner().invoke(main, ["demo", "--exit", "--directory", str(directory)])
    assert done.exit_code == 0, done.output
    return directory


@pytest.mark.long
def test_the_documents_list_the_incidents_of_ten_months(replayed: Path) -> None:
    assert table(incidents_of(replayed)) == table_in(PAGE.read_text(encoding="utf-8"))


@pytest.mark.long
def test_each_days_incidents_are_those_that_its_alerts_make(replayed: Path) -> None:
    with open_kept_run(settings_of(replayed / "config.toml", {}), replayed, "live") as kept_run:
        store, rules = kept_run.store, kept_run.find_spec("late").rules
        alerts = [alert for _, alert in store.alerts.read_alerts("late", ended=True)]
        model = ModelIncidents()
        for at in range(from_iso("2013-03-02"), from_iso("2014-01-02"), DAY):
            known = [alert_at_moment(alert, at) for alert in alerts if alert.since <= at]
            standing = {alert.series: alert for alert in known if alert.state is not AlertState.RESOLVED}
            ended = [alert for alert in known if alert.resolved_at == at]
            model = advance_incidents(model, [JudgedMoment(at, standing, ended)], rules).incidents
            asked = [one for _, one in store.incidents.read_incidents("late", as_of=at)]

            assert {one.address: one.members for one in asked} == {
                one.address: one.members for one in model.open
            }
            firing = {(m.series, m.since) for one in asked for m in one.firing}
            assert firing == {
                (alert.series, alert.since)
                for _, alert in store.alerts.read_alerts("late", as_of=at)
                if alert.state is AlertState.FIRING
            }
