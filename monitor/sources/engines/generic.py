"""Any database that SQLAlchemy knows: values tell what types do not, no index and no snapshot is known.

What several statements count is compared.
"""

from monitor.sources.engines.engine import Engine


class GenericSql(Engine):
    """An engine of which nothing is known but its SQL."""
