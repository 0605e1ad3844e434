"""How much room a pane takes."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from measure_states import LATER, PANE, binary_reading, table

from monitor.records.count_labels import count_labels
from monitor.records.count_records import count_records
from monitor.records.reference import reference_of
from monitor.store.codec import encode

NUMERIC = tuple(f"x{at}" for at in range(20))
CATEGORICAL = tuple(f"c{at}" for at in range(5))


def rows(n: int) -> pa.Table:
    rng = np.random.default_rng(n)
    columns = {"score": pa.array(rng.beta(2, 5, n))}
    columns |= {f"feature_{name}": pa.array(rng.normal(size=n)) for name in NUMERIC}
    columns |= {f"feature_{name}": pa.array(rng.choice(list("abcdefgh"), n).tolist()) for name in CATEGORICAL}
    columns["label"] = pa.array(rng.integers(0, 2, n).astype(str).tolist())
    return table(**columns)


def test_a_pane_of_25_features_stays_around_4_kilobytes() -> None:
    reading = replace(binary_reading(), numeric=NUMERIC, categorical=CATEGORICAL)
    counting = reference_of(rows(20_000).drop_columns(["id", "event_time"]), reading).counting
    pane = rows(400)

    parts = [count(pane, counting, panes=PANE, as_of=LATER)[0] for count in (count_records, count_labels)]

    assert sum(len(blob) for part in parts for blob in encode([part])) < 4_500
