"""popmon: histograms of the log by the day, and all its metrics against the reference's histograms.

The reference is given as histograms: as a frame, `df_stability_metrics` of 1.4.12 refuses it.
"""

import logging
import warnings
from collections.abc import Callable

import frames
import pandas as pd
import popmon
from popmon.config import Settings
from popmon.hist.filling import get_bin_specs, make_histograms
from popmon.pipeline.metrics import stability_metrics

warnings.filterwarnings("ignore")
logging.getLogger().setLevel(logging.WARNING)

TIME = "event_time"


def histograms(rows: frames.Frames) -> dict[str, object]:
    """Of the reference, which tells the bins."""
    return make_histograms(
        rows.reference[[TIME, *rows.columns]], time_axis=TIME, time_width="1d", time_offset="2024-01-01"
    )


def drift(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Histograms, profiles and comparisons of the days."""
    reference = histograms(rows)
    log = rows.log[[TIME, *rows.columns]]
    return lambda: {
        "measurements": _size(popmon.df_stability_metrics(log, settings=_settings(), reference=reference))
    }


def states(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Profiles and comparisons of histograms that are there."""
    reference = histograms(rows)
    counted = make_histograms(
        rows.log[[TIME, *rows.columns]],
        features=list(reference),
        bin_specs=get_bin_specs(reference),
        time_axis=TIME,
    )
    return lambda: {"measurements": _size(stability_metrics(counted, _settings(), reference))}


def values(rows: frames.Frames) -> Callable[[], frames.Told]:
    """What we measure too, of the first day: distances of numbers are of other bins, or not normalised."""
    reference = histograms(rows)
    log = rows.log[[TIME, *rows.columns]]

    def work() -> frames.Told:
        found = popmon.df_stability_metrics(log, settings=_settings(), reference=reference)
        told: dict[str, dict[str, float]] = {}
        for name in rows.columns:
            profile, compared = (found[key][name].iloc[0] for key in ("profiles", "comparisons"))
            told[name] = {"missing_rate": float(profile["nan"] / profile["count"])}
            if name in rows.categorical:
                told[name]["chi_squared"] = float(compared["ref_chi2"])
                told[name]["largest_share_distance"] = float(compared["ref_max_prob_diff"])
        return {"values": told}

    return work


def _settings() -> Settings:
    return Settings(time_axis=TIME, reference_type="external")


def _size(found: dict[str, dict[str, pd.DataFrame]]) -> int:
    """Values of the last day."""
    made = [frame for key in ("profiles", "comparisons") for frame in found[key].values()]
    return int(sum(frame.iloc[-1].notna().sum() for frame in made))


if __name__ == "__main__":
    frames.run("popmon", {"drift": drift, "states": states, "values": values})
