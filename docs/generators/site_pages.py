"""Build the site of the documentation: `make site`.

The pages of the repository are plain Markdown that any forge shows. The site is made of copies whose links
lead to one another there: the README is its first page, the example configuration a page of its own. What is
no page (code, data) is named without a link. Notebooks are run. A link that leads nowhere fails the build.
python docs/generators/site_pages.py DIRECTORY
"""

import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

from notebook_pages import executed

ROOT = Path(__file__).parents[2]
MOVED = {
    "README.md": "index.md",
    "config.example.toml": "configuration.md",
    "examples/README.md": "examples.md",
    "examples/tutorial/README.md": "example-of-the-tutorial.md",
    "docker/README.md": "docker.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "benchmarks/results/ratios.svg": "pictures/ratios.svg",
}
CONFIGURATION = """# Configuration

Every key with its default and meaning: this is `config.example.toml`.
`monitor init` writes a first one from your tables, `monitor check` says what is wrong with one.

```toml
{text}```
"""
_UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"  # decisions have a page of their own, and many words
_WORKER = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"[^>]*></script>')
_ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']https?://[^"']*["']""")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_DIAGRAM = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)  # drawn by a script from elsewhere


def pages() -> dict[str, str]:
    """Path in the repository of each page and picture, and its path on the site."""
    found = {name: place for name, place in MOVED.items() if (ROOT / name).exists()}
    for file in sorted((ROOT / "docs").rglob("*")):
        if file.suffix in {".ipynb", ".md", ".png", ".svg"}:
            name = file.relative_to(ROOT).as_posix()
            found[name] = name.removeprefix("docs/").replace(".ipynb", ".md")
    return found


def laid_out(name: str, text: str, places: dict[str, str]) -> str:
    """Text of a page of the repository as a page of the site."""
    if name.endswith(".toml"):
        return CONFIGURATION.format(text=text)
    text, parts, end = _DIAGRAM.sub("", text), [], 0
    for fence in _FENCE.finditer(text):
        parts += [_linked(name, text[end : fence.start()], places), fence.group()]
        end = fence.end()
    head = _UNSEARCHED if name.startswith("docs/adr/") else ""
    return "".join([head, *parts, _linked(name, text[end:], places)])


def _linked(name: str, text: str, places: dict[str, str]) -> str:
    def link(found: re.Match[str]) -> str:
        mark, shown, target, anchor = (part or "" for part in found.groups())
        if not target or "://" in target or target.startswith("mailto:"):
            return found.group()
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if wanted not in places:
            return shown
        here = posixpath.dirname(places[name]) or "."
        return f"{mark}[{shown}]({posixpath.relpath(places[wanted], here)}{anchor})"

    return _LINK.sub(link, text)


def lay_out(directory: Path) -> None:
    """Write the pages of the site, and what builds it, into a directory."""
    shutil.rmtree(directory, ignore_errors=True)
    places = pages()
    for name, place in places.items():
        target = directory / "pages" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if place.endswith(".md"):
            source = ROOT / name
            text = executed(source) if source.suffix == ".ipynb" else source.read_text(encoding="utf-8")
            target.write_text(laid_out(name, text, places), encoding="utf-8")
        else:
            shutil.copy(ROOT / name, target)
    shutil.copy(ROOT / "docs" / "site.toml", directory / "zensical.toml")


def offline(text: str, script: str) -> str:
    """Page whose search works where there is no network: by our script, not by that of another host."""
    return _WORKER.sub(lambda _: script, text)


def main() -> int:
    """Build the site below a directory; 1 where a page has a fault."""
    directory = Path(sys.argv[1])
    lay_out(directory)
    zensical = str(Path(sys.executable).with_name("zensical"))
    command = [zensical, "build", "--strict", "--config-file", str(directory / "zensical.toml")]
    if subprocess.run(command, check=False).returncode:  # noqa: S603 -- ours
        return 1
    script = (
        f"<script>{(Path(__file__).parent / 'search_from_files.js').read_text(encoding='utf-8')}</script>"
    )
    for page in (directory / "site").rglob("*.html"):
        text = offline(page.read_text(encoding="utf-8"), script)
        if found := _ELSEWHERE.search(text):
            print(f"{page} loads what lies elsewhere: {found.group()}", file=sys.stderr)
            return 1
        page.write_text(text, encoding="utf-8")
    print(f"open {directory / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
