import time

import pytest
from prometheus_client import CollectorRegistry

from monitor.core.clock import HOUR, MINUTE
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import ChannelReport, CycleReport


def registry_of(metrics: SelfMetrics) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    return registry


def value(metrics: SelfMetrics, name: str, **labels: str) -> float | None:
    return registry_of(metrics).get_sample_value(f"model_monitor_{name}", {"model": "late", **labels})


def test_rows_and_panes_add_up_over_cycles() -> None:
    metrics = SelfMetrics("1", 0.0)

    for _ in range(2):
        metrics.observe_cycle(
            CycleReport(
                model="late",
                as_of=HOUR,
                rows_read=10,
                label_rows_read=4,
                panes_counted=3,
                invalid_times=1,
            ),
            at=5.0,
        )

    totals = ("rows_read_total", "label_rows_read_total", "panes_counted_total", "invalid_times_total")
    assert [value(metrics, name) for name in totals] == [20, 8, 6, 2]


def test_the_last_cycle_gives_the_gauges() -> None:
    metrics = SelfMetrics("1", 0.0)

    last = CycleReport(model="late", as_of=HOUR, duration=2.5, missing_columns=("temp_f", "group"))
    metrics.observe_cycle(CycleReport(model="late", as_of=0, duration=9.0), at=4.0)
    metrics.observe_cycle(last, at=5.0, newest_logged_at=HOUR - 2 * MINUTE)

    gauges = ("cycle_duration_seconds", "missing_columns", "source_lag_seconds")
    assert [value(metrics, name) for name in gauges] == [2.5, 2, 120]
    assert value(metrics, "last_success_timestamp_seconds") == 5.0


def test_steps_of_cycles_add_up_to_a_histogram() -> None:
    metrics = SelfMetrics("1", 0.0)
    for count in (0.02, 0.3, 100.0):
        metrics.observe_cycle(
            CycleReport(model="late", as_of=0, steps={"count": count, "commit": 0.001}), at=4.0
        )

    def kept(name: str, **labels: str) -> float | None:
        return registry_of(metrics).get_sample_value(f"model_monitor_cycle_step_seconds_{name}", labels)

    bounds = ("0.01", "0.025", "0.5", "60.0", "+Inf")
    assert [kept("bucket", step="count", le=bound) for bound in bounds] == [0, 1, 2, 2, 3]
    assert kept("sum", step="count") == pytest.approx(100.32)
    assert kept("count", step="commit") == 3


def test_a_failed_cycle_is_counted_and_is_no_success() -> None:
    metrics = SelfMetrics("1", 0.0)
    metrics.observe_cycle(CycleReport(model="late", as_of=0, missing_columns=("temp_f",)), at=4.0)

    metrics.observe_cycle(CycleReport(model="late", as_of=HOUR, error="no such table: predictions"), at=5.0)

    assert value(metrics, "cycles_total", outcome="failure") == 1
    assert value(metrics, "cycles_total", outcome="success") == 1
    assert value(metrics, "last_success_timestamp_seconds") == 4.0
    assert value(metrics, "missing_columns") == 1


def test_before_any_success_there_is_no_time_of_success() -> None:
    metrics = SelfMetrics("1", 0.0)

    metrics.observe_cycle(CycleReport(model="late", as_of=HOUR, error="no such table"), at=5.0)

    assert value(metrics, "last_success_timestamp_seconds") is None
    assert value(metrics, "source_lag_seconds") is None


def test_skipped_ticks_are_counted() -> None:
    metrics = SelfMetrics("1", 0.0)

    metrics.count_skipped("late")
    metrics.count_skipped("late")

    assert value(metrics, "skipped_ticks_total") == 2


def test_build_and_start_are_there_from_the_beginning() -> None:
    registry = registry_of(SelfMetrics("1.2.3", started_at=1_234.5))

    builds = [
        s for family in registry.collect() for s in family.samples if s.name == "model_monitor_build_info"
    ]

    assert [build.labels["version"] for build in builds] == ["1.2.3"]
    assert registry.get_sample_value("model_monitor_start_time_seconds") == 1_234.5


def test_sources_have_the_seconds_and_rows_of_their_queries() -> None:
    registry = registry_of(SelfMetrics("1", 0.0, lambda: {"log": (2.5, 70, 12.5)}))

    source = {"source": "log"}
    assert registry.get_sample_value("model_monitor_source_query_seconds_total", source) == 2.5
    assert registry.get_sample_value("model_monitor_source_rows_total", source) == 70
    assert registry.get_sample_value("model_monitor_source_silent_seconds", source) == 12.5


def test_a_refused_configuration_is_told_until_one_is_accepted() -> None:
    metrics = SelfMetrics("1", 10.0)
    names = ("config_last_reload_successful", "config_last_reload_success_timestamp_seconds")

    def told() -> list[float | None]:
        return [registry_of(metrics).get_sample_value(f"model_monitor_{name}") for name in names]

    before = told()
    metrics.note_reload(accepted=False, at=20.0)
    refused = told()
    metrics.note_reload(accepted=True, at=30.0)

    assert (before, refused, told()) == ([1, 10], [0, 10], [1, 30])


def test_notices_are_counted_by_channel_and_outcome() -> None:
    metrics = SelfMetrics("1", 0.0)

    metrics.note_channels({"chat": ChannelReport(delivered=3, failed=2, given_up=1, waiting=4, age=60.0)})

    def of(name: str, **labels: str) -> float | None:
        return registry_of(metrics).get_sample_value(f"model_monitor_{name}", {"channel": "chat", **labels})

    counted = [of("notices_total", outcome=outcome) for outcome in ("delivered", "failed", "given_up")]
    assert counted == [3, 2, 1]
    assert (of("notices_waiting"), of("notice_age_seconds")) == (4, 60.0)


def test_a_model_whose_log_is_over_is_never_late() -> None:
    before = time.time()

    families = {family.name: family for family in SelfMetrics("1", 0.0, over=("late",)).collect()}

    (sample,) = families["model_monitor_last_success_timestamp_seconds"].samples
    assert sample.labels == {"model": "late"}
    assert before <= sample.value <= time.time()
