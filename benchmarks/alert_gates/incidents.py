"""Incidents: what goes wrong with logs, drawn at random and done to dealt rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from monitor.core.clock import DAY, HOUR

Rows = pd.DataFrame
Rng = np.random.Generator
LONGEST = 14  # days


@dataclass(frozen=True)
class Incident:
    """What happened.

    Parameters
    ----------
    touched
        subjects about one of which an alert is one about the incident.
    also
        subjects that it may rightly show in too.
    """

    kind: str
    about: str
    first: int
    length: int
    touched: frozenset[str]
    also: frozenset[str] = frozenset()

    @property
    def of_labels(self) -> bool:
        """Seen in the labels alone."""
        return self.touched <= {"labels", "label", "performance"}


@dataclass(frozen=True)
class Place:
    """Where an incident happens: its days, and the mask of their rows."""

    first: int
    length: int
    rows: np.ndarray
    rng: Rng

    def some(self, share: float) -> np.ndarray:
        """A share of the rows, at random."""
        return self.rows & (self.rng.random(len(self.rows)) < share)


Done = tuple[Rows, str, frozenset[str], frozenset[str]]  # rows, about what, touched, also


def strike(made: Rows, kind: str, first: int, rng: Rng, length: int | None = None) -> tuple[Rows, Incident]:
    """Do an incident of a family to rows, from a day on."""
    lasts = length or int(rng.integers(1, LONGEST + 1))
    at = ((made["day"] >= first) & (made["day"] < first + lasts)).to_numpy()
    rows, about, touched, also = FAMILIES[kind](made.copy(), Place(first, lasts, at, rng))
    early = kind == "wrong_clock" and about.startswith("-")  # some of its rows lie on the day before
    return rows, Incident(kind, about, first - early, lasts + early, touched, also)


def _number(made: Rows, rng: Rng) -> str:
    names = [name for name in made if name.startswith("feature:") and made[name].dtype.kind in "fi"]
    return str(rng.choice(names))


def _category(made: Rows, rng: Rng) -> str:
    names = [name for name in made if name.startswith("feature:") and made[name].dtype.kind == "O"]
    return str(rng.choice(names))


def _scores(made: Rows) -> list[str]:
    return [name for name in made if name == "score" or name.startswith("probability:")]


def _on(made: Rows, name: str, at: np.ndarray, values: object) -> Rows:
    made[name] = made[name].astype(float)
    made.loc[at, name] = values
    return made


def unit(made: Rows, place: Place) -> Done:
    """A number comes in another unit."""
    name = _number(made, place.rng)
    factor = float(place.rng.choice([0.001, 0.4536, 0.6214, 1.6093, 2.2046, 2.54, 60.0, 1000.0]))
    made = _on(made, name, place.rows, made.loc[place.rows, name] * factor)
    return made, f"{name} x {factor}", frozenset({name}), frozenset()


def level(made: Rows, place: Place) -> Done:
    """A number moves by some standard deviations."""
    name = _number(made, place.rng)
    moved = float(place.rng.uniform(0.3, 2.0) * place.rng.choice([-1, 1]))
    made = _on(made, name, place.rows, made.loc[place.rows, name] + moved * made[name].std())
    return made, f"{name} {moved:+.2f} sd", frozenset({name}), frozenset()


def spread(made: Rows, place: Place) -> Done:
    """A number varies more, or less."""
    name = _number(made, place.rng)
    factor = float(place.rng.choice([0.25, 0.5, 1.5, 2.0, 3.0]))
    middle = made[name].mean()
    made = _on(made, name, place.rows, middle + factor * (made.loc[place.rows, name] - middle))
    return made, f"{name} sd x {factor}", frozenset({name}), frozenset()


def stuck(made: Rows, place: Place) -> Done:
    """A share of a number is one value of it."""
    name, share = _number(made, place.rng), float(place.rng.uniform(0.1, 1.0))
    value = float(made[name].dropna().sample(1, random_state=int(place.rng.integers(1 << 30))).iloc[0])
    return (
        _on(made, name, place.some(share), value),
        f"{name} {share:.0%} at {value:g}",
        frozenset({name}),
        frozenset(),
    )


def default(made: Rows, place: Place) -> Done:
    """A share of a number is what stands for none."""
    name, share = _number(made, place.rng), float(place.rng.uniform(0.05, 1.0))
    value = float(place.rng.choice([-999.0, -1.0, 0.0, 9999.0]))
    return (
        _on(made, name, place.some(share), value),
        f"{name} {share:.0%} at {value:g}",
        frozenset({name}),
        frozenset(),
    )


def missing(made: Rows, place: Place) -> Done:
    """A share of a feature is missing."""
    name = _number(made, place.rng) if place.rng.random() < 0.7 else _category(made, place.rng)
    share = float(place.rng.choice([1.0, place.rng.uniform(0.05, 1.0)]))
    made.loc[place.some(share), name] = None
    return made, f"{name} {share:.0%} missing", frozenset({name}), frozenset()


def renamed(made: Rows, place: Place) -> Done:
    """A frequent level has another name."""
    name = _category(made, place.rng)
    old = str(place.rng.choice(made[name].value_counts().index[:5]))
    made.loc[place.rows & (made[name] == old).to_numpy(), name] = old.lower() + "_v2"
    return made, f"{name} {old} renamed", frozenset({name}), frozenset()


def merged(made: Rows, place: Place) -> Done:
    """A frequent level is called another one."""
    name = _category(made, place.rng)
    levels = list(made[name].value_counts().index[:5])
    old, new = place.rng.choice(levels, 2, replace=False) if len(levels) > 1 else (levels[0], levels[0])
    made.loc[place.rows & (made[name] == old).to_numpy(), name] = new
    return made, f"{name} {old} to {new}", frozenset({name}), frozenset()


def new_level(made: Rows, place: Place) -> Done:
    """A level that was never there."""
    name, share = _category(made, place.rng), float(place.rng.uniform(0.02, 0.5))
    made.loc[place.some(share), name] = "brand new"
    return made, f"{name} {share:.0%} new", frozenset({name}), frozenset()


def mix(made: Rows, place: Place) -> Done:
    """Other records come: of one level alone, or from the upper half of a number."""
    if place.rng.random() < 0.5:
        name = _category(made, place.rng)
        chosen = made[name] == str(place.rng.choice(made[name].value_counts().index[:4]))
    else:
        name = _number(made, place.rng)
        chosen = made[name] > made[name].quantile(0.6)
    share = float(place.rng.uniform(0.2, 0.8))
    replaced = np.flatnonzero(place.some(share))
    donors = np.flatnonzero(chosen.to_numpy() if chosen.any() else np.ones(len(made), dtype=bool))
    times = ("id", "event_time", "logged_at", "reported_at", "reported_at_later", "day")
    taken = place.rng.choice(donors, len(replaced))
    for column in made.columns.difference(times):
        made.loc[replaced, column] = made[column].iloc[taken].to_numpy()
    every = frozenset(column for column in made if column.startswith("feature:"))
    also = frozenset({"score", "prediction", "performance", "label", "labels"})
    return made, f"{share:.0%} of {name}", every, also


def rescaled(made: Rows, place: Place) -> Done:
    """Scores are scaled by a fault."""
    power = float(place.rng.choice([0.4, 0.6, 1.8, 3.0]))
    for name in _scores(made):
        made = _on(made, name, place.rows, made.loc[place.rows, name] ** power)
    return made, f"score ^ {power}", frozenset({"score"}), frozenset({"prediction", "performance"})


def stuck_score(made: Rows, place: Place) -> Done:
    """All scores, or a share, are one value."""
    share, rows = float(place.rng.uniform(0.2, 1.0)), _scores(made)
    at = place.some(share)
    chosen = made.loc[:, rows].iloc[int(place.rng.integers(len(made)))]
    for name in rows:
        made = _on(made, name, at, float(chosen[name]))
    return made, f"score {share:.0%} stuck", frozenset({"score"}), frozenset({"prediction", "performance"})


def invalid_score(made: Rows, place: Place) -> Done:
    """Scores beyond 1."""
    share = float(place.rng.uniform(0.02, 1.0))
    at = place.some(share)
    for name in _scores(made)[:1]:
        made = _on(made, name, at, 1.5)
    if "prediction" in made:
        for name in _scores(made):
            made = _on(made, name, at, 1.5)
    return made, f"score {share:.0%} invalid", frozenset({"score"}), frozenset({"prediction", "performance"})


def wrong_labels(made: Rows, place: Place) -> Done:
    """Labels of other records."""
    share = float(place.rng.uniform(0.2, 1.0))
    at = np.flatnonzero(place.some(share) & made["label"].notna().to_numpy())
    made.loc[at, "label"] = made["label"].iloc[place.rng.permutation(at)].to_numpy()
    return made, f"{share:.0%} shuffled", frozenset({"performance", "label"}), frozenset()


def one_label(made: Rows, place: Place) -> Done:
    """All labels, or a share, are one class."""
    share, value = (
        float(place.rng.uniform(0.2, 1.0)),
        str(place.rng.choice(made["label"].dropna().unique()[:3])),
    )
    made.loc[place.some(share) & made["label"].notna().to_numpy(), "label"] = value
    return made, f"{share:.0%} {value}", frozenset({"performance", "label"}), frozenset()


def late_labels(made: Rows, place: Place) -> Done:
    """Labels come days later than they used to."""
    days = float(place.rng.uniform(4, 20))
    for name in ("reported_at", "reported_at_later"):
        made.loc[place.rows, name] += int(days * DAY)
    return made, f"{days:.0f} days later", frozenset({"labels"}), frozenset({"label", "performance"})


def no_labels(made: Rows, place: Place) -> Done:
    """Labels stop, or a share of them."""
    share = float(place.rng.choice([1.0, place.rng.uniform(0.3, 1.0)]))
    at = place.some(share)
    for name in ("label", "reported_at", "label_later", "reported_at_later"):
        made.loc[at, name] = None
    return made, f"{share:.0%} lost", frozenset({"labels"}), frozenset({"label", "performance"})


def corrected_labels(made: Rows, place: Place) -> Done:
    """Labels are wrong at first, and corrected on the next day or later."""
    share = float(place.rng.uniform(0.1, 0.6))
    at = np.flatnonzero(place.some(share) & made["reported_at"].notna().to_numpy())
    right = made.loc[at, "label"].to_numpy()
    made.loc[at, "label_later"] = right
    made.loc[at, "reported_at_later"] = made.loc[at, "reported_at"] + HOUR
    made.loc[at, "label"] = made["label"].iloc[place.rng.permutation(at)].to_numpy()
    return made, f"{share:.0%} corrected", frozenset({"labels"}), frozenset({"label", "performance"})


def early_labels(made: Rows, place: Place) -> Done:
    """Labels that were there before their predictions."""
    share = float(place.rng.uniform(0.05, 1.0))
    at = place.some(share) & made["reported_at"].notna().to_numpy()
    made.loc[at, "reported_at"] = made.loc[at, "event_time"] - 2 * HOUR
    return made, f"{share:.0%} early", frozenset({"labels"}), frozenset({"label", "performance"})


def lost(made: Rows, place: Place) -> Done:
    """Most rows are lost."""
    share = float(place.rng.uniform(0.55, 0.95))
    return (
        made[~place.some(share)].reset_index(drop=True),
        f"{share:.0%} lost",
        frozenset({"records"}),
        frozenset(),
    )


def repeated(made: Rows, place: Place) -> Done:
    """Rows are logged twice."""
    share = float(place.rng.uniform(0.03, 1.0))
    again = made[place.some(share)]
    return pd.concat([made, again], ignore_index=True), f"{share:.0%} twice", frozenset({"log"}), frozenset()


def late_rows(made: Rows, place: Place) -> Done:
    """Rows are logged hours later."""
    hours = float(place.rng.uniform(1, 12))
    at = place.some(float(place.rng.uniform(0.3, 1.0)))
    made.loc[at, "logged_at"] += int(hours * HOUR)
    return made, f"{hours:.0f} h late", frozenset({"log", "records"}), frozenset()


def wrong_clock(made: Rows, place: Place) -> Done:
    """The clock of the events is hours ahead, or behind."""
    hours = float(place.rng.choice([-8, -5, -1, 1, 2, 5, 8]))
    made.loc[place.rows, "event_time"] += int(hours * HOUR)
    also = {"records", "labels", "label", "performance"} | {
        name for name in made if name.startswith("feature:")
    }
    return made, f"{hours:+.0f} h", frozenset({"log", "records", "labels"}), frozenset(also)


def unknown_version(made: Rows, place: Place) -> Done:
    """Predictions of a version that nobody knows."""
    share = float(place.rng.uniform(0.05, 1.0))
    made.loc[place.some(share), "version"] = "hotfix-7"
    return made, f"{share:.0%}", frozenset({"log"}), frozenset()


FAMILIES: Mapping[str, Callable[[Rows, Place], Done]] = {
    family.__name__: family
    for family in (
        unit, level, spread, stuck, default, missing, renamed, merged, new_level, mix,
        rescaled, stuck_score, invalid_score,
        wrong_labels, one_label, late_labels, no_labels, corrected_labels, early_labels,
        lost, repeated, late_rows, wrong_clock, unknown_version,
    )
}  # fmt: skip
