"""The effect table: what it is fitted to, what it finds, what is kept of it."""

from dataclasses import replace

import numpy as np
import pytest
from effect_worlds import WORLDS, World, reference_of_world
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Floats
from monitor.core.errors import CodecError
from monitor.records import effect_table
from monitor.records.effect_table import (
    FOLDS,
    NO_EFFECTS,
    CellMatrix,
    fit_effect_table,
    make_effect_cells,
    pack_effects,
    unpack_effects,
)
from monitor.states.grids import CategoryGrid


def solved(cells: CellMatrix, sizes: list[int], score: Floats) -> Floats:
    """Effects by one system of equations: a ridge on the cells, each feature's records with the mean 0."""
    starts = np.cumsum([0, *sizes[:-1]])
    design = np.zeros((len(score), sum(sizes)))
    for at, start in enumerate(starts):
        design[np.arange(len(score)), start + cells[at]] = 1.0
    centred = np.eye(sum(sizes))
    for start, size in zip(starts, sizes, strict=True):
        own = slice(start, start + size)
        centred[own, own] -= design[:, own].mean(axis=0)
    free = design - design.mean(axis=0)
    gram = free.T @ free + 20 * centred.T @ centred
    effects: Floats = centred @ np.linalg.lstsq(gram, free.T @ (score - score.mean()), rcond=1e-12)[0]
    return effects


def random_rows(seed: int, rows: int = 2_000) -> tuple[CellMatrix, list[int], Floats]:
    """Cells of features that go together, and a score that is additive in them, with noise."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(2, 17, 5)]
    common = rng.random(rows)
    cells = np.stack([((0.5 * common + 0.5 * rng.random(rows)) * size).astype(np.uint8) for size in sizes])
    score = sum(rng.normal(size=size)[cells[at]] for at, size in enumerate(sizes)) + rng.normal(size=rows)
    return cells, sizes, np.asarray(score)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_ridge_on_all_cells(seed: int) -> None:
    cells, sizes, score = random_rows(seed)

    table = fit_effect_table(cells, np.asarray(sizes), score)

    assert np.allclose(table.effects[0], solved(cells, sizes, score), atol=1e-3)


@pytest.mark.parametrize("seed", range(2))
def test_each_fold_is_fitted_to_all_other_rows(seed: int) -> None:
    cells, sizes, score = random_rows(seed)
    ends = np.linspace(0, len(score), FOLDS + 1).astype(int)

    table = fit_effect_table(cells, np.asarray(sizes), score)

    told = np.empty_like(score)
    for fold in range(FOLDS):
        out = np.arange(ends[fold], ends[fold + 1])
        kept = np.delete(np.arange(len(score)), out)
        alone = solved(cells[:, kept], sizes, score[kept])
        assert np.allclose(table.effects[1 + fold], alone, atol=1e-3)
        starts = np.cumsum([0, *sizes[:-1]])
        told[out] = score[kept].mean() + alone[cells[:, out] + starts[:, None]].sum(axis=0)
    assert table.r2 == pytest.approx(1 - np.var(score - told) / np.var(score), abs=2e-3)


@pytest.mark.parametrize("name", WORLDS)
def test_what_it_explains_of_rows_it_has_not_seen(name: str) -> None:
    table = reference_of_world(World(name)).effects

    assert table is not None
    assert (table.r2 >= 0.5) == (name in ("additive", "mild"))


def test_of_many_rows_some_are_chosen_evenly_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.records.reference.MOST_ROWS", 1_000)
    one, other = (reference_of_world(World("additive")).effects for _ in range(2))

    assert one is not None
    assert other is not None
    assert one.rows == 1_000
    assert pack_effects(one) == pack_effects(other)
    assert one.r2 > 0.7


@pytest.mark.parametrize("size", [1e-12, 1e9, 1e25])
def test_the_unit_of_the_score_does_not_matter(size: float) -> None:
    cells, sizes, score = random_rows(3)
    one, other = (fit_effect_table(cells, np.asarray(sizes), score * by) for by in (1.0, size))

    assert np.allclose(other.effects / size, one.effects, rtol=1e-4, atol=1e-6)
    assert other.r2 == pytest.approx(one.r2)


def test_numbers_too_large_have_no_effects() -> None:
    cells, sizes, score = random_rows(3)

    for size in (1e40, 1e200, 1e306):
        assert fit_effect_table(cells, np.asarray(sizes), score * size) is NO_EFFECTS


def test_without_a_number_or_with_few_rows_there_is_none() -> None:
    world = World("additive", rows=150)
    assert reference_of_world(world).effects is NO_EFFECTS
    assert fit_effect_table(np.zeros((1, 500), np.uint8), np.asarray([1]), np.ones(500)) is NO_EFFECTS


@given(seed=st.integers(0, 50), damage=st.integers(0, 10_000))
def test_what_is_kept_of_it_is_read_again_and_damage_is_seen(seed: int, damage: int) -> None:
    rng = np.random.default_rng(seed)
    effects = rng.normal(size=(1 + FOLDS, 30)).astype(np.float32)
    table = effect_table.EffectTable(effects, 0.7, 0.1, 900)
    blob = pack_effects(table)

    again = unpack_effects(blob)

    assert np.array_equal(again.effects, effects)
    assert (again.r2, again.deviation, again.rows) == (0.7, 0.1, 900)
    with pytest.raises(CodecError, match="effect table"):
        unpack_effects(blob[: damage % len(blob)])
    with pytest.raises(CodecError, match="format"):
        unpack_effects(b"\x09" + blob[1:])
    assert unpack_effects(pack_effects(NO_EFFECTS)) is NO_EFFECTS


def test_each_counter_of_a_feature_has_one_cell() -> None:
    reference = reference_of_world(World("mild"))
    cells = make_effect_cells(reference.counting, reference.records)

    counted = cells.sum_cells(reference.records)

    of_features = np.add.reduceat(counted, cells.starts[:-1])
    assert of_features.tolist() == [reference.n] * len(cells.features)
    for (_, grid), of_grid, in_tail in zip(
        reference.counting.features, cells.of_grid, cells.in_tail, strict=True
    ):
        assert len(of_grid) == len(in_tail) == grid.size
        assert of_grid[-1] == of_grid[-2] == of_grid.max()  # missing and invalid values
        if isinstance(grid, CategoryGrid):
            assert in_tail[: grid.regular_size].tolist() == [False] * grid.regular_size
        else:
            assert (np.diff(of_grid[: grid.regular_size]) >= 0).all()
            assert of_grid[: grid.regular_size].max() == 15


def test_missing_values_are_known_only_of_a_reference_that_has_some() -> None:
    never = reference_of_world(World("additive"))
    some = reference_of_world(replace(World("additive"), missing=0.05))

    tails = [make_effect_cells(each.counting, each.records).in_tail[1][-2:] for each in (never, some)]

    assert [tail.tolist() for tail in tails] == [[True, True], [False, False]]
