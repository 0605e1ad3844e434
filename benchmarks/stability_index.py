"""Our stability index beside what other ways of counting give on the same data, for docs/measures.md.

Each way is restated here by what it does. Seconds; the samples are the same in each run.
python benchmarks/stability_index.py
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Floats
from monitor.core.clock import HOUR
from monitor.core.measurement import Measurement
from monitor.measures.evaluate import make_expected_cells, measure_shifts
from monitor.measures.measure_options import MeasureOptions
from monitor.records.count_records import count_records
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.states.strata import WHOLE

Sample: TypeAlias = np.ndarray
Counted: TypeAlias = tuple[Floats, Floats]
CELLS = 10
FLOOR = 1e-4
REFERENCE = 10_000
NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class Data:
    """A reference and a window."""

    name: str
    reference: Sample
    window: Sample

    @property
    def sides(self) -> tuple[Sample, Sample]:
        """Reference and window without what is missing."""
        if not self.numeric:
            return self.reference, self.window
        return self.reference[np.isfinite(self.reference)], self.window[np.isfinite(self.window)]

    @property
    def numeric(self) -> bool:
        """Numbers, not categories."""
        return self.reference.dtype.kind == "f"


def main() -> int:
    """Print the table."""
    print(table())
    return 0


def table() -> str:
    """Rows: data; columns: our index and its critical value, then the other ways."""
    head = ["data", "our index", "critical value", *CONVENTIONS]
    rows = [
        [data.name, *ours(data), *(_number(way(data)) for way in CONVENTIONS.values())] for data in cases()
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cases() -> Iterator[Data]:
    """The data sets."""
    rng = np.random.default_rng(2026)
    reference = rng.normal(size=REFERENCE)
    yield Data("no shift, n = 1,000", reference, rng.normal(size=1_000))
    yield Data("no shift, n = 100", reference, rng.normal(size=100))
    yield Data("mean up by half a standard deviation, n = 1,000", reference, rng.normal(0.5, size=1_000))
    moved = rng.normal(0.5, size=1_000)
    moved[0] = 1e6
    yield Data("the same and one value of 1,000,000", reference, moved)
    outlying = reference.copy()
    outlying[0] = 1e6
    yield Data("that value in the reference instead", outlying, rng.normal(0.5, size=1_000))
    missing = rng.normal(size=1_000)
    missing[:100] = np.nan
    yield Data("no shift, but a tenth is missing, n = 1,000", reference, missing)
    yield Data("mean up by a twentieth, n = 50,000", reference, rng.normal(0.05, size=50_000))
    levels = np.asarray(["a", "b", "c", "d"])
    known = rng.choice(levels, p=[0.4, 0.3, 0.2, 0.1], size=REFERENCE)
    yield Data(
        "four categories, no shift, n = 1,000", known, rng.choice(levels, p=[0.4, 0.3, 0.2, 0.1], size=1_000)
    )
    new = np.asarray(["a", "b", "c", "d", "new"])
    yield Data(
        "5 % of a new category, n = 1,000",
        known,
        rng.choice(new, p=[0.38, 0.285, 0.19, 0.095, 0.05], size=1_000),
    )


def ours(data: Data) -> tuple[str, str]:
    """The monitor's index and its critical value."""
    numeric, categorical = (("x",), ()) if data.numeric else ((), ("x",))
    units = (("event_time", "us"),)
    reading = ReadingOptions(
        task=ModelTask.REGRESSION, numeric=numeric, categorical=categorical, time_units=units
    )
    reference = reference_of(_columns(data.reference), reading)
    (part,) = count_records(
        _columns(data.window), reference.counting, panes=np.zeros(1, np.int64), as_of=HOUR
    )[:1]
    expected = make_expected_cells(reference.counting, reference.records)
    found = {
        result.measure: result.measurement
        for result in measure_shifts(reference.counting, expected, part.strata[WHOLE], MeasureOptions())
        if result.subject == "feature:x"
    }
    index, critical = found["stability_index"], found["stability_index_critical"]
    return _measured(index, bold=_exceeds(index, critical)), _measured(critical)


def deciles_with_floor(data: Data) -> float | None:
    """Deciles of the reference; an empty cell has the share 0.0001."""
    return floored(*by_deciles(data))


def deciles_without_empty(data: Data) -> float | None:
    """Deciles of the reference; cells that are empty on a side are left out."""
    reference, window = by_deciles(data)
    both = (reference > 0) & (window > 0)
    return index_of(reference[both] / reference.sum(), window[both] / window.sum())


def widths_of_reference(data: Data) -> float | None:
    """Ten equally wide cells over the reference's range; what lies outside is left out."""
    if not data.numeric:
        return None
    reference, _ = data.sides
    edges = np.linspace(reference.min(), reference.max(), CELLS + 1)
    return floored(*(np.histogram(side, edges)[0].astype(float) for side in data.sides))


def widths_of_both(data: Data) -> float | None:
    """Ten equally wide cells over the range of both samples."""
    if not data.numeric:
        return None
    edges = np.histogram_bin_edges(np.concatenate(data.sides), CELLS)
    return floored(*(np.histogram(side, edges)[0].astype(float) for side in data.sides))


def raw_counts(data: Data) -> float | None:
    """Deciles of the reference; numbers of records in the place of shares, at least 0.0001."""
    reference, window = by_deciles(data)
    return index_of(np.maximum(reference, FLOOR), np.maximum(window, FLOOR))


CONVENTIONS: dict[str, Callable[[Data], float | None]] = {
    "deciles, floor of 0.0001": deciles_with_floor,
    "deciles, empty cells left out": deciles_without_empty,
    "equal widths of the reference": widths_of_reference,
    "equal widths of both": widths_of_both,
    "deciles, raw counts": raw_counts,
}


def by_deciles(data: Data) -> Counted:
    """Counts between the reference's deciles, or of each level of either sample."""
    if data.numeric:
        edges = np.quantile(data.sides[0], np.arange(1, CELLS) / CELLS)
        places = [np.searchsorted(edges, side, side="right") for side in data.sides]
        size = CELLS
    else:
        levels = np.unique(np.concatenate(data.sides))
        places = [np.searchsorted(levels, side) for side in data.sides]
        size = len(levels)
    reference, window = (np.bincount(place, minlength=size).astype(float) for place in places)
    return reference, window


def floored(reference: Floats, window: Floats) -> float:
    """Index of shares that are at least the floor."""
    return index_of(*(np.maximum(side / side.sum(), FLOOR) for side in (reference, window)))


def index_of(reference: Floats, window: Floats) -> float:
    """Σ (p - q)·ln(p / q)."""
    return float(np.sum((window - reference) * np.log(window / reference)))


def _columns(values: Sample) -> pa.Table:
    n = len(values)
    return pa.table(
        {
            "id": np.arange(n),
            "event_time": np.zeros(n, np.int64),
            "prediction": np.zeros(n),
            "feature:x": pa.array(values.tolist(), from_pandas=True),  # NaN: missing
        }
    )


def _exceeds(index: Measurement, critical: Measurement) -> bool:
    return index.value is not None and critical.value is not None and index.value > critical.value


def _measured(measurement: Measurement, *, bold: bool = False) -> str:
    text = f"`{measurement.reason}`" if measurement.value is None else _number(measurement.value)
    return f"**{text}**" if bold else text


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.4f}"


if __name__ == "__main__":
    sys.exit(main())
