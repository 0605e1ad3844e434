"""The user's databases: which rows changed, rows as column batches, references."""

from monitor.sources.pushed_source import PushedSource
from monitor.sources.source_opening import open_source
from monitor.sources.sql_source import SqlSource

__all__ = ["PushedSource", "SqlSource", "open_source"]
