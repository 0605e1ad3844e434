"""Whether the labels that a search finds are still those that the model knows."""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools
from monitor.records.column_values import parse_categories, parse_numbers
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import Batches, parse_role_times
from monitor.specs.protocols import NewLabels

_NAMED_FROM = 10  # labels that hold a word before it is named: rarer ones may be ids or names
_NAMED = 3


@dataclass(slots=True)
class NewLabelCounter:
    """Counts labels as they are read; nothing is read for it."""

    reading: ReadingOptions
    cursor: int | None  # newest report that the search before saw; None: nothing tells which labels are new
    _all: Counter[bool] = field(default_factory=Counter)  # by whether a label is known
    _new: Counter[bool] = field(default_factory=Counter)
    _words: Counter[str] = field(default_factory=Counter)

    def count_label_batches(self, batches: Batches) -> Batches:
        """Hand the batches on, counted."""
        with closing(batches):
            for table in batches:
                self._add_label_table(table)
                yield table

    def summarize_labels(self) -> NewLabels:
        """What was counted so far: of the new ones, or of all where none is new."""
        counted = self._new if self._new.total() else self._all
        words = tuple(word for word, n in self._words.most_common(_NAMED) if n >= _NAMED_FROM)
        regression = self.reading.task is ModelTask.REGRESSION
        return NewLabels(counted.total(), counted[False], words, numbers=regression)

    def _add_label_table(self, table: pa.Table) -> None:
        if (
            self.cursor is None
            or "label" not in table.column_names
            or "reported_at" not in table.column_names
        ):
            return
        reported = parse_role_times(table, "reported_at", self.reading)
        new = reported.known & (reported.us > self.cursor)
        if self.reading.task is ModelTask.REGRESSION:
            value = parse_numbers(table["label"])
            there, is_known = ~value.missing, value.finite
        else:
            words = parse_categories(table["label"])
            there = words.codes >= 0
            is_known = words.level_positions(self.reading.classes, -1) >= 0
            counts = np.bincount(words.codes[there & ~is_known], minlength=len(words.levels))
            self._words.update({words.levels[at]: int(counts[at]) for at in np.flatnonzero(counts)})
        for counter, chosen_mask in ((self._all, there), (self._new, there & new)):
            counter.update(_count_known(is_known[chosen_mask]))


def _count_known(is_known: Bools) -> dict[bool, int]:
    n = int(is_known.sum())
    return {True: n, False: len(is_known) - n}
