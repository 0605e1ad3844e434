"""How a model is counted: its grids, and the layouts of a pane's two parts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import HOUR
from monitor.core.text import content_hash
from monitor.records.labels.error_terms import ERROR_EDGES, ERRORS, LABEL_EDGES, PERCENTAGES, error_blocks
from monitor.records.labels.paired_scores import paired_blocks
from monitor.records.pane import PaneHalf
from monitor.records.probabilities import COARSE_EDGES, EDGES, TOGETHER, UNUSABLE
from monitor.records.reading import ModelTask, ReadingOptions, canonical_name
from monitor.states import grids
from monitor.states.counters import CounterBlock, CounterLayout, Counters, DenseCounters
from monitor.states.error_tables import ErrorTable, LabelErrors, PredictionErrors
from monitor.states.grids import CategoryGrid, Grid, NumericGrid
from monitor.states.views import (
    CellHistogram,
    ClassTables,
    ConfusionCounts,
    DelayTable,
    ExactSums,
    LabelTally,
    ScoreTable,
)

VOLUME = ("records", "duplicates", "stale", "adjusted_times", "no_logged_at")
TALLY = ("records", "labelled", "corrections", "retracted", "invalid", "stale", "clipped", "early")
LOSSES = ("brier", "squared_brier", "log_loss", "squared_log_loss")
DELAY_SUMS = ("delay", "delay²", "rank", "rank²", "delay·rank")  # delay: logarithm of its seconds
DELAY_EDGES = grids.log_edges(1.0, 20 * 365.25 * 86_400)  # seconds


@dataclass(frozen=True)
class Counting:
    """Grids of one model and what follows from them."""

    reading: ReadingOptions  # how rows are read, features and classes filled in
    features: tuple[tuple[str, Grid], ...]  # (name, grid), sorted by name
    # score, prediction, label: grids; None where the model has no such column.
    score: NumericGrid | None
    prediction: Grid
    label: Grid | None
    scale: float = 1.0  # power of two, unit of labels and errors
    # (column, values that are strata of their own), in the order of the reading.
    segments: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @cached_property
    def output_grids(self) -> dict[str, Grid]:
        """Grids of the records part by block name."""
        by_name: dict[str, Grid] = {"prediction": self.prediction}
        if self.score is not None:
            by_name["score"] = self.score
        by_name |= {f"feature:{name}": grid for name, grid in self.features}
        return by_name

    @cached_property
    def records_layout(self) -> CounterLayout:
        """Layout of the records part: volumes, outputs, features, the numbers' moments, class probabilities.

        Counters that are 0 take no room. There are 5 volumes, at most 4,099 of a score, 255 of a number, 258
        of a category, 2,039 of the time from event to log. The moments are two sums of each number: 8
        counters, some 20 bytes of a pane.

        Class probabilities, where there are labels: `probability:CLASS` (128 counters each) counts that of a
        class by whether it is the predicted one. A record has one non-zero counter more a class at most.
        """
        volume = CounterBlock("volume", (len(VOLUME),), content_hash(VOLUME))
        outputs = (
            CounterBlock(name, (grid.size,), _grid_hash(grid)) for name, grid in self.output_grids.items()
        )
        blocks = [volume, *outputs]
        if self.reading.has_logged_column:
            blocks.append(CounterBlock("log_delays", (len(DELAY_EDGES) + 1,), content_hash(DELAY_EDGES)))
        if self.summed_names:
            blocks.append(
                CounterBlock(
                    "moments", (4, 2 * len(self.summed_names)), content_hash(self.summed_names), sums=True
                )
            )
        if self.reading.serving is not None:
            blocks.append(CounterBlock("served", (1,), content_hash("served")))
        if self.label is not None:
            cells = (2, len(COARSE_EDGES) + 1), content_hash(["predicted", COARSE_EDGES])
            blocks += [CounterBlock(f"probability:{name}", *cells) for name in self.probability_classes]
        blocks.append(CounterBlock("unusual_names", (1,), content_hash("unusual_names")))
        return CounterLayout(tuple(blocks))

    @cached_property
    def summed_names(self) -> tuple[str, ...]:
        """Outputs and features that are numbers with a reference: sums of them and of their squares."""
        grids_by_name = self.output_grids.items()
        return tuple(name for name, grid in grids_by_name if isinstance(grid, NumericGrid) and grid.scale)

    @cached_property
    def labels_layout(self) -> CounterLayout:
        """Layout of the labels part: tallies, label, confusion, scores, losses, errors, delays.

        Counters that are 0 take no room. There are 8 tallies, 2 (k + 2) of the predicted classes with and
        without a label, 2,039 delays a class and 20 sums of them, (k + 1)² of confusion, at most 8,192 of
        scores, 16 of losses a class; of a regression see `error_blocks`, of a challenger `paired_blocks`.

        Class probabilities: `scores` counts the largest one by whether its class is the actual one,
        `probability:CLASS` (1,024 counters each) that of a class by whether it is the actual one. A record
        has one non-zero counter more a class, whatever their number.
        """
        if self.label is None:
            return CounterLayout((CounterBlock("tally", (len(TALLY),), content_hash(TALLY)),))
        classes = self.reading.classes
        blocks = [
            CounterBlock("tally", (len(TALLY),), content_hash(TALLY)),
            CounterBlock("label", (self.label.size,), _grid_hash(self.label)),
            CounterBlock("delays", (max(1, len(classes)), len(DELAY_EDGES) + 1), content_hash(classes)),
        ]
        if self.delay_grid is not None:
            terms = (4, len(DELAY_SUMS) * max(1, len(classes)))
            blocks.append(
                CounterBlock(
                    "delay_sums", terms, content_hash([classes, _grid_hash(self.delay_grid)]), sums=True
                )
            )
        if self.reading.task is ModelTask.REGRESSION:
            blocks += error_blocks(self.scale, self.label_centre, self.prediction)
        else:
            side = len(classes) + 1
            blocks.append(CounterBlock("predicted", (2, side + 1), content_hash(classes)))
            blocks.append(CounterBlock("confusion", (side, side), content_hash(classes)))
        if (self.counts_scores or self.probability_classes) and self.score is not None:
            blocks.append(CounterBlock("scores", (2, self.score.regular_size), _grid_hash(self.score)))
        if self.has_probability_scores or self.probability_classes:
            terms = (4, len(LOSSES) * len(classes))
            blocks.append(CounterBlock("losses", terms, content_hash([LOSSES, classes]), sums=True))
        if self.probability_classes:
            blocks.append(CounterBlock("unusable", (len(UNUSABLE),), content_hash(UNUSABLE)))
            cells = (2, len(EDGES) + 1), content_hash(EDGES)
            blocks += [CounterBlock(f"probability:{name}", *cells) for name in self.probability_classes]
        if self.counts_challenger:
            blocks += paired_blocks(
                self.score if self.counts_scores else None, probabilistic=self.has_probability_scores
            )
        return CounterLayout(tuple(blocks))

    def layout_of(self, part: PaneHalf) -> CounterLayout:
        """Blocks of a pane's part."""
        return self.records_layout if part is PaneHalf.RECORDS else self.labels_layout

    @property
    def delay_grid(self) -> NumericGrid | None:
        """Grid on whose cells delays may depend: of the score, or of the label of a regression."""
        if self.reading.task is ModelTask.REGRESSION:
            return self.label if isinstance(self.label, NumericGrid) and self.label.edges else None
        return self.score if self.counts_scores or self.probability_classes else None

    @property
    def counts_challenger(self) -> bool:
        """Labels are counted by who was right: a classifier with a challenger. If `scored`, by scores too."""
        classified = self.counts_scores or self.reading.task is ModelTask.MULTICLASS
        return classified and self.reading.challenger is not None

    @property
    def label_centre(self) -> float:
        """Number that labels are measured from in their cells: the reference's median; 0 without one."""
        label = self.label
        if not isinstance(label, NumericGrid) or not label.deciles:
            return 0.0
        return label.edges[label.deciles[len(label.deciles) // 2]]

    @property
    def counts_scores(self) -> bool:
        """Labels are counted by score cell: a binary model with a score."""
        return self.reading.task is ModelTask.BINARY and self.score is not None

    @property
    def has_probability_scores(self) -> bool:
        """Scores are probabilities: their range is [0, 1]."""
        return self.counts_scores and self.reading.score_range == (0.0, 1.0)

    @property
    def probability_classes(self) -> tuple[str, ...]:
        """Classes of a multi-class model whose probabilities are counted: columns of them, in [0, 1]."""
        reading = self.reading
        if (
            reading.task is not ModelTask.MULTICLASS
            or reading.score_range != (0.0, 1.0)
            or self.score is None
        ):
            return ()
        return tuple(canonical_name(name) for name in reading.probabilities)

    @cached_property
    def score_bounds(self) -> Floats:
        """Bounds of the score's regular cells, one more than cells; infinite where they are open."""
        if self.score is None:
            return np.empty(0)
        return np.asarray([self.score.lower, *self.score.edges, self.score.upper])

    @cached_property
    def hash(self) -> str:
        """Content hash of all grids."""
        return content_hash([self.records_layout.hash, self.labels_layout.hash])

    def hash_stored_layout(self, layout: CounterLayout) -> str:
        """Hash under which panes of a layout are kept: what is counted, and for which strata."""
        reading = self.reading
        choices = {
            "versioned": reading.versioned,
            "segments": self.segments,
            "arms": reading.arms and [reading.arms.column, reading.arms.control, reading.arms.treatment],
            "pane": reading.pane if reading.pane != HOUR else None,
            "threshold": reading.threshold,
            "words": reading.words,
            "only_for": reading.only_for if layout == self.labels_layout else (),
            "serving": reading.serving and [reading.serving.column, reading.serving.values],
            "challenger": reading.challenger and reading.challenger.identity,
            "zone": reading.zone if reading.zone != "UTC" else None,
            "time_units": reading.time_units,
        }
        # What is not chosen leaves the hash as it was before there was such a choice: panes of older stores
        # stay known.
        made = {name: choice for name, choice in choices.items() if choice not in (None, False, ())}
        return content_hash([layout.hash, made]) if made else layout.hash

    def moments_view(self, counters: Counters | DenseCounters) -> ExactSums:
        """View of the numbers' moments: of each of `summed` the deviation from its centre, and its square."""
        return ExactSums(
            counters.dense_block("moments"),
            name_moment_terms(self.summed_names),
            (1.0,) * 2 * len(self.summed_names),
        )

    def histogram_view(self, counters: Counters | DenseCounters, name: str) -> CellHistogram:
        """View of "score", "prediction", "feature:NAME" (records part) or "label" (labels part)."""
        grids_by_name = (
            self.output_grids if self.label is None else {**self.output_grids, "label": self.label}
        )
        return CellHistogram(grids_by_name[name], counters.dense_block(name))

    def confusion_view(self, counters: Counters | DenseCounters) -> ConfusionCounts:
        """View of the confusion counts."""
        return ConfusionCounts(self.reading.classes, counters.dense_block("confusion"))

    def score_table(self, counters: Counters | DenseCounters) -> ScoreTable:
        """View of the labelled scores; of class probabilities the largest, positive where it is right."""
        negative, positive = counters.dense_block("scores")
        return ScoreTable(negative, positive)

    def class_tables(self, counters: Counters | DenseCounters) -> ClassTables:
        """View of the labelled class probabilities."""
        tables = [counters.dense_block(f"probability:{name}") for name in self.probability_classes]
        return ClassTables(self.probability_classes, np.stack(tables), counters.dense_block("unusable"))

    def coarse_tables(self, counters: Counters | DenseCounters) -> Ints:
        """Labelled class probabilities in the coarse cells: (classes, other classes | the class, cells)."""
        counts = self.class_tables(counters).counts
        coarse: Ints = counts.reshape(*counts.shape[:2], -1, TOGETHER).sum(axis=3)
        return coarse

    def predicted_tables(self, counters: Counters | DenseCounters) -> Ints:
        """Class probabilities of the records part: (classes, predicted another | the class, cells)."""
        return np.stack([counters.dense_block(f"probability:{name}") for name in self.probability_classes])

    def losses_view(self, counters: Counters | DenseCounters) -> ExactSums:
        """View of the losses of probabilities, classes merged."""
        counts = counters.dense_block("losses").reshape(4, len(LOSSES), -1).sum(axis=2)
        return ExactSums(counts, LOSSES, (1.0,) * len(LOSSES))

    def errors_view(self, counters: Counters | DenseCounters) -> ExactSums:
        """View of the errors' and labels' moments."""
        scales = tuple(self.scale**power for power in ERRORS.values())
        return ExactSums(counters.dense_block("errors"), tuple(ERRORS), scales)

    def percentages_view(self, counters: Counters | DenseCounters) -> ExactSums:
        """View of the errors relative to their labels."""
        return ExactSums(counters.dense_block("percentages"), PERCENTAGES, (1.0,) * len(PERCENTAGES))

    def error_table(self, counters: Counters | DenseCounters) -> ErrorTable:
        """View of the errors by cell."""
        return ErrorTable(ERROR_EDGES, counters.dense_block("error_cells"), self.scale)

    def label_errors(self, counters: Counters | DenseCounters) -> LabelErrors:
        """View of labels and absolute errors by cell of the label."""
        return LabelErrors(LABEL_EDGES, counters.dense_block("label_cells"))

    def prediction_errors(self, counters: Counters | DenseCounters) -> PredictionErrors | None:
        """View of the errors by group of the prediction's cells; None without a reference."""
        if "prediction_errors" not in self.labels_layout.blocks_by_name:
            return None
        return PredictionErrors(counters.dense_block("prediction_errors"), self.scale, self.label_centre)

    def delays_view(self, counters: Counters | DenseCounters) -> DelayTable:
        """View of the first labels' delays, classes merged."""
        return DelayTable(DELAY_EDGES, counters.dense_block("delays").sum(axis=0))

    def delay_sums_view(self, block: Ints) -> list[ExactSums]:
        """View, class by class, of the first delays and the ranks of what they may depend on.

        Parameters
        ----------
        block
            `delay_sums_view`, or a sum of such blocks.
        """
        by_class = block.reshape(4, len(DELAY_SUMS), -1)
        return [
            ExactSums(counts, DELAY_SUMS, (1.0,) * len(DELAY_SUMS)) for counts in np.moveaxis(by_class, 2, 0)
        ]

    def predicted_counts(self, counters: Counters | DenseCounters) -> Ints:
        """Records by predicted class, *unseen* and *missing* the last: without and with a label."""
        return counters.dense_block("predicted")

    def log_delays_view(self, counters: Counters | DenseCounters) -> DelayTable:
        """View of the times from event to log."""
        return DelayTable(DELAY_EDGES, counters.dense_block("log_delays"))

    def tally_view(self, counters: Counters | DenseCounters) -> LabelTally:
        """View of the labels' tallies."""
        counted = dict(zip(TALLY, counters.dense_block("tally").tolist(), strict=True))
        return LabelTally(
            records=counted["records"],
            labelled=counted["labelled"],
            corrections=counted["corrections"],
            retracted=counted["retracted"],
            invalid=counted["invalid"],
        )


def name_moment_terms(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the sums of each number: of its deviation in units of the grid's scale, and of the square."""
    return tuple(f"{name}{power}" for name in names for power in ("", "²"))


def class_grid(classes: tuple[str, ...]) -> CategoryGrid:
    """Grid of a task's classes."""
    return CategoryGrid(classes)


def number_grid(values: np.ndarray | None) -> NumericGrid:
    """Grid of a numeric prediction or label: the reference's equal-mass cells; one cell without."""
    return grids.feature_grid(np.empty(0) if values is None else values)


def _grid_hash(grid: Grid) -> str:
    return content_hash(grids.to_json(grid))
