"""The page on notebooks runs, and prints what it says."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from test_evaluate import served

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def printed(code: str, names: dict[str, Any]) -> str:
    """What a block prints, run with what the ones before it have made."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/notebook.md", "exec"), names)  # noqa: S102 -- our own page
    return out.getvalue()


def test_the_blocks_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.MonkeyPatch.context() as patch:
        served("binary", tmp_path, patch)
    names: dict[str, Any] = {}

    said = []
    for code, _ in BLOCKS:
        monkeypatch.chdir(tmp_path if "config.toml" in code else ROOT)
        said.append(printed(code.replace("/tmp", str(tmp_path)), names))  # noqa: S108 -- it is the page's

    assert said == [text for _, text in BLOCKS]
    assert PAGE.count("```python") == len(BLOCKS)
    assert (tmp_path / "flights.html").stat().st_size > 10_000
