"""Secrets from the environment and from files: `${NAME}` and `${file:/path}` in any text."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from monitor.config.config_faults import ConfigFault
from monitor.config.file_places import Loc
from monitor.core.secrets import Secrets, hide_secrets, learn
from monitor.specs.urls import encode_in_url, learn_channel, learn_secrets, text_of

_FILE = "${file:"
_PLACE = re.compile(r"(\$?)\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class PlaceFilling:
    """Places that were filled while one file is read."""

    environ: Mapping[str, str]  # the environment
    faults: list[ConfigFault] = field(default_factory=list)  # places that could not be filled
    # values of the others, in whose places messages show the place as written.
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    in_models: Secrets = field(default_factory=Secrets, repr=False)  # those of them that are values of models
    # texts with a place `${file:…}`, by their place in the file: all else is filled, these are left.
    written: dict[Loc, str] = field(default_factory=dict, repr=False)

    def fill_value(self, value: object, loc: Loc = ()) -> object:
        """Fill the places in all texts of a value; a text with a fault is left as it is."""
        match value:
            case dict():
                return {key: self.fill_value(item, (*loc, key)) for key, item in value.items()}
            case list():
                return [self.fill_value(item, (*loc, at)) for at, item in enumerate(value)]
            case str():
                return self._fill_text(value, loc)
            case _:
                return value

    def hide_values(self, message: str) -> str:
        """Put the places as written where a message holds their values."""
        return hide_secrets(self.secrets.hide_known_secrets(message))

    def hide_models(self, text: str) -> str:
        """Do so in a text of a model, where what was filled in elsewhere is a coincidence."""
        return self.in_models.hide_known_secrets(text)

    def _fill_text(self, text: str, loc: Loc) -> str:
        before = len(self.faults)
        filled = _PLACE.sub(self._place_filler(text, loc), text)
        if len(self.faults) > before:
            return text
        if loc[-1:] in (("url",), ("catalog",)):
            (learn_channel if loc[0] == "notify" else learn_secrets)(filled)
        left = _PLACE.sub(self._place_filler(text, loc, but_files=True), text)
        if left.count(_FILE) == text.count(_FILE) > 0 and "$$" not in text:  # what is left means the same
            self.written[loc] = left
        return filled

    def _place_filler(
        self, text: str, loc: Loc, *, but_files: bool = False
    ) -> Callable[[re.Match[str]], str]:
        def value_of(place: re.Match[str]) -> str:
            if place[1]:
                return place[0][1:]
            if but_files and place[0].startswith(_FILE):
                return place[0]
            try:
                value = self._place_value(place[2])
            except ValueError as error:
                self.faults.append(ConfigFault(loc, str(error)))
                return place[0]
            self._remember_secret(value, place[0], loc)
            return encode_in_url(value, text, place.span())

        return value_of

    def _place_value(self, name: str) -> str:
        if name.startswith("file:"):
            return text_of(name.removeprefix("file:"))
        if not _NAME.fullmatch(name):
            raise ValueError(
                f'a place to fill is ${{NAME}} or ${{file:/path}} ("$${{" stands for "${{"): got ${{{name}}}'
            )
        if name not in self.environ:
            raise ValueError(f"the environment variable {name} is not set")
        if any("\ud800" <= sign <= "\udfff" for sign in self.environ[name]):
            raise ValueError(f"the environment variable {name} is not UTF-8 text")
        return self.environ[name].rstrip("\r\n")

    def _remember_secret(self, value: str, place: str, loc: Loc) -> None:
        self.secrets.learn_secret(value, place)
        if loc and loc[0] in ("models", "defaults"):
            self.in_models.learn_secret(value, place)
        if loc[-1:] in (("where",), ("query",), ("file",)):
            learn(value, place)  # databases quote what they are asked
