"""Tables of the store: plain, one row a fact, made for an analyst's SQL.

Times are BIGINT microseconds since 1970-01-01 UTC. `window` is a reserved word of PostgreSQL: write it
qualified, as in ``s.window``.

`version` and `segment` are part of keys, where NULLs would never collide: in the tables the whole has
the empty text in both, in the rows of `specs.rows` it has None.

The tables are made by `migrations/`; a test holds both equal.
"""

from monitor.store.damaged_rows import guard_columns
from monitor.store.tables.measurement_schema import VIEWS, details
from monitor.store.tables.service_schema import leases, messages
from monitor.store.tables.shared_columns import METADATA

guard_columns(METADATA, outer=frozenset({leases.name, details.name, messages.name}))
guard_columns(VIEWS, outer=frozenset())
