"""What became of notices, as metrics."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from monitor.exposition.names import PREFIX
from monitor.specs.protocols import ChannelReport


def notice_families(channels: Mapping[str, ChannelReport]) -> Iterator[Metric]:
    """Families by channel; none where there are no channels."""
    if not channels:
        return
    told = CounterMetricFamily(
        f"{PREFIX}notices",
        "Notices since the start: delivered, tries that failed, and notices given up as too old.",
        labels=("channel", "outcome"),
    )
    waiting = GaugeMetricFamily(
        f"{PREFIX}notices_waiting", "Notices that the channel has not taken yet.", labels=("channel",)
    )
    age = GaugeMetricFamily(
        f"{PREFIX}notice_age_seconds",
        "Age of the oldest notice that waits, when it was tried last; 0: none waits.",
        labels=("channel",),
    )
    for name, report in channels.items():
        for outcome in ("delivered", "failed", "given_up"):
            told.add_metric((name, outcome), getattr(report, outcome))
        waiting.add_metric((name,), report.waiting)
        age.add_metric((name,), report.age)
    yield from (told, waiting, age)
