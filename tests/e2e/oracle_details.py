"""Small tables behind values once more, each line of them from the raw scores."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pandas as pd
from oracle import Floats, Log
from oracle_scores import Cells, edges_of, labelled_scores

from monitor.measures.measurement_row import MeasurementRow

DETAILED = {
    *("roc_auc", "average_precision", "best_profit"),
    *("lift_top_decile", "expected_calibration_error"),
}


def wrong_details(log: Log, told: pd.DataFrame, rows: Iterable[MeasurementRow]) -> Iterator[tuple[str, str]]:
    """Tables of the whole that were looked at, each with what is wrong with it, or an empty text."""
    if not (log.binary and log.scored):
        return
    score, truth = labelled_scores(log, told)
    for row in rows:
        detail = row.measurement.detail
        if detail is not None and row.measure in DETAILED:
            found = np.asarray(detail.rows, dtype=float)
            lines = _lines(log, row.measure, found[:, 0], score, truth)
            off = np.abs(found[:, -lines.shape[1] :] - lines).max()
            yield row.measure, f"{found}, expected {lines}" if off > 1e-6 * max(1.0, lines.max()) else ""


def _lines(log: Log, measure: str, first: Floats, score: Floats, truth: Floats) -> Floats:
    n, p = len(truth), truth.sum()
    if measure == "lift_top_decile":
        cells = Cells.of(edges_of(log), score, truth)
        both, true = (np.append(0, np.cumsum(side)) for side in (cells.records, cells.positives))
        share = np.arange(11) / 10
        found = np.interp(share * n, both, true) / p
        gain, cumulative = np.diff(found), found[1:]
        return np.stack([gain, cumulative, 10 * gain, cumulative / share[1:]], axis=1)
    if measure == "expected_calibration_error":
        inside = [(score >= low) & (score < high) for low, high in pairwise([*first, np.inf])]
        return np.asarray([[truth[one].mean()] for one in inside])
    amount = np.asarray([[log.profit.get((a, s), 0.0) for s in log.classes] for a in log.classes])
    lines = []
    for threshold in first:
        said = score >= (np.inf if np.isnan(threshold) else threshold)
        true, false = (said & (truth == 1)).sum(), (said & (truth == 0)).sum()
        if measure == "roc_auc":
            lines.append((false / (n - p), true / p))
        elif measure == "average_precision":
            lines.append((true / said.sum(), true / p))
        else:
            lines.append((amount[truth.astype(int), said.astype(int)].sum(), said.mean()))
    return np.asarray(lines)
