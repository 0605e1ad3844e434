import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import servers
import yaml
from click.testing import CliRunner, Result
from rule_tests import exported_with_tests
from serving import model

from monitor.alerts.default_rules import NAMES
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.measurement import Reason
from monitor.exposition.forwarding import OWN_RULE, AlertForwarding
from monitor.exposition.prometheus_rules import ALERT as OWN_ALERT
from monitor.exposition.prometheus_rules import (
    ASIDE,
    DOWN,
    ITSELF,
    NEVER_RAN,
    NO_DATA,
    NOTICES_STUCK,
    RELOAD_FAILED,
    REPLICA_DOWN,
    STALE,
    STORE_AWAY,
    alert_name,
    rules_text,
)
from monitor.measures.catalogue import BY_NAME
from monitor.specs.model_spec import ModelSpec

ROOT = Path(__file__).parent.parent.parent
DEMO = ROOT / "monitor" / "demo" / "demo.toml"
URLS = {"MONITOR_DEMO_STORE": "sqlite:///a", "MONITOR_DEMO_SOURCE": "sqlite:///b"}
HEAD = '[sources.log]\nurl = "sqlite:///log.db"\n'
ROUTED = 'segments = ["group"]\nalert_labels = { team = "ml" }\nrunbook_url = "https://wiki/late"\n'
QUICK = ("--last-word", "20m", "--keep-firing-for", "1m")  # leaves out the tests that take a day
OWN = """
[[models.alerts]]
name = "moved"
measure = "stability_index"
subject = "feature:*"
features = "each"
above = "critical"
severity = "warning"
labels = { pager = "no" }
annotations = { summary = "It moved: {value}", note = "see {{ this }} of \\"it\\"" }

[[models.alerts]]
name = "worse"
measure = "roc_auc"
segment = "group=*"
below = 0.6
"""


def exported(config: Path, *options: str) -> Result:
    return CliRunner(env=URLS).invoke(main, ["export-rules", "--config", str(config), *options])


def written(directory: Path, *models: str, quick: Sequence[str] = ()) -> Path:
    config = directory / "config.toml"
    config.write_text(HEAD + "".join(models), encoding="utf-8")
    exported_with_tests(config, directory, *quick, env=URLS)
    return directory


def promtool(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    path = servers.program("promtool", package="prometheus")
    return subprocess.run(
        [path, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules and tests of three models: routed and with rules of their own, by default, without any."""
    own = model("late", options=ROUTED) + OWN
    return written(
        tmp_path_factory.mktemp("rules"), own, model("e.arly-2"), model("calm", options="alerts = []\n")
    )


def test_that_channels_tell_of_the_same_alerts_is_warned_of_beside_the_rules(tmp_path: Path) -> None:
    hook = '[[notify]]\nname = "chat"\nurl = "https://chat.example/hook"\nmodels = ["late", "calm"]\n'
    config = tmp_path / "config.toml"
    models = model("late") + model("other") + model("calm", options="alerts = []\n")
    config.write_text(HEAD + hook + models, encoding="utf-8")

    done = exported(config)

    assert done.stderr == (
        'warning: [[notify]] tells of alerts of "late": where Prometheus has these rules they arrive twice\n'
        "warning: alerts lead to no runbook: give --runbook https://…, or [http] url\n"
    )
    assert done.stdout.startswith("# Written by")


@pytest.mark.promtool
def test_prometheus_finds_nothing_to_object_to(rules: Path) -> None:
    done = promtool("check", "rules", rules / "rules.yaml")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.promtool
def test_the_tests_that_are_written_pass(rules: Path) -> None:
    done = promtool("test", "rules", rules / "tests.yaml")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.promtool
@pytest.mark.parametrize(
    ("there", "instead", "told"),
    [
        ("== on (job, model) group_left ()", "<= on (job, model) group_left ()", "lagging replica"),
        pytest.param(
            '  model_monitor:alert_firing{job="monitor"}\n',
            "  vector(1)\n",
            "the monitor dies",
            marks=pytest.mark.slow,
        ),
        (
            '  model_monitor:alert_firing{job="monitor"}\n',
            (
                "  max without (instance, pod) "
                '(last_over_time(model_monitor_alert_firing{job="monitor"}[20m]))\n'
            ),
            "what was over before the monitor dies stays over",
        ),
        pytest.param(
            "topk(1, last_over_time(",
            "bottomk(1, last_over_time(",
            "says what was said of it last",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "subject=%q}[20m]", "subject=~%q}[1m]", "says what was said of it last", marks=pytest.mark.slow
        ),
        pytest.param(
            "max without (instance, pod) (",
            "max without (pod) (",
            "two replicas, one lags, one alert",
            marks=pytest.mark.slow,
        ),
        ('absent(up{job="monitor"} == 1)', 'up{job="monitor"} == 0', "no monitor was ever there"),
        ('unless on (job, instance) (up{job="monitor"} == 1)', "", "the model is monitored no more"),
    ],
)
def test_the_tests_that_are_written_notice_rules_that_are_wrong(
    there: str, instead: str, told: str, tmp_path: Path
) -> None:
    directory = written(tmp_path, model("late"), quick=QUICK)
    text = (directory / "rules.yaml").read_text(encoding="utf-8")
    assert there in text
    (directory / "rules.yaml").write_text(text.replace(there, instead), encoding="utf-8")

    done = promtool("test", "rules", directory / "tests.yaml")

    assert done.returncode == 1
    assert told in done.stdout + done.stderr


def test_every_alert_of_a_model_links_to_its_page_where_there_is_an_address(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"{HEAD}{model('late')}", encoding="utf-8")
    without = exported(config).stdout
    config.write_text(f'[http]\nurl = "https://monitor.example/"\n{HEAD}{model("late")}', encoding="utf-8")
    groups = yaml.safe_load(exported(config).stdout)["groups"]

    pages = {
        rule["alert"]: rule["annotations"].get("page_url")
        for group in groups
        for rule in group["rules"]
        if "alert" in rule
    }
    assert "page_url" not in without
    assert {pages[name] for name in (STALE, NEVER_RAN, NO_DATA)} == {"https://monitor.example/models/late"}
    assert pages["ModelChanged"] == (
        "https://monitor.example/models/late/{{ if $labels.incident }}"
        "incidents/{{ urlquery $labels.incident }}#decide"
        "{{ else }}alerts/changed?segment={{ urlquery $labels.segment }}"
        "&subject={{ urlquery $labels.subject }}&version={{ urlquery $labels.version }}"
        "{{ end }}"
    )
    linked = {name for name, page in pages.items() if page is not None}
    assert set(pages) - linked == {DOWN, REPLICA_DOWN, STORE_AWAY, RELOAD_FAILED, ASIDE, NOTICES_STUCK}


def test_the_rules_in_the_containers_are_those_of_the_demo() -> None:
    kept = (ROOT / "docker" / "prometheus" / "rules.yaml").read_text(encoding="utf-8")

    assert kept == exported(DEMO).stdout


@pytest.mark.promtool
def test_the_demos_rules_pass_their_tests(tmp_path: Path) -> None:
    exported_with_tests(DEMO, tmp_path, env=URLS)

    tested = promtool("test", "rules", tmp_path / "tests.yaml")

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_default_rule_and_every_alert_of_the_monitor_has_its_section_in_the_runbook() -> None:
    lines = (ROOT / "docs" / "troubleshoot.md").read_text(encoding="utf-8").splitlines()
    sections = {line.removeprefix("#### ") for line in lines if line.startswith("#### ")}

    assert sections == {*NAMES, OWN_RULE, *ITSELF}


def test_names_in_the_runbook_of_alerts_are_those_of_measures_reasons_rules_or_keys() -> None:
    page = (ROOT / "docs" / "troubleshoot.md").read_text(encoding="utf-8")
    text = page.partition("## Runbook\n")[2].partition("# The monitor itself")[0]
    schema = json.loads((ROOT / "config.schema.json").read_text(encoding="utf-8"))
    keys = {key for table in schema["$defs"].values() for key in table.get("properties", ())}

    names = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", text))

    assert names - {*BY_NAME, *Reason, *NAMES, *keys} == set()


def test_labels_of_a_model_route_the_alerts_about_its_cycles_too(tmp_path: Path) -> None:
    (model_spec,) = specs(tmp_path, model("late", options=ROUTED))

    text = rules_text([model_spec], AlertForwarding())

    stale = text[text.index("alert: ModelMonitorStale") :]
    assert "team: ml\n" in stale[: stale.index("- alert: ModelMonitorNeverRan")]


def test_a_models_own_runbook_wins_and_what_prometheus_cannot_fill_in_is_left_out(tmp_path: Path) -> None:
    text = rules_text(specs(tmp_path, model("late", options=ROUTED) + OWN), AlertForwarding())

    assert "It moved" not in text
    assert "runbook_url: https://wiki/late" in text
    assert """note: see {{ "{{" }} this }} of "it"\n""" in text
    assert "{{ else }}moved {{ $labels.subject }}{{ end }}" in text
    assert "- alert: ModelMoved\n" in text


def test_who_owns_a_model_stands_in_all_alerts_about_it_and_in_no_other(tmp_path: Path) -> None:
    models = (model("late", options='owner = "risk {{ team }}"\n'), model("early"))
    groups = yaml.safe_load(rules_text(specs(tmp_path, *models), AlertForwarding()))["groups"]

    owners = {
        group["name"]: {alert["annotations"].get("owner") for alert in group["rules"] if "alert" in alert}
        for group in groups
    }
    assert owners == {
        "model-monitor": {None},
        "model-monitor late": {'risk {{ "{{" }} team }}'},
        "model-monitor early": {None},
    }


def test_a_runbook_leads_somewhere_or_is_left_out_with_a_warning(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(HEAD + model("late", options='runbook_url = "wiki/late"\n'), encoding="utf-8")

    nowhere = exported(config, "--runbook", "docs/troubleshoot.md")
    somewhere = exported(config, "--runbook", "https://books.example/it")

    assert 'give --runbook https://…, or [http] url: got "docs/troubleshoot.md"' in nowhere.stderr
    assert 'runbook_url of "late" leads nowhere' in nowhere.stderr
    assert "runbook_url" not in nowhere.stdout
    assert "https://books.example/it#log_stopped" in somewhere.stdout
    assert "wiki/late" not in somewhere.stdout


def test_without_another_runbook_alerts_point_to_the_page_that_the_monitor_shows(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'{HEAD}[http]\nurl = "https://monitor.example"\n{model("late")}', encoding="utf-8")

    done = exported(config)

    assert "https://monitor.example/runbook#log_stopped" in done.stdout
    assert "https://monitor.example/runbook#modelmonitordown" in done.stdout
    assert "runbook" not in done.stderr


def test_the_name_of_an_alert_says_its_rule_and_is_none_of_the_monitors_own(tmp_path: Path) -> None:
    text = rules_text(specs(tmp_path, model("late")), AlertForwarding())

    assert {f"Model{''.join(part.capitalize() for part in name.split('_'))}" for name in NAMES} >= set(
        re.findall(r"- alert: (Model(?!Monitor|Alert)\w+)", text)
    )
    assert all(alert_name(name) == OWN_ALERT for name in ("monitor_down", "monitor-no_data", "-", "_"))


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    done = exported(DEMO, "--output", str(tmp_path / "nowhere" / "rules.yaml"))

    assert (done.exit_code, "cannot be written" in done.stderr) == (1, True)


def specs(directory: Path, *models: str) -> Sequence[ModelSpec]:
    (directory / "config.toml").write_text(HEAD + "".join(models), encoding="utf-8")
    return settings_of(directory / "config.toml", {}).models
