"""Rows whose event time is years off are counted alike on every engine, whatever times are made of."""

from dataclasses import replace

import pytest
from flight_models import COLUMNS, PREDICTIONS, READING, START, iso, model_of, rows_of
from made_databases import Made

from monitor.core.clock import DAY, MINUTE, SECOND, from_iso
from monitor.specs.protocols import MisdatedRows

SINCE, AS_OF = START + DAY, START + 2 * DAY
RECENT = (SINCE - 60 * DAY, AS_OF + 30 * DAY)
EVER = (from_iso("1990-01-01"), AS_OF + 3_652 * DAY)
FAR = ["9999-12-28T10:00:00Z", "2126-03-04T10:00:00Z", "1970-01-16T10:00:00Z", "1900-01-03T10:00:00Z"]
OLD = "2005-03-04T10:00:00Z"  # of the log's past, or years off
KINDS = {  # the database's type, and how a moment is written
    "text": ("text", iso),
    "offsets": ("text", lambda us: iso(us, "%Y-%m-%d %H:%M:%S+00:00")),
    "timestamp": ("timestamp", lambda us: iso(us, "%Y-%m-%d %H:%M:%S")),
    "numbers": ("bigint", lambda us: us // SECOND),
}
N = 100


@pytest.mark.parametrize("dated", [True, False], ids=["logged_at", "no logged_at"])
@pytest.mark.parametrize("times_as", KINDS)
def test_far_off_times_are_counted(made: Made, times_as: str, *, dated: bool) -> None:
    moments = [SINCE + (at - 10) * MINUTE + 30 * SECOND for at in range(N)]  # ten were logged before
    times = [*map(from_iso, (*FAR, OLD)), *moments]
    logged = [SINCE + (at + 1) * MINUTE for at in range(len(FAR) + 1)] + moments
    kind, cast = KINDS[times_as]
    rows = rows_of(len(times), event_time=[*map(cast, times)], logged_at=[*map(cast, logged)])
    types = dict.fromkeys(("event_time", "logged_at"), kind)
    units = (("event_time", "s"), ("logged_at", "s")) if kind == "bigint" else ()
    if kind == "timestamp" and made.url.startswith("chdb"):
        pytest.skip("its type of times ends in 2299")
    made.create("predictions", COLUMNS | types, rows)
    columns = tuple(pair for pair in PREDICTIONS.columns if dated or pair[0] != "logged_at")
    model = model_of(
        reading=replace(READING, time_units=units), predictions=replace(PREDICTIONS, columns=columns)
    )
    source = made.source()

    since = source.count_misdated_rows(model, since=SINCE, as_of=AS_OF, recent=RECENT, ever=EVER)
    first = source.count_misdated_rows(model, since=None, as_of=AS_OF, recent=RECENT, ever=EVER)

    assert since == (MisdatedRows(5, 5 + N - 10) if dated else MisdatedRows(4))
    assert first == MisdatedRows(4)
