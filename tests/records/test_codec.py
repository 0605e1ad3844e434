import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_examples import COUNTING, pane

from monitor.core.errors import CodecError
from monitor.records.codec import (
    decode_many,
    decode_strata,
    encode_parts,
    encode_strata,
    pack_many,
    unpack_many,
)
from monitor.records.pane import PanePart
from monitor.states.counters import CounterBlock, CounterLayout, Counters
from monitor.states.strata import WHOLE, Stratum

LAYOUT = CounterLayout((CounterBlock("cells", (300,), "a"), CounterBlock("sums", (4, 3), "b", sums=True)))
int64 = st.integers(-(2**63), 2**63 - 1)
names = st.builds(Stratum, st.none() | st.text(), st.none() | st.text())


@st.composite
def states(draw: st.DrawFn) -> Counters:
    filled = draw(st.dictionaries(st.integers(0, LAYOUT.size - 1), int64.filter(bool), max_size=40))
    index = np.array(sorted(filled), dtype=np.int64)
    return Counters(LAYOUT, index, np.array([filled[at] for at in index.tolist()], dtype=np.int64))


@given(st.lists(st.dictionaries(names, states(), max_size=5), max_size=4))
def test_strata_of_any_number_of_panes_come_back_equal(panes: list[dict[Stratum, Counters]]) -> None:
    blobs = encode_parts([PanePart(start=at, strata=strata) for at, strata in enumerate(panes)])

    assert [decode_strata(blob, LAYOUT) for blob in blobs] == panes
    assert decode_many(blobs, LAYOUT) == panes


@given(states())
def test_a_state_comes_back_equal(state: Counters) -> None:
    assert decode_strata(encode_strata({WHOLE: state}), LAYOUT) == {WHOLE: state}


@given(st.lists(int64))
def test_integers_come_back_equal(values: list[int]) -> None:
    (packed,) = pack_many(np.array(values, dtype=np.int64), [len(values)])

    assert [found.tolist() for found in unpack_many([packed], [len(values)])] == [values]


@pytest.mark.parametrize(
    ("value", "packed"), [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (150, "ac02")]
)
def test_integers_are_packed_as_protocol_buffers_sint64(value: int, packed: str) -> None:
    # https://protobuf.dev/programming-guides/encoding: zigzag, then base-128 varints
    assert pack_many(np.array([value]), [1])[0].hex() == packed


def test_a_blob_of_the_first_format_still_loads() -> None:
    names = b'[[null,null,2],["v",null,1]]'
    body = len(names).to_bytes(4, "little") + names + bytes([2, 4, 1]) + bytes([10, 0x80, 1, 3])
    blob = b"\x01" + zlib.compress(body)

    assert decode_strata(blob, LAYOUT) == {
        WHOLE: Counters(LAYOUT, np.array([1, 3]), np.array([5, 64])),
        Stratum("v", None): Counters(LAYOUT, np.array([2]), np.array([-2])),
    }


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(CodecError, match="format 1 expected: got 2"):
        decode_strata(b"\x02" + encode_parts([pane(0)])[0][1:], COUNTING.records_layout)
    with pytest.raises(CodecError, match="got an empty blob"):
        decode_strata(b"", COUNTING.records_layout)


@given(st.data())
def test_a_damaged_blob_is_refused_or_means_the_same(data: st.DataObject) -> None:
    """Some bits say nothing, as those of codes that are not used."""
    whole = encode_parts([pane(0)])[0]
    blob = bytearray(whole)
    at = data.draw(st.integers(3, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))

    try:
        found = decode_strata(bytes(blob), COUNTING.records_layout)
    except CodecError:
        return
    assert found == decode_strata(whole, COUNTING.records_layout)


@given(st.integers(1, 200))
def test_a_truncated_blob_is_refused(length: int) -> None:
    blob = encode_parts([pane(0)])[0]

    with pytest.raises(CodecError):
        decode_strata(blob[: -min(length, len(blob))], COUNTING.records_layout)


@pytest.mark.parametrize(
    ("names", "integers", "message"),
    [
        (b"[[null,null,1]]", b"\x02", "2 integers expected: got 1"),
        (b"[[null,null,1]]", b"\x02\x82", "2 integers expected: got 1"),
        (b"[[null,null,1]]", b"\x02\x02\x82", "2 integers expected: got 2 in 3 bytes"),
        (b"[]", b"\x82", "0 integers expected: got 0 in 1 bytes"),
        (b"[[null,null,1]]", b"\x80" * 10 + b"\x02\x02", "at most 10 bytes: got 11"),
        (b"[[null,null,1]]", b"\x01\x02", "positions below 312 expected: got -1"),
        (b"[[null,null,1]]", b"\xf0\x04\x02", "positions below 312 expected: got 312"),
        (b"[[1]]", b"", "damaged blob"),
        (b"nonsense", b"", "damaged blob"),
    ],
)
def test_a_blob_that_makes_no_sense_is_refused(names: bytes, integers: bytes, message: str) -> None:
    blob = b"\x01" + zlib.compress(len(names).to_bytes(4, "little") + names + integers)

    whole = encode_strata({WHOLE: Counters(LAYOUT, np.array([1, 3]), np.array([5, 64]))})

    with pytest.raises(CodecError, match=message):
        decode_strata(blob, LAYOUT)
    with pytest.raises(CodecError, match=message):
        decode_many([whole, blob, whole], LAYOUT)
