"""Worlds whose score is known: additive in its features, nearly so, a product of them, an exclusive or."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Floats
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import Reference, count_on_grids, reference_of, with_effects
from monitor.states.counters import Counters

WORLDS = ("additive", "mild", "product", "xor")
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.5,
    numeric=("x0", "x1", "x2"),
    categorical=("kind",),
)
_KINDS = np.asarray(["a", "b", "c", "d"])


@dataclass(frozen=True)
class World:
    """Rows of a world: three normal numbers, and a category."""

    name: str
    rows: int = 6_000
    seed: int = 1
    means: tuple[float, ...] = (0.0, 0.0, 0.0)
    correlation: float = 0.3
    missing: float = 0.0  # share of x0
    kinds: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)

    def columns(self) -> tuple[Floats, np.ndarray, Floats]:
        """Numbers, categories, scores."""
        rng = np.random.default_rng(self.seed)
        common = rng.normal(size=self.rows)
        own = rng.normal(size=(3, self.rows))
        x = self.correlation**0.5 * common + (1 - self.correlation) ** 0.5 * own
        x += np.asarray(self.means)[:, None]
        kind = rng.choice(4, size=self.rows, p=self.kinds)
        x[0, rng.random(self.rows) < self.missing] = np.nan
        return x, kind, self.score(np.nan_to_num(x), kind)

    def score(self, x: Floats, kind: np.ndarray) -> Floats:
        """Score of rows."""
        add = 0.5 + 0.06 * x[0] - 0.04 * x[1] + 0.02 * x[2] + 0.02 * (kind - 1.0)
        product = 0.05 * x[0] * x[1]
        score: Floats = {
            "additive": add,
            "mild": add + 0.3 * product,
            "product": 0.5 + product,
            "xor": 0.5 + 0.3 * (np.sign(x[0]) * np.sign(x[1])) * np.sign(x[2]),
        }[self.name]
        return score.clip(0.0, 1.0)

    def table(self) -> pa.Table:
        """Role-named rows."""
        x, kind, score = self.columns()
        columns = {f"feature:x{at}": pa.array(x[at], from_pandas=True) for at in range(3)}
        return pa.table({"score": score, **columns, "feature:kind": pa.array(_KINDS[kind])})

    def counted(self, reference: Reference) -> Counters:
        """Its records on the grids of a reference."""
        return count_on_grids(self.table(), reference.counting).records

    def moved(self, seed: int, *means: float) -> "World":
        """The same with other means, drawn anew."""
        return replace(self, seed=seed, means=(*means, *self.means[len(means) :]))


def reference_of_world(world: World) -> Reference:
    """Its rows as a reference, and what is learnt of them."""
    table = world.table()
    return with_effects(reference_of(table, READING), table)
