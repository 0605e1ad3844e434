"""The user's databases: which rows changed, rows as column batches, references, what `check` looks at."""

from monitor.sources.source import SqlSource, open_source

__all__ = ["SqlSource", "open_source"]
