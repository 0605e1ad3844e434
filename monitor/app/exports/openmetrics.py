"""Kept history as OpenMetrics with timestamps, from which Prometheus makes blocks."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, BinaryIO

from monitor.alerts.incident_life import KeptIncident
from monitor.app.exports.export_files import KeptSelection, open_replacing_file
from monitor.app.kept_run import KeptRun
from monitor.exposition import metric_names
from monitor.exposition.history_samples import (
    END,
    alert_samples,
    incident_samples,
    list_sample_lines,
    moment_samples,
)
from monitor.exposition.metrics_page import MetricFamily, metric_families
from monitor.exposition.series_selection import shown_measures
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.measurement_row import StoredMeasurement
from monitor.specs.model_spec import ModelSpec

_OF_WINDOWS = frozenset({metric_names.WINDOW_END, metric_names.WINDOW_RECORDS, metric_names.WINDOW_COVERAGE})


def export_openmetrics(kept_run: KeptRun, file: Path, selection: KeptSelection) -> int:
    """Write the series of configured models to a file; return the number of samples.

    Families and labels are those of `/metrics`. A value stands at the end of its window: that of the newest
    revision, of a window that has settled also the last one before. Where neither window nor measure is
    chosen, the moments of cycles follow, and at each of them the incidents that were open and the alerts that
    fired or were pending. Measurements are streamed; alerts and incidents are not.

    Raises
    ------
    ConfigurationError
        if the chosen model is not configured.
    StoreError
        if the store does not answer, or the file cannot be written.
    """
    specs = {name: kept_run.find_spec(name) for name in kept_run.model_names(selection.model)}
    with open_replacing_file(file, kept_run.store) as out:
        written = _write_measurements(out, specs, _stream_exported_rows(kept_run, specs, selection))
        if selection.measure is None and selection.window is None:
            for family, lines in _cycle_families(kept_run, specs, selection):
                out.writelines([family.head, *lines] if lines else [])
                written += len(lines)
        out.write(END)
    return written


def _stream_exported_rows(
    kept_run: KeptRun, specs: Mapping[str, ModelSpec], selection: KeptSelection
) -> Iterator[StoredMeasurement]:
    measures = shown_measures() if selection.measure is None else shown_measures() & {selection.measure}
    return kept_run.store.snapshots.stream_timelines(
        specs,
        measures,
        [measure.name for measure in CATALOGUE if metric_names.has_truth_label(measure)],
        against=("", metric_names.REFERENCE),
        window=selection.window,
        ends=(selection.start, selection.end),
        as_of=selection.as_of,
    )


def _write_measurements(
    out: BinaryIO, specs: Mapping[str, ModelSpec], rows: Iterable[StoredMeasurement]
) -> int:
    """Families one after the other: those of a measure wait on disk until the measure is whole."""
    waiting: dict[str, IO[bytes]] = {}
    written = 0
    with ExitStack() as files:
        for _, of_measure in groupby(rows, lambda stored: stored.row.measure):
            for stored in of_measure:
                for family, line in list_sample_lines(specs[stored.model], stored.row):
                    if family not in waiting:
                        waiting[family] = files.enter_context(TemporaryFile())
                    waiting[family].write(line)
                    written += 1
            _flush_families(out, waiting, waiting.keys() - _OF_WINDOWS)
        _flush_families(out, waiting, set(waiting))  # facts of windows stand with several measures
    return written


def _flush_families(out: BinaryIO, waiting: dict[str, IO[bytes]], whole: set[str]) -> None:
    for family in metric_families():
        if family.name in whole:
            with waiting.pop(family.name) as lines:
                lines.seek(0)
                out.write(family.head)
                copyfileobj(lines, out)


def _cycle_families(
    kept_run: KeptRun, specs: Mapping[str, ModelSpec], selection: KeptSelection
) -> Iterator[tuple[MetricFamily, list[bytes]]]:
    bounds = [moment for moment in (selection.end, selection.as_of) if moment is not None]
    moments: dict[str, list[int]] = {model: [] for model in specs}
    for model, behind in kept_run.store.snapshots.read_provenance(selection.model):
        if model in moments and (selection.start or 0) < behind.as_of <= min(bounds, default=behind.as_of):
            moments[model].append(behind.as_of)
    yield from moment_samples(moments)
    alerts = kept_run.store.alerts.read_alerts(selection.model, ended=True, as_of=selection.as_of)
    incidents: dict[str, list[KeptIncident]] = {model: [] for model in specs}
    for model, incident in kept_run.store.incidents.read_incidents(selection.model, ended=True):
        incidents.get(model, []).append(incident)
    yield from incident_samples(incidents, moments)
    yield from alert_samples(
        [(specs[model], alert) for model, alert in alerts if model in specs], moments, incidents
    )
