"""Types of the commands' options."""

from typing import Any

import click

from monitor.core.clock import from_iso, parse_duration


class MomentType(click.ParamType[int]):
    """An ISO-8601 date or time, UTC unless it says otherwise."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds."""
        if isinstance(value, int):
            return value
        try:
            return from_iso(value)
        except ValueError:
            self.fail(f'"{value}" is not a date or time as in 2013-03-01 or 2013-03-01T06:00Z', param, ctx)


class DurationType(click.ParamType[int]):
    """A duration as in 15m, 1h, 1d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds."""
        if isinstance(value, int):
            return value
        try:
            us = parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if us == 0:
            self.fail("must be longer than nothing", param, ctx)
        return us
