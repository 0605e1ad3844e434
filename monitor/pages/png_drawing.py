"""Drawings as PNG, which chats and mails show: by resvg, of the extra `notify`."""

from functools import lru_cache

from monitor.charts.pictures import FONTS
from monitor.core.errors import AddressError
from monitor.core.version import install_command

_ZOOM = 2.5  # pixels of the picture for each of the drawing's: phones show two or three for one


def draw_png(svg: str) -> bytes:
    """A picture of our own as PNG.

    Raises
    ------
    AddressError
        if nothing can draw it here, or there are no fonts: without words and numbers it would say nothing.
    """
    try:
        import resvg_py
    except ImportError:
        raise AddressError(f"pictures need resvg: {install_command('notify')}", 404) from None
    if not draws_words():
        raise AddressError("there are no fonts here: install some, as fonts-dejavu-core of Debian", 404)
    return resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM)


@lru_cache(maxsize=1)
def draws_words() -> bool:
    """Whether there are fonts, by a drawing with a word and one without. ImportError: no resvg."""
    import resvg_py

    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" font-family="{FONTS}">'
    drawn = {
        resvg_py.svg_to_bytes(svg_string=f'{head}<text y="20">{words}</text></svg>') for words in ("8", "")
    }
    return len(drawn) == 2
