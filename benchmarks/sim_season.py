"""References of the same phase of earlier periods: how often is a window called moved that is like them?

Periods differ by a tilt of their cells, or by each cell on its own, with a standard deviation `between`; what
is measured is measured by the code itself. Asked for: 5 % beyond a critical value or a p-value, 95 % of means
within a band.
Beside it the median critical value, as a multiple of the index that 5 % of such windows exceed.
python benchmarks/sim_season.py
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from scipy import stats

from monitor.core.array_types import Floats
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import measure_seasonal_shift
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.shift.seasonal_shift import season_mean_difference
from monitor.measures.statistics.intervals import SampleMoments
from monitor.records.counting import Counting
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.states.counters import Counters

RUNS, OPTIONS = 1_000, MeasureOptions(families=frozenset({MeasureFamily.SHIFT}))
KINDS = ("none", "tilt", "tilt, t4", "each cell")


def counting_of(cells: int) -> Counting:
    """One feature on so many cells: levels, or the numbers 0, 1, …."""
    values = np.repeat(np.arange(cells), 10).astype(float)
    reading = ReadingOptions(task=ModelTask.BINARY, classes=("0", "1"), numeric=("x",), labelled=False)
    rows = pa.table({"feature:x": values, "prediction": ["0", "1"] * (len(values) // 2)})
    return reference_of(rows, reading).counting


def shares_of(rng: np.random.Generator, kind: str, between: float, scores: Floats) -> Floats:
    """Shares of the cells in one period."""
    match kind:
        case "tilt":
            away = rng.normal(0, between) * scores
        case "tilt, t4":
            away = stats.t.rvs(4, random_state=rng) * between * scores
        case "each cell":
            away = rng.normal(0, between, len(scores))
        case _:
            away = np.zeros(len(scores))
    shares = np.exp(away)
    found: Floats = shares / shares.sum()
    return found


def run(
    rng: np.random.Generator, counting: Counting, kind: str, between: float, n: int, periods: int
) -> Mapping[str, float]:
    """One window and its periods: what is measured of it, and by the logarithms of distances."""
    layout, grid = counting.records_layout, counting.output_grids["feature:x"]
    edges = np.asarray(grid.edges)  # type: ignore[union-attr]
    scores = stats.norm.ppf((np.arange(len(edges) + 1) + 0.5) / (len(edges) + 1))
    parts, moments = [], []
    for _ in range(periods + 1):
        counts = rng.multinomial(n, shares_of(rng, kind, between, scores))
        dense = np.zeros(layout.size, dtype=np.int64)
        start = layout.offsets["feature:x"]
        dense[start : start + len(counts)] = counts
        parts.append(Counters.from_dense(layout, dense))
        mean = float(counts @ scores) / n
        moments.append(SampleMoments(n, mean, float(counts @ (scores - mean) ** 2) / (n - 1)))
    *earlier, now = parts
    results = measure_seasonal_shift(counting, earlier, now, OPTIONS, "")
    found = {one.measure: one.measurement.value or 0.0 for one in results if one.subject == "feature:x"}
    band = season_mean_difference(moments[-1], moments[:-1], grid, 0.95, "").interval
    assert band is not None
    bins = found["stability_index_bias"] * n / (1 + 1 / periods)
    chance = stats.chi2.ppf(0.95, bins) * (1 + 1 / periods) / n
    return found | {"within": band.lower <= 0 <= band.upper, "chance": chance}


def main() -> None:
    """Print a table."""
    print(
        "| periods differ by | between | records | cells | periods | chance alone | index | critical value |"
        " K-S | mean within |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for kind, between in (
        ("none", 0.0),
        ("tilt", 0.05),
        ("tilt", 0.15),
        ("tilt, t4", 0.15),
        ("each cell", 0.15),
    ):
        for n, cells in ((300, 10), (5_000, 10), (5_000, 2)):
            counting = counting_of(cells)
            for periods in (3, 4, 8):
                rng = np.random.default_rng([7, periods, n, cells, KINDS.index(kind), round(100 * between)])
                runs = [run(rng, counting, kind, between, n, periods) for _ in range(RUNS)]
                rows = {name: np.asarray([one[name] for one in runs]) for name in runs[0]}
                index, limit = rows["stability_index"], rows["stability_index_critical"]
                worth = np.median(limit) / np.quantile(index, 0.95)
                figures = [
                    f"{(index > rows['chance']).mean():.1%}",
                    f"{(index > limit).mean():.1%}",
                    f"{worth:.1f}",
                    f"{(rows['ks_p_value'] < 0.05).mean():.1%}",
                    f"{rows['within'].mean():.1%}",
                ]
                print(
                    f"| {kind} | {between} | {n:,} | {cells} | {periods} |",
                    " | ".join(figures),
                    "|",
                    flush=True,
                )


if __name__ == "__main__":
    main()
