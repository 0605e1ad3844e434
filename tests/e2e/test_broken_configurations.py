"""Whatever stands in a configuration, each command ends with 0, 1 or 2 and a sentence, never a traceback."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hostile import Answer, attacked, invoke, mutated, spawned, surroundings
from serving import model, predictions, sqlite_bench

from monitor.core.clock import from_iso

pytestmark = pytest.mark.usefixtures("here")
ROOT = Path(__file__).parents[2]
START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OWN = model(
    options='every = "1h"\nwindows = ["1d", "month"]\nsettle_after = "1d"\nresamples = 20\n'
    'segments = ["pred"]\n'
    'against = ["previous"]\ndefault_alerts = true\n'
    '[[models.alerts]]\nname = "busy"\nmeasure = "records"\nabove = 10\nwindow = "1d"\n'
    '[models.control]\narm_column = "group"\ncontrol_value = "a"\ntreatment_value = "b"\n'
)
FROM_LOG = OWN.replace('table = "reference"', 'from = "2024-03-01"\nto = "2024-03-02"')
OTHERS = (
    ROOT / "config.example.toml",
    ROOT / "monitor" / "demo" / "demo.toml",
    *(ROOT / "tests" / "e2e").glob("*.toml"),
)
COMMANDS = (
    ("check", "--offline"), ("check", "--offline", "--format", "json"), ("check",), ("check", "--explain"),
    ("run",), ("cycle", "--as-of", "2024-03-03"), ("cycle", "--dry-run", "--as-of", "2024-03-03"),
    ("show",), ("show", "--all"), ("status",), ("alerts",), ("export-rules",), ("migrate",),
    ("backtest", "--from", "2024-03-01", "--to", "2024-03-02"),
)  # fmt: skip
CHEAP = (("check", "--offline"), ("show",), ("export-rules",))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with a small log, and files that configurations name."""
    directory = tmp_path_factory.mktemp("hostile")
    sqlite_bench(directory, predictions(40, START, END), OWN, labelled=END)
    surroundings(directory)
    return directory


@pytest.fixture(scope="module")
def written(directory: Path) -> list[bytes]:
    """Configurations without a fault."""
    own = (directory / "config.toml").read_text(encoding="utf-8").replace(f"{directory}/", "")
    others = [filled_in(one.read_text(encoding="utf-8")) for one in OTHERS]
    return [text.encode() for text in (own, own, own, own.replace(OWN, FROM_LOG), *others)]


def filled_in(text: str) -> str:
    """A configuration with values in place of those of the environment."""
    text = re.sub(r'"\$\{\w*STORE\}"', '"sqlite:///monitor.db"', text)
    text = re.sub(r'"\$\{\w*(URL|SOURCE)\}"', '"sqlite:///log.db"', text)
    return text.replace("${PANE}", "1h").replace("${HORIZON}", "10d").replace("${EXTRA}", "")


def test_configurations_that_are_attacked_have_no_fault(directory: Path, written: list[bytes]) -> None:
    for text in written:
        (directory / "sound.toml").write_bytes(text)
        assert invoke("check", "--offline", "--config", "sound.toml") == Answer(0, "", "")


def wrong_answers(directory: Path, written: list[bytes], seed: int, cases: int) -> Sequence[object]:
    def attack(rng: random.Random) -> Sequence[str]:
        (directory / "attacked.toml").write_bytes(mutated(rng.choice(written), rng))
        command = rng.choice(COMMANDS if rng.random() < 0.5 else CHEAP)
        return *command, "--config", "attacked.toml"

    return attacked(seed, cases, attack, codes={0, 2})


@pytest.mark.parametrize("seed", [1, 2])
def test_a_broken_configuration_is_answered_by_a_sentence(
    directory: Path, written: list[bytes], seed: int
) -> None:
    assert wrong_answers(directory, written, seed, 150) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 108))
def test_thousands_of_broken_configurations_are_answered_by_sentences(
    directory: Path, written: list[bytes], seed: int
) -> None:
    assert wrong_answers(directory, written, seed, 1_000) == []


@pytest.mark.parametrize("command", ["check", "show", "run"])
@pytest.mark.parametrize("path", [".", "none.toml", "secret.toml", "/dev/null", "bytes.toml", "log.db"])
def test_what_is_no_configuration_is_answered_by_a_sentence(command: str, path: str) -> None:
    answer = invoke(command, "--config", path)

    assert (answer.wrong, answer.code) == ("", 2)


@pytest.mark.long
def test_processes_answer_broken_configurations_by_sentences(directory: Path, written: list[bytes]) -> None:
    rng = random.Random(7)  # noqa: S311 -- not for secrets
    wrong = []
    for command in (*COMMANDS, *COMMANDS, *COMMANDS):
        (directory / "attacked.toml").write_bytes(mutated(rng.choice(written), rng))
        answer = spawned(directory, *command, "--config", "attacked.toml")
        if answer.wrong:
            wrong.append((command, answer))

    assert wrong == []
