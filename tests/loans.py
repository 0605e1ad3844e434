"""A loan log as lenders have it: truth comes late, and almost only of loans that were granted.

A made log of a made lender. Of the applications that the model scores, those below a score are approved. A
loan is PAID or goes into DEFAULT; that is known 5 to 40 days later. Of declined applications nearly nothing
is ever known, so the share of labelled records stays near 0.76 however old they are.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

START = datetime(2024, 1, 1)  # noqa: DTZ001 -- as a naive column holds it; UTC
THRESHOLD = 0.3  # applications are declined from this score on
NUMERIC = (
    "income",
    "debt",
    "amount",
    "age",
    "tenure",
    "utilisation",
    "inquiries",
    "arrears",
    "savings",
    "household",
)
CATEGORICAL = ("region", "channel")
REGIONS, CHANNELS = ("north", "coast", "east", "south", "west"), ("branch", "web", "broker")
DRIFTED = ("north", "coast")  # regions in which the concept drifts
BROKEN, CENTS = "income", 100.0
DECLINED_LABELLED = 0.02  # share of declined applications whose truth becomes known all the same

_Table: TypeAlias = pd.DataFrame
_WEIGHTS = dict(zip(NUMERIC, (-0.75, 0.6, 0.3, -0.2, -0.35, 0.65, 0.25, 0.5, -0.3, 0.1), strict=True))
_BY_REGION = dict(zip(REGIONS, (0.1, -0.1, 0.0, 0.15, -0.15), strict=True))
_BASE = -1.85


@dataclass(frozen=True)
class Loans:
    """The tables of a lender.

    Parameters
    ----------
    predictions
        application, requested_at, logged_at (30 s later), decision (approve, decline), default_score, and the
        twelve features.
    labels
        application, outcome (PAID, DEFAULT), known_at.
    reference
        training data: decision, default_score, features and outcome of everybody.
    """

    predictions: _Table
    labels: _Table
    reference: _Table

    def load(self, url: str) -> None:
        """Fill the tables `loan_log` and `loan_outcomes`, with the indexes that a service would have."""
        engine = sa.create_engine(url, poolclass=NullPool)
        with engine.begin() as connection:
            tables = (
                ("loan_log", self.predictions, ("requested_at", "logged_at")),
                ("loan_outcomes", self.labels, ("known_at",)),
            )
            for name, table, times in tables:
                dtype = {"application": sa.String(20)} | dict.fromkeys(times, sa.DateTime())
                table.to_sql(name, connection, index=False, dtype=dtype, chunksize=5_000)
                for column in ("application", *times):
                    connection.execute(sa.text(f"CREATE INDEX {name}_{column} ON {name} ({column})"))

    def write_reference(self, path: Path) -> None:
        """Write the reference as a Parquet file."""
        self.reference.to_parquet(path, index=False)


def loans(
    days: int = 95,
    per_day: int = 300,
    seed: int = 0,
    *,
    selective: bool = True,
    equal_pace: bool = False,
    unit_error_day: int | None = 45,
    drift_day: int | None = 62,
    reference_rows: int = 8_000,
) -> Loans:
    """A log of some days from `START` on, with its labels and the training data.

    Parameters
    ----------
    selective
        almost only approved loans are ever labelled; else all applications are.
    equal_pace
        both classes are known after the same delays; else defaults later than payments.
    unit_error_day
        from then on applications log their income in cents; the score is made of the right one.
    drift_day
        from then on, in two regions, what the score says of a default holds no longer.
    """
    rng = np.random.default_rng(seed)
    reference, truth = _applications(reference_rows, rng)
    reference["outcome"] = _outcome(truth, rng)

    n = days * per_day
    log, truth = _applications(n, rng)
    at = (np.arange(n) + rng.random(n)) / per_day  # days since the start, ascending within one in a day
    requested = np.array(START, "datetime64[us]") + (at * 86_400e6).astype("timedelta64[us]")
    log.insert(0, "application", [f"L{number:07d}" for number in range(n)])
    log.insert(1, "requested_at", requested)
    log.insert(2, "logged_at", requested + np.timedelta64(30, "s"))
    if unit_error_day is not None:
        log.loc[at >= unit_error_day, BROKEN] *= CENTS
    if drift_day is not None:
        drifted = (at >= drift_day) & log["region"].isin(DRIFTED).to_numpy()
        truth = np.where(drifted, _probability(-4.0 - 1.0 * _logit(truth)), truth)
    outcome = _outcome(truth, rng)
    approved = (log["decision"] == "approve").to_numpy()
    labelled = approved | (rng.random(n) < DECLINED_LABELLED) if selective else np.ones(n, dtype=bool)
    known = requested + (_delay_days(outcome, rng, equal_pace=equal_pace) * 86_400e6).astype(
        "timedelta64[us]"
    )
    labels = pd.DataFrame({"application": log["application"], "outcome": outcome, "known_at": known})
    return Loans(log, labels[labelled].sort_values("known_at", ignore_index=True), reference)


def day(number: float) -> datetime:
    """Moment of a day of the log, without a zone; UTC."""
    return START + timedelta(days=number)


def _applications(n: int, rng: np.random.Generator) -> tuple[_Table, np.ndarray]:
    """Features, score and decision of some applications, and the probability of a default, which it is."""
    plain = {name: rng.normal(size=n) for name in NUMERIC}
    region = rng.choice(REGIONS, n)
    logit = _BASE + sum(weight * plain[name] for name, weight in _WEIGHTS.items())
    logit = logit + np.array([_BY_REGION[name] for name in region])
    table = pd.DataFrame(
        {
            "income": np.round(np.exp(8.0 + 0.4 * plain["income"]), 2),
            "debt": np.round(np.exp(7.0 + 0.8 * plain["debt"]), 2),
            "amount": np.round(np.exp(8.5 + 0.6 * plain["amount"]), 2),
            "age": np.round(45 + 11 * plain["age"], 1),
            "tenure": np.round(np.exp(1.2 + 0.7 * plain["tenure"]), 2),
            "utilisation": np.round(_probability(plain["utilisation"]), 4),
            "inquiries": np.floor(np.exp(0.6 + 0.6 * plain["inquiries"])),
            "arrears": np.floor(np.exp(0.2 + 0.7 * plain["arrears"])),
            "savings": np.round(np.exp(7.5 + 1.0 * plain["savings"]), 2),
            "household": np.floor(2.5 + np.abs(1.2 * plain["household"])),
            "region": region,
            "channel": rng.choice(CHANNELS, n, p=(0.47, 0.28, 0.25)),
        }
    )
    score = np.round(_probability(logit), 6)
    table.insert(0, "decision", np.where(score < THRESHOLD, "approve", "decline"))
    table.insert(1, "default_score", score)
    return table, score


def _outcome(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(probability)) < probability, "DEFAULT", "PAID")


def _delay_days(outcome: np.ndarray, rng: np.random.Generator, *, equal_pace: bool) -> np.ndarray:
    """5 to 40 days; of defaults 24 on average, of payments 20, of both 22.5 where their paces are equal."""
    early, late = ((1.0, 1.0), (1.0, 1.0)) if equal_pace else ((1.0, 1.3), (1.2, 1.0))
    n = len(outcome)
    return 5 + 35 * np.where(outcome == "DEFAULT", rng.beta(*late, n), rng.beta(*early, n))


def _probability(logit: np.ndarray) -> np.ndarray:
    probability: np.ndarray = 1.0 / (1.0 + np.exp(-logit))
    return probability


def _logit(probability: np.ndarray) -> np.ndarray:
    logit: np.ndarray = np.log(probability / (1.0 - probability))
    return logit
