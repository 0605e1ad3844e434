"""Reading through ADBC makes no Python object of a value."""

import tracemalloc
from collections.abc import Callable

from flight_models import COLUMNS, START, model_of
from source_databases import Database

from monitor.core.clock import DAY

ROWS = 300_000
FILL = f"""
INSERT INTO predictions
WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < {ROWS - 1})
SELECT at, strftime('%Y-%m-%dT%H:%M:%SZ', {START // 1_000_000} + at, 'unixepoch'), NULL,
       at / 300000.0, at % 2, at % 31 + 0.5, 'UA'
FROM n
"""


def test_300_000_rows_are_read_without_a_python_object_for_each(
    make_database: Callable[[str], Database],
) -> None:
    database = make_database("sqlite-adbc")
    database.create("predictions", COLUMNS)
    database.run(FILL)
    source = database.source()

    tracemalloc.start()
    table = source.read_records(model_of(), [(START, START + 7 * DAY)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert table.num_rows == ROWS
    assert peak < 1_000_000
    assert table.nbytes < 100 * ROWS
