"""What a challenger's score adds to the labels part: the same labelled records, seen by two models.

For the whole alone, 4 counters that say who was right; of a binary model 4,096 of both scores by class, 8,192
of their joint distribution and about 3,630 of the differences of their losses: at most six of them are
non-zero a record.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Ints
from monitor.core.text import content_hash
from monitor.records.column_values import CategoryValues, NumberValues, parse_numbers
from monitor.states import grids
from monitor.states.counters import CounterBlock, Counters, DenseCounters
from monitor.states.grids import NumericGrid, cached_lookup
from monitor.states.pairs import PairedAgreement, PairedLosses, PairedScores
from monitor.states.views import ScoreTable

PAIRED = ("paired", "champion_scores", "challenger_scores", "paired_joint", "paired_losses")
SCORE_CELLS, JOINT_CELLS = 1_024, 64
LOSS_EDGES = grids.log_edges(2.0**-20, 64.0)
_CLIP = 2.0**-52  # of probabilities, as in the log loss

_Cells = tuple[Ints, Bools]
Classes: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PredictedScores:
    """Scores of one of the two models, and the class that it predicts: 0, 1, or -1 for none."""

    score: NumberValues
    kind: Ints


def paired_blocks(score: NumericGrid | None, *, probabilistic: bool) -> list[CounterBlock]:
    """Blocks of a model with a challenger: at most 23,000 counters, of which a record fills 5.

    Parameters
    ----------
    score
        of the champion: both scores are counted between some of its edges. None: classes are compared.
    probabilistic
        scores are probabilities, which have a log loss.
    """
    right = CounterBlock("paired", (2, 2), content_hash("champion, challenger"))
    if score is None:
        return [right]
    grid, k, j = (
        grids.to_json(score),
        _merged_cell_count(score, SCORE_CELLS),
        _merged_cell_count(score, JOINT_CELLS),
    )
    fine = (2, k), content_hash([grid, SCORE_CELLS])
    blocks = [
        right,
        CounterBlock("champion_scores", *fine),
        CounterBlock("challenger_scores", *fine),
        CounterBlock("paired_joint", (2, j, j), content_hash([grid, JOINT_CELLS])),
    ]
    if probabilistic:
        blocks.append(CounterBlock("paired_losses", (2 * len(LOSS_EDGES) + 3,), content_hash(LOSS_EDGES)))
    return blocks


def find_agreement_cells(
    champion: CategoryValues, challenger: CategoryValues, labels: _Cells, classes: Classes
) -> _Cells:
    """Who was right of each row: cells of the block "paired". A class that nobody knows is wrong.

    `labels`: class of each row, and whether it is one of the model's.
    """
    (label, is_known), both = labels, (champion, challenger)
    kinds = [model.level_positions(classes, len(classes)) for model in both]
    right = [(kind == label).astype(np.int64) for kind in kinds]
    return 2 * right[0] + right[1], is_known & (kinds[0] >= 0) & (kinds[1] >= 0)


def parse_challenger_scores(table: pa.Table, threshold: float) -> PredictedScores:
    """What the challenger's score says of each row."""
    score = parse_numbers(table["challenger"])
    return PredictedScores(score, np.where(score.finite, score.values >= threshold, -1))


def find_paired_score_cells(
    score: NumericGrid,
    champion: PredictedScores,
    challenger: PredictedScores,
    labels: _Cells,
    *,
    probabilistic: bool,
) -> dict[str, _Cells]:
    """Cells of each row by block.

    `labels`: class of each row, and whether it is one of the two.
    """
    (label, is_known), both = labels, (champion, challenger)
    cells = [score.value_cells(model.score.values, model.score.missing) for model in both]
    scored = is_known & np.logical_and.reduce([cell < score.regular_size for cell in cells])
    predicted = (
        is_known
        & np.logical_and.reduce([model.kind >= 0 for model in both])
        & (cells[1] < score.regular_size)
    )
    right = [(model.kind == label).astype(np.int64) for model in both]
    # Rows that are not scored are masked below, but their cells must lie within the tables.
    label, cells = np.where(scored, label, 0), [np.where(scored, cell, 0) for cell in cells]
    k, j = _merged_cell_count(score, SCORE_CELLS), _merged_cell_count(score, JOINT_CELLS)
    fine = [label * k + coarse_cells(score.regular_size, SCORE_CELLS)[cell] for cell in cells]
    coarse = [coarse_cells(score.regular_size, JOINT_CELLS)[cell] for cell in cells]
    by_block = {
        "paired": (2 * right[0] + right[1], predicted),
        "champion_scores": (fine[0], scored),
        "challenger_scores": (fine[1], scored),
        "paired_joint": ((label * j + coarse[0]) * j + coarse[1], scored),
    }
    if probabilistic:
        by_block["paired_losses"] = (_loss_cells(champion.score, challenger.score, label, scored), scored)
    return by_block


def agreement_view(counters: Counters | DenseCounters) -> PairedAgreement:
    """View of who was right."""
    (neither, challenger), (champion, both) = counters.dense_block("paired").tolist()
    return PairedAgreement(both, champion, challenger, neither)


def paired_scores_view(counters: Counters | DenseCounters) -> PairedScores:
    """View of both scores."""
    tables = [ScoreTable(*counters.dense_block(f"{name}_scores")) for name in ("champion", "challenger")]
    return PairedScores(tables[0], tables[1], counters.dense_block("paired_joint"))


def loss_differences_view(counters: Counters | DenseCounters) -> PairedLosses:
    """View of the differences of the log losses, which only probabilities have."""
    block, k = counters.dense_block("paired_losses"), len(LOSS_EDGES) + 1
    return PairedLosses(int(block[0]), block[1 : 1 + k], block[1 + k :])


@lru_cache(maxsize=64)
def coarse_cells(regular: int, cells: int) -> Ints:
    """Coarser cell of each regular cell; at most `cells` remain, of about as many each."""
    return np.arange(regular, dtype=np.int64) * min(regular, cells) // regular


def _merged_cell_count(score: NumericGrid, cells: int) -> int:
    return int(coarse_cells(score.regular_size, cells)[-1]) + 1


def _loss_cells(champion: NumberValues, challenger: NumberValues, label: Ints, scored: Bools) -> Ints:
    """0 for equal losses, then the sizes of negative differences, then those of positive ones."""
    # The probability that each gave to the class that came, clipped as in the log loss.
    of_label = [np.where(label == 1, score.values, 1.0 - score.values) for score in (champion, challenger)]
    first, second = (np.clip(np.where(scored, score, 0.5), _CLIP, 1.0 - _CLIP) for score in of_label)
    difference = np.log(second) - np.log(first)
    size = 1 + cached_lookup(LOSS_EDGES)(np.abs(difference))
    return np.where(difference == 0, 0, size + np.where(difference > 0, len(LOSS_EDGES) + 1, 0))
