"""alibi-detect: K-S of numbers and chi-squared of categories, each detector made of the reference once.

Its `TabularDrift` takes one array without missing values: columns that have some get a `KSDrift` each.
"""

import warnings
from collections.abc import Callable

import frames
import numpy as np
import pandas as pd
from alibi_detect.cd import KSDrift, TabularDrift

warnings.filterwarnings("ignore")


Distances = dict[str, float]


class Detectors:
    """Of all columns."""

    def __init__(self, rows: frames.Frames) -> None:
        reference = rows.reference
        gaps = reference[list(rows.numeric)].isna().any()
        self.gappy = [name for name in rows.numeric if gaps[name]]
        self.numeric = [name for name in rows.numeric if not gaps[name]]
        self.categorical = list(rows.categorical)
        self.levels = {name: pd.Index(sorted(reference[name].unique())) for name in rows.categorical}
        at = range(len(self.numeric), len(self.numeric) + len(self.categorical))
        levels = dict.fromkeys(at)
        self.whole = TabularDrift(self._encoded(reference), p_val=0.05, categories_per_feature=levels)
        self.single = {name: KSDrift(_present(reference, name), p_val=0.05) for name in self.gappy}

    def distances(self, day: pd.DataFrame) -> Distances:
        """Statistics of a day, by column."""
        found = self.whole.predict(self._encoded(day), drift_type="feature")["data"]["distance"]
        told = dict(zip([*self.numeric, *self.categorical], map(float, found), strict=True))
        for name, detector in self.single.items():
            told[name] = float(detector.predict(_present(day, name))["data"]["distance"][0])
        return told

    def _encoded(self, frame: pd.DataFrame) -> np.ndarray:
        """Numbers, and categories as positions of the reference's levels (-1: unseen)."""
        codes = [self.levels[name].get_indexer(frame[name]) for name in self.categorical]
        return np.column_stack([frame[self.numeric].to_numpy(), *codes])


def drift(rows: frames.Frames) -> Callable[[], frames.Told]:
    """A statistic and a p-value of each column."""
    made = Detectors(rows)
    return lambda: {"measurements": min(2 * len(made.distances(day)) for day in rows.days)}


def values(rows: frames.Frames) -> Callable[[], frames.Told]:
    """What we measure too, of the first day."""
    made = Detectors(rows)

    def work() -> frames.Told:
        found = made.distances(rows.days[0])
        told = {name: {"ks_distance": found[name]} for name in rows.numeric}
        return {"values": told | {name: {"chi_squared": found[name]} for name in rows.categorical}}

    return work


def _present(frame: pd.DataFrame, name: str) -> np.ndarray:
    return frame[name].dropna().to_numpy()


if __name__ == "__main__":
    frames.run("alibi-detect", {"drift": drift, "values": values})
