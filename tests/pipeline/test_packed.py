"""Sums of packed panes follow whatever changes: always those of a fold from scratch, with `==`."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from differing import differing
from laws import merge

from monitor.core.clock import DAY, HOUR
from monitor.core.errors import MonitorError
from monitor.pipeline.packed_panes import PackedPanes
from monitor.records import codec
from monitor.records.labels.label_differences import move_strata_sums
from monitor.records.pane import PanePart
from monitor.states.counters import CounterBlock, CounterLayout, Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.strata_folding import fold_strata

LAYOUT = CounterLayout((CounterBlock("tally", (5,), "a"), CounterBlock("errors", (4, 2), "b", sums=True)))
NAMES = (WHOLE, Stratum("v1", None), Stratum("v2", None), Stratum(None, "region=North"))


def drawn(rng: np.random.Generator) -> Strata:
    """Strata of a pane, the whole among them; now and then none."""
    if rng.random() < 0.1:
        return {}
    dense = rng.integers(0, 3, LAYOUT.size)
    dense[0] = 1 + rng.integers(5)  # records
    dense[LAYOUT.low_positions] = rng.integers(0, 2**39, len(LAYOUT.low_positions))
    dense[LAYOUT.high_positions] = rng.integers(-9, 9, len(LAYOUT.high_positions))
    chosen = [name for name in NAMES if name == WHOLE or rng.random() < 0.5]
    return {name: Counters.from_dense(LAYOUT, dense) for name in chosen}


def drawn_again(rng: np.random.Generator, strata: Strata) -> Strata:
    """Other counts of the same strata, here and there."""
    return {
        name: Counters.from_dense(LAYOUT, counters.dense_counts() + rng.integers(0, 2, LAYOUT.size))
        for name, counters in strata.items()
    }


def pane_of(start: int, strata: Strata) -> PanePart:
    return PanePart(start=start, strata=strata)


def reader(blobs: Mapping[int, bytes]) -> Callable[[Sequence[int]], Mapping[int, bytes]]:
    """What is stored of some panes."""
    return lambda starts: {start: blobs[start] for start in starts if start in blobs}


def moved(
    rng: np.random.Generator, packed: PackedPanes, panes: dict[int, Strata], blobs: dict[int, bytes]
) -> dict[int, Strata]:
    """Some panes that differences have moved; now and then differences are folded."""
    some = sorted(start for start in panes if rng.random() < 0.3)
    pairs = [(pane_of(at, panes[at]), pane_of(at, drawn_again(rng, panes[at]))) for at in some]
    if some:
        packed.keep_differences(differing(LAYOUT.size, pairs, [(at, 0, 0, None) for at in some], as_of=0))
    if rng.random() < 0.1 and packed.differences:
        packed.merge_differences()
        starts = packed.differences[0].start.tolist()
        blobs |= zip(starts, map(codec.encode_strata, packed.read_panes(starts)), strict=True)
        packed.forget_folded_differences(starts)
        assert not packed.differences
    return {after.start: after.strata for _, after in pairs}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("width", [HOUR, 6 * HOUR, DAY])
def test_sums_are_those_of_a_fold_from_scratch_whatever_came_and_was_asked_before(
    seed: int, width: int
) -> None:
    rng = np.random.default_rng(seed)
    blobs, panes = dict[int, bytes](), dict[int, Strata]()
    packed = PackedPanes("late", LAYOUT, width, reader(blobs))
    end = 0
    for _ in range(25):
        packed.begin_cycle()
        end += width * int(rng.integers(0, 30))
        changes = {width * int(at): drawn(rng) for at in rng.integers(0, max(1, end // width), 12)}
        put = []
        for start, strata in changes.items():
            before = packed.unpack_pane(start)
            assert before == panes.get(start, {})
            blobs[start] = codec.encode_strata(strata)
            packed.replace_cached_pane(start, strata if rng.random() < 0.5 else None)
            put.append((start, before, strata))
            panes[start] = strata
        packed.update_sums(put)
        if rng.random() < 0.2:
            since = width * int(rng.integers(0, max(1, end // width)))
            gone = [start for start in panes if start < since]
            packed.forget_panes(gone, since)
            for start in gone:
                del panes[start]
        panes |= moved(rng, packed, panes, blobs)
        for _ in range(4):
            last = end - width * int(rng.integers(0, 5))
            first = last - width * int(rng.integers(1, 40))
            inside = [strata for start, strata in panes.items() if first <= start < last]
            whole = [{WHOLE: strata[WHOLE]} for strata in inside if WHOLE in strata]
            for every, parts in ((True, inside), (False, whole)):
                found = packed.sum_window(first, last, strata=every, kept=rng.random() < 0.8)
                assert found == fold_strata(LAYOUT, parts)


def test_what_is_taken_away_wholly_is_gone() -> None:
    one = {WHOLE: Counters.from_dense(LAYOUT, np.ones(LAYOUT.size, dtype=np.int64))}
    both = {**one, NAMES[1]: one[WHOLE]}

    assert move_strata_sums(LAYOUT, [(both, [both], [one]), (one, [both], [])]) == [one, None]


@pytest.mark.parametrize("opened", [True, False])
def test_a_pane_that_cannot_take_a_difference_stays_as_it_was_and_sums_with_it(*, opened: bool) -> None:
    ones, blobs = Counters.from_dense(LAYOUT, np.ones(LAYOUT.size, dtype=np.int64)), dict[int, bytes]()
    packed = PackedPanes("late", LAYOUT, HOUR, reader(blobs))
    one, two = {WHOLE: ones}, {WHOLE: merge(ones, ones)}
    for start in range(30):
        blobs[start * HOUR] = codec.encode_strata(one)
        packed.replace_cached_pane(start * HOUR, one if opened else None)
    before = packed.sum_window(0, 30 * HOUR, strata=True, kept=True)

    three = {WHOLE: merge(ones, two[WHOLE])}
    pairs = [(pane_of(0, one), pane_of(0, two)), (pane_of(HOUR, three), pane_of(HOUR, one))]
    packed.keep_differences(differing(LAYOUT.size, pairs, [(0, 0, 0, None), (HOUR, 0, 0, None)], as_of=0))

    assert packed.unpack_pane(HOUR) == one
    assert list(packed.refused) == [HOUR]
    assert packed.unpack_pane(0) == two
    after = packed.sum_window(0, 30 * HOUR, strata=True, kept=True)
    assert after == fold_strata(LAYOUT, [before, one])
    assert packed.sum_window(0, DAY, strata=True, kept=False) == fold_strata(LAYOUT, [one] * 25)


def test_a_damaged_pane_is_named() -> None:
    packed = PackedPanes('"late", part records', LAYOUT, HOUR, reader({0: b"\x01nonsense"}))
    packed.replace_cached_pane(0)

    with pytest.raises(MonitorError, match=r'pane 1970-01-01T00:00:00Z of "late", part records'):
        packed.unpack_pane(0)


def test_a_pane_that_somebody_deleted_is_named_and_never_taken_for_an_empty_one() -> None:
    packed = PackedPanes('"late", part records', LAYOUT, HOUR, reader({}))
    packed.replace_cached_pane(0)

    with pytest.raises(MonitorError, match=r'pane 1970-01-01T00:00:00Z of "late", .* not in the store'):
        packed.sum_window(0, DAY, strata=True, kept=True)


def test_panes_that_are_not_there_take_no_memory() -> None:
    packed = PackedPanes("late", LAYOUT, HOUR, reader({}))

    assert [packed.unpack_pane(at * HOUR) for at in range(9)] == [{}] * 9
    assert packed._opened == {}
