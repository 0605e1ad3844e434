"""An example of each default rule's message, and of two of one's own, for `docs/messages.md`.

Made-up figures, real words.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_messages import Notice, Recipient, make_notices
from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, LimitBase, Rule, RuleLimit
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.incident_life import RECOVERY, JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.incidents import describe_incidents
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change, ExpectedBand, SegmentShare, UnitFigures
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.core.measurement import DetailTable
from monitor.measures.measurement_comparison import contribution_columns

_GREW = """
### How an incident grows

A second message comes where it turns critical, or where a new kind of alert belongs to it.
So it is where it is twice as large: by the number of its alerts, or by one of them.
"""
_RESOLVED = """
### How an incident ends

Two days after the last of its alerts, unless one fires again. It says why that ended:

* `cleared`: back within the limit, or no longer clearly beyond it: it says which;
* `revised`: later labels or corrections took the breach back;
* `no_data`: nothing is known any more, which is no all-clear.

At once, where nothing is waited for:

* `usual`: the change is still there, but after 28 days it is what is expected;
* `accepted`: you expect the change;
* `removed`: the rule was taken out of the configuration.
"""
_TOGETHER = """
### Several alerts of one cause

One message, the largest first.
"""
_JSON = """
### A webhook's body

"""
_MODEL = "late"
_AT, _END = from_iso("2013-06-09T06:15:00"), from_iso("2013-06-09T06:00:00")
_NOTES = (("owner", "ml-platform"), ("runbook_url", "https://wiki.example/late"))


@dataclass(frozen=True, slots=True)
class _Figures:
    value: float
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    limit: float | None = None
    beside: float | None = None
    cause: DetailTable | None = None
    change: Change | None = None


_CELLS = DetailTable(
    ("cell", "expected", "actual", "contribution"),
    (
        ("0.612 to 0.744", 0.1, 0.1871, 0.0546),
        ("0.744 to 1", 0.1, 0.1702, 0.0373),
        ("below 0.081", 0.1, 0.0618, 0.0184),
    ),
)
_SEGMENTS = DetailTable(
    contribution_columns("accuracy"),
    (
        ("origin=EWR", -0.0312, 0.6318, 0.7105, 0.3621, 0.3604),
        ("origin=LGA", -0.0174, 0.6702, 0.7214, 0.3108, 0.3098),
    ),
)


_UNIT = DetailTable(
    _CELLS.columns,
    (("below 71.2", 0.1, 0.3914, 0.3976), ("71.2 to 78.9", 0.1, 0.0655, 0.0146)),
)


_AUC = Change(
    kind="roc_auc",
    rises=False,
    observed=0.6641,
    expected=ExpectedBand(0.7166, 0.7498),
    since="2013-06-06",
    chance_months=391.0,
    watched_subjects=21,
    segment=SegmentShare("origin=EWR", 0.71, 0.36),
)
_TEMP = Change(
    kind="level",
    observed=1.3812,
    expected=ExpectedBand(-0.1844, 0.2005),
    in_unit=UnitFigures(92.74, 61.86, 69.44),
    since="2013-06-08",
    chance_months=5.2e7,
    watched_subjects=21,
    segment=SegmentShare(),
)
_CARRIER = Change(
    kind="share",
    category="UA",
    observed=0.2719,
    expected=ExpectedBand(0.1713, 0.1968),
    averaged_days=2,
    since="2013-06-07",
    chance_months=2_130.0,
    watched_subjects=21,
    segment=SegmentShare("origin=EWR", 0.93, 0.36),
)


_EXAMPLES: Mapping[str, _Figures] = {
    "log_stopped": _Figures(151_200.0),
    "labels_stopped": _Figures(777_600.0),
    "misdated_records": _Figures(0.4, 0.3727, 0.4279, 1_230),
    "performance_changed": _Figures(11.2, n=904, change=_AUC),
    "changed": _Figures(9.1e6, n=904, change=_TEMP),
    "performance": _Figures(-0.0743, -0.0921, -0.0565, 6_204, -0.0371, 0.742, _SEGMENTS),
    "performance_nowcast": _Figures(-0.0611, -0.0803, -0.0419, 19_871, -0.0371, 0.742),
    "score_shift": _Figures(0.1284, n=6_318, limit=0.1, beside=0.0041, cause=_CELLS),
    "feature_far_off": _Figures(0.4206, n=6_318, limit=0.25, beside=0.0043, cause=_UNIT),
    "control_group": _Figures(0.0121, n=41_006),
    "sample_ratio": _Figures(0.0034, n=41_006),
}

_OWN = (
    Rule(
        name="score_shift",
        measure="stability_index",
        condition=BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.1)),
        subject="score",
        window="7d",
        annotations=(
            ("summary", "The score's distribution has moved"),
            ("action", "Look at the cells that moved, then at the features and at the newest version."),
        ),
    ),
    Rule(
        name="feature_far_off",
        measure="stability_index",
        condition=BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.25)),
        subject="feature:*",
        window="7d",
        annotations=(
            ("summary", "A feature is far from the reference"),
            ("action", "Look at the feature's source: unit, scale and codes, and what was deployed last."),
        ),
    ),
)


def markdown() -> str:
    """The examples, as a part of the page."""
    return "".join(_parts()).lstrip()


def notices_of(
    rules: Sequence[Rule],
    *rounds: Sequence[Alert],
    recipients: Sequence[Recipient] = (Recipient("ml-chat"),),
    url: str = "",
    model: str = _MODEL,
) -> list[Notice]:
    """Notices of the last of some rounds, in each of which these alerts fire.

    Parameters
    ----------
    rounds
        where the last one's alerts are resolved, they fired before, and their incident is over after it.
    """
    moments = []
    for alerts in rounds:
        firing = {
            alert.series: replace(alert, state=AlertState.FIRING, resolved_at=None, ended=None)
            for alert in alerts
        }
        moments.append(JudgedMoment(max(alert.judged_at for alert in alerts), firing))
    last = rounds[-1]
    ended = [alert for alert in last if alert.resolved_at is not None]
    if ended:
        end = max(alert.resolved_at or 0 for alert in ended)
        moments += [JudgedMoment(end, {}, ended), JudgedMoment(end + RECOVERY, {})]
    before = advance_incidents(ModelIncidents(), moments[:-1], rules).incidents
    grouped = advance_incidents(before, moments[-1:], rules)
    incidents = grouped.written or advance_incidents(ModelIncidents(), moments, rules).written
    steps = grouped.steps or {one.address: one.steps[-1] for one in incidents}
    described = describe_incidents(incidents, [(alert, "") for alert in last], rules)
    told = [(incident, steps[incident.address]) for incident in described]
    return [*make_notices(model, told, recipients, moments[-1].at, url)]


def _parts() -> Iterator[str]:
    rules = [replace(rule, annotations=(*rule.annotations, *_NOTES)) for rule in (*default_rules(ALL), *_OWN)]
    for rule in rules:
        yield f"\n### `{rule.name}`\n\n{_shown(rules, [_alert(rule)])}"
    by_name = {rule.name: rule for rule in rules}
    yield _TOGETHER
    worse, changed = by_name["performance_changed"], by_name["changed"]
    temp, score = _alert(changed), _alert(changed, "score")
    carrier = _alert(changed, "feature:carrier", replace(_EXAMPLES["changed"], value=62.0, change=_CARRIER))
    yield f"\n{_shown(rules, [temp, carrier, score])}"
    yield _GREW
    nowcast = _earlier(_alert(by_name["performance_nowcast"]))
    yield f"\n{_shown(rules, [nowcast], [nowcast, _alert(worse)])}"
    yield _RESOLVED
    for ended in (EndReason.CLEARED, EndReason.NO_DATA):
        yield f"\n{_shown(rules, [_ended(_alert(by_name['score_shift']), ended)])}"
    yield _JSON
    body = {"key": "5e884898da280471", "channel": "ml-chat"} | _payload(
        rules, [_alert(by_name["performance"])]
    )
    yield f"```json\n{json.dumps(body, indent=2, ensure_ascii=False)}\n```\n"


_SUBJECT = {"changed": "feature:temp_f", "feature_far_off": "feature:humid"}


def _shown(rules: Sequence[Rule], *rounds: Sequence[Alert]) -> str:
    payload = _payload(rules, *rounds)
    return f"`{payload['title']}`\n\n```text\n{payload['text']}\n```\n"


def _payload(rules: Sequence[Rule], *rounds: Sequence[Alert]) -> dict[str, object]:
    (notice,) = notices_of(rules, *rounds)
    payload: dict[str, object] = json.loads(notice.payload)
    return payload


def _alert(rule: Rule, subject: str | None = None, figures: _Figures | None = None) -> Alert:
    figures = figures or _EXAMPLES[rule.name]
    limit = figures.limit
    if limit is None:
        sides = (rule.condition.above, rule.condition.below)
        limits = [side.amount for side in sides if side is not None]
        limit = min(limits, key=lambda one: abs(one - figures.value))
    verdict = Verdict(
        outcome=Outcome.BREACH,
        window_end=_END if rule.window else _AT,
        value=figures.value,
        lower=figures.lower,
        upper=figures.upper,
        n=figures.n,
        limit=limit,
        beside=figures.beside,
        cause=figures.cause,
        change=figures.change,
    )
    return Alert(
        series=AlertedSeries(
            rule.name, window=rule.window, subject=subject or _SUBJECT.get(rule.name, rule.subject)
        ),
        severity=rule.severity,
        state=AlertState.FIRING,
        since=_AT - rule.hold,
        judged_at=_AT,
        verdict=verdict,
        breach=verdict,
        fired_at=_AT,
    )


def _earlier(alert: Alert) -> Alert:
    return replace(alert, since=alert.since - DAY, fired_at=alert.since - DAY, judged_at=_AT - DAY)


def _ended(alert: Alert, why: EndReason) -> Alert:
    now = replace(alert.verdict, outcome=Outcome.CLEAR, value=0.0312, cause=None)
    return replace(
        alert,
        state=AlertState.RESOLVED,
        ended=why,
        resolved_at=_AT,
        since=_AT - 2 * DAY - 3 * HOUR,
        fired_at=_AT - 2 * DAY - 3 * HOUR,
        judged_at=_AT - HOUR,
        verdict=now,
    )
