"""Parts of pages that programs write: each lies between two comments, of which the first names it."""

from pathlib import Path

_BEGINS = "<!-- part: {name} -->\n"
_ENDS = "<!-- end of part -->\n"


def part_of(page: str, name: str) -> str:
    """What stands between the two comments of a part."""
    _, begins, rest = page.partition(_BEGINS.format(name=name))
    part, ends, _ = rest.partition(_ENDS)
    if not begins or not ends:
        raise ValueError(f'the page has no part "{name}"')
    return part


def with_part(page: str, name: str, text: str) -> str:
    """The page with another text between the two comments of a part."""
    begins = _BEGINS.format(name=name)
    return page.replace(f"{begins}{part_of(page, name)}{_ENDS}", f"{begins}{text.rstrip()}\n{_ENDS}")


def write_part(path: Path, name: str, text: str) -> None:
    """Replace a part of the page at a path."""
    path.write_text(with_part(path.read_text(encoding="utf-8"), name, text), encoding="utf-8")
