"""Secrets from the environment and from files: `${NAME}` and `${file:/path}` in any text."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from monitor.config.faults import Fault
from monitor.config.places import Loc

_PLACE = re.compile(r"(\$?)\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL_UP_TO_PASSWORD = re.compile(r"\w[\w+.]*://[^:/@]*:")
_SHORTEST_SECRET = 4  # shorter ones are hidden nowhere: they would blank half of every message


@dataclass(slots=True)
class Filling:
    """Places that were filled while one file is read.

    Parameters
    ----------
    environ
        the environment.
    faults
        places that could not be filled.
    secrets
        (value, place as written) of the others.
    in_models
        those of them that are values of models.
    """

    environ: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    in_models: dict[str, str] = field(default_factory=dict, repr=False)

    def fill(self, value: object, loc: Loc = ()) -> object:
        """Fill the places in all texts of a value; a text with a fault is left as it is."""
        match value:
            case dict():
                return {key: self.fill(item, (*loc, key)) for key, item in value.items()}
            case list():
                return [self.fill(item, (*loc, at)) for at, item in enumerate(value)]
            case str():
                return self._text(value, loc)
            case _:
                return value

    def hide(self, message: str) -> str:
        """Put the places as written where a message holds their values."""
        return _replaced(message, self.secrets)

    def hide_models(self, text: str) -> str:
        """Do so in a text of a model, where what was filled in elsewhere is a coincidence."""
        return _replaced(text, self.in_models)

    def _text(self, text: str, loc: Loc) -> str:
        before = len(self.faults)
        filled = _PLACE.sub(self._place(text, loc), text)
        return filled if len(self.faults) == before else text

    def _place(self, text: str, loc: Loc) -> Callable[[re.Match[str]], str]:
        def value_of(place: re.Match[str]) -> str:
            if place[1]:
                return place[0][1:]
            try:
                value = self._value(place[2])
            except ValueError as error:
                self.faults.append(Fault(loc, str(error)))
                return place[0]
            self._remember(value, place[0], loc)
            if not _in_password(text, place):
                return value
            encoded = quote(value, safe="")
            self._remember(encoded, place[0], loc)
            return encoded

        return value_of

    def _value(self, name: str) -> str:
        if name.startswith("file:"):
            path = name.removeprefix("file:")
            try:
                return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
                raise ValueError(f"the file {path} cannot be read: {why}") from error
        if not _NAME.fullmatch(name):
            raise ValueError(
                f'a place to fill is ${{NAME}} or ${{file:/path}} ("$${{" stands for "${{"): got ${{{name}}}'
            )
        if name not in self.environ:
            raise ValueError(f"the environment variable {name} is not set")
        return self.environ[name]

    def _remember(self, value: str, place: str, loc: Loc) -> None:
        if len(value) >= _SHORTEST_SECRET:
            self.secrets.setdefault(value, place)
            if loc and loc[0] in ("models", "defaults"):
                self.in_models.setdefault(value, place)


def _replaced(text: str, secrets: Mapping[str, str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, secrets[secret])
    return text


def _in_password(text: str, place: re.Match[str]) -> bool:
    """Whether the place is (in) the password of a URL: there a secret is percent-encoded."""
    start, end = place.span()
    head = _URL_UP_TO_PASSWORD.match(text)
    return head is not None and head.end() <= start and "@" not in text[:start] and "@" in text[end:]
