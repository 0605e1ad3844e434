"""What `monitor check` says of channels: whether they can be used, and what would arrive twice."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from monitor.core.errors import NotificationError
from monitor.notify.channels import open_channel, service_behind
from monitor.specs.fault_words import quote_names
from monitor.specs.settings import ChannelSpec, Settings


def check_channels(settings: Settings) -> tuple[list[str], list[str]]:
    """Faults and warnings of the channels; nothing is sent."""
    faults, warnings = list[str](), list[str]()
    targets: list[tuple[ChannelSpec, str]] = []
    for spec in settings.channels:
        try:
            targets.append((spec, open_channel(spec.url).receiver_identity))
        except NotificationError as error:
            faults.append(f'channel "{spec.name}": url: {error}')
        if service := service_behind(spec.url):
            rule = f"this is an address of {service}, which takes no webhook's JSON"
            warnings.append(f'channel "{spec.name}": url: {rule}: write it as an Apprise URL')
    return faults, [*warnings, *_duplicate_warnings(targets, settings), *_routed_warnings(settings)]


def _duplicate_warnings(targets: Sequence[tuple[ChannelSpec, str]], settings: Settings) -> Iterator[str]:
    for (first, here), (second, there) in combinations(targets, 2):
        both = [
            model
            for model in _models_of_channel(first, settings)
            if model in _models_of_channel(second, settings)
        ]
        if here == there and both:
            yield (
                f'channels "{first.name}" and "{second.name}" go to the same receiver: '
                f"alerts of {quote_names(both)} arrive twice"
            )


def _routed_warnings(settings: Settings) -> Iterator[str]:
    """Labels are there for Alertmanager: what it sends, and what a channel is sent, are two messages."""
    models = [
        model.name
        for model in settings.models
        if settings.list_recipients(model.name) and any(rule.labels for rule in model.rules)
    ]
    if models:
        yield (
            f"alerts of {quote_names(models)} have labels for Alertmanager, and channels: where Prometheus "
            "knows "
            "their rules too, they arrive twice; leave one of [[notify]] and the labels out"
        )


def _models_of_channel(spec: ChannelSpec, settings: Settings) -> list[str]:
    names = [model.name for model in settings.models]
    return names if spec.models is None else [name for name in names if name in spec.models]
