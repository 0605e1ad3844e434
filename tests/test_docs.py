import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import commands_page
import pytest
import servers
import sqlalchemy as sa
from architecture_picture import picture
from concept_pictures import pictures
from measure_pictures import family_pictures
from measures_page import reference
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from page_parts import part_of, with_part
from row_examples import row_of
from store_examples import BEHIND

from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import Interval, Measurement
from monitor.core.version import DISTRIBUTION
from monitor.exposition.forwarding import AlertForwarding
from monitor.exposition.metric_names import PREFIX, family_name
from monitor.exposition.series_selection import exposed_family_name
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.specs.stored_rows import ModelState
from monitor.store.sql_store import CycleCommit
from monitor.store.store_connections import make_store_engine
from monitor.store.store_database import migrate_store, open_store

runbook_page = pytest.importorskip("runbook_page", reason="needs markdown-it-py, of the extra dev")
write_docs = pytest.importorskip("write_docs", reason="needs markdown-it-py, of the extra dev")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "docker/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
)
EXTRAS = ("delta", "files", "iceberg", "mariadb", "notify", "test")
GUIDES = [path for path in PAGES if path.parent.name != "adr"]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CALL = re.compile(r"^(?:\$ |\S+/bin/)?monitor ([a-z-]+)(.*)")
ENDS = ("", "_lower", "_upper", "_reference", "_reference_lower", "_reference_upper", "_resolution")
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))

    dead = [link for link in LINK.findall(text) if "://" not in link and not _leads_somewhere(path, link)]

    assert dead == []


def test_the_configuration_in_the_readme_is_valid(tmp_path: Path) -> None:
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    config = tmp_path / "config.toml"
    config.write_text(next(body for kind, body in blocks if kind == "toml"), encoding="utf-8")

    settings = settings_of(config, {"SERVING_URL": "postgresql://db.example/serving"})

    assert [model.name for model in settings.models] == ["churn"]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_their_options_in_the_pages_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = [
        *"\n".join(body for _, body in FENCE.findall(text)).splitlines(),
        *re.findall(r"`([^`\n]+)`", text),
    ]
    calls = [call.groups() for line in code if (call := CALL.match(re.split("[#|;]|&&", line)[0]))]
    options = {
        (command, option) for command, rest in calls for option in re.findall(r"(?<= )--[a-z-]+", rest)
    }

    assert {command for command, _ in calls} - {*main.commands, "--version", "--help", "--debug"} == set()
    assert {(command, option) for command, option in options if option not in _options(command)} == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_metrics_in_the_pages_exist(path: Path) -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "monitor/exposition").glob("*.py"))
    known = {f"{family_name(measure)}{end}" for measure in BY_NAME.values() for end in ENDS}
    known |= {
        f"{PREFIX}{stem}{end}" for stem in re.findall(r"""["}](\w+)["{]""", code) for end in ("", "_total")
    }

    assert set(re.findall(rf"{PREFIX}\w+\w", path.read_text(encoding="utf-8"))) - known == set()


def test_the_reference_of_measures_says_what_the_catalogue_says() -> None:
    written = (ROOT / "docs" / "measures-reference.md").read_text(encoding="utf-8")

    assert written == reference(exposed_family_name)
    assert all(f"`{name}`" in written for name in BY_NAME)


def test_parts_of_pages_are_what_the_code_writes() -> None:
    made = write_docs.parts_of_pages()

    written = {
        page: {name: part_of((ROOT / page).read_text(encoding="utf-8"), name) for name in parts}
        for page, parts in made.items()
    }

    assert written == {
        page: {name: f"{text.rstrip()}\n" for name, text in parts.items()} for page, parts in made.items()
    }


def test_a_part_is_replaced_alone_and_one_that_is_not_there_is_a_fault() -> None:
    page = "a\n<!-- part: one -->\nold\n<!-- end of part -->\nb\n"

    assert with_part(page, "one", "new\n\n") == page.replace("old", "new")
    with pytest.raises(ValueError, match='no part "two"'):
        part_of(page, "two")


def test_the_page_of_commands_is_what_help_prints() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == commands_page.markdown()


def test_the_runbook_that_the_monitor_shows_is_the_page() -> None:
    assert (ROOT / runbook_page.TEMPLATE).read_text(encoding="utf-8") == runbook_page.template()


def test_the_pictures_of_concepts_and_measures_are_as_they_are_drawn() -> None:
    drawn = pictures() | family_pictures()

    assert {name: (ROOT / name).read_text(encoding="utf-8") for name in drawn} == drawn


def test_the_picture_of_the_rooms_is_that_of_the_imports() -> None:
    drawn = (ROOT / "docs" / "pictures" / "architecture.svg").read_text(encoding="utf-8")

    assert drawn == picture()


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_the_pages_for_maintainers_name_are_there(page: str) -> None:
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    named = re.findall(r"`([\w.]+(?:/[\w.]*)+)`", text)

    lost = [name for name in named if not ((ROOT / name).exists() or (ROOT / "monitor" / name).exists())]

    assert (named != [], lost) == (True, [])


@pytest.mark.promtool
def test_the_alerts_in_the_pages_are_rules_of_prometheus(tmp_path: Path) -> None:
    blocks = FENCE.findall((ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8"))
    rules = tmp_path / "rules.yml"
    rules.write_text(next(body for kind, body in blocks if kind == "yaml"), encoding="utf-8")

    _promtool("check", "rules", str(rules))


@pytest.mark.promtool
@pytest.mark.parametrize("name", ["prometheus.yml", "local.yml"])
def test_the_scrape_configurations_are_valid(name: str) -> None:
    _promtool("check", "config", str(ROOT / "docker" / "prometheus" / name))


def test_every_example_scrapes_the_job_that_the_rules_speak_of() -> None:
    texts = [*PAGES, *ROOT.glob("docker/**/*.y*ml")]
    jobs = {
        job: str(path)
        for path in texts
        for job in re.findall(r"job_name: *[\"']?([\w-]+)", path.read_text(encoding="utf-8"))
    }

    assert set(jobs) == {AlertForwarding().job}


def test_extras_in_the_pages_are_those_of_the_distribution() -> None:
    named = {
        extra
        for path in GUIDES
        for extras in re.findall(rf"{DISTRIBUTION}\[([\w,]+)\]", path.read_text(encoding="utf-8"))
        for extra in extras.split(",")
    }

    assert named
    assert named - set(PROJECT["optional-dependencies"]) == set()


def test_targets_in_the_pages_exist() -> None:
    made = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target
        for path in PAGES
        for target in re.findall(r"^make (\w+)|`make (\w+)`", path.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert {first or second for first, second in named} <= made


def test_constraints_pin_every_direct_dependency() -> None:
    pinned = _pinned("constraints.txt")

    assert {name for name in _lower_bounds("mariadb", "test", "dev") if name not in pinned} == set()


def test_constraints_satisfy_the_lower_bounds() -> None:
    pinned = _pinned("constraints.txt")

    assert [name for name, bound in _lower_bounds(*EXTRAS, "dev").items() if pinned[name] < bound] == []


def test_the_lowest_constraints_are_the_lower_bounds() -> None:
    assert _pinned("constraints-lowest.txt") == _lower_bounds(*EXTRAS)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'monitor.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Iterator[tuple[str, sa.Engine]]:
    name = str(request.param)
    url = request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[name])
    migrate_store(url)
    _fill(url)
    engine = make_store_engine(url)
    yield name, engine
    engine.dispose()


def test_queries_for_analysts_answer_their_questions(store: tuple[str, sa.Engine]) -> None:
    name, engine = store
    heading = {"sqlite": "-- SQLite\n", "postgresql": "-- PostgreSQL\n"}[name]
    blocks = FENCE.findall((ROOT / "docs" / "audit.md").read_text(encoding="utf-8"))
    queries = [body for kind, body in blocks if kind == "sql" and body.startswith(heading)]

    with engine.connect() as connection:
        answers = [
            [tuple(str(cell) for cell in row) for row in connection.execute(_verbatim(query))]
            for query in queries
        ]

    months, revisions, moved = answers
    assert [row[:3] for row in months] == [("2013-03", "settled", "1000"), ("2013-04", "provisional", "900")]
    assert [float(cell) for cell in months[0][3:7]] == [0.964, 0.75, 0.7, 0.8]
    assert months[0][8] == "2013-04-08"
    assert [row[:4] for row in revisions] == [
        ("1", "2013-04-01", "provisional", "roc_auc"),
        ("2", "2013-04-08", "settled", "roc_auc"),
    ]
    assert [(row[0], float(row[1]), float(row[2]), row[4]) for row in moved] == [
        ("temp_f", 0.4, 0.01, "2013-05-01")
    ]


def _options(command: str) -> set[str]:
    """Options of a command, and of the commands below it."""
    found = main.commands[command]
    below = found.commands.values() if isinstance(found, click.Group) else ()
    return {option for one in (found, *below) for parameter in one.params for option in parameter.opts}


def _verbatim(query: str) -> sa.TextClause:
    return sa.text(query.replace(":", "\\:"))


def _promtool(*arguments: str) -> None:
    path = servers.program("promtool", package="prometheus")
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _leads_somewhere(page_path: Path, link: str) -> bool:
    path, _, anchor = unquote(link).partition("#")
    target = (page_path.parent / path).resolve() if path else page_path
    if not target.exists():
        return False
    return not anchor or anchor in _anchors(target.read_text(encoding="utf-8"))


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _pinned(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(package): Version(version) for package, version in pins}


def _lower_bounds(*extras: str) -> dict[str, Version]:
    texts = [
        *PROJECT["dependencies"],
        *(one for extra in extras for one in PROJECT["optional-dependencies"][extra]),
    ]
    bounds = {}
    for requirement in map(Requirement, texts):
        for specifier in requirement.specifier:
            if specifier.operator in {">=", "=="}:
                bounds[str(canonicalize_name(requirement.name))] = Version(specifier.version)
    return bounds


def _fill(url: str) -> None:
    march, april = from_iso("2013-04-01"), from_iso("2013-05-01")
    store = open_store(url, "live")
    first = [
        _row(march, "roc_auc", 0.77, n=700, truth=LabelTruth.PROVISIONAL, coverage=0.7),
        _row(march, "stability_index", 0.02, subject="feature:temp_f"),
    ]
    second = [_row(march, "roc_auc", 0.75, n=1000, truth=LabelTruth.SETTLED, coverage=0.9641)]
    third = [_row(april, "roc_auc", 0.74, n=900, truth=LabelTruth.PROVISIONAL, coverage=0.8)]
    current = [
        *third,
        _row(april, "stability_index", 0.4, subject="feature:temp_f"),
        _row(april, "stability_index_critical", 0.01, subject="feature:temp_f"),
        _row(april, "stability_index", 0.005, subject="feature:carrier"),
        _row(april, "stability_index_critical", 0.01, subject="feature:carrier"),
        _row(april, "stability_index", 0.5, subject="score"),
        _row(april, "stability_index_critical", 0.01, subject="score"),
    ]
    for as_of, snapshots in ((march, first), (march + 7 * DAY, second), (april, third)):
        store.commit_cycle(
            "late",
            CycleCommit(
                state=ModelState(as_of=as_of),
                current=current,
                provenance=replace(BEHIND, as_of=as_of),
                snapshots=snapshots,
                windows=[],
            ),
        )
    store.close()


def _row(
    end: int,
    measure: str,
    value: float,
    *,
    n: int = 1000,
    truth: LabelTruth = LabelTruth.NONE,
    **others: Any,
) -> MeasurementRow:
    interval = Interval(value - 0.05, value + 0.05, 0.95) if truth is not LabelTruth.NONE else None
    measurement = Measurement(value, n=n, interval=interval)
    return row_of(measure, measurement, window="month", window_end=end, truth=truth, **others)
