"""What enters once and is looked at after every pane, once more: ratios of SciPy's likelihoods."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import oracle
import pandas as pd
from oracle import DAY, LEVEL, NONE, Expected, Floats, Key, Log
from oracle_arms import discordant, outcomes, subject_of, with_outcome
from scipy import stats
from scipy.optimize import brentq

ENOUGH, PRIOR = 500, 10_000
LIMIT = -math.log(1 - LEVEL)


@dataclass(slots=True)
class Ledger:
    """Sums by pane of what has entered; `most` evidence that there was after any of them."""

    end: int | None = None
    total: Floats = field(default_factory=lambda: np.zeros(6))
    most: float = 0.0

    def entered(self, log: Log, as_of: int, first: int, end: int) -> tuple[int, int]:
        """Span of the days that enter; none where the start is the end."""
        start = max(-(-(as_of - log.horizon) // DAY) * DAY, -(-first // DAY) * DAY if self.end is None else 0)
        start = max(start, self.end or 0)
        self.end = max(end, start)
        return start, max(end, start)

    def add(self, panes: pd.DataFrame, evidence: Callable[[Floats], Floats]) -> None:
        """Add sums of panes, shape (panes, sums), and look at the evidence after each."""
        if len(panes) == 0:
            return
        sums = self.total[: panes.shape[1]] + panes.to_numpy(dtype=float).cumsum(axis=0)
        self.most = max(self.most, float(evidence(sums).max()))
        self.total = sums[-1]


@dataclass(slots=True)
class Ledgers:
    """All comparisons of a model that go on, over its cycles.

    Parameters
    ----------
    first
        start of the oldest pane that the first cycle counted.
    """

    log: Log
    first: int
    outcome: dict[str, Ledger] = field(default_factory=dict)
    shares: Ledger = field(default_factory=Ledger)
    challenger: Ledger = field(default_factory=Ledger)

    def measured(self, as_of: int, ends: dict[str, int]) -> dict[Key, Expected]:
        """Everything that has entered up to a cycle.

        Parameters
        ----------
        ends
            end of what has entered by measure, 0 where nothing has: the cycle decides which days are settled.
        """
        found: dict[Key, Expected] = {}
        log = self.log
        if log.planned is not None:
            rows = self._records(self.shares, as_of, ends["control_record_share"])
            found |= _of("", self._of_shares(rows))
        for name in () if log.detect is None else outcomes(log) or ("",):
            ledger, subject = self.outcome.setdefault(name, Ledger()), subject_of(log, name) if name else ""
            rows = self._told(ledger, as_of, ends["control_p_value_always_valid"])
            found |= _of(subject, self._of_outcomes(ledger, with_outcome(log, rows, name)))
        if "challenger" in log.predictions.columns:
            rows = self._told(self.challenger, as_of, ends["challenger_log_evidence"])
            found |= _of("", self._of_challenger(discordant(log, rows)))
        return found

    def _records(self, ledger: Ledger, as_of: int, end: int) -> pd.DataFrame:
        return oracle.records(self.log, ledger.entered(self.log, as_of, self.first, end), as_of)

    def _told(self, ledger: Ledger, as_of: int, end: int) -> pd.DataFrame:
        return oracle.with_labels(self.log, self._records(ledger, as_of, end), as_of)

    def _of_shares(self, rows: pd.DataFrame) -> dict[str, Expected]:
        planned = self.log.planned or 0.0
        prior = PRIOR * planned, PRIOR * (1 - planned)

        def against(share: float, sums: Floats) -> Floats:
            n, k = sums[..., 0] + sums[..., 1], sums[..., 0]
            of_prior = stats.betabinom.logpmf(k, n, *prior)
            return np.asarray(of_prior - stats.binom.logpmf(k, n, share))

        arms = [(rows["arm"] == arm).astype(int) for arm in ("control", "treatment")]
        ledger = self.shares
        ledger.add(_by_pane(rows, arms), lambda sums: against(planned, sums))
        n, share = int(ledger.total[:2].sum()), float(ledger.total[0] / max(1, ledger.total[:2].sum()))
        if not n:
            return {"control_record_share": NONE, "sample_ratio_p_value_always_valid": NONE}

        def beyond(candidate: float) -> float:
            return float(against(candidate, ledger.total)) - LIMIT

        bounds = (brentq(beyond, 1e-9, share, xtol=1e-13), brentq(beyond, share, 1 - 1e-9, xtol=1e-13))
        return {
            "control_record_share": Expected(share, n=n, bounds=bounds),
            "sample_ratio_p_value_always_valid": _p_value(ledger, n),
        }

    def _of_outcomes(self, ledger: Ledger, rows: pd.DataFrame) -> dict[str, Expected]:
        detect = self.log.detect or 0.0
        columns = []
        for arm in ("treatment", "control"):
            one = rows["arm"] == arm
            columns += [one.astype(int), rows["outcome"] * one, rows["outcome"] ** 2 * one]
        rates = bool(self.log.classes)

        def evidence(sums: Floats) -> Floats:
            n, means, variance = _moments(sums, rates=rates)
            known = (n.min(axis=0) >= ENOUGH) & (variance > 0)
            return np.where(known, _mixture(means[0] - means[1], 0.0, variance, detect), 0.0)

        ledger.add(_by_pane(rows, columns), evidence)
        name = "outcome_rate_difference" if rates else "outcome_mean_difference"
        names = f"{name}_always_valid", "control_p_value_always_valid"
        n, means, variance = _moments(ledger.total, rates=rates)
        if n.min() < ENOUGH:
            return dict.fromkeys(names, NONE)
        value, spread = float(means[0] - means[1]), float(variance)

        def beyond(away: float) -> float:
            return float(_mixture(away, 0.0, spread, detect)) - LIMIT

        half = brentq(beyond, 0.0, 100 * math.sqrt(spread) + 100 * detect, xtol=1e-14)
        of_all = int(n.sum())
        found = Expected(value, n=of_all, bounds=(value - half, value + half))
        return dict(zip(names, (found, _p_value(ledger, of_all)), strict=True))

    def _of_challenger(self, rows: pd.DataFrame) -> dict[str, Expected]:
        right = rows["champion_right"], rows["challenger_right"]
        columns = [right[0] & ~right[1], right[1] & ~right[0], right[0] == right[1]]

        def evidence(sums: Floats) -> Floats:
            n, k = sums[..., 0] + sums[..., 1], sums[..., 1]
            return np.asarray(stats.betabinom.logpmf(k, n, 0.5, 0.5) - stats.binom.logpmf(k, n, 0.5))

        ledger = self.challenger
        ledger.add(_by_pane(rows, columns), evidence)
        n = int(ledger.total[:3].sum())
        if not n:
            return {"challenger_log_evidence": NONE, "challenger_p_value_always_valid": NONE}
        found = Expected(float(evidence(ledger.total)), n=n)
        return {"challenger_log_evidence": found, "challenger_p_value_always_valid": _p_value(ledger, n)}


def _of(subject: str, found: dict[str, Expected]) -> dict[Key, Expected]:
    return {(name, subject): expected for name, expected in found.items()}


def _by_pane(rows: pd.DataFrame, columns: list[pd.Series]) -> pd.DataFrame:
    return pd.concat(columns, axis=1, keys=range(len(columns))).groupby(rows["pane"]).sum()


def _moments(sums: Floats, *, rates: bool) -> tuple[Floats, Floats, Floats]:
    """Of both arms' n, sum and sum of squares: n, means, and the variance of the means' difference."""
    sums = sums.reshape(*sums.shape[:-1], 2, 3)
    n, first, second = (np.moveaxis(sums[..., at], -1, 0) for at in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = first / n
        spread = second / n - means**2
        of_one = spread if rates else spread * n / (n - 1)
        return n, means, (of_one / n).sum(axis=0)


def _mixture(difference: Floats | float, centre: float, variance: Floats | float, detect: float) -> Floats:
    """Logarithm of the likelihood with a normal prior about a centre, over that at the centre."""
    with np.errstate(invalid="ignore", divide="ignore"):
        wide = stats.norm.logpdf(difference, centre, np.sqrt(variance + detect**2))
        return np.asarray(wide - stats.norm.logpdf(difference, centre, np.sqrt(variance)))


def _p_value(ledger: Ledger, n: int) -> Expected:
    return replace(NONE, value=math.exp(-max(0.0, ledger.most)), n=n)
