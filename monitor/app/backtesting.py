"""Rules tried on kept history, before anybody is woken."""

from monitor.alerts.backtest import Summary, backtest, newest, summaries
from monitor.alerts.lifecycle import Alert
from monitor.alerts.verdicts import needed
from monitor.app.wiring import App
from monitor.config.messages import did_you_mean
from monitor.core.clock import format_duration, to_iso
from monitor.core.errors import ConfigurationError
from monitor.core.text import json_text, number
from monitor.show.alerts import ShownAlert, alerts_as_table, plain_alert
from monitor.show.words import aligned

_HEAD = ("rule", "judged", "fired", "per 30 days", "firing in all", "longest", "")


def tried(app: App, model: str, rule: str | None, span: tuple[int, int]) -> tuple[list[Summary], list[Alert]]:
    """How rules would have done, and each alert that would have fired.

    Raises
    ------
    ConfigurationError
        if the model has no such rule.
    """
    rules = app.spec(model).rules
    if rule is not None:
        names = [each.name for each in rules]
        if rule not in names:
            raise ConfigurationError([f'there is no rule "{rule}"{did_you_mean(rule, names)}'])
        rules = tuple(each for each in rules if each.name == rule)
    kept = app.store.kept_of(model, needed(rules), span)
    alerts, judged = backtest(rules, newest(kept))
    return summaries(rules, alerts, judged, span), alerts


def as_report(model: str, summed: list[Summary], alerts: list[Alert]) -> str:
    """Tables: a line for each rule, a line for each alert."""
    text = aligned([_HEAD, *(_line(summary) for summary in summed)])
    shown = [ShownAlert(model, alert) for alert in alerts]
    return f"{text}\n\n{alerts_as_table(shown)}" if shown else text


def _line(summary: Summary) -> tuple[str, ...]:
    silent = (
        "" if summary.judged else "nothing kept to judge: figures of the log itself are not kept by window"
    )
    times = (format_duration(summary.firing), format_duration(summary.longest)) if summary.fired else ("", "")
    return (
        summary.rule,
        number(summary.judged),
        number(summary.fired),
        number(round(summary.per_month, 2)),
        *times,
        silent,
    )


def as_plain(model: str, summed: list[Summary], alerts: list[Alert], span: tuple[int, int]) -> str:
    """JSON of both."""
    rules = [
        {
            "rule": summary.rule,
            "judged": summary.judged,
            "fired": summary.fired,
            "per_30_days": summary.per_month,
            "firing_seconds": summary.firing / 1e6,
            "longest_seconds": summary.longest / 1e6,
        }
        for summary in summed
    ]
    shown = [plain_alert(ShownAlert(model, alert)) for alert in alerts]
    start, end = map(to_iso, span)
    return json_text({"model": model, "from": start, "to": end, "rules": rules, "alerts": shown}, indent=1)
