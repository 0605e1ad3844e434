"""`monitor.open` hands out what a store keeps, and makes nothing."""

import subprocess
import sys
from pathlib import Path

import made_frames
import pytest
from row_examples import firing
from test_evaluate import served

import monitor
from monitor.alerts.alert_rules import ACKNOWLEDGED, AlertedSeries
from monitor.alerts.lifecycle import AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.clock import to_datetime
from monitor.core.errors import ConfigurationError, StoreError
from monitor.specs.stored_rows import HistoryEvent
from monitor.store import alert_rows
from monitor.store.store_connections import write_transaction
from monitor.store.store_database import open_store

END = to_datetime(made_frames.END)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with a store that a cycle has filled."""
    directory = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        served("binary", directory, patch)
    return directory


@pytest.fixture
def kept(directory: Path, monkeypatch: pytest.MonkeyPatch) -> monitor.OpenedStore:
    """Opened by its configuration."""
    monkeypatch.chdir(directory)
    return monitor.open("config.toml")


def test_measurements_are_those_of_the_snapshots(kept: monitor.OpenedStore, directory: Path) -> None:
    snapshots = monitor.read_snapshots(f"sqlite:///{directory / 'monitor.db'}", measure="roc_auc")

    frame = kept.measurements("made", measure="roc_auc")

    assert kept.models() == ["made"]
    assert frame.equals(snapshots)
    assert len(frame) > 0


def test_a_store_is_opened_by_its_url_too(kept: monitor.OpenedStore, directory: Path) -> None:
    by_url = monitor.open(f"sqlite:///{directory / 'monitor.db'}")

    assert by_url.measurements().equals(kept.measurements())
    assert monitor.open("monitor.db").measurements().equals(kept.measurements())


def test_windows_tell_when_they_settled(kept: monitor.OpenedStore) -> None:
    settled = kept.windows().set_index("window_end")["settled_as_of"]

    assert settled[END] >= END
    assert kept.windows("made").equals(kept.windows())


def test_alerts_are_all_that_ever_were(kept: monitor.OpenedStore) -> None:
    alerts = kept.alerts()

    assert {"rule", "state", "since", "value", "limit"} <= set(alerts.columns)
    assert str(alerts["since"].dtype).endswith("UTC]")


def test_an_alert_bears_who_has_it_and_as_of_a_moment_the_state_that_it_had(
    kept: monitor.OpenedStore, directory: Path
) -> None:
    verdict = Verdict(outcome=Outcome.BREACH, window_end=made_frames.END, value=1.0)
    over = firing(
        AlertedSeries("mine"),
        verdict,
        0,
        state=AlertState.RESOLVED,
        resolved_at=made_frames.END,
        ended=EndReason.CLEARED,
    )
    seen = {"subject": str(over.series), "detail": '{"since": 0}', "who": "Ann", "why": "mine"}
    store = open_store(f"sqlite:///{directory / 'monitor.db'}", "live")
    with write_transaction(store.engine) as connection:
        alert_rows.write_alerts(connection, "live", "made", [over])
    store.events.append_events([HistoryEvent(model="made", at=made_frames.END, kind=ACKNOWLEDGED, **seen)])
    store.close()

    now = kept.alerts("made").set_index("rule").loc["mine"]
    then = kept.alerts("made", as_of="2000-01-01").set_index("rule").loc["mine"]

    assert (now["state"], now["acknowledged"]) == ("resolved", "Ann: mine")
    assert then["state"] == "firing"
    assert kept.alerts("made", as_of="2000-01-01")["acknowledged"].isna().all()


def test_a_curve_is_the_table_behind_a_measurement(kept: monitor.OpenedStore) -> None:
    curve = kept.curve("made", "roc_auc", window="7d", end=END)

    assert len(curve) > 10
    assert curve.equals(kept.curve("made", "roc_auc", window="7d"))
    assert curve.equals(kept.curve("made", "roc_curve", window="7d"))
    assert kept.curve("made", "accuracy", window="7d").empty


def test_what_is_not_there_is_one_clear_error(kept: monitor.OpenedStore, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match='there is no model "mode": there are "made"; did you mean "made"'
    ):
        kept.windows("mode")
    with pytest.raises(ConfigurationError, match='there is no measure "roc_auk"; did you mean "roc_auc"'):
        kept.measurements(measure="roc_auk")
    with pytest.raises(ConfigurationError, match='there is no measure "AUC"; did you mean "roc_auc"'):
        kept.measurements(measure="AUC")
    with pytest.raises(ConfigurationError, match='there is no window "8d": there are "7d"'):
        kept.measurements("made", window="8d")
    with pytest.raises(ConfigurationError, match=r'of stability_index "age": .*mean "feature:age"'):
        kept.curve("made", "stability_index", window="7d", subject="age")
    with pytest.raises(ConfigurationError, match='"yesterday" is no date or time'):
        kept.alerts(as_of="yesterday")
    with pytest.raises(StoreError, match="there is no such file"):
        monitor.open(f"sqlite:///{tmp_path / 'no.db'}")
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_is_opened_as_a_store_is_not_told_to_be_migrated(tmp_path: Path) -> None:
    made_frames.write(tmp_path)

    with pytest.raises(StoreError, match="this is no store of monitor: it has tables, and none of ours"):
        monitor.open(tmp_path / "log.db")


def test_importing_the_package_imports_no_library() -> None:
    code = "import sys, monitor; print(*{name.partition('.')[0] for name in sys.modules})"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (
        set(done.stdout.split()) & {"numpy", "pandas", "pyarrow", "pydantic", "sqlalchemy", "click"} == set()
    )
    assert set(dir(monitor)) == {
        "Evaluation",
        "OpenedStore",
        "OverTime",
        "evaluate",
        "open",
        "read_snapshots",
    }
