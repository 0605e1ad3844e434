"""Alerting rules for Prometheus: what the daemons say fires, forwarded, and the monitor itself. Pure.

A daemon has judged already, with its own patience: Prometheus waits no second time. What it adds is what a
daemon cannot do: to know of several which one speaks of the newest moment, to remember the last word of one
that does not answer, and to say that nobody answers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from urllib.parse import quote

from monitor.alerts.alert_links import page_address
from monitor.alerts.alert_phrases import has_placeholders, rule_words
from monitor.alerts.alert_rules import EVERY, Rule, Severity
from monitor.core.clock import MINUTE, SECOND, format_duration
from monitor.exposition.forwarding import (
    OWN_RULE,
    RUNBOOK,
    AlertForwarding,
    AlertingRule,
    is_reachable_address,
    literal_text,
    model_matcher,
    owner_annotation,
    promql_text,
    routed_labels,
    runbook_section,
    stale_after,
    unjudged_after,
)
from monitor.exposition.metric_names import ALERT_FIRING, ALERT_SAID, AS_OF, PREFIX, RULE_SERIES
from monitor.exposition.plain_yaml import Plain, as_yaml
from monitor.specs.model_spec import ModelSpec

JUDGED = "model_monitor:rule_judged"
DOWN, REPLICA_DOWN, STORE_AWAY = "ModelMonitorDown", "ModelMonitorReplicaDown", "ModelMonitorStoreAway"
RELOAD_FAILED, ASIDE = "ModelMonitorReloadFailed", "ModelMonitorAside"
NOTICES_STUCK = "ModelMonitorNoticesStuck"
STALE, NEVER_RAN = "ModelMonitorStale", "ModelMonitorNeverRan"
CYCLES_FAIL, MISSING_COLUMNS = "ModelMonitorCyclesFail", "ModelMonitorMissingColumns"
NO_DATA = "ModelMonitorNoData"
_LOG = "its log (`journalctl -u monitor`, `kubectl logs`)"
_ACTIONS = {
    DOWN: f"Look whether it runs (`systemctl status monitor`, `kubectl get pods`), at {_LOG}, and at "
    "Prometheus' targets. Start it: it runs the ticks it missed, as far back as [daemon] catch_up (24h). "
    "After a longer outage first run `monitor replay --run live --from A --to B`, A before it and B now. "
    "Other alerts of it may be muted meanwhile.",
    REPLICA_DOWN: f"Look whether it runs, and at {_LOG}. Start it. The others run its cycles.",
    STORE_AWAY: f"/readyz and {_LOG} say which file or server, and why. Lost: put the same file back; do not "
    "run `monitor cycle`, and do not restart before. Silent: mend the database; it goes on by itself.",
    RELOAD_FAILED: f"`monitor check` and {_LOG} name every fault. Mend them, then reload (SIGHUP).",
    ASIDE: "A newer configuration, a newer schema or a replay has the run. Bring all to the same version and "
    "file, then restart the one that stands aside.",
    NOTICES_STUCK: f"Read the channel's answer in {_LOG}. Mend the channel: what waits is delivered then.",
    STALE: f"/healthz and {_LOG} say why. Mend that: cycles are tried again by themselves.",
    NEVER_RAN: "Reload it (SIGHUP) if the model is new. If the model is gone, write these rules again "
    "(`monitor export-rules`).",
    CYCLES_FAIL: f"/healthz and {_LOG} say why. Mend that: cycles are tried again by themselves.",
    MISSING_COLUMNS: "`monitor check` names them. Bring them back, or take them out of the configuration.",
    NO_DATA: "`monitor status --model` says what cannot be judged, and what would help.",
}
"""What to do at once: the link to the runbook may lead to the daemon that is down."""
ITSELF = tuple(_ACTIONS)
_WARNING, _CRITICAL = {"severity": "warning"}, {"severity": "critical"}

_RETRIED = 5 * MINUTE  # a cycle that failed is tried again within it

ALERT = "ModelAlert"
FIRING = "model_monitor:alert_firing"
WRITTEN = "# Written by `monitor export-rules`: write it again when models or rules change.\n"
_MANIFEST: dict[str, Plain] = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "PrometheusRule",
    "metadata": {"name": "monitor", "labels": {"app.kubernetes.io/name": "monitor"}},
}
_OF_ALERT = ("model", "rule", "version", "segment", "window", "subject")  # labels: which alert it is


def _label_template(label: str) -> str:
    """Template: a label's value as part of an address."""
    return f"{{{{ urlquery $labels.{label} }}}}"


"""Template: which alert of a rule an address means; what is empty is the whole."""


def daemon_rules(how: AlertForwarding) -> Iterator[AlertingRule]:
    """Alerts about daemons."""
    later = how.trouble_after
    none = "No monitor answers: whether the models are well is not known."
    up, job = how.family_selector("up"), {"job": literal_text(how.job)}
    yield _make_monitor_alert(
        how, DOWN, none, f"absent({up} == 1)", _CRITICAL | job, how.down_after, _unreached_template(up)
    )
    daemon = "The monitor {{ $labels.instance }} "
    yield _make_monitor_alert(how, REPLICA_DOWN, f"{daemon}does not answer.", f"{up} == 0", _WARNING, later)
    lost = f"{daemon}has no store ({{{{ $labels.reason }}}}): nothing is measured."
    away = f"{how.family_selector(f'{PREFIX}store_away')} == 1"
    yield _make_monitor_alert(how, STORE_AWAY, lost, away, _CRITICAL, how.down_after)
    refused = f"{daemon}refused its new configuration and runs on with the old one."
    accepted = how.family_selector(f"{PREFIX}config_last_reload_successful")
    yield _make_monitor_alert(how, RELOAD_FAILED, refused, f"{accepted} == 0", _WARNING, later)
    aside = f"{daemon}stands aside ({{{{ $labels.reason }}}}): it runs no cycles."
    yield _make_monitor_alert(
        how, ASIDE, aside, f"{how.family_selector(f'{PREFIX}daemon_aside')} == 1", _WARNING, later
    )
    waits = (
        f"max by (job, channel) ({how.family_selector(f'{PREFIX}notice_age_seconds')}) > {later // SECOND}"
    )
    stuck = "The channel {{ $labels.channel }} takes no notices: they wait."
    yield _make_monitor_alert(how, NOTICES_STUCK, stuck, waits, _WARNING)


def _unreached_template(up: str) -> str:
    """Template: which targets Prometheus has, where none answers."""
    each = "{{ range . }} {{ .Labels.instance }}{{ end }}"
    none = " Prometheus has no such target"
    return f"Not reached:{{{{ with {promql_text(up)} | query }}}}{each}{{{{ else }}}}{none}{{{{ end }}}}"


def cycle_rules(model: ModelSpec, how: AlertForwarding) -> Iterator[AlertingRule]:
    """Alerts about one model's cycles."""
    mine, own = model_matcher(model), routed_labels(model) | {"model": model.name}
    critical, warning = own | _CRITICAL, own | _WARNING
    alert = partial(_make_monitor_alert, how, owner=owner_annotation(model))
    limit, later = stale_after(model), how.trouble_after
    seen = format_duration(limit + how.last_word)
    succeeded = f"{how.family_selector(f'{PREFIX}last_success_timestamp_seconds', mine)}[{seen}]"
    age = f"time() - max by (job, model) (last_over_time({succeeded}))"
    every = format_duration(model.keys.every)
    stale = f"{model.name}: no cycle has succeeded for three times its every ({every})."
    yield alert(STALE, stale, f"{age} > {limit // SECOND}", critical)
    never = f"{model.name}: no cycle has succeeded since it is to be watched."
    yield alert(NEVER_RAN, never, f"absent_over_time({succeeded})", critical, limit)
    failures = how.family_selector(f"{PREFIX}cycles_total", mine, f"outcome={promql_text('failure')}")
    failed = f"sum by (job, model) (increase({failures}[{format_duration(later)}])) > 0"
    failing = f"{failed}\nunless\n{age} < {_RETRIED // SECOND}"
    yield alert(
        CYCLES_FAIL,
        f"{model.name}: its cycles fail, and none succeeds: /healthz says why.",
        failing,
        warning,
        later,
    )
    lacking = f"max by (job, model) ({how.family_selector(f'{PREFIX}missing_columns', mine)}) > 0"
    columns = f"{model.name}: the source lacks columns that are configured."
    yield alert(MISSING_COLUMNS, columns, lacking, warning, later)
    decided = how.family_selector(RULE_SERIES, mine, 'verdict!="unknown"')
    lost = f"{how.family_selector(JUDGED, mine)}\nunless on (job, model, rule) {decided}"
    rule = f"{model.name}: {{{{ $labels.rule }}}} was judged before and cannot be now: no data."
    yield alert(NO_DATA, rule, lost, warning, unjudged_after(model))


def judged_expression(model: ModelSpec, how: AlertForwarding) -> str:
    """1 for each rule that has been judged once: from then on it is missed where it is not."""
    mine = model_matcher(model)
    decided, series = (
        how.family_selector(RULE_SERIES, mine, 'verdict!="unknown"'),
        how.family_selector(RULE_SERIES, mine),
    )
    return f"""group by (job, model, rule) ({decided})
or
(last_over_time({how.family_selector(JUDGED, mine)}[1d]) and on (job, model, rule) {series})"""


def _make_monitor_alert(
    how: AlertForwarding,
    name: str,
    summary: str,
    expr: str,
    labels: dict[str, str],
    hold: int = 0,
    description: str = "",
    owner: dict[str, str] | None = None,
) -> AlertingRule:
    annotations = {"summary": summary} | ({"description": description} if description else {})
    annotations |= {"action": _ACTIONS[name]} | how.runbook_annotation(name.lower())
    annotations |= (
        how.page_annotation(page_address(("models", labels["model"]), {})) if "model" in labels else {}
    )
    annotations |= owner or {}
    return AlertingRule(name=name, expr=expr, labels=labels, annotations=annotations, hold=hold)


def rules_text(models: Iterable[ModelSpec], how: AlertForwarding, *, kubernetes: bool = False) -> str:
    """File of rules for Prometheus: a group for the monitor itself and all that fires, one for each model.

    What is for information alone is shown, and nobody is told of it.

    Parameters
    ----------
    kubernetes
        the same rules as a PrometheusRule, which the Prometheus Operator hands to its Prometheus.
    """
    models = tuple(models)
    groups: list[Plain] = [
        _rule_group(
            "model-monitor",
            {FIRING: _firing_expression(how)},
            [*daemon_rules(how), unknown_rule_alert(models, how)],
        )
    ]
    for model in models:
        told = (rule for rule in model.rules if rule.severity is not Severity.INFO)
        alerts = [*(forwarded_alert(model, rule, how) for rule in told), *cycle_rules(model, how)]
        groups.append(
            _rule_group(f"model-monitor {model.name}", {JUDGED: judged_expression(model, how)}, alerts)
        )
    rules: dict[str, Plain] = {"groups": groups}
    return WRITTEN + as_yaml({**_MANIFEST, "spec": rules} if kubernetes else rules)


def forwarded_alert(model: ModelSpec, rule: Rule, how: AlertForwarding) -> AlertingRule:
    """Prometheus' alert of one rule."""
    told = {name: text for name, text in rule.annotations if not has_placeholders(text)}
    instead = f"{literal_text(told.pop('summary', '')) or rule.name}{_stratum_template(rule)}"
    if not is_reachable_address(told.get(RUNBOOK, "")):
        told.pop(RUNBOOK, None)
    texts = {
        "summary": f"{model.name}: {_firing_text_template(how, instead)}",
        "description": literal_text(rule_words(rule)),
        **how.runbook_annotation(runbook_section(rule.name)),
        **how.page_annotation(_decision_page(quote(model.name, safe=""))),
    }
    given = {name: literal_text(text) for name, text in told.items()}
    return AlertingRule(
        name=alert_name(rule.name),
        expr=how.family_selector(FIRING, model_matcher(model), f"rule={promql_text(rule.name)}"),
        labels={"model": model.name, "rule": rule.name},
        annotations=texts | given,
        keep=how.keep_firing_for,
    )


def alert_name(rule: str) -> str:
    """Prometheus' name of a rule's alert: it says the rule.

    >>> alert_name("feature_shift"), alert_name("a.b-c"), alert_name("monitor_down"), alert_name("--")
    ('ModelFeatureShift', 'ModelABC', 'ModelAlert', 'ModelAlert')
    """
    words = re.split(r"[\W_]+", rule)
    name = "Model" + "".join(word[:1].upper() + word[1:] for word in words)
    return ALERT if name in (*ITSELF, "Model") else name


def _firing_text_template(how: AlertForwarding, instead: str) -> str:
    """Template: what the daemons said last of an alert, looked up by its labels; else another template.

    A label of the alert would make a new alert of each new value: so the text is looked up.
    """
    wanted = ", ".join(f"{label}=%q" for label in _OF_ALERT)
    job = promql_text(how.job).replace("%", "%%")
    newest = f"{ALERT_SAID}{{job={job}, {wanted}}}[{format_duration(how.last_word)}]"
    values = " ".join(f"$labels.{label}" for label in _OF_ALERT)
    asked = f"printf {promql_text(f'topk(1, last_over_time({newest}))')} {values} | query"
    return f'{{{{ with {asked} }}}}{{{{ . | first | label "text" }}}}{{{{ else }}}}{instead}{{{{ end }}}}'


def _decision_page(model: str) -> str:
    """Template: the page of the incident, where one decides; of an alert that is in none the list.

    `model`: as a part of an address, or a template of it.
    """
    incident = f"incidents/{_label_template('incident')}#decide"
    return f"/models/{model}/{{{{ if $labels.incident }}}}{incident}{{{{ else }}}}alerts{{{{ end }}}}"


def _stratum_template(rule: Rule) -> str:
    """Which of several series an alert is about, by its labels."""
    patterns = {"version": rule.version, "segment": rule.segment}
    patterns |= {"subject": rule.subject} if rule.features == "each" else {}
    texts = [name for name, pattern in patterns.items() if pattern.endswith(EVERY)]
    return "".join(f" {{{{ $labels.{name} }}}}" for name in texts)


def unknown_rule_alert(models: Iterable[ModelSpec], how: AlertForwarding) -> AlertingRule:
    """What fires and has no rule here: the file is older than the configuration."""
    selectors = []
    for model in models:
        if model.rules:
            names = "|".join(re.escape(rule.name) for rule in model.rules)
            selectors.append(how.family_selector(FIRING, model_matcher(model), f"rule=~{promql_text(names)}"))
    texts = {
        "summary": "{{ $labels.model }}: " + _firing_text_template(how, "{{ $labels.rule }}"),
        "description": "These rules of Prometheus do not know this rule: write them again.",
        **how.runbook_annotation(OWN_RULE),
        **how.page_annotation(_decision_page(_label_template("model"))),
    }
    expr = "\nunless ".join([how.family_selector(FIRING), *selectors])
    return AlertingRule(name=ALERT, expr=expr, annotations=texts, keep=how.keep_firing_for)


def _firing_expression(how: AlertForwarding) -> str:
    """Alerts as the daemon that speaks of the newest moment has them; of a silent one as they stood.

    What stood is what was recorded last: an alert that ended before the silence stays ended.
    """
    as_of, span = how.family_selector(AS_OF), format_duration(how.last_word)
    newest = f"on (job, model) group_left () max by (job, model) (last_over_time({as_of}[{span}]))"
    return f"""max without (instance, pod) (
  {how.family_selector(ALERT_FIRING)} and on (job, instance, model) ({as_of} == {newest})
)
or
(
  {how.family_selector(FIRING)}
  and on (job, model)
  ((last_over_time({as_of}[{span}]) == {newest}) unless on (job, instance) ({how.family_selector("up")} == 1))
  unless on (job, model)
  ({as_of} == {newest})
)"""


def _rule_group(
    name: str, recorded: Mapping[str, str], alerts: Iterable[AlertingRule]
) -> Mapping[str, Plain]:
    records = [{"record": record, "expr": expr} for record, expr in recorded.items()]
    return {"name": name, "rules": [*records, *(alert.plain_rule() for alert in alerts)]}
