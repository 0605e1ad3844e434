"""Kept history as OpenMetrics: what it holds, in which order, as known when."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hostile_texts import CORPUS
from prometheus_client import Metric
from prometheus_client.openmetrics import parser
from prometheus_client.samples import Sample
from serving import model
from store_examples import START, commit, row

from monitor.app.exports.export_files import KeptSelection
from monitor.app.exports.openmetrics import export_openmetrics
from monitor.app.kept_run import KeptRun
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, SECOND, to_iso
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.store.sql_store import SqlStore

read: Callable[[str], Iterable[Metric]] = parser.text_string_to_metric_families
ACCURACY = "model_monitor_accuracy_ratio"
CARRIER = 'segments = ["carrier"]\n'


@pytest.fixture
def kept(store: SqlStore, tmp_path: Path) -> KeptRun:
    """A store on either database, and a configuration of two models."""
    config = tmp_path / "config.toml"
    head = f'[store]\nurl = "sqlite:///{tmp_path / "monitor.db"}"\n[sources.log]\nurl = "sqlite:///log.db"\n'
    config.write_text(head + model("late", options=CARRIER) + model("other"), encoding="utf-8")
    return KeptRun(settings_of(config, {}), tmp_path, store)


def whole(measure: str, value: float | None, **others: Any) -> MeasurementRow:
    """A row of no subject."""
    return replace(row(measure, value, **others), subject="")


def exported(kept: KeptRun, **chosen: object) -> list[Sample]:
    """Samples of a file, which an independent reader has found to be in order."""
    file = kept.base / "past.om"
    count = export_openmetrics(kept, file, KeptSelection(**chosen))  # type: ignore[arg-type]
    samples = [sample for family in read(file.read_text(encoding="utf-8")) for sample in family.samples]
    assert len(samples) == count
    return samples


def values(samples: list[Sample], name: str = ACCURACY, **labels: str) -> list[tuple[float, float]]:
    """(days since the start, value) of one series."""
    whole = {"model": "late", "window": "7d", **labels}
    return [
        ((float(one.timestamp or 0) - START / SECOND) / 86_400, one.value)
        for one in samples
        if one.name == name and one.labels == whole
    ]


def test_a_value_stands_at_the_end_of_its_window_in_its_newest_revision_of_each_truth(kept: KeptRun) -> None:
    first = [whole("accuracy", 0.5, end=START + day * DAY, truth=LabelTruth.PROVISIONAL) for day in range(3)]
    kept.store.commit_cycle("late", commit(START + 3 * DAY, snapshots=tuple(first)))
    revised = whole("accuracy", 0.6, end=START, truth=LabelTruth.PROVISIONAL)
    settled = whole("accuracy", 0.7, end=START, truth=LabelTruth.SETTLED)
    kept.store.commit_cycle("late", commit(START + 4 * DAY, snapshots=(revised,)))
    kept.store.commit_cycle("late", commit(START + 5 * DAY, snapshots=(settled,)))
    resettled = whole("accuracy", 0.8, end=START, truth=LabelTruth.SETTLED)
    kept.store.commit_cycle("late", commit(START + 6 * DAY, snapshots=(resettled,)))

    now, then = exported(kept), exported(kept, as_of=START + 4 * DAY)

    assert values(now, truth="provisional") == [(0, 0.6), (1, 0.5), (2, 0.5)]
    assert values(now, truth="settled") == [(0, 0.8)]
    assert values(exported(kept, as_of=START + 5 * DAY), truth="settled") == [(0, 0.7)]
    assert values(then, truth="provisional") == values(now, truth="provisional")
    assert values(then, truth="settled") == []
    assert values(exported(kept, end=START), truth="provisional") == [(0, 0.6)]
    moments = [one.value for one in now if one.name == "model_monitor_as_of_seconds"]
    assert moments == [(START + day * DAY) / SECOND for day in (3, 4, 5, 6)]


def test_bounds_stand_in_families_of_their_own_and_what_has_no_value_in_none(kept: KeptRun) -> None:
    rows = (
        whole("accuracy", 0.5, truth=LabelTruth.SETTLED),
        whole("accuracy", None, end=START + DAY, truth=LabelTruth.SETTLED),
        whole("records", 90, truth=LabelTruth.NONE),
    )
    kept.store.commit_cycle("late", commit(snapshots=rows))
    samples = exported(kept)

    assert values(samples, truth="settled") == [(0, 0.5)]
    (lower,), (upper,) = (values(samples, f"{ACCURACY}_{end}", truth="settled") for end in ("lower", "upper"))
    interval = rows[0].measurement.interval
    assert interval is not None
    assert (lower, upper) == ((0, interval.lower), (0, interval.upper))
    assert values(samples, "model_monitor_window_end_seconds") == [(0, START / SECOND)]


def test_names_from_data_come_back_as_they_are(kept: KeptRun) -> None:
    names = [name for name in CORPUS if name.isprintable()]
    rows = tuple(whole("roc_auc", 0.5, segment=f"carrier={name}", truth=LabelTruth.SETTLED) for name in names)
    kept.store.commit_cycle("late", commit(snapshots=rows))

    found = {one.labels["segment"] for one in exported(kept) if "segment" in one.labels}

    assert found == {f"carrier={name}" for name in names}


def test_models_that_are_configured_alone_are_exported_or_one_of_them(kept: KeptRun) -> None:
    for name in ("late", "other", "gone"):
        kept.store.commit_cycle(name, commit(snapshots=(whole("accuracy", 0.5, truth=LabelTruth.SETTLED),)))

    assert {one.labels["model"] for one in exported(kept)} == {"late", "other"}
    assert {one.labels["model"] for one in exported(kept, model="other")} == {"other"}


def test_the_command_says_how_many_samples_a_file_has(kept: KeptRun, tmp_path: Path) -> None:
    if kept.store.engine.dialect.name != "sqlite":
        pytest.skip("the configuration's store is the file")
    rows = (whole("accuracy", 0.5, truth=LabelTruth.SETTLED),)
    kept.store.commit_cycle("late", commit(snapshots=rows))

    def run(*options: str) -> Result:
        command = ["export", "--config", str(tmp_path / "config.toml"), str(tmp_path / "past.om"), *options]
        return CliRunner().invoke(main, command)

    assert run("--format", "openmetrics").stdout.endswith("past.om: 6 samples\n")
    text = (tmp_path / "past.om").read_text(encoding="utf-8")
    assert text.endswith("# EOF\n")
    assert run("--format", "openmetrics", "--as-of", to_iso(START - DAY)).stdout.endswith(": 0 samples\n")
    assert run().stderr == f'a file to export to ends in .parquet or .csv: got "{tmp_path / "past.om"}"\n'
