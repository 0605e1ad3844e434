"""How rules would have done, for people: a line for each rule and each alert; JSON."""

from collections.abc import Sequence

from monitor.alerts.rule_backtest import BacktestSummary
from monitor.core.clock import format_duration, to_iso
from monitor.core.text import json_text, number_text
from monitor.show.alert_tables import ShownAlert, alerts_as_table, plain_alert
from monitor.show.terminal_layout import align_columns

_HEAD = ("rule", "checked", "fired", "per 30 days", "firing in all", "longest", "")


def backtest_report(
    summed: Sequence[BacktestSummary], alerts: Sequence[ShownAlert], width: int | None = None
) -> str:
    """Tables: a line for each rule, a line for each alert."""
    text = align_columns([_HEAD, *(_summary_cells(summary) for summary in summed)], width)
    return f"{text}\n\n{alerts_as_table(alerts, width=width)}" if alerts else text


def _summary_cells(summary: BacktestSummary) -> tuple[str, ...]:
    silent = (
        "" if summary.judged else "nothing kept to judge: figures of the log itself are not kept by window"
    )
    times = (format_duration(summary.firing), format_duration(summary.longest)) if summary.fired else ("", "")
    return (
        summary.rule,
        number_text(summary.judged),
        number_text(summary.fired),
        number_text(round(summary.per_month, 2)),
        *times,
        silent,
    )


def backtest_json(
    model: str, summed: Sequence[BacktestSummary], alerts: Sequence[ShownAlert], span: tuple[int, int]
) -> str:
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
    shown = [plain_alert(alert) for alert in alerts]
    start, end = map(to_iso, span)
    return json_text({"model": model, "from": start, "to": end, "rules": rules, "alerts": shown}, indent=1)
