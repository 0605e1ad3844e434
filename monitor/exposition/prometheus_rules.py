"""Alerting rules for Prometheus: what the daemons say fires, forwarded, and the monitor itself. Pure.

A daemon has judged already, with its own patience: Prometheus waits no second time. What it adds is what a
daemon cannot do: to know of several which one speaks of the newest moment, to remember the last word of one
that does not answer, and to say that nobody answers.
"""

import re
from collections.abc import Iterable, Mapping

from monitor.alerts.defaults import NAMES
from monitor.alerts.rules import EVERY, Base, Rule
from monitor.core.clock import SECOND, format_duration
from monitor.exposition.forwarding import AlertingRule, Forwarding, is_model, literal, quoted
from monitor.exposition.names import ALERT_FIRING, AS_OF
from monitor.exposition.plain_yaml import Plain, as_yaml
from monitor.exposition.prometheus_itself import JUDGED, judged, of_cycles, of_daemons
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Unit
from monitor.specs.model import ModelSpec

ALERT = "ModelAlert"
FIRING = "model_monitor:alert_firing"
OWN_RULE = "a_rule_of_your_own"
WRITTEN = "# Written by `monitor export-rules`: write it again when models or rules change.\n"
_PLACE = re.compile(r"\{\w+\}")  # that the daemon fills in: Prometheus cannot


def rules_text(models: Iterable[ModelSpec], how: Forwarding) -> str:
    """File of rules for Prometheus: a group for the monitor itself and all that fires, one for each model."""
    models = tuple(models)
    groups: list[Plain] = [
        _group("model-monitor", {FIRING: _firing(how)}, [*of_daemons(how), unknown(models, how)]),
        *(_of_model(model, how) for model in models),
    ]
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


def _of_model(model: ModelSpec, how: Forwarding) -> Mapping[str, Plain]:
    alerts = [forwarded(model, rule, how) for rule in model.rules]
    return _group(
        f"model-monitor {model.name}", {JUDGED: judged(model, how)}, [*alerts, *of_cycles(model, how)]
    )


def unknown(models: Iterable[ModelSpec], how: Forwarding) -> AlertingRule:
    """What fires and has no rule here: the file is older than the configuration."""
    known = [_of_rules(model) for model in models if model.rules]
    texts = {
        "summary": "{{ $labels.model }}: {{ $labels.rule }}",
        "description": "These rules of Prometheus do not know this rule: write them again.",
        "runbook_url": literal(f"{how.runbook}#{OWN_RULE}"),
    }
    expr = "\nunless ".join([FIRING, *known])
    return AlertingRule(name=ALERT, expr=expr, annotations=texts, keep=how.keep_firing_for)


def _of_rules(model: ModelSpec) -> str:
    names = "|".join(re.escape(rule.name) for rule in model.rules)
    return f"{FIRING}{{{is_model(model)}, rule=~{quoted(names)}}}"


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
