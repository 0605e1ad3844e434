"""By when labels that differ from what scores promise would be told, at a log's volume and delays. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY
from monitor.evidence.early_labels import BEYOND_EARLY
from monitor.evidence.watch import SLOW_AGE
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS
from monitor.windows.day_moments import HEARD, TAKEN

_CHANGES = (1.5, 1.2)  # odds
# Days until a change of so many standard deviations a day is told are about 32 / U²: of the simulations of
# labels against scores, where U lies between 1 and 5.
_DAYS_OF_ONE = 32.0
_LONGEST = 90  # days, after which a change is not found in time


@dataclass(frozen=True, slots=True)
class RelationForecast:
    """What is known of the labels of a binary model."""

    labels_a_day: float
    information: float  # of a label on the odds: mean of p(1 - p) over the scores
    label_age: int  # days after which most labels are in
    horizon: int  # days

    @property
    def needed_horizon(self) -> int:
        """Days that labels must be read back, for their days to be judged at all."""
        slow = self.label_age + BEYOND_EARLY + FEWEST_DAYS if self.label_age >= SLOW_AGE else 0
        return max(int(np.ceil(HEARD * self.label_age)) + 1, slow)

    def days_until_told(self, odds: float) -> float:
        """Days after its labels are in, of a lasting change of the odds."""
        strength = np.log(odds) ** 2 * self.information * self.labels_a_day
        return float(max(1.0, _DAYS_OF_ONE / strength)) if strength > 0 else float("inf")


def forecast_relation(
    scores: Floats, delays: Ints, labels_a_day: float, horizon: int
) -> RelationForecast | None:
    """What a sample tells, of scores that are probabilities, and delays in microseconds; None: too little."""
    if not len(scores) or not len(delays) or labels_a_day <= 0:
        return None
    age = int(np.ceil(np.quantile(delays, TAKEN) / DAY))
    return RelationForecast(labels_a_day, float((scores * (1 - scores)).mean()), max(1, age), horizon // DAY)


def relation_lines(forecast: RelationForecast) -> Iterator[str]:
    """Lines for people.

    >>> for line in relation_lines(RelationForecast(1000.0, 0.15, 1, 60)):
    ...     print(line)  # doctest: +NORMALIZE_WHITESPACE
    labels against scores: where days are alike, odds × 1.5 would fire about 2 days after its labels are
    in, by day 3; × 1.2 by day 8
    """
    words = []
    for odds in _CHANGES:
        days = forecast.days_until_told(odds)
        by_day = int(np.ceil(days)) + forecast.label_age
        if days > _LONGEST:
            words.append(f"× {odds:g} would not fire in {_LONGEST} days")
        elif words:
            words.append(f"× {odds:g} by day {by_day}")
        else:
            many = int(np.ceil(days))
            after = "a day" if many == 1 else f"{many} days"
            words.append(f"× {odds:g} would fire about {after} after its labels are in, by day {by_day}")
    yield f"labels against scores: where days are alike, odds {'; '.join(words)}"
    if forecast.label_age >= SLOW_AGE:
        yield "labels are slow: a large change fires earlier, from its first labels on"
    if forecast.horizon < forecast.needed_horizon:
        yield (
            f"labels take about {forecast.label_age} days: to check them, they must be read back "
            f"{forecast.needed_horizon} days; horizon is {forecast.horizon}"
        )
