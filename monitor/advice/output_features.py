"""Features that are outputs of the model: a drifting prediction would be told as its own cause. Pure."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.advice.output_findings import flip_of, toml_text
from monitor.core.text import double_quoted
from monitor.look.table_look import ENOUGH, NAMED_FROM
from monitor.measures.statistics.two_samples import rank_correlation
from monitor.records.column_values import CategoryValues, parse_categories, parse_numbers
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import parse_predictions, parse_scores

_SAME = 0.999  # rank correlation from which on two columns say one thing, one of them perhaps rounded
_FEW = 50  # values of a feature that may be a class


def output_features(rows: pa.Table | None, reading: ReadingOptions, about: str) -> Iterator[str]:
    """Warn of features that say what an output says: they rank as it does, or their values are the classes.

    Cost: features by outputs, each a sort of the rows looked at.

    `rows`: some records with features and outputs; None: none were looked at.
    """
    if rows is None:
        return
    for role in rows.column_names:
        if role.startswith("feature:"):
            text = _ranked_alike(rows, reading, role) or _decision_finding(rows, reading, role)
            if text is not None:
                yield f"{about} the feature {double_quoted(role.removeprefix('feature:'))} {text}"


def _ranked_alike(rows: pa.Table, reading: ReadingOptions, role: str) -> str | None:
    """That a feature ranks as an output of numbers does."""
    outputs = ["score", *(name for name in rows.column_names if name.startswith("probability:"))]
    outputs += ["prediction"] if reading.task is ModelTask.REGRESSION else []
    mine = parse_numbers(rows[role])
    for name in outputs:
        if name not in rows.column_names:
            continue
        other = parse_numbers(rows[name])
        both = mine.finite & other.finite
        if both.sum() < ENOUGH:
            continue
        correlation = rank_correlation(mine.values[both], other.values[both])
        if abs(correlation) >= _SAME:
            column = double_quoted(reading.column_name(name))
            return (
                f"ranks records as {column} ({name}) does: rank correlation {correlation:.3f}. If it is an "
                "output of the model, take it out of [models.features]"
            )
    return None


def _decision_finding(rows: pa.Table, reading: ReadingOptions, role: str) -> str | None:
    """That a feature is the predicted class, in its words or in others."""
    if reading.task is ModelTask.REGRESSION or len(pc.unique(rows[role])) > _FEW:
        return None
    out = "take it out of [models.features]"
    decided = "prediction" in rows.column_names
    flip = flip_of(_take_for_prediction(rows, role), reading)
    if flip is not None:
        column = double_quoted(reading.column_name("score"))
        write = (
            ""
            if decided
            else f"write [models.predictions] prediction = {toml_text(role.removeprefix('feature:'))}, and "
        )
        return (
            f"is a decision by {column} (score): {double_quoted(flip.below)} below {flip.threshold:g} and "
            f"{double_quoted(flip.above)} from there on, in all of {flip.n:,} rows. If it is the model's, "
            f"{write}{out}"
        )
    predicted = parse_predictions(rows, reading, parse_scores(rows, reading))
    if isinstance(predicted, CategoryValues) and _one_to_one(parse_categories(rows[role]), predicted):
        return f"has a value of its own for each predicted class. If it is the prediction, {out}"
    return None


def _take_for_prediction(rows: pa.Table, role: str) -> pa.Table:
    """The rows with a feature in the place of the prediction."""
    kept = [name for name in rows.column_names if name != "prediction"]
    return rows.select(kept).append_column("prediction", rows[role])


def _one_to_one(one: CategoryValues, other: CategoryValues) -> bool:
    """Whether each value of the one goes with one of the other, and the other way round; two at least."""
    there = (one.codes >= 0) & (other.codes >= 0)
    pairs, counts = np.unique(np.stack([one.codes[there], other.codes[there]]), axis=1, return_counts=True)
    sizes = {pairs.shape[1], *(len(np.unique(side)) for side in pairs)}
    return len(sizes) == 1 and pairs.shape[1] > 1 and int(counts.min()) >= NAMED_FROM
