"""Whatever a file holds: it is read, or its faults are named; nothing else happens."""

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import config_loading as reading
from monitor.core.errors import ConfigurationError
from monitor.specs.settings import Settings

EXAMPLE = tomllib.loads((Path(__file__).parents[2] / "config.example.toml").read_text(encoding="utf-8"))
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, "", "x", "1d", "0s", "${NONE}", "sqlite://", "month", True),
        *(0, -1, 1, 2.5, float("nan"), float("inf"), 2**70),
        *([], {}, ["x"], [[]], {"x": 1}, [{"length": "1d"}], {"1": {"1": 1}}),
    ]
)


def places(value: Any, loc: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of all values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [loc, *(place for key, item in items for place in places(item, (*loc, key)))]


def put(document: Any, loc: tuple[Any, ...], value: Any) -> None:
    """Put a value at a place, if it is still there; None takes it away."""
    *table, last = loc
    for key in table:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return
    if value is None and isinstance(document, dict):
        document.pop(last, None)
    elif isinstance(document, dict) or (isinstance(document, list) and last in range(len(document))):
        document[last] = copy.deepcopy(value)


@pytest.fixture(scope="module")
def read() -> Callable[[dict[str, Any]], Settings]:
    """Reads a document that a file would hold."""

    def settings_of(document: dict[str, Any]) -> Settings:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "document_of", Mock(return_value=document))
            return reading.settings_of(Path("config.toml"), {})

    return settings_of


PLACES = [place for place in places(EXAMPLE) if place] + [
    ("defaults",), ("defaults", "every"), ("defaults", "predictions"), ("defaults", "windows"), ("include",),
    ("models", 0, "windows"), ("models", 0, "pane"), ("models", 0, "horizon"), ("models", 0, "settle_after"),
    ("models", 0, "predictions", "threshold"), ("models", 0, "classes"), ("models", 0, "classes", "values"),
    ("models", 0, "predictions", "probabilities"), ("models", 0, "predictions", "probabilities_prefix"),
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(task=st.sampled_from(["binary", "multiclass", "regression"]), changes=st.data())
def test_any_file_is_read_or_its_faults_are_named(
    read: Callable[[dict[str, Any]], Settings], task: str, changes: st.DataObject
) -> None:
    document = copy.deepcopy(EXAMPLE)
    document["models"][0]["task"] = task
    for loc, value in changes.draw(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=4)):
        put(document, loc, value)

    faults: tuple[str, ...] = ()
    result = None
    try:
        result = read(document)
    except ConfigurationError as error:
        faults = error.faults

    assert (result is None) == bool(faults)
    assert all(": " in fault for fault in faults)
