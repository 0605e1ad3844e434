"""Prometheus' alerts about the monitor itself. Here alone wall time is compared, with its own moments."""

from collections.abc import Iterator

from monitor.core.clock import SECOND, format_duration
from monitor.exposition.forwarding import (
    AlertingRule,
    Forwarding,
    is_model,
    literal,
    routed,
    stale_after,
    unjudged_after,
)
from monitor.exposition.names import PREFIX, RULE_SERIES
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


def of_daemons(how: Forwarding) -> Iterator[AlertingRule]:
    """Alerts about daemons."""
    later = how.trouble_after
    none = "No monitor answers: whether the models are well is not known."
    yield _own(
        how, DOWN, none, f"absent({how.of('up')} == 1)", _CRITICAL | {"job": literal(how.job)}, how.down_after
    )
    one = "The monitor {{ $labels.instance }} "
    yield _own(how, REPLICA_DOWN, f"{one}does not answer.", f"{how.of('up')} == 0", _WARNING, later)
    refused = f"{one}refused its new configuration and runs on with the old one."
    accepted = how.of(f"{PREFIX}config_last_reload_successful")
    yield _own(how, RELOAD_FAILED, refused, f"{accepted} == 0", _WARNING, later)
    aside = f"{one}stands aside ({{{{ $labels.reason }}}}): it runs no cycles."
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
    known = how.of(RULE_SERIES, mine, 'verdict!="unknown"')
    lost = f"{how.of(JUDGED, mine)}\nunless on (job, model, rule) {known}"
    rule = f"{model.name}: {{{{ $labels.rule }}}} was judged before and cannot be now: no data."
    yield _own(how, NO_DATA, rule, lost, warning, unjudged_after(model))


def judged(model: ModelSpec, how: Forwarding) -> str:
    """1 for each rule that has been judged once: from then on it is missed where it is not."""
    mine = is_model(model)
    known, series = how.of(RULE_SERIES, mine, 'verdict!="unknown"'), how.of(RULE_SERIES, mine)
    return f"""group by (job, model, rule) ({known})
or
(last_over_time({how.of(JUDGED, mine)}[1d]) and on (job, model, rule) {series})"""


def _own(
    how: Forwarding, name: str, summary: str, expr: str, labels: dict[str, str], hold: int = 0
) -> AlertingRule:
    told = {"summary": summary, "runbook_url": literal(f"{how.runbook}#{name.lower()}")}
    return AlertingRule(name=name, expr=expr, labels=labels, annotations=told, hold=hold)
