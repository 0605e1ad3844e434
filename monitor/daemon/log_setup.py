"""Logging, set up once: one formatter for structlog and the standard library; an error in one line."""

import logging
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from monitor.core.secrets import HIDDEN, hide_secrets
from monitor.core.text import readable_lines, readable_text

_QUIET = {
    "apscheduler": logging.ERROR,  # we tell of ticks left out ourselves
    "uvicorn": logging.WARNING,
    "alembic": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "asyncio": logging.WARNING,
    "urllib3": logging.WARNING,
    "requests": logging.WARNING,
}
_TELLING = {  # below these they log the rows that are read, and addresses that hold secrets
    "sqlalchemy": logging.INFO,
    "urllib3": logging.INFO,
}
_SECRET_KEY = re.compile(r"(?i)password|passwd|secret|token|api_?key")
_PLAIN_KEYS = ("level", "logger", "timestamp", "model", "channel", "_record", "_from_structlog")
_OF_SEVERAL_LINES = ("exception", "stack")


class LogFormat(StrEnum):
    """How lines look."""

    CONSOLE = "console"
    JSON = "json"


def configure_logging(log_format: LogFormat, level: str = "info", stream: TextIO | None = None) -> None:
    """Send everything that is logged, by us or by libraries, to one stream.

    Parameters
    ----------
    level
        debug, info, warning, error; libraries are heard from warning on, or from debug at debug.
    stream
        standard error unless given.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            hide_event_secrets,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            escape_event_texts,
            _make_renderer(log_format, stream or sys.stderr),
        ],
    )
    _attach_handler(formatter, level, stream or sys.stderr)


def hide_event_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Hide secrets in what libraries say and in what we quote, and values whose key says so.

    The words of our own events stand as they are: a password "cycle" shall not rename what is searched for.
    """
    ours = event.get("_from_structlog") is True and str(event.get("logger")).startswith("monitor.")
    plain = (*_PLAIN_KEYS, "event") if ours else _PLAIN_KEYS
    return {key: value if key in plain else _hide_event_values(key, value) for key, value in event.items()}


def log_thread_failures() -> None:
    """Log what ends a thread: Python would print it, with all that its texts quote."""
    threading.excepthook = _log_thread_end


def _log_thread_end(ended: threading.ExceptHookArgs) -> None:
    log, error = structlog.stdlib.get_logger("monitor.daemon"), ended.exc_value
    log.error("a thread ended", thread=ended.thread.name if ended.thread else None, exc_info=error)


def _hide_event_values(key: str, value: Any) -> Any:
    if _SECRET_KEY.search(key):
        return HIDDEN
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return hide_secrets(value)
        case Mapping():
            return {name: _hide_event_values(str(name), inner) for name, inner in value.items()}
        case Sequence() | set() | frozenset():
            return [_hide_event_values("", inner) for inner in value]
        case _:
            return hide_secrets(str(value))


def escape_event_texts(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Make every text one line that acts on no terminal; the lines of a traceback cannot pass for others."""
    return {
        readable_text(key): _indent_lines(value) if key in _OF_SEVERAL_LINES else _make_readable(value)
        for key, value in event.items()
    }


def _make_readable(value: Any) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {readable_text(str(key)): _make_readable(inner) for key, inner in value.items()}
        case str():
            return readable_text(value)
        case Sequence() | set() | frozenset():
            return [_make_readable(inner) for inner in value]
        case _:
            return readable_text(str(value))


def _indent_lines(value: Any) -> Any:
    return readable_lines(str(value)).replace("\n", "\n  | ")


def _make_renderer(log_format: LogFormat, stream: TextIO) -> Processor:
    if log_format is LogFormat.JSON:
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
    )


def _attach_handler(formatter: logging.Formatter, level: str, stream: TextIO) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, quiet in _QUIET.items():
        last_heard = root.level if root.level <= logging.DEBUG else max(root.level, quiet)
        logging.getLogger(name).setLevel(max(last_heard, _TELLING.get(name, last_heard)))
    logging.captureWarnings(capture=True)
