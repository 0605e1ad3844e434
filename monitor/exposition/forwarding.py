"""How Prometheus forwards what the daemons say: durations, selectors, alerting rules as plain values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from monitor.alerts.default_rules import NAMES
from monitor.core.clock import DAY, HOUR, MINUTE, format_duration
from monitor.exposition.plain_yaml import Plain

if TYPE_CHECKING:
    from monitor.specs.model_spec import ModelSpec

RUNBOOK = "runbook_url"  # the annotation by its usual name
OWNER = "owner"  # the annotation
PAGE = "page_url"
OWN_RULE = "a_rule_of_your_own"  # section of the runbook


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertForwarding:
    """How Prometheus forwards what daemons say. Durations are microseconds."""

    job: str = "monitor"  # under which Prometheus scrapes the daemons
    runbook: str = ""  # address of the runbook, to which alerts point; empty: they point nowhere
    # address of the pages from outside, which begins with a scheme; empty: nothing links to them.
    url: str = ""
    last_word: int = 6 * HOUR  # for how long what a daemon said last counts once it does not answer
    keep_firing_for: int = 5 * MINUTE  # for how long an alert fires on that nobody reports any more
    down_after: int = 2 * MINUTE  # for how long no daemon answers before that is an alert
    trouble_after: int = 15 * MINUTE  # for how long a daemon is in a lesser trouble before that is one

    def family_selector(self, family: str, *matchers: str) -> str:
        """Selector of a family of the job."""
        return f"{family}{{{', '.join([f'job={promql_text(self.job)}', *matchers])}}}"

    def page_annotation(self, path: str) -> dict[str, str]:
        """Annotation that leads to a page, whose path is a template; none where there is no address."""
        return {PAGE: f"{self.url}{path}"} if self.url else {}

    def runbook_annotation(self, name: str) -> dict[str, str]:
        """Annotation that leads to a section of the runbook; none where there is no address."""
        return {RUNBOOK: literal_text(f"{self.runbook}#{name}")} if self.runbook else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertingRule:
    """One alerting rule of Prometheus; its labels and annotations are templates: see `literal_text`."""

    name: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    hold: int = 0
    keep: int = 0

    def plain_rule(self) -> Mapping[str, Plain]:
        """As it stands in the file."""
        fields: dict[str, Plain] = {"alert": self.name, "expr": self.expr}
        if self.hold:
            fields["for"] = format_duration(self.hold)
        if self.keep:
            fields["keep_firing_for"] = format_duration(self.keep)
        if self.labels:
            fields["labels"] = self.labels
        return fields | {"annotations": self.annotations}


def runbook_section(rule: str) -> str:
    """Section of the runbook about a rule of a model.

    >>> runbook_section("changed"), runbook_section("my_own")
    ('changed', 'a_rule_of_your_own')
    """
    return rule if rule in NAMES else OWN_RULE


def is_reachable_address(address: str) -> bool:
    """Whether a reader of an alert can follow an address wherever the alert is read.

    >>> [is_reachable_address(one) for one in ("https://wiki/late", "docs/troubleshoot.md", "https://", "http://[")]
    [True, False, False, False]
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc != "" and address.isprintable()


def literal_text(text: str) -> str:
    """Text that Prometheus does not take for a template, in a label or an annotation.

    >>> literal_text("{{ $value }}")
    '{{ "{{" }} $value }}'
    """
    return text.replace("{{", '{{ "{{" }}')


def promql_text(text: str) -> str:
    """Text as PromQL writes it."""
    return json.dumps(text, ensure_ascii=False)


def model_matcher(model: "ModelSpec") -> str:
    """Matcher of a model."""
    return f"model={promql_text(model.name)}"


def routed_labels(model: "ModelSpec") -> dict[str, str]:
    """Labels that all alerts of a model have, literally."""
    shared = [set(rule.labels) for rule in model.rules]
    return {name: literal_text(text) for name, text in sorted(set.intersection(*shared))} if shared else {}


def owner_annotation(model: "ModelSpec") -> dict[str, str]:
    """Annotation `owner` of all alerts of a model, literally; none where they do not agree on one."""
    named = {dict(rule.annotations).get(OWNER, "") for rule in model.rules}
    return {OWNER: literal_text(named.pop())} if len(named) == 1 and named != {""} else {}


def stale_after(model: "ModelSpec") -> int:
    """For how long a model may be without a successful cycle: as `/healthz` has it."""
    return 3 * model.keys.every + MINUTE


def unjudged_after(model: "ModelSpec") -> int:
    """For how long a rule that was judged before may have nothing but unknown verdicts."""
    return max(DAY, 3 * model.keys.every)
