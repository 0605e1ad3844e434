"""What stands behind the names of tabs: one definition of each count, on every page of a model."""

from collections.abc import Sequence

from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.pages.page_templates import TabCount
from monitor.sentences.known_measurements import FEATURE
from monitor.show.alert_tables import ShownAlert


def count_tabs(alerts: Sequence[ShownAlert]) -> dict[str, TabCount]:
    """Alerts that fire, and features that have one; what is for information alone is counted nowhere."""
    firing = [
        shown.alert
        for shown in alerts
        if shown.alert.state is AlertState.FIRING and shown.alert.severity is not Severity.INFO
    ]
    inputs = [alert for alert in firing if alert.series.subject.startswith(FEATURE)]
    return {
        "Inputs": TabCount(len({alert.series.subject for alert in inputs}), _worst_kind(inputs)),
        "Alerts": TabCount(len(firing), _worst_kind(firing)),
    }


def _worst_kind(alerts: Sequence[Alert]) -> str:
    return min((alert.severity for alert in alerts), key=list(Severity).index, default="")
