"""Tests of the rules for Prometheus, for `promtool test rules`: what is claimed of them, shown."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_plus

from click.testing import CliRunner

from monitor.alerts.alert_rules import EVERY, Rule, Severity
from monitor.cli import main
from monitor.cli.prometheus_commands import export_rules
from monitor.config.config_loading import settings_of
from monitor.core.clock import MINUTE, SECOND, format_duration
from monitor.exposition import prometheus_rules as itself
from monitor.exposition.forwarding import (
    AlertForwarding,
    AlertingRule,
    is_reachable_address,
    promql_text,
    stale_after,
    unjudged_after,
)
from monitor.exposition.metric_names import ALERT_FIRING, ALERT_SAID, AS_OF, PREFIX, RULE_SERIES
from monitor.exposition.plain_yaml import Plain, as_yaml
from monitor.exposition.prometheus_rules import ALERT, FIRING, alert_name, forwarded_alert, unknown_rule_alert
from monitor.specs.model_spec import ModelSpec

_LONGEST_STEP = 5 * MINUTE  # a series is seen for so long
_MOST_STEPS = 1_000  # promtool takes seconds for so many
_SAID = "(said)"
_OF_ALERT = ("model", "rule", "version", "segment", "window", "subject")
_LIFE = 10  # steps before something happens
_OF_INCIDENT = re.compile(r"\{\{ if \$labels\.incident \}\}(.*?)\{\{ else \}\}(.*?)\{\{ end \}\}")
_LOOKED_UP = re.compile(r"\{\{ with .*? \| query \}\}.*?\{\{ else \}\}(.*)\{\{ end \}\}", re.DOTALL)
_TEMPLATE = re.compile(r'\{\{ (?:(urlquery )?\$labels\.(\w+)|"\{\{") \}\}')
_A, _B = "a:9839", "b:9839"  # two replicas
_Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Case:
    """Series that come in, and what fires at which step: an alert's name, each one's labels and notes."""

    name: str
    series: Sequence[Plain]
    checks: Sequence[tuple[int, str, Sequence[Plain]]]


@dataclass(frozen=True, slots=True)
class _Bench:
    """What all cases are made with."""

    models: tuple[ModelSpec, ...]
    how: AlertForwarding
    step: int

    def steps(self, duration: int) -> int:
        """Steps that a duration takes, rounded up."""
        return -(-duration // self.step)

    def series(self, family: str, values: str, instance: str = _A, **labels: str) -> Plain:
        """One series that comes in."""
        told = {"job": self.how.job, "instance": instance} | labels
        inside = ", ".join(f"{name}={promql_text(value)}" for name, value in told.items() if value)
        return {"series": f"{family}{{{inside}}}", "values": values}

    def firing(self, labels: _Labels, values: str, instance: str = _A) -> Plain:
        """The series of an alert."""
        return self.series(ALERT_FIRING, values, instance, **labels)

    def as_of(self, model: ModelSpec, values: str, instance: str = _A) -> Plain:
        """The series that tells of which moment a model's measurements speak."""
        return self.series(AS_OF, values, instance, model=model.name)

    def said(self, labels: _Labels, text: str, values: str, instance: str = _A) -> Plain:
        """The series of what an alert says."""
        own = {name: value for name, value in labels.items() if name in _OF_ALERT}
        return self.series(ALERT_SAID, values, instance, **own, text=text)

    def forwarded(self, model: ModelSpec, rule: Rule, text: str | None = None) -> Plain:
        """The alert that is expected of a rule; it says this text."""
        return self.expected(forwarded_alert(model, rule, self.how), _labels(model, rule), text)

    def expected(self, alert: AlertingRule, labels: _Labels, text: str | None = None) -> Plain:
        """An alert that is expected: of a series with these labels; it says this text."""
        there = {**labels, "job": self.how.job}
        whole = there | {name: _filled(text, there) for name, text in alert.labels.items()}
        told = {name: value for name, value in whole.items() if value}
        notes = {name: _filled(note, there, text) for name, note in alert.annotations.items()}
        return {"exp_labels": told, "exp_annotations": notes}


def exported_with_tests(
    config: Path, directory: Path, *options: str, env: Mapping[str, str] | None = None
) -> None:
    """Export rules as the command does, to `rules.yaml`, with tests of them beside it in `tests.yaml`."""
    given = ["--config", str(config), "--output", str(directory / "rules.yaml"), *options]
    done = CliRunner(env=env).invoke(main, ["export-rules", *given])
    assert done.exit_code == 0, done.output
    how = export_rules.make_context("export-rules", given).params
    how = {name: how[name] for name in AlertForwarding.__dataclass_fields__ if name in how}
    settings = settings_of(config, env or {})
    how["url"] = settings.http.url or ""
    runbook = how["runbook"] or f"{how['url']}/runbook"
    how["runbook"] = runbook if is_reachable_address(runbook) else ""
    (directory / "tests.yaml").write_text(
        tests_text(settings.models, AlertForwarding(**how), "rules.yaml"), encoding="utf-8"
    )


def tests_text(models: Iterable[ModelSpec], how: AlertForwarding, rules_file: str) -> str:
    """File of tests for the file of rules of the same models.

    Parameters
    ----------
    rules_file
        seen from the file of tests.
    """
    step = min(how.keep_firing_for, _LONGEST_STEP)
    bench = _Bench(tuple(models), how, step)
    cases = [*_of_daemons(bench), *(case for model in bench.models for case in _of_model(bench, model))]
    quickest = min(bench.models, key=unjudged_after, default=None)
    if quickest is not None and bench.steps(unjudged_after(quickest)) <= _MOST_STEPS:
        cases.append(_no_data(bench, quickest))
    interval = format_duration(step)
    tests: list[Plain] = [_plain(case, step) for case in cases]
    return as_yaml({"rule_files": [rules_file], "evaluation_interval": interval, "tests": tests})


def _plain(case: _Case, step: int) -> Mapping[str, Plain]:
    checks: list[Plain] = [
        {"eval_time": format_duration(at * step), "alertname": name, "exp_alerts": alerts}
        for at, name, alerts in case.checks
    ]
    told: dict[str, Plain] = {"name": case.name, "interval": format_duration(step)}
    return told | {"input_series": case.series, "alert_rule_test": checks}


def _labels(model: ModelSpec, rule: Rule) -> dict[str, str]:
    """Labels of an alert of a rule; a pattern stands for an example."""
    subject = rule.subject if rule.features == "share" else rule.subject.replace(EVERY, "x")
    return {
        "model": model.name,
        "rule": rule.name,
        "version": rule.version.replace(EVERY, "1"),
        "segment": "column=x" if rule.segment == EVERY else rule.segment.replace(EVERY, "x"),
        "window": rule.window,
        "subject": subject,
        "severity": rule.severity.value,
        **dict(rule.labels),
    }


def _filled(text: str, labels: _Labels, said: str | None = None) -> str:
    """Template with its labels and what is looked up, as Prometheus fills it in."""
    text = _OF_INCIDENT.sub(lambda found: found[1] if labels.get("incident") else found[2], text)
    text = _LOOKED_UP.sub(lambda found: found[1] if said is None else _SAID, text)
    if said is not None and _SAID in text:
        return _filled(text, labels).replace(_SAID, said)
    return _TEMPLATE.sub(lambda found: _value(labels, found[1], found[2]) if found[2] else "{{", text)


def _value(labels: _Labels, escaped: str | None, name: str) -> str:
    value = labels.get(name, "")
    return quote_plus(value) if escaped else value


def _of_daemons(bench: _Bench) -> Iterator[_Case]:
    alerts = {alert.name: alert for alert in itself.daemon_rules(bench.how)}
    later = bench.steps(bench.how.trouble_after) + 2
    one, mail = {"instance": _A}, {"channel": "mail"}
    aside = one | {"reason": "configuration"}
    yield _Case(
        "of two monitors one does not answer",
        [bench.series("up", f"0x{later}"), bench.series("up", f"1x{later}", _B)],
        [
            (later, itself.REPLICA_DOWN, [bench.expected(alerts[itself.REPLICA_DOWN], one)]),
            (later, itself.DOWN, []),
        ],
    )
    yield _Case("no monitor was ever there", [], [_down(bench, bench.steps(bench.how.down_after) + 1)])
    yield _Case(
        "a configuration is refused, a monitor stands aside, its store is lost, notices wait",
        [
            bench.series("up", f"1x{later}"),
            bench.series(f"{PREFIX}config_last_reload_successful", f"0x{later}"),
            bench.series(f"{PREFIX}daemon_aside", f"1x{later}", reason="configuration"),
            bench.series(f"{PREFIX}daemon_aside", f"0x{later}", reason="schema"),
            bench.series(f"{PREFIX}store_away", f"1x{later}", reason="lost"),
            bench.series(f"{PREFIX}store_away", f"0x{later}", reason="silent"),
            bench.series(f"{PREFIX}notice_age_seconds", f"1000000x{later}", **mail),
            bench.series(f"{PREFIX}notice_age_seconds", f"0x{later}", channel="chat"),
        ],
        [
            (later, itself.RELOAD_FAILED, [bench.expected(alerts[itself.RELOAD_FAILED], one)]),
            (later, itself.STORE_AWAY, [bench.expected(alerts[itself.STORE_AWAY], one | {"reason": "lost"})]),
            (later, itself.ASIDE, [bench.expected(alerts[itself.ASIDE], aside)]),
            (later, itself.NOTICES_STUCK, [bench.expected(alerts[itself.NOTICES_STUCK], mail)]),
        ],
    )


def _down(bench: _Bench, at: int, unreached: str | None = None) -> tuple[int, str, Sequence[Plain]]:
    alert = next(alert for alert in itself.daemon_rules(bench.how) if alert.name == itself.DOWN)
    return (at, itself.DOWN, [bench.expected(alert, {}, unreached)])


def _of_model(bench: _Bench, model: ModelSpec) -> Iterator[_Case]:
    yield _healthy(bench, model)
    yield _in_trouble(bench, model)
    yield _fails_now(bench, model)
    told = _told(model)
    if not told:
        return
    yield _all_fire(bench, model)
    yield _says(bench, model, told[0])
    yield from _dies(bench, model, told[0])
    yield from _replicas(bench, model, told[0])


def _told(model: ModelSpec) -> list[Rule]:
    """Rules that have an alert of Prometheus."""
    return [rule for rule in model.rules if rule.severity is not Severity.INFO]


def _healthy(bench: _Bench, model: ModelSpec) -> _Case:
    end = 2 * bench.steps(bench.how.trouble_after)
    seconds = bench.step // SECOND
    own = {"model": model.name}
    series = [
        bench.series("up", f"1x{end}"),
        bench.as_of(model, f"0+{seconds}x{end}"),
        bench.series(f"{PREFIX}last_success_timestamp_seconds", f"0+{seconds}x{end}", **own),
        bench.series(
            f"{PREFIX}cycles_total", f"0+1x{end}", **own, outcome="failure"
        ),  # one fails now and then
        bench.series(f"{PREFIX}cycles_total", f"0+1x{end}", **own, outcome="success"),
        bench.series(f"{PREFIX}config_last_reload_successful", f"1x{end}"),
        bench.series(f"{PREFIX}missing_columns", f"0x{end}", **own),
        *(
            bench.series(RULE_SERIES, f"1x{end}", **own, rule=rule.name, verdict="clear")
            for rule in model.rules
        ),
    ]
    names = {ALERT, *(alert_name(rule.name) for rule in model.rules)}
    return _Case(f"{model.name}: all is well", series, [(end, name, []) for name in (*names, *itself.ITSELF)])


def _in_trouble(bench: _Bench, model: ModelSpec) -> _Case:
    end, own = 2 * bench.steps(bench.how.trouble_after) + 2, {"model": model.name}
    alerts = {alert.name: alert for alert in itself.cycle_rules(model, bench.how)}
    long_ago = -stale_after(model) // SECOND - 1
    series = [
        bench.series("up", f"1x{end}"),
        bench.series(f"{PREFIX}last_success_timestamp_seconds", f"{long_ago}x{end}", **own),
        bench.series(f"{PREFIX}cycles_total", f"0+1x{end}", **own, outcome="failure"),
        bench.series(f"{PREFIX}cycles_total", f"7x{end}", **own, outcome="success"),
        bench.series(f"{PREFIX}missing_columns", f"2x{end}", **own),
    ]
    names = (itself.STALE, itself.CYCLES_FAIL, itself.MISSING_COLUMNS)
    checks = [(end, name, [bench.expected(alerts[name], own)]) for name in names]
    return _Case(f"{model.name}: cycles fail, columns are gone", series, checks)


def _fails_now(bench: _Bench, model: ModelSpec) -> _Case:
    """Cycles of each minute begin to fail: told after a quarter of an hour without any, not after two."""
    own, wait = {"model": model.name}, bench.steps(bench.how.trouble_after)
    end, seconds = _LIFE + 3 * wait, bench.step // SECOND
    alerts = {alert.name: alert for alert in itself.cycle_rules(model, bench.how)}
    told = _LIFE + bench.steps(5 * MINUTE) + wait + 1
    last = f"0+{seconds}x{_LIFE} {_LIFE * seconds}x{end}"
    series = [
        bench.series("up", f"1x{end}"),
        bench.series(f"{PREFIX}last_success_timestamp_seconds", last, **own),
        bench.series(f"{PREFIX}cycles_total", f"0x{_LIFE} 1+1x{end}", **own, outcome="failure"),
        bench.series(f"{PREFIX}cycles_total", f"0+1x{_LIFE} {_LIFE}x{end}", **own, outcome="success"),
    ]
    failing = [bench.expected(alerts[itself.CYCLES_FAIL], own)]
    checks = [(_LIFE + wait - 1, itself.CYCLES_FAIL, []), (told, itself.CYCLES_FAIL, failing)]
    return _Case(f"{model.name}: cycles begin to fail", series, checks)


def _all_fire(bench: _Bench, model: ModelSpec) -> _Case:
    end = _LIFE
    added = {"model": model.name, "rule": "added_later", "severity": "info"}
    alerts = [bench.forwarded(model, rule) for rule in _told(model)]
    series = [
        bench.series("up", f"1x{end}"),
        bench.as_of(model, f"1000x{end}"),
        *(bench.firing(_labels(model, rule), f"1x{end}") for rule in _told(model)),
        bench.firing(added, f"1x{end}"),
        {"series": f'{FIRING}{{job="another", model="{model.name}", rule="x"}}', "values": f"1x{end}"},
    ]
    expected: dict[str, list[Plain]] = {
        ALERT: [bench.expected(unknown_rule_alert(bench.models, bench.how), added)]
    }
    for rule, alert in zip(_told(model), alerts, strict=True):
        expected.setdefault(alert_name(rule.name), []).append(alert)
    checks = [(end, name, of_name) for name, of_name in expected.items()]
    return _Case(f"{model.name}: every rule fires, also an unknown one", series, checks)


def _says(bench: _Bench, model: ModelSpec, rule: Rule) -> _Case:
    """Of what an alert said the newest; nothing of what another one says; kept once nobody answers."""
    labels, end = _labels(model, rule), 2 * _LIFE
    other = labels | {"segment": f"{labels['segment']}x"}
    series = [
        bench.series("up", f"1x{_LIFE} 0x{_LIFE}"),
        bench.as_of(model, f"1000x{_LIFE} stale"),
        bench.firing(labels, f"1x{_LIFE} stale"),
        bench.said(labels, "value 0.3, limit 0.25", "1000x4 stale"),
        bench.said(labels, 'value 0.42, limit 0.25; cell "<{{ $value }}"', f"_x4 2000x{_LIFE - 5} stale"),
        bench.said(labels, "value 0.1 of a replica that lags", f"500x{_LIFE} stale", _B),
        bench.said(other, "value 0.9", f"9000x{_LIFE} stale"),
    ]
    told = [
        bench.forwarded(model, rule, text)
        for text in ("value 0.3, limit 0.25", 'value 0.42, limit 0.25; cell "<{{ $value }}"')
    ]
    name = alert_name(rule.name)
    checks = [(2, name, told[:1]), (_LIFE, name, told[1:]), (end - 1, name, told[1:])]
    return _Case(f"{model.name}: an alert says what was said of it last", series, checks)


def _dies(bench: _Bench, model: ModelSpec, rule: Rule) -> Iterator[_Case]:
    name, how, labels = alert_name(rule.name), bench.how, _labels(model, rule)
    still = [bench.forwarded(model, rule)]

    def fired(up: str, as_of: str) -> list[Plain]:
        over = bench.firing(labels, f"1x{_LIFE} stale")
        return [bench.series("up", up), bench.as_of(model, as_of), over]

    word, keep, down = (bench.steps(one) for one in (how.last_word, how.keep_firing_for, how.down_after))
    end = _LIFE + word + keep + 3
    yield _Case(
        f"{model.name}: the monitor dies, what fired is not over",
        fired(f"1x{_LIFE} 0x{end}", f"1000+1x{_LIFE} stale"),
        [
            (_LIFE + 1, name, still),
            (_LIFE + down + 2, name, still),
            _down(bench, _LIFE + down + 2, f" {_A}"),
            (_LIFE + word - 1, name, still),
            (end, name, []),
        ],
    )
    back = _LIFE + down + 4
    end = back + keep + 3
    yield _Case(
        f"{model.name}: the monitor comes back and says that it is over",
        fired(f"1x{_LIFE} 0x{down + 2} 1x{end}", f"1000+1x{_LIFE} stale _x{down + 1} 2000+1x{end}"),
        [(back - 1, name, still), (end, name, []), (end, itself.DOWN, [])],
    )
    over = _LIFE + keep + 3
    yield _Case(
        f"{model.name}: what was over before the monitor dies stays over",
        fired(f"1x{over} 0x4", f"1000+1x{over} stale"),
        [(_LIFE, name, still), (over, name, []), (over + 3, name, [])],
    )
    yield _Case(
        f"{model.name}: the model is monitored no more",
        fired(f"1x{over + 3}", f"1000+1x{_LIFE} stale"),
        [(_LIFE, name, still), (over, name, [])],
    )


def _replicas(bench: _Bench, model: ModelSpec, rule: Rule) -> Iterator[_Case]:
    name, labels, one = alert_name(rule.name), _labels(model, rule), [bench.forwarded(model, rule)]
    end = _LIFE + bench.steps(bench.how.keep_firing_for) + 3
    both = [bench.series("up", f"1x{end}"), bench.series("up", f"1x{end}", _B)]
    times = [bench.as_of(model, f"2000x{end}"), bench.as_of(model, f"1000x{end}", _B)]
    newer, older = bench.firing(labels, f"1x{end}"), bench.firing(labels, f"1x{end}", _B)
    yield _Case(
        f"{model.name}: two replicas, one lags, one alert",
        [*both, *times, newer, older],
        [(_LIFE, name, one), (end, name, one)],
    )
    yield _Case(
        f"{model.name}: what only the newer replica has fires",
        [*both, *times, newer],
        [(_LIFE, name, one)],
    )
    yield _Case(
        f"{model.name}: what only the lagging replica has does not fire",
        [*both, *times, older],
        [(_LIFE, name, [])],
    )
    yield _Case(
        f"{model.name}: over on the newer replica, the lagging one has it still",
        [*both, *times, bench.firing(labels, f"1x{_LIFE} stale"), older],
        [(_LIFE, name, one), (end, name, [])],
    )


def _no_data(bench: _Bench, model: ModelSpec) -> _Case:
    """The longest one, hence of a single model."""
    own, name = {"model": model.name}, model.rules[0].name if model.rules else "added_later"
    wait, limit = bench.steps(unjudged_after(model)), bench.steps(stale_after(model))
    end = _LIFE + max(wait, limit) + 3
    alerts = {alert.name: alert for alert in itself.cycle_rules(model, bench.how)}
    rule, others = own | {"rule": name}, [one.name for one in bench.models if one is not model]
    well = f"0+{bench.step // SECOND}x{end}"
    lost = [bench.expected(alerts[itself.NO_DATA], rule)]
    return _Case(
        f"{model.name}: a rule without data is told, and is no alert of the model; no cycle ever succeeds",
        [
            bench.series("up", f"1x{end}"),
            bench.series(RULE_SERIES, f"1x{_LIFE} stale", **rule, verdict="clear"),
            bench.series(RULE_SERIES, f"_x{_LIFE} 1x{end}", **rule, verdict="unknown"),
            bench.series(RULE_SERIES, f"1x{end}", **own, rule="never_judged", verdict="unknown"),
            *(bench.series(f"{PREFIX}last_success_timestamp_seconds", well, model=one) for one in others),
        ],
        [
            (_LIFE + wait - 1, itself.NO_DATA, []),
            (_LIFE + wait + 2, itself.NO_DATA, lost),
            (limit - 1, itself.NEVER_RAN, []),
            (limit + 2, itself.NEVER_RAN, [bench.expected(alerts[itself.NEVER_RAN], own)]),
            (end, alert_name(name), []),
        ],
    )
