"""What commands say of themselves, on a terminal of 80 columns."""

import click
import pytest

from monitor.cli import main

ALERTS = main.commands["alerts"]
assert isinstance(ALERTS, click.Group)
COMMANDS = {**main.commands, **{f"alerts {name}": one for name, one in ALERTS.commands.items()}}


def helped(command: click.Command) -> str:
    settings = {**main.context_settings, "terminal_width": 80}  # Click keeps the first --help that it makes
    return command.get_help(click.Context(command, info_name=command.name, **settings))


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns_in_sentences_of_at_most_25_words(name: str) -> None:
    command = COMMANDS.get(name, main)
    options = [one for one in command.params if isinstance(one, click.Option)]
    texts = [command.help or "", *(one.help or "" for one in options)]
    sentences = [part.split() for text in texts for part in text.replace("\n", " ").split(". ")]

    assert max(map(len, helped(command).splitlines())) <= 80
    assert max(map(len, sentences)) <= 25
    assert [one.name for one in options if not one.help and not isinstance(one.type, click.Choice)] == []


def test_each_command_is_named_with_a_whole_sentence() -> None:
    lines = helped(main).partition("Commands:\n")[2].partition("\n\n")[0].splitlines()

    assert [line.split()[0] for line in lines] == sorted(main.commands)
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


def test_exit_codes_are_told() -> None:
    assert "Exit codes: 0 done, 1 something failed, 2 usage or configuration." in helped(main)
    assert "Exit codes: 0 no fault" in helped(COMMANDS["check"])
    assert all("Exit with 3" in helped(COMMANDS[name]) for name in ("alerts", "status"))
