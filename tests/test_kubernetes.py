"""What can be said of the manifests without a cluster: by the schemas of Kubernetes and of the operator."""

from pathlib import Path
from typing import Any

import pytest
import servers
import yaml
from click.testing import CliRunner, Result

from monitor.cli import main
from monitor.core.errors import ConfigurationError
from monitor.core.version import VERSION
from monitor.exposition.forwarding import AlertForwarding
from monitor.specs.settings import HttpSpec
from monitor.web.server_files import make_secrets_reloader

ROOT = Path(__file__).parent.parent / "docker" / "kubernetes"
VERSIONS = ("1.31", "1.34", "1.37")  # of Kubernetes; the newest is the newest whose schemas are installed
OPERATOR = "monitoring.coreos.com/v1"
MANIFESTS: dict[str, dict[str, Any]] = {
    manifest["kind"]: manifest
    for path in sorted(ROOT.iterdir())
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
KINDS = {"ConfigMap", "Secret", "Deployment", "Service", "NetworkPolicy", "ServiceMonitor", "PrometheusRule"}
OF_THE_OPERATOR = sorted(kind for kind, one in MANIFESTS.items() if one["apiVersion"] == OPERATOR)
POD: dict[str, Any] = MANIFESTS["Deployment"]["spec"]["template"]
SECRETS: dict[str, str] = MANIFESTS["Secret"]["stringData"]
MOUNTED = "/run/secrets/monitor"


def checker(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{servers.NEEDS}{name}, of the extra dev")


def test_there_is_one_manifest_of_each_kind() -> None:
    assert sorted(MANIFESTS) == sorted(KINDS)


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_knows_every_field(version: str) -> None:
    kubernetes = checker("kubernetes_validate")

    for manifest in MANIFESTS.values():
        if manifest["apiVersion"] != OPERATOR:
            kubernetes.validate(manifest, version, strict=True)


@pytest.mark.parametrize("kind", OF_THE_OPERATOR)
def test_the_operator_knows_every_field(kind: str) -> None:
    resource = getattr(checker("cloudcoil.models.prometheus_operator.v1"), kind)

    read = resource.model_validate(MANIFESTS[kind])

    # what the operator does not know is dropped while it is read
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == MANIFESTS[kind]


def test_a_field_that_nobody_knows_and_a_duration_that_is_none_are_found() -> None:
    kubernetes, operator = (
        checker("kubernetes_validate"),
        checker("cloudcoil.models.prometheus_operator.v1"),
    )
    (endpoint,) = MANIFESTS["ServiceMonitor"]["spec"]["endpoints"]
    scraped = {**MANIFESTS["ServiceMonitor"], "spec": {"selector": {}, "endpoints": [endpoint]}}
    misspelt = {**endpoint, "intervall": "30s"}
    service = MANIFESTS["Service"]

    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate({**service, "spec": {**service["spec"], "port": 1}}, VERSIONS[-1], strict=True)
    with pytest.raises(ValueError, match="interval"):
        operator.ServiceMonitor.model_validate(
            scraped | {"spec": {"selector": {}, "endpoints": [{**endpoint, "interval": "often"}]}}
        )
    read = operator.ServiceMonitor.model_validate(
        scraped | {"spec": {"selector": {}, "endpoints": [misspelt]}}
    )
    assert "intervall" not in read.model_dump(by_alias=True, exclude_unset=True)["spec"]["endpoints"][0]


def test_every_container_is_unprivileged_on_a_root_that_is_read_only() -> None:
    spec = POD["spec"]
    containers = [*spec["initContainers"], *spec["containers"]]

    assert [one["securityContext"] for one in containers] == 2 * [
        {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    ]
    assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, 10001)
    assert spec["automountServiceAccountToken"] is False
    assert {one["image"] for one in containers} == {f"registry.example/monitor:{VERSION}"}
    assert [one["args"] for one in containers] == [["migrate"], ["run"]]
    assert {word for one in containers for word in one["args"]} <= set(main.commands)


def test_the_probes_ask_what_the_daemon_answers() -> None:
    (container,) = POD["spec"]["containers"]
    (port,) = container["ports"]

    assert {name: container[name]["httpGet"] for name in container if name.endswith("Probe")} == {
        "startupProbe": {"path": "/readyz", "port": port["name"]},
        "readinessProbe": {"path": "/readyz", "port": port["name"]},
        "livenessProbe": {"path": "/healthz", "port": port["name"]},
    }


def test_what_is_named_in_one_manifest_stands_in_another() -> None:
    labels = POD["metadata"]["labels"]
    (container,) = POD["spec"]["containers"]
    (port,) = MANIFESTS["Service"]["spec"]["ports"]
    (endpoint,) = MANIFESTS["ServiceMonitor"]["spec"]["endpoints"]
    (ingress,) = MANIFESTS["NetworkPolicy"]["spec"]["ingress"]
    volumes = {volume["name"]: volume for volume in POD["spec"]["volumes"]}

    assert labels == MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"]
    assert labels == MANIFESTS["Service"]["spec"]["selector"]
    assert labels == MANIFESTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
    assert (
        MANIFESTS["Service"]["metadata"]["labels"]
        == MANIFESTS["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    )
    assert {port["targetPort"], ingress["ports"][0]["port"]} == {container["ports"][0]["name"]}
    assert (port["name"], port["port"]) == (endpoint["port"], container["ports"][0]["containerPort"])
    assert endpoint["authorization"]["credentials"]["name"] == MANIFESTS["Secret"]["metadata"]["name"]
    assert endpoint["authorization"]["credentials"]["key"] in SECRETS
    assert volumes["configuration"]["configMap"]["name"] == MANIFESTS["ConfigMap"]["metadata"]["name"]
    assert volumes["secrets"]["secret"]["secretName"] == MANIFESTS["Secret"]["metadata"]["name"]
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)


def test_the_operator_calls_the_job_like_the_service_which_the_rules_ask_for() -> None:
    assert "jobLabel" not in MANIFESTS["ServiceMonitor"]["spec"]
    assert MANIFESTS["Service"]["metadata"]["name"] == AlertForwarding().job


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration of the manifests, beside their secrets; that of the port is one that is taken."""
    for name, text in (SECRETS | {"port-secret": "0123456789abcdef"}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    file = tmp_path / "config.toml"
    text = MANIFESTS["ConfigMap"]["data"]["config.toml"]
    file.write_text(text.replace(MOUNTED, str(tmp_path)), encoding="utf-8")
    return file


def told(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_configuration_has_no_fault_and_every_secret_is_used(config: Path) -> None:
    done = told("check", "--offline", "--config", str(config))

    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, f"{config}: 1 model, no faults, 1 warning")
    assert "clear text (tls_certificate)" in done.stderr
    text = MANIFESTS["ConfigMap"]["data"]["config.toml"]
    assert {name for name in SECRETS if f"{MOUNTED}/{name}" in text} == set(SECRETS)


def test_the_ports_secret_that_anybody_can_read_here_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "port-secret"
    file.write_text(SECRETS["port-secret"], encoding="utf-8")

    with pytest.raises(ConfigurationError, match="16 characters"):
        make_secrets_reloader(HttpSpec(secret_file=file.name), tmp_path)


def test_the_rules_are_those_that_the_command_prints(config: Path) -> None:
    manifest = told("export-rules", "--kubernetes", "--config", str(config)).stdout
    plain = told("export-rules", "--config", str(config)).stdout

    assert (ROOT / "rules.yaml").read_text(encoding="utf-8") == manifest
    assert yaml.safe_load(manifest)["spec"] == yaml.safe_load(plain)
