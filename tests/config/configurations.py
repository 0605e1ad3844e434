"""Configurations that the tests of reading them start from."""

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from monitor.config.config_loading import settings_of
from monitor.core.errors import ConfigurationError
from monitor.specs.model_spec import ModelSpec
from monitor.specs.settings import Settings

SOURCE = """
[sources.flights]
url = "sqlite:///flights.db"
"""
PREDICTIONS = """
[models.predictions]
table = "predictions"
id = "prediction_id"
event_time = "event_time"
logged_at = "logged_at"
"""
DURATION = 'a duration is a whole number and one of s, m, h, d, w, as in "15m"'


def model(
    task: str = "binary",
    *,
    name: str = "late",
    keys: str = "",
    predictions: str = 'score = "score"\nthreshold = 0.5',
    tables: str = "",
) -> str:
    """A model that has no fault, and what is added to it."""
    head = f'[[models]]\nname = "{name}"\nsource = "flights"\ntask = "{task}"\n'
    return "\n".join([head, textwrap.dedent(keys), PREDICTIONS, predictions, textwrap.dedent(tables), ""])


class File:
    """A configuration file that is written and read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def settings(self, text: str, environ: Mapping[str, str] | None = None) -> Settings:
        """Settings of a text."""
        self.path.write_text(text, encoding="utf-8")
        return settings_of(self.path, environ or {})

    def spec(self, *parts: str) -> ModelSpec:
        """The one model of a source and parts of a file."""
        (spec,) = self.settings("\n".join([SOURCE, *parts])).models
        return spec

    def faults(self, text: str, environ: Mapping[str, str] | None = None) -> list[str]:
        """Faults of a text."""
        self.path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError) as raised:
            settings_of(self.path, environ or {})
        return list(raised.value.faults)

    def faults_of(self, *parts: str) -> list[str]:
        """Faults of a source and parts of a file."""
        return self.faults("\n".join([SOURCE, *parts]))
