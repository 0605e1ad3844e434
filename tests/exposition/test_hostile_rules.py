"""Whatever a configuration says in labels and annotations: Prometheus takes the rules, their tests pass."""

import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import servers
import yaml
from hostile_texts import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from rule_tests import exported_with_tests
from serving import model

from monitor.config.config_loading import examine_file
from monitor.core.text import double_quoted
from monitor.exposition.plain_yaml import as_yaml

HEAD = '[http]\nurl = "https://monitor.example/at"\n[sources.log]\nurl = "sqlite:///log.db"\n'
QUICK = ("--last-word", "20m", "--keep-firing-for", "1m")  # leaves out the tests that take a day
PIECES = (
    *("{{ $value }}", "{{ $labels.model }}", "{{ end }}", "{{-", "{{{", "}}", '{{ "{{" }}', "{{/* x */}}"),
    *("{{", "{{ template", "$labels", "%{x}", "{value}", "~", "null", "true", "no", "1", "1e3", "0x1f"),
    *("1_000", ".inf", "2024-01-01", "12:30", "<<", "=", "- a", "? a", "a: b", "a #b", "#b", "&a", "*a"),
    *("!a", "|", ">", "%a", "@a", "'", '"', "\\", "\\n", "\n", "\n\n", " ", "\t", "a\n  b", " a\nb"),
    *("a\nb\n", "", "[a]", "{a}", ",", "`a`", "---"),
    *CORPUS,
)


def made(luck: random.Random) -> str:
    """A model whose texts are made of pieces that mean something to somebody."""

    def text(most: int = 3) -> str:
        return double_quoted("".join(luck.choices(PIECES, k=luck.randrange(1, most + 1))).replace("${", "$"))

    name = luck.choice(["null", "1e3", "-", "...", "a-b.c_d", "y", "0x1f", "---", "1d", "late"])
    options = f'alert_labels = {{ team = {text()}, y = {text()}, null = "" }}\nsegments = ["group"]\n'
    options += f'runbook_url = {text()[:-1]}x"\nowner = {text()[:-1]}x"\n'
    rule = f"""
[[models.alerts]]
name = "{luck.choice(["moved", "true", "1", "a.b-c"])}"
measure = "records"
segment = {double_quoted("group=")[:-1]}{text()[1:]}
above = 1
labels = {{ pager = {text()}, on = {text(1)} }}
annotations = {{ summary = {text()}, description = {text()}, note = {text(6)}, n = {text(1)} }}

[[models.alerts]]
name = "each"
measure = "stability_index"
subject = "feature:*"
features = "each"
above = "critical"
"""
    return model(name, options=options) + rule


def promtool(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    path = servers.program("promtool", package="prometheus")
    command: Sequence[str] = [path, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.promtool
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_rules_of_any_texts_are_taken_and_their_tests_pass(seed: int, tmp_path: Path) -> None:
    luck = random.Random(seed)  # noqa: S311 -- not for secrets
    rules, tests = [], []
    for at in range(8):
        config = tmp_path / f"config{at}.toml"
        config.write_text(HEAD + made(luck), encoding="utf-8")
        place = tmp_path / str(at)
        place.mkdir()
        job = luck.choice(["monitor", "{{ $value }}", 'a"b', "1", "\\", "a\nb"])
        runbook = luck.choice(["https://a/{{ end }}", "http://a/b: c'\" {{", "a: b\n'\""])
        own = ("--job", job, "--runbook", runbook)
        exported_with_tests(config, place, *own, *QUICK)
        rules.append(place / "rules.yaml")
        tests.append(place / "tests.yaml")

    checked = promtool("check", "rules", *rules)
    tested = promtool("test", "rules", *tests)

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.promtool
def test_a_label_is_text_and_no_template(tmp_path: Path) -> None:
    config, rules, tests = (tmp_path / name for name in ("config.toml", "rules.yaml", "tests.yaml"))
    said = "{{ $value }} of {{ $labels.model }}"
    options = f"alert_labels = {{ team = {double_quoted(said)} }}\n"
    config.write_text(HEAD + model(options=options), encoding="utf-8")

    exported_with_tests(config, tmp_path, *QUICK)

    groups = yaml.safe_load(rules.read_text(encoding="utf-8"))["groups"]
    teams = {rule.get("labels", {}).get("team") for group in groups for rule in group["rules"]}
    assert teams == {None, '{{ "{{" }} $value }} of {{ "{{" }} $labels.model }}'}
    expected = yaml.safe_load(tests.read_text(encoding="utf-8"))["tests"]
    alerts = [one for test in expected for check in test["alert_rule_test"] for one in check["exp_alerts"]]
    assert {one["exp_labels"].get("team") for one in alerts} == {None, said}
    assert promtool("test", "rules", tests).returncode == 0


@pytest.mark.parametrize("name", ["__name__", "__a", "alertname", "job"])
def test_a_label_that_is_prometheus_own_is_a_fault(name: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    options = f'alert_labels = {{ {name} = "x" }}\n'
    config.write_text(HEAD + model(options=options), encoding="utf-8")

    faults = [text for _, text in examine_file(config, {}).faults]

    assert [f"alert_labels.{name}" in fault for fault in faults] == [True]


_TEXT = st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
_PLAIN = st.recursive(
    _TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3)
)


@given(value=st.dictionaries(_TEXT, _PLAIN, max_size=4))
def test_yaml_is_read_back_as_it_was_written(value: dict[str, object]) -> None:
    text = as_yaml(json.loads(json.dumps(value)))

    assert (yaml.safe_load(text) or {}) == value
