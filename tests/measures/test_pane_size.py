"""How much room a pane takes."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
from measure_states import LATER, PANE, binary_reading, reference_of_rows, table

from monitor.records.codec import encode_parts
from monitor.records.count_records import count_records
from monitor.records.labels.count_labels import count_labels
from monitor.records.reading import ChallengerOutput
from monitor.records.reference import reference_of

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
    counting = reference_of_rows(rows(20_000), reading).counting
    pane = rows(400)

    parts = [count(pane, counting, panes=PANE, as_of=LATER)[0] for count in (count_records, count_labels)]

    assert sum(len(blob) for part in parts for blob in encode_parts([part])) < 4_500


def test_the_largest_blocks_are_as_large_as_their_layouts_say() -> None:
    many = table(
        score=pa.array(np.random.default_rng(1).beta(2, 5, 20_000)),
        challenger=pa.array(np.random.default_rng(2).beta(2, 5, 20_000)),
        feature_x=pa.array(np.random.default_rng(3).normal(size=20_000)),
        feature_c=pa.array([f"{at % 400}" for at in range(20_000)]),
        label=pa.array([str(at % 2) for at in range(20_000)]),
    )
    two = ChallengerOutput(column="challenger", threshold=0.3)
    reading = replace(binary_reading(), numeric=("x",), categorical=("c",), challenger=two)
    counting = reference_of(many, reading).counting

    blocks = (*counting.records_layout.blocks, *counting.labels_layout.blocks)
    sizes = {block.name: math.prod(block.shape) for block in blocks}
    paired = sum(sizes[name] for name in sizes if name.startswith(("paired", "champion", "challenger")))

    assert sizes["volume"] == 5
    assert 4_000 < sizes["score"] <= 4_099
    assert (sizes["feature:x"], sizes["feature:c"], sizes["moments"]) == (255, 258, 16)  # of two numbers
    assert (sizes["tally"], sizes["delays"], sizes["confusion"], sizes["losses"]) == (8, 2 * 2_039, 9, 32)
    assert 8_000 < sizes["scores"] <= 8_192
    assert 15_000 < paired <= 23_000
