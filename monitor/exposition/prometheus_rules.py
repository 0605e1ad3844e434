"""Alerting rules for Prometheus: what the daemons say fires, forwarded, and the monitor itself. Pure.

A daemon has judged already, with its own patience: Prometheus waits no second time. What it adds is what a
daemon cannot do: to know of several which one speaks of the newest moment, to remember the last word of one
that does not answer, and to say that nobody answers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from monitor.alerts.defaults import NAMES
from monitor.alerts.rules import EVERY, Base, Rule
from monitor.core.clock import SECOND, format_duration
from monitor.exposition.forwarding import (
    AlertingRule,
    Forwarding,
    is_model,
    literal,
    quoted,
    routed,
    stale_after,
    unjudged_after,
)
from monitor.exposition.names import ALERT_FIRING, AS_OF, PREFIX, RULE_SERIES
from monitor.exposition.plain_yaml import Plain, as_yaml
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Unit
from monitor.specs.model import ModelSpec

JUDGED = "model_monitor:rule_judged"
DOWN, REPLICA_DOWN = "ModelMonitorDown", "ModelMonitorReplicaDown"
RELOAD_FAILED, ASIDE = "ModelMonitorReloadFailed", "ModelMonitorAside"
NOTICES_STUCK = "ModelMonitorNoticesStuck"
STALE, NEVER_RAN = "ModelMonitorStale", "ModelMonitorNeverRan"
CYCLES_FAIL, MISSING_COLUMNS = "ModelMonitorCyclesFail", "ModelMonitorMissingColumns"
NO_DATA = "ModelMonitorNoData"
ITSELF = (
    *(DOWN, REPLICA_DOWN, RELOAD_FAILED, ASIDE, NOTICES_STUCK),
    *(STALE, NEVER_RAN, CYCLES_FAIL, MISSING_COLUMNS, NO_DATA),
)
_WARNING, _CRITICAL = {"severity": "warning"}, {"severity": "critical"}

ALERT = "ModelAlert"
FIRING = "model_monitor:alert_firing"
OWN_RULE = "a_rule_of_your_own"
WRITTEN = "# Written by `monitor export-rules`: write it again when models or rules change.\n"
_PLACE = re.compile(r"\{\w+\}")  # that the daemon fills in: Prometheus cannot


def of_daemons(how: Forwarding) -> Iterator[AlertingRule]:
    """Alerts about daemons."""
    later = how.trouble_after
    none = "No monitor answers: whether the models are well is not known."
    yield _own(
        how, DOWN, none, f"absent({how.of('up')} == 1)", _CRITICAL | {"job": literal(how.job)}, how.down_after
    )
    daemon = "The monitor {{ $labels.instance }} "
    yield _own(how, REPLICA_DOWN, f"{daemon}does not answer.", f"{how.of('up')} == 0", _WARNING, later)
    refused = f"{daemon}refused its new configuration and runs on with the old one."
    accepted = how.of(f"{PREFIX}config_last_reload_successful")
    yield _own(how, RELOAD_FAILED, refused, f"{accepted} == 0", _WARNING, later)
    aside = f"{daemon}stands aside ({{{{ $labels.reason }}}}): it runs no cycles."
    yield _own(how, ASIDE, aside, f"{how.of(f'{PREFIX}daemon_aside')} == 1", _WARNING, later)
    waits = f"max by (job, channel) ({how.of(f'{PREFIX}notice_age_seconds')}) > {later // SECOND}"
    stuck = "The channel {{ $labels.channel }} takes no notices: they wait."
    yield _own(how, NOTICES_STUCK, stuck, waits, _WARNING)


def of_cycles(model: ModelSpec, how: Forwarding) -> Iterator[AlertingRule]:
    """Alerts about one model's cycles."""
    mine, own = is_model(model), routed(model) | {"model": model.name}
    critical, warning = own | _CRITICAL, own | _WARNING
    limit, later = stale_after(model), how.trouble_after
    seen = format_duration(limit + how.last_word)
    succeeded = f"{how.of(f'{PREFIX}last_success_timestamp_seconds', mine)}[{seen}]"
    age = f"time() - max by (job, model) (last_over_time({succeeded}))"
    stale = (
        f"{model.name}: no cycle has succeeded for three times its every ({format_duration(model.every)})."
    )
    yield _own(how, STALE, stale, f"{age} > {limit // SECOND}", critical)
    never = f"{model.name}: no cycle has succeeded since it is to be watched."
    yield _own(how, NEVER_RAN, never, f"absent_over_time({succeeded})", critical, limit)
    failures = how.of(f"{PREFIX}cycles_total", mine, 'outcome="failure"')
    span = format_duration(how.trouble_after)
    failing = f"sum by (job, model) (increase({failures}[{span}])) > 0"
    yield _own(how, CYCLES_FAIL, f"{model.name}: its cycles fail again and again.", failing, warning, later)
    lacking = f"max by (job, model) ({how.of(f'{PREFIX}missing_columns', mine)}) > 0"
    columns = f"{model.name}: the source lacks columns that are configured."
    yield _own(how, MISSING_COLUMNS, columns, lacking, warning, later)
    decided = how.of(RULE_SERIES, mine, 'verdict!="unknown"')
    lost = f"{how.of(JUDGED, mine)}\nunless on (job, model, rule) {decided}"
    rule = f"{model.name}: {{{{ $labels.rule }}}} was judged before and cannot be now: no data."
    yield _own(how, NO_DATA, rule, lost, warning, unjudged_after(model))


def judged(model: ModelSpec, how: Forwarding) -> str:
    """1 for each rule that has been judged once: from then on it is missed where it is not."""
    mine = is_model(model)
    decided, series = how.of(RULE_SERIES, mine, 'verdict!="unknown"'), how.of(RULE_SERIES, mine)
    return f"""group by (job, model, rule) ({decided})
or
(last_over_time({how.of(JUDGED, mine)}[1d]) and on (job, model, rule) {series})"""


def _own(
    how: Forwarding, name: str, summary: str, expr: str, labels: dict[str, str], hold: int = 0
) -> AlertingRule:
    annotations = {"summary": summary, "runbook_url": literal(f"{how.runbook}#{name.lower()}")}
    return AlertingRule(name=name, expr=expr, labels=labels, annotations=annotations, hold=hold)


def rules_text(models: Iterable[ModelSpec], how: Forwarding) -> str:
    """File of rules for Prometheus: a group for the monitor itself and all that fires, one for each model."""
    models = tuple(models)
    groups: list[Plain] = [
        _group("model-monitor", {FIRING: _firing(how)}, [*of_daemons(how), unknown(models, how)])
    ]
    for model in models:
        alerts = [*(forwarded(model, rule, how) for rule in model.rules), *of_cycles(model, how)]
        groups.append(_group(f"model-monitor {model.name}", {JUDGED: judged(model, how)}, alerts))
    return WRITTEN + as_yaml({"groups": groups})


def forwarded(model: ModelSpec, rule: Rule, how: Forwarding) -> AlertingRule:
    """Prometheus' alert of one rule."""
    anchor = rule.name if rule.name in NAMES else OWN_RULE
    texts = {
        "summary": f"{model.name}: {rule.name}{_stratum(rule)}",
        "description": literal(described(rule)),
        "runbook_url": literal(f"{how.runbook}#{anchor}"),
    }
    given = {name: literal(text) for name, text in rule.annotations if not _PLACE.search(text)}
    return AlertingRule(
        name=ALERT,
        expr=f"{FIRING}{{{is_model(model)}, rule={quoted(rule.name)}}}",
        labels={"model": model.name, "rule": rule.name},
        annotations=texts | given,
        keep=how.keep_firing_for,
    )


def described(rule: Rule) -> str:
    """What a rule judges, in a line.

    >>> from monitor.alerts.rules import Condition, Limit
    >>> described(Rule(name="late", measure="label_age", condition=Condition(above=Limit(3600.0))))
    'label_age: above 1h.'
    """
    many = rule.features == "share"
    subject = f" of {rule.subject}" if rule.subject and not many else ""
    window = f" of {rule.window}" if rule.window else ""
    against = f" against {rule.against}" if rule.against else ""
    truth = f", {rule.truth}" if rule.truth else ""
    share = f"more than {rule.share:.0%}" if rule.share else "any"
    of_many = f", for {share} of {rule.subject}" if many else ""
    return f"{rule.measure}{subject}{window}{against}{truth}: {_condition(rule)}{of_many}."


def _condition(rule: Rule) -> str:
    text, measure = str(rule.condition), BY_NAME.get(rule.measure)
    if measure is None or measure.unit is not Unit.SECONDS:
        return text
    for limit in (rule.condition.above, rule.condition.below):
        if limit is not None and limit.base is Base.ONE:
            text = text.replace(str(limit), format_duration(round(limit.amount) * SECOND))
    return text


def _stratum(rule: Rule) -> str:
    """Which of several series an alert is about, by its labels."""
    patterns = {"version": rule.version, "segment": rule.segment}
    patterns |= {"subject": rule.subject} if rule.features == "each" else {}
    texts = [name for name, pattern in patterns.items() if pattern.endswith(EVERY)]
    return "".join(f" {{{{ $labels.{name} }}}}" for name in texts)


def unknown(models: Iterable[ModelSpec], how: Forwarding) -> AlertingRule:
    """What fires and has no rule here: the file is older than the configuration."""
    selectors = []
    for model in models:
        if model.rules:
            names = "|".join(re.escape(rule.name) for rule in model.rules)
            selectors.append(f"{FIRING}{{{is_model(model)}, rule=~{quoted(names)}}}")
    texts = {
        "summary": "{{ $labels.model }}: {{ $labels.rule }}",
        "description": "These rules of Prometheus do not know this rule: write them again.",
        "runbook_url": literal(f"{how.runbook}#{OWN_RULE}"),
    }
    expr = "\nunless ".join([FIRING, *selectors])
    return AlertingRule(name=ALERT, expr=expr, annotations=texts, keep=how.keep_firing_for)


def _firing(how: Forwarding) -> str:
    """Alerts as the daemon that speaks of the newest moment has them; of a silent one as it had them."""
    firing, as_of, span = how.of(ALERT_FIRING), how.of(AS_OF), format_duration(how.last_word)
    return f"""max without (instance, pod) (
  (
    {firing}
    or
    (last_over_time({firing}[{span}]) unless on (job, instance) ({how.of("up")} == 1))
  )
  and on (job, instance, model)
  (
    last_over_time({as_of}[{span}])
    == on (job, model) group_left ()
    max by (job, model) (last_over_time({as_of}[{span}]))
  )
)"""


def _group(name: str, recorded: Mapping[str, str], alerts: Iterable[AlertingRule]) -> Mapping[str, Plain]:
    records = [{"record": record, "expr": expr} for record, expr in recorded.items()]
    return {"name": name, "rules": [*records, *(alert.plain() for alert in alerts)]}
