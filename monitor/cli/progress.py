"""How far long work has come: a bar on a terminal, a line now and then in a log."""

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from time import monotonic
from typing import TypeVar

import click

from monitor.show.terminal import say

T = TypeVar("T")
_TELL = 30.0  # seconds between lines of a log


def progress(
    items: Iterator[T], length: int, label: str, *, now: Callable[[], float] = monotonic
) -> Iterator[T]:
    """Pass items through, and tell on standard error how many there are, how fast, how long it will take."""
    began = told = now()
    is_terminal = sys.stderr.isatty()

    def rate(at: int | None) -> str:
        return f"{at / max(now() - began, 1e-9):.1f} a second" if at else ""

    with click.progressbar(
        length=length, label=label, show_pos=True, item_show_func=rate, file=sys.stderr
    ) as bar:
        for at, item in enumerate(items, start=1):
            yield item
            bar.update(1, at)
            if not is_terminal and now() - told >= _TELL:
                told = now()
                left = timedelta(seconds=round((length - at) * (told - began) / at))
                say(f"{label}: {at:,} of {length:,}, {rate(at)}, {left} left", err=True)
