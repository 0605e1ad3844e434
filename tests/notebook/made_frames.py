"""Predictions with late labels as frames of pandas, and the same rows served from a database."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from monitor.core.clock import DAY, HOUR, from_iso

START, END = from_iso("2024-03-04"), from_iso("2024-03-11")
N = 600


def predictions(seed: int = 1, n: int = N) -> pd.DataFrame:
    """Scores, classes, numbers and features; a fifth of the features' values is odd in some way."""
    rng = np.random.default_rng(seed)
    at = START + (np.arange(n) * (7 * DAY - 2 * HOUR)) // n
    score = rng.beta(2, 4, n).round(3)
    weights = rng.dirichlet([2, 1, 1], n).round(3)
    return pd.DataFrame(
        {
            "id": [f"p{row}" for row in range(n)],
            "at": pd.to_datetime(at, unit="us", utc=True),
            "score": score,
            "rival": np.clip(score + rng.normal(0, 0.1, n), 0, 1).round(3),
            "version": rng.choice(["v1", "v2"], n),
            "region": rng.choice(["north", "south"], n),
            "kind": [("a", "b", "c")[best] for best in weights.argmax(axis=1)],
            "p_a": weights[:, 0],
            "p_b": weights[:, 1],
            "p_c": weights[:, 2],
            "amount": rng.normal(100, 20, n).round(2),
            "age": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.integers(18, 80, n)),
            "sector": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def labels(frame: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    """Labels of most predictions, an hour after the event; a few are of nobody."""
    rng = np.random.default_rng(seed)
    n = len(frame)
    made = pd.DataFrame(
        {
            "id": frame["id"],
            "bad": (rng.uniform(size=n) < frame["score"]).astype(int),
            "real_kind": np.where(rng.uniform(size=n) < 0.7, frame["kind"], rng.choice(["a", "b", "c"], n)),
            "real_amount": (frame["amount"] + rng.normal(0, 10, n)).round(2),
            "told": frame["at"] + pd.Timedelta(hours=1),
        }
    )
    return made[rng.uniform(size=n) < 0.9].reset_index(drop=True)


def reference() -> pd.DataFrame:
    """Other predictions with their labels in the same frame."""
    frame = predictions(seed=3)
    return frame.merge(labels(frame, seed=4), on="id", how="left")


def write(directory: Path) -> str:
    """Write predictions and labels to a database, the reference to a file; URL of the database."""
    url = f"sqlite:///{directory / 'log.db'}"
    engine = sa.create_engine(url)
    frame = predictions()
    with engine.begin() as connection:
        for name, table in (("predictions", frame), ("labels", labels(frame))):
            texts = {
                column: table[column].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
                for column in ("at", "told")
                if column in table
            }
            table.assign(**texts).to_sql(name, connection, index=False)
    engine.dispose()
    reference().to_parquet(directory / "reference.parquet")
    return url


def keys(task: str) -> dict[str, Any]:
    """What is said of a model in a call."""
    common = {"id": "id", "event_time": "at", "reported_at": "told"}
    if task == "binary":
        return common | {
            "score": "score",
            "threshold": 0.4,
            "label": "bad",
            "version": "version",
            "segments": ["region"],
            "challenger": {"score": "rival"},
            "profit": {"1": {"1": 10, "0": 0}, "0": {"1": -3, "0": 0}},
            "numeric": ["age", "amount"],
            "categorical": ["sector"],
        }
    if task == "multiclass":
        probabilities = {name: f"p_{name}" for name in "abc"}
        return common | {
            "probabilities": probabilities,
            "label": "real_kind",
            "numeric": ["age"],
            "resamples": 50,
        }
    return common | {
        "prediction": "amount",
        "label": "real_amount",
        "dependence": "day",
        "categorical": ["sector"],
    }
