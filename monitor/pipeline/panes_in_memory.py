"""What `PaneRepository` is to a model's panes, for frames that are evaluated once and never kept."""

from collections.abc import Sequence
from typing import Any

from monitor.records.codec import encode_parts
from monitor.records.labels.label_differences import LabelDifferences
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.stored_rows import PaneFacts


class PanesInMemory:
    """Panes of one evaluation: none is stored yet, none is moved by differences."""

    def __init__(self) -> None:
        self._blobs: dict[tuple[str, PaneHalf, int], bytes] = {}

    def save_panes(self, model: str, part: PaneHalf, parts: Sequence[PanePart], **_named: Any) -> None:
        """Keep parts."""
        keys = ((model, part, pane.start) for pane in parts)
        self._blobs |= zip(keys, encode_parts(parts), strict=True)

    def load_blobs(self, model: str, part: PaneHalf, starts: Sequence[int], *_given: Any) -> dict[int, bytes]:
        """Packed parts by start."""
        return {start: self._blobs[model, part, start] for start in starts}

    def read_pane_facts(self, *_given: Any) -> list[PaneFacts]:
        """Nothing is there before the evaluation."""
        return []

    def read_differences(self, *_given: Any) -> tuple[int, list[LabelDifferences]]:
        """Nothing was ever added."""
        return 0, []

    def add_differences(self, *_given: Any, **_named: Any) -> None:
        """Nothing is moved by differences."""

    def fold_panes(self, *_given: Any, **_named: Any) -> None:
        """Nothing is moved by differences."""
