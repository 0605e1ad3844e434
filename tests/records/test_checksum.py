"""The checksum of labels: it adds up, and it sees every change."""

import numpy as np
import pyarrow as pa
import pytest
from strategies import FIRST, PANES, Row, counting_of, table_of

from monitor.core.clock import HOUR
from monitor.records.label_checksum import bits_of_texts, mix_bits, pane_checksums, wrap_sums
from monitor.records.labels.count_labels import count_labels, sum_label_facts

LATER = int(PANES[-1]) + 1_000 * HOUR


def checked(kind: str, labels: list[str | None], *, ids: str = "abcdefgh", apart: int = 0) -> int:
    """Checksum of the first pane's records, `apart` microseconds from each other."""
    rows: list[Row] = [
        {
            "id": name,
            "event_time": FIRST + at * apart,
            "logged_at": FIRST,
            "version": "v1",
            "arm": "control",
            "prediction": "1",
            "label": label,
            "reported_at": FIRST,
            "revision": "0",
        }
        for at, (name, label) in enumerate(zip(ids, labels, strict=False))
    ]
    table = table_of(rows, list(rows[0]))
    facts, part = (
        count(table, counting_of(kind), panes=PANES[:1], as_of=LATER)[0]
        for count in (sum_label_facts, count_labels)
    )
    assert facts.checksum == part.checksum
    return part.checksum


def bits_of(text: str) -> int:
    return int(bits_of_texts(pa.chunked_array([[text]]))[0])


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("regression", ["0.05"], ["0.45"]),
        ("regression", ["0"], ["-1"]),
        ("regression", ["-1.2", "3"], ["-1.1", "3"]),
        ("regression", ["1", "3"], ["2", "2"]),
        ("regression", ["1e300"], ["1e301"]),
        ("binary", ["0", "1"], ["1", "0"]),
        ("binary", ["0", None], [None, "0"]),
        ("classes", ["0", "DM"], ["1", "1"]),
        ("classes", ["0", "1", "DM"], ["1", "DM", "0"]),
        ("classes", ["DM"], ["what"]),
        ("regression", ["x"], [None]),
    ],
)
@pytest.mark.parametrize("apart", [0, 1_000_000])
def test_it_changes_with_every_label_and_with_labels_that_change_places(
    kind: str, before: list[str | None], after: list[str | None], apart: int
) -> None:
    assert checked(kind, before, apart=apart) != checked(kind, after, apart=apart)


def test_labels_that_are_written_otherwise_are_thebits_of() -> None:
    assert checked("regression", ["0.5", "-0.0"]) == checked("regression", [" 5e-1", "0"])
    assert checked("binary", ["true", "0.0"]) == checked("binary", ["1", "0"])


def test_it_is_never_negative_and_nothing_without_labels() -> None:
    assert min(checked("regression", [str(number)]) for number in range(-20, 20)) >= 0
    assert checked("unlabelled", ["1", "0"]) == 0


def test_texts_are_told_apart_by_their_first_64_bytes_whatever_stands_beside_them() -> None:
    texts = ["", "a", "b", "ab", "ba", "é", "x" * 63 + "é", "12345678" * 8, "87654321" * 8, "1" * 8, "1" * 16]

    together = bits_of_texts(pa.chunked_array([texts]))

    alone = [bits_of(text) for text in texts]
    assert together.tolist() == alone
    assert len(set(alone)) == len(texts)
    assert bits_of_texts(pa.chunked_array([["y" * 65, "y" * 64]])).tolist() == [bits_of("y" * 64)] * 2
    assert bits_of_texts(pa.chunked_array([texts])[3:5]).tolist() == alone[3:5]
    assert len(bits_of_texts(pa.chunked_array([[]], pa.string()))) == 0


def test_panes_add_up_modulo_2_to_the_63() -> None:
    rng = np.random.default_rng(3)
    members, values = (rng.integers(0, 2**64, 1_000, dtype=np.uint64) for _ in range(2))
    times, pane = np.arange(1_000), rng.integers(0, 7, 1_000)

    apart = pane_checksums(members, values, times, pane, 7)

    whole = pane_checksums(members, values, times, np.zeros(1_000, np.int64), 1)
    exact = sum(int(one) for one in mix_bits(mix_bits(members + mix_bits(times.view(np.uint64))) ^ values))
    assert sum(apart.tolist()) % 2**63 == wrap_sums(apart.sum()) == whole[0] == exact % 2**63
