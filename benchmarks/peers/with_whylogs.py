"""whylogs: a profile of each day, and the drift scores of its columns against the reference's profile."""

import os

os.environ["WHYLOGS_NO_ANALYTICS"] = "True"

from collections.abc import Callable

import frames
import pandas as pd
import whylogs
from whylogs.core.view.dataset_profile_view import DatasetProfileView
from whylogs.viz.drift.column_drift_algorithms import KS, DriftAlgorithmScore, calculate_drift_scores

Scores = dict[str, DriftAlgorithmScore]


def profile(rows: frames.Frames, frame: pd.DataFrame) -> DatasetProfileView:
    """Of the 25 columns."""
    return whylogs.log(frame[rows.columns]).view()


def scores(target: DatasetProfileView, reference: DatasetProfileView) -> Scores:
    """Of each column, by the algorithms that are the default."""
    return calculate_drift_scores(target_view=target, reference_view=reference, with_thresholds=True)


def drift(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Profiles and scores."""
    reference = profile(rows, rows.reference)
    return lambda: {"measurements": min(_size(scores(profile(rows, day), reference)) for day in rows.days)}


def states(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Scores of profiles that are there."""
    reference = profile(rows, rows.reference)
    profiles = [profile(rows, day) for day in rows.days]
    return lambda: {"measurements": min(_size(scores(each, reference)) for each in profiles)}


def values(rows: frames.Frames) -> Callable[[], frames.Told]:
    """What we measure too, of the first day."""

    def work() -> frames.Told:
        reference, today = profile(rows, rows.reference), profile(rows, rows.days[0])
        ks = calculate_drift_scores(today, reference, {name: KS() for name in rows.numeric})
        counts = today.to_pandas()
        missing = counts["counts/null"] / counts["counts/n"]
        told = {name: {"missing_rate": float(missing[name])} for name in rows.columns}
        for name in rows.numeric:
            told[name]["ks_distance"] = ks[name]["statistic"]
        return {"values": told}

    return work


def _size(found: Scores) -> int:
    return len([each for each in found.values() if each is not None])


if __name__ == "__main__":
    frames.run("whylogs", {"drift": drift, "states": states, "values": values})
