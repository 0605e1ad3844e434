import gzip
import itertools
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import servers
from exposition_rows import AS_OF, model, row, typical_rows
from hostile_texts import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client import parser as text_parser
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from monitor.core.clock import SECOND
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.exposition.metrics_page import (
    OPENMETRICS,
    TEXT,
    Exposition,
    MetricFamily,
    negotiate_type,
    render_gauges,
)
from monitor.exposition.self_metrics import SelfMetrics
from monitor.exposition.series_selection import ExposedModel, expose_model
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reading import ModelTask
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import CycleReport

parse_text: Callable[[str], Iterable[Metric]] = text_parser.text_string_to_metric_families
parse_openmetrics: Callable[[str], Iterable[Metric]] = openmetrics_parser.text_string_to_metric_families
ASK_OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


def exposition(*names: str) -> Exposition:
    models = [model(name) for name in names or ("late",)]
    return Exposition(models, SelfMetrics("1.2.3", started_at=1_000.0))


def samples(served: Exposition) -> list[Sample]:
    text = served.render_page()[0].decode()
    return [sample for family in parse_text(text) for sample in family.samples]


def value(served: Exposition, name: str, **labels: str) -> float | None:
    for sample in samples(served):
        if sample.name == name and labels.items() <= sample.labels.items():
            return float(sample.value)
    return None


def every_measure() -> Iterator[MeasurementRow]:
    """One row of every measure there is, as whole and as feature, with bounds and all truths."""
    for measure, truth in itertools.product(CATALOGUE, LabelTruth):
        result = Measurement(0.5, 10, interval=Interval(0.25, 0.75))
        yield row(measure.name, result, truth=truth, coverage=0.5, subject="score")
        yield row(measure.name, result, truth=truth, subject="feature:temp_f")
        yield row(
            measure.name, Measurement.without_value(Reason.TOO_FEW, n=1), truth=truth, subject="prediction"
        )


def test_all_labels_are_always_there_and_performance_has_truth() -> None:
    served = exposition()

    served.publish_model("late", AS_OF, typical_rows())

    by_name = {sample.name: set(sample.labels) for sample in samples(served)}
    whole = {"model", "version", "segment", "window", "subject"}
    assert by_name["model_monitor_stability_index"] == whole
    assert by_name["model_monitor_roc_auc_ratio"] == whole | {"truth"}
    assert by_name["model_monitor_roc_auc_ratio_lower"] == whole | {"truth"}
    assert by_name["model_monitor_window_records"] == whole | {"truth"}


def test_what_is_published_is_what_is_read_back() -> None:
    served = exposition()

    served.publish_model("late", AS_OF, typical_rows())

    name = "model_monitor_roc_auc_ratio"
    assert value(served, name, truth="settled", segment="", window="7d") == 0.75
    assert value(served, f"{name}_upper", truth="provisional", segment="") == 0.9
    assert value(served, "model_monitor_as_of_seconds", model="late") == AS_OF / SECOND


def test_no_sample_has_a_timestamp() -> None:
    served = exposition()

    served.publish_model("late", AS_OF, typical_rows())

    assert {sample.timestamp for sample in samples(served)} == {None}


def test_both_formats_hold_the_same_samples() -> None:
    served = exposition()
    served.publish_model("late", AS_OF, typical_rows())
    served.observe_cycle(CycleReport(model="late", as_of=AS_OF, rows_read=5), at=2_000.0)

    body, content_type = served.render_page(ASK_OPENMETRICS)

    families = parse_openmetrics(body.decode())
    found = {
        (s.name, tuple(sorted(s.labels.items())), s.value) for family in families for s in family.samples
    }
    assert found == {(s.name, tuple(sorted(s.labels.items())), s.value) for s in samples(served)}
    assert content_type == OPENMETRICS


def test_label_values_of_any_kind_survive() -> None:
    nasty = 'carrier=A"\\\nÄ'
    served = exposition()

    served.publish_model("late", AS_OF, [row("roc_auc", 0.5, segment=nasty, truth=LabelTruth.SETTLED)])

    assert value(served, "model_monitor_roc_auc_ratio", segment=nasty) == 0.5
    list(parse_openmetrics(served.render_page(ASK_OPENMETRICS)[0].decode()))


@pytest.mark.promtool
def test_hostile_names_are_labels_exactly_and_promtool_reads_the_page() -> None:
    promtool = servers.program("promtool", package="prometheus")
    served = exposition()

    served.publish_model("late", AS_OF, [row("records", 1, segment=f"x={name}") for name in CORPUS])

    shown = [one.labels["segment"] for one in samples(served) if one.name == "model_monitor_window_records"]
    assert sorted(shown) == sorted(f"x={name}" for name in CORPUS)
    done = subprocess.run(
        [promtool, "check", "metrics"], input=served.render_page()[0], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_absent_is_absent_and_counted() -> None:
    served = exposition()

    absent = Measurement.without_value(Reason.ONE_CLASS, n=3)
    served.publish_model("late", AS_OF, [row("roc_auc", absent, truth=LabelTruth.SETTLED)])

    assert value(served, "model_monitor_roc_auc_ratio") is None
    assert value(served, "model_monitor_absent_measurements", model="late", reason="one_class") == 1
    assert b"nan" not in served.render_page()[0].lower()


def test_dropped_series_are_counted() -> None:
    served = Exposition([model(max_series=10)], SelfMetrics("1", 0.0))

    served.publish_model("late", AS_OF, typical_rows())

    dropped = value(served, "model_monitor_dropped_series", model="late")
    assert dropped is not None
    assert dropped > 0


def test_a_model_that_is_forgotten_vanishes_with_its_cycles() -> None:
    served = exposition("late", "delay")
    for name in ("late", "delay"):
        served.publish_model(name, AS_OF, typical_rows())
        served.observe_cycle(CycleReport(model=name, as_of=AS_OF), at=2_000.0)

    served.forget_model("late")

    assert {sample.labels["model"] for sample in samples(served) if "model" in sample.labels} == {"delay"}


def test_publishing_again_replaces_what_was_there() -> None:
    served = exposition()
    served.publish_model("late", AS_OF, typical_rows())

    served.publish_model("late", AS_OF + SECOND, [row("accuracy", 0.5, truth=LabelTruth.SETTLED)])

    assert value(served, "model_monitor_roc_auc_ratio") is None
    assert value(served, "model_monitor_accuracy_ratio") == 0.5


def test_a_model_is_rendered_once_a_publication_and_a_page_once_for_all_scrapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: list[bytes] = []

    def noted(collector: Collector) -> bytes:
        rendered.append(generate_latest(collector))
        return rendered[-1]

    monkeypatch.setattr("monitor.exposition.metrics_page.generate_latest", noted)
    served = exposition("late", "delay")
    served.publish_model("delay", AS_OF, typical_rows())
    of_delay = list(rendered)
    served.publish_model("late", AS_OF, typical_rows())
    published = list(rendered)

    bodies = {id(served.render_page(accept)[0]) for accept in ("", ASK_OPENMETRICS) for _ in range(5)}
    packed = {id(served.render_gzip(accept)[0]) for accept in ("", ASK_OPENMETRICS) for _ in range(5)}

    of_late = published[len(of_delay) :]
    assert not any(b'"late"' in text for text in of_delay)
    assert not any(b'"delay"' in text for text in of_late)
    assert [text.split(b"\n")[0] for text in of_delay] == [text.split(b"\n")[0] for text in of_late]
    assert all(text.count(b"# TYPE ") == 1 for text in published)
    put_together = rendered[len(published) :]
    assert len(put_together) == 2  # alerts, and the daemon's own
    assert not any(b"model_monitor_roc_auc" in text for text in put_together)
    assert (len(bodies), len(packed)) == (2, 2)


def test_a_family_of_several_models_is_there_once_with_the_series_of_all() -> None:
    served = exposition("late", "delay")
    head = "x\n# HELP y\n# TYPE y gauge\n"  # of a label's value: no head

    served.publish_model(
        "late", AS_OF, [*typical_rows(), row("roc_auc", 0.5, segment=head, truth=LabelTruth.SETTLED)]
    )
    served.publish_model("delay", AS_OF, typical_rows())

    families = [family.name for family in parse_text(served.render_page()[0].decode())]
    found = {
        sample.labels["model"] for sample in samples(served) if sample.name == "model_monitor_roc_auc_ratio"
    }
    assert len(families) == len(set(families))
    assert found == {"late", "delay"}
    assert value(served, "model_monitor_roc_auc_ratio", segment=head) == 0.5


def test_the_packed_page_is_the_page() -> None:
    served = exposition()
    served.publish_model("late", AS_OF, typical_rows())

    packed, content_type = served.render_gzip()

    assert gzip.decompress(packed) == served.render_page()[0]
    assert content_type == TEXT


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        ("text/html,*/*;q=0.8", TEXT),
        (ASK_OPENMETRICS, OPENMETRICS),
        ("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.5", TEXT),
        ("application/openmetrics-text;q=0", TEXT),
        ("application/openmetrics-text;q=x", TEXT),
        (
            "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8;q=0.6,text/plain;q=0.5",
            OPENMETRICS,
        ),
    ],
)
def test_the_format_follows_the_accept_header(accept: str, expected: str) -> None:
    assert negotiate_type(accept) == expected


@pytest.mark.promtool
@pytest.mark.parametrize("task", list(ModelTask))
def test_promtool_finds_nothing_to_object_to(task: ModelTask) -> None:
    promtool = servers.program("promtool", package="prometheus")
    served = Exposition([model(task=task, max_series=10_000)], SelfMetrics("1", 0.0))
    served.publish_model("late", AS_OF, list(every_measure()))
    served.observe_cycle(CycleReport(model="late", as_of=AS_OF), at=1.0, newest_logged_at=AS_OF)

    checked = subprocess.run(
        [promtool, "check", "metrics"], input=served.render_page()[0], capture_output=True, check=False
    )

    assert (checked.stdout, checked.stderr, checked.returncode) == (b"", b"", 0)


def test_a_model_that_is_removed_while_it_is_published_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    served = exposition("late", "delay")

    def removing(*arguments: Any) -> ExposedModel:
        served.note_reload([model("delay")], at=0.0)
        return expose_model(*arguments)

    monkeypatch.setattr("monitor.exposition.metrics_page.expose_model", removing)

    served.publish_model("late", AS_OF, typical_rows())
    served.publish_model("late", AS_OF, typical_rows())

    assert {sample.labels.get("model") for sample in samples(served)} == {None}


def test_a_model_that_is_removed_while_its_cycle_is_noted_is_gone() -> None:
    class Slow(SelfMetrics):
        def observe_cycle(
            self, report: CycleReport, *, at: float, newest_logged_at: int | None = None
        ) -> None:
            removing.start()
            removing.join(0.5)
            super().observe_cycle(report, at=at, newest_logged_at=newest_logged_at)

    served = Exposition([model("late")], Slow("1", 0.0))
    removing = threading.Thread(target=lambda: served.note_reload([], at=0.0))

    served.observe_cycle(CycleReport(model="late", as_of=AS_OF), at=1.0)
    removing.join()

    assert {sample.labels.get("model") for sample in samples(served)} == {None}


def test_a_model_that_is_configured_otherwise_meanwhile_is_published_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served, now = exposition("late"), model("late", max_series=1)

    def changing(spec: ModelSpec, *arguments: Any) -> ExposedModel:
        if spec != now:
            served.note_reload([now], at=0.0)
            served.publish_model("late", AS_OF, typical_rows())
        return expose_model(spec, *arguments)

    monkeypatch.setattr("monitor.exposition.metrics_page.expose_model", changing)

    served.publish_model("late", AS_OF, typical_rows())

    dropped = value(served, "model_monitor_dropped_series", model="late")
    assert dropped is not None
    assert dropped > 0


@given(
    text=st.text(),
    series=st.lists(st.tuples(st.tuples(st.text(), st.text(), st.text()), st.floats()), min_size=1),
)
def test_series_are_written_byte_for_byte_as_by_the_client_library(
    text: str, series: list[tuple[tuple[str, ...], float]]
) -> None:
    family = MetricFamily("model_monitor_a_ratio", text, ("model", "window", "segment"))
    gauge = GaugeMetricFamily(family.name, family.help, labels=family.labels)
    for labels, number in series:
        gauge.add_metric(labels, number)

    [(head, body)] = render_gauges([(family, series)])

    assert head + body == generate_latest(Collected(gauge))


class Collected(Collector):
    """A family, as the client library takes it."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def collect(self) -> Iterable[Metric]:
        yield self.metric
