"""Notebooks as pages of the site: run from first cell to last, their outputs below the cells.

The repository keeps notebooks without outputs. A cell that fails, or warns, fails the build.
"""

import re
from pathlib import Path
from typing import Any

_STYLE = re.compile(  # of pandas: the site has its own
    r'<style scoped>.*?</style>\s*| border="1" class="dataframe"| style="text-align: right;"', re.DOTALL
)


def text_of(path: Path) -> str:
    """Text of a page: of a notebook, what stands between its cells of code."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(cell.source for cell in _read(path).cells if cell.cell_type == "markdown")


def executed(path: Path) -> str:
    """Markdown of a notebook that is run now, where it lies.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        if a cell fails.
    """
    from nbclient import NotebookClient

    book, place = _read(path), {"metadata": {"path": str(path.parent)}}
    quiet = ["--log-level=ERROR"]  # no word on the loopback that cells are sent over
    NotebookClient(book, kernel_name="python3", resources=place, extra_arguments=quiet).execute()
    parts = [part for cell in book.cells for part in _parts(cell)]
    return "\n\n".join(parts) + "\n"


def _read(path: Path) -> Any:
    import nbformat

    reads: Any = nbformat.v4.reads  # it has no types
    return reads(path.read_text(encoding="utf-8"))


def _parts(cell: Any) -> list[str]:
    if cell.cell_type == "markdown":
        return [cell.source]
    return [f"```python\n{cell.source}\n```", *(_shown(output) for output in cell.outputs)]


def _shown(output: Any) -> str:
    """An output as a reader of a notebook sees it: HTML before text."""
    if output.output_type == "stream":
        if output.name == "stderr":
            raise ValueError(f"a cell warns: {output.text}")
        return f"```text\n{output.text.rstrip()}\n```"
    if "text/html" in output.data:
        lines = _STYLE.sub("", output.data["text/html"]).splitlines()
        return "&#10;".join(lines) if lines[0].startswith("<iframe") else "\n".join(map(str.strip, lines))
    return f"```text\n{output.data['text/plain']}\n```"
