"""How near nowcasts come to what all labels give, and how often their intervals hold the true value.

Draws logs whose labels are late, counts them as the monitor does, and measures the last thirty days from the
labels so far: raw, and weighed. Writes its part of docs/evidence.md; ends with 1 where a figure is bold:
it is off by more than it may be. Half an hour of a core.
python benchmarks/sim_nowcast.py [--repetitions 400] [--output FILE]
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.core.measurement import Measurement
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.nowcast import (
    LEAST_RECORDS,
    LEAST_SHARE,
    count_class_labels,
    nowcast_results,
    weight_labels,
)
from monitor.pipeline.delay_counts import DelayCounts, select_delay_counts
from monitor.pipeline.windows.nowcast_rows import estimate_label_shares, total_covariance
from monitor.records.counting import DELAY_EDGES, LOSSES, Counting
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import make_plain_counting
from monitor.states import sums
from monitor.states.counters import Counters
from monitor.windows.settling import settling_ages

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "generators"))
from page_parts import write_part  # noqa: E402

HEAD = """## How far nowcasts can be trusted

A [nowcast](concepts.md#late-truth) says what a window's labels will give once all are in. Here that is
simulated: `make sim-nowcast` draws logs of 150 days whose labels are late, counts them as the monitor does,
and measures the last 30 days by the labels so far. {repetitions} logs of each pace of labels and base rate
(1, 5, 20 and 50 % positive; 100 records a day, 400 where 1 % are positive).

Each cell has the bias of the raw provisional value, that of the nowcast, both against the value of all of the
window's labels; and how often the 95 % interval of the nowcast holds the underlying value, in per cent, exact
to about {error:.1f} points. **Bold**, beyond two standard errors of the simulation: a bias above a tenth of
the raw one's and above 0.002; a share outside of 93 to 97 %, of batches outside of 90 to 99 %. Of all
{cells} cells of {measures} measures {off} are so.

Paces are mean delays, gamma with shape 2. All of it takes for granted that delays do not depend on the score
within a class: where they do, the monitor warns of it, and the bias is that of the labels which are in.
"""
TAIL = """### Nowcasts on real logs

`benchmarks/nowcast_logs.py` replays the flights and the rodents, and looks at windows whose raw value is off
by more than 0.005. Asked of the flights' windows of 7 and 30 days: the nowcast is nearer to the final value
in 80 % of those of accuracy, base rate, Brier score, log loss and precision; in at least half of those of any
other measure. `make sim-nowcast` fails where that is missed. Where chance is what is wrong, no weight helps.

| nearer to the final value, % | windows off | nowcast | true shares by age | true shares of each day |
|---|---|---|---|---|
| flights, 7 and 30 days: accuracy, base rate, Brier score, log loss, precision | 239 | 86.2 | 85.8 | 92.5 |
| flights, 7 and 30 days: all measures | 614 | 76.5 | 76.7 | 75.4 |
| flights, one day: all measures | 595 | 51.3 | 49.9 | 49.2 |
| flights' delays in minutes, 7 and 30 days | 300 | 70.3 | 70.3 | 58.0 |
| rodents, 90 and 365 days: all measures | 2,325 | 48.2 | 51.2 | 45 |

The last two columns weigh by what nobody can know at the time: the share that was in at each age in the end,
and the labels of each class and day that were in, of those that came. Better curves would not reach more.
"""
Rng = np.random.Generator
PANE, DAYS, WINDOW, HORIZON = 12 * HOUR, 150, 30, 60
AMOUNTS = {("1", "1"): 4.0, ("0", "1"): -1.0, ("1", "0"): -2.0}
ASK = MeasureOptions(profit=AMOUNTS)
UNITS = (("event_time", "us"), ("reported_at", "us"))
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.5,
    labelled=True,
    pane=PANE,
    horizon=HORIZON * DAY,
    time_units=UNITS,
)
SHOWN = (
    "roc_auc", "accuracy", "base_rate", "precision", "recall", "f1", "average_class_accuracy",
    "harmonic_class_accuracy", "brier_score", "log_loss", "profit_per_record",
)  # fmt: skip
Delay = Callable[[Rng, Floats, Ints], Floats]
"""Days from event to report, of event times (days) and classes; infinite: never."""


def gamma(mean: tuple[float, float], ever: tuple[float, float] = (1.0, 1.0)) -> Delay:
    """Delays of a mean by class, of which a share ever comes."""

    def draw(rng: Rng, at: Floats, kind: Ints) -> Floats:
        days = rng.gamma(2.0, np.asarray(mean)[kind] / 2.0)
        comes = (rng.random(len(at)) < np.asarray(ever)[kind]) & (days < HORIZON - 1)
        return np.where(comes, days, np.inf)

    return draw


def weekly(mean: tuple[float, float]) -> Delay:
    """Delays of a mean by class, until the next weekly batch after them."""
    plain = gamma(mean)

    def draw(rng: Rng, at: Floats, kind: Ints) -> Floats:
        days = np.ceil((at + plain(rng, at, kind)) / 7) * 7 - at
        return np.where(days < HORIZON - 1, days, np.inf)

    return draw


PACES: Mapping[str, Delay] = {
    "equal pace": gamma((12.0, 12.0)),
    "positives three times slower": gamma((5.0, 15.0)),
    "positives thirty times slower": gamma((0.5, 15.0)),
    "negatives ten times slower": gamma((15.0, 1.5)),
    "plateau: 40 % and 80 % ever labelled": gamma((5.0, 15.0), (0.4, 0.8)),
    "weekly batches": weekly((4.0, 12.0)),
}
RATES = (0.01, 0.05, 0.2, 0.5)
PRINTED = ("roc_auc", "accuracy", "base_rate", "precision", "log_loss")  # on the page; all are checked
PRINTED_RATES = (0.01, 0.2)


@dataclass
class Tally:
    """Of one measure: errors of the raw value and of the nowcast, and whether the interval is right."""

    raw: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A base rate, a pace, and how many records a day has."""

    rate: float
    pace: str
    daily: int

    def truth(self, counting: Counting) -> dict[str, float]:
        """Values of the records that are ever labelled: of 300,000 of each class, weighed."""
        rng, n = np.random.default_rng(7), 300_000
        kind = np.repeat([0, 1], n)
        score = self._scored(rng, kind)
        ever = np.isfinite(PACES[self.pace](rng, rng.random(2 * n) * 7 + 70, kind)).reshape(2, n).mean(axis=1)
        [whole] = counters_of(counting, np.zeros_like(kind), kind, score, 1)
        weights = np.asarray([1 - self.rate, self.rate]) * ever
        counts = weight_labels(counting, [whole], 1 / weights[None], np.zeros((2, 2)))
        return values(nowcast_results(counts, ASK))

    def _scores(self, rng: Rng, n: int) -> tuple[Ints, Floats]:
        kind = (rng.random(n) < self.rate).astype(np.int64)
        return kind, self._scored(rng, kind)

    def _scored(self, rng: Rng, kind: Ints) -> Floats:
        """Scores that are not calibrated."""
        return expit(rng.normal(np.where(kind == 1, 1.1, -1.1) + 0.5 * logit(self.rate), 1.3))

    def run(
        self, rng: Rng, counting: Counting, truth: Mapping[str, float], tallies: dict[str, Tally]
    ) -> bool:
        """One log; False: too early."""
        n = rng.poisson(self.daily * DAYS)
        at = rng.random(n) * DAYS
        kind, score = self._scores(rng, n)
        phase = rng.random() * 7  # of the weekly batches against the moment of the cycle
        days = PACES[self.pace](rng, at + phase, kind)
        there = at + days <= DAYS
        every = (at * DAY // PANE).astype(np.int64)
        pane = (at[there] * DAY // PANE).astype(np.int64)
        told = nowcast_of(counting, pane, kind[there], score[there], days[there], every)
        last = (at >= DAYS - WINDOW) & np.isfinite(days)
        [all_in] = counters_of(
            counting, np.zeros(int(last.sum()), dtype=np.int64), kind[last], score[last], 1
        )
        final = values(measure_performance(counting, all_in, MeasureOptions(resamples=0, profit=AMOUNTS)))
        if told is None:
            return False
        raw, weighed_results = told
        for name in SHOWN:
            if name not in raw or name not in final or weighed_results[name].value is None:
                continue
            tally, found = tallies.setdefault(name, Tally()), weighed_results[name]
            tally.raw.append(raw[name] - final[name])
            tally.told.append(found.value - final[name])
            if found.interval is not None:
                tally.held.append(found.interval.lower <= truth[name] <= found.interval.upper)
        return True


def values(found: Iterable[MeasureResult]) -> dict[str, float]:
    """Values by name, of the positive class."""
    return {
        one.measure: one.measurement.value
        for one in found
        if one.subject == "" and one.measurement.value is not None
    }


def counters_of(
    counting: Counting, pane: Ints, kind: Ints, score: Floats, panes: int, days: Floats | None = None
) -> list[Counters]:
    """Labels parts of the panes, of the blocks that nowcasts read."""
    layout, cells = counting.labels_layout, counting.score.regular_size
    at = np.minimum(np.searchsorted(np.asarray(counting.score.edges), score, side="right"), cells - 1)
    predicted = (score >= 0.5).astype(np.int64)
    of_class = np.where(kind == 1, score, 1 - score)
    brier, loss = (1 - of_class) ** 2, -np.log(of_class)
    off = layout.offsets
    positions = [
        off["label"] + kind,
        off["confusion"] + kind * 3 + predicted,
        off["scores"] + kind * cells + at,
    ]
    if days is not None:
        cell = np.searchsorted(np.asarray(DELAY_EDGES), days * DAY / SECOND, side="right")
        positions.append(off["delays"] + kind * (len(DELAY_EDGES) + 1) + cell)
    keys = [pane * layout.size + position for position in positions]
    added = [np.ones(len(pane), dtype=np.int64)] * len(keys)
    width = len(LOSSES) * 2
    for term, numbers in enumerate((brier, brier**2, loss, loss**2)):
        hi, lo, _ = sums.split_halves(numbers)
        for row, part in ((0, np.ones(len(pane), dtype=np.int64)), (2, hi), (3, lo)):
            keys.append(pane * layout.size + off["losses"] + row * width + term * 2 + kind)
            added.append(part)
    key, slot = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.zeros(len(key), dtype=np.int64)
    np.add.at(total, slot, np.concatenate(added))
    bounds = np.searchsorted(key, np.arange(panes + 1) * layout.size)
    return [
        Counters(layout, key[first:last] - number * layout.size, total[first:last])
        for number, (first, last) in enumerate(pairwise(bounds.tolist()))
    ]


def nowcast_of(
    counting: Counting, pane: Ints, kind: Ints, score: Floats, days: Floats, all_panes: Ints
) -> tuple[dict[str, float], dict[str, Measurement]] | None:
    """Raw values and nowcasts of the last window."""
    panes, heard = DAYS * DAY // PANE, DAYS * DAY
    parts = counters_of(counting, pane, kind, score, panes, days)
    delays = DelayCounts(2, PANE, HORIZON * DAY)
    starts = np.arange(panes, dtype=np.int64) * PANE
    of_pane = dict(zip(starts.tolist(), parts, strict=True))
    held = [(start, *select_delay_counts(part)) for start, part in of_pane.items()]
    at = np.repeat([start for start, _, _ in held], [len(index) for _, index, _ in held])
    delays.add_delays(
        at, np.concatenate([each[1] for each in held]), np.concatenate([each[2] for each in held])
    )
    ages = settling_ages(
        delays.observable_delays(starts, heard - starts - PANE, of_pane.__getitem__),
        np.asarray(DELAY_EDGES),
        horizon=HORIZON * DAY,
        share=0.95,
    )
    first = (DAYS - WINDOW) * DAY // PANE
    raw = Counters.merge_all(counting.labels_layout, parts[first:])
    shares = estimate_label_shares(ages.curves, heard, starts[first:], PANE)
    used = shares.are_complete(LEAST_SHARE)
    records = np.bincount(all_panes, minlength=panes)[first:]
    if records[used].sum() < LEAST_RECORDS * records.sum():
        return None
    pieces = [part for part, keep in zip(parts[first:], used, strict=True) if keep]
    kept = type(shares)(shares.share[used], shares.variance[used])
    spread = total_covariance(
        ages.curves,
        delays,
        kept,
        count_class_labels(counting, pieces),
        last_heard=heard,
        window=(int(starts[first]), heard),
    )
    counts = weight_labels(counting, pieces, kept.share, spread)
    return (
        values(measure_performance(counting, raw, MeasureOptions(resamples=0, profit=AMOUNTS))),
        {one.measure: one.measurement for one in nowcast_results(counts, ASK) if one.subject == ""},
    )


def simulated(case: Case, repetitions: int, counting: Counting) -> dict[str, Tally]:
    """Tallies of a case, by measure."""
    truth, rng = case.truth(counting), np.random.default_rng(11)
    tallies: dict[str, Tally] = {}
    for _ in range(repetitions):
        case.run(rng, counting, truth, tallies)
    return tallies


def cell(tally: Tally, *, batches: bool) -> str:
    """Bias of the raw value, of the nowcast, how often the interval holds; bold where it should not be so."""
    raw, told = float(np.mean(tally.raw)), float(np.mean(tally.told))
    off = abs(told) > max(0.1 * abs(raw), 0.002) + 2 * np.std(tally.told) / len(tally.told) ** 0.5
    share = 100 * float(np.mean(tally.held))
    least, most = (90, 99) if batches else (93, 97)
    error = 200 * (0.05 * 0.95 / len(tally.held)) ** 0.5
    held = f"**{share:.1f}**" if not least - error <= share <= most + error else f"{share:.1f}"
    return f"{raw:+.4f}, {f'**{told:+.4f}**' if off else f'{told:+.4f}'}; {held}"


def main() -> int:
    """Simulate, write the page."""
    parser = argparse.ArgumentParser(description="Bias and coverage of nowcasts.")
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "evidence.md")
    chosen = parser.parse_args()
    counting, cells = make_plain_counting(READING), dict[tuple[str, float, str], str]()
    for pace in PACES:
        for rate in RATES:
            case = Case(rate, pace, 400 if rate < 0.05 else 100)
            for name, tally in simulated(case, chosen.repetitions, counting).items():
                cells[pace, rate, name] = cell(tally, batches="batches" in pace)
            print(f"{pace}, {rate:.0%}", flush=True)
    sections = list[str]()
    for rate in PRINTED_RATES:
        sections += [f"### Nowcasts, {rate:.0%} positive", ""]
        heads = " | ".join(f"`{one}`" for one in PRINTED)
        sections.append(f"| raw bias, that of the nowcast; held, % | {heads} |")
        sections.append("|---|" + "---|" * len(PRINTED))
        for pace in PACES:
            sections.append(f"| {pace} | {' | '.join(cells[pace, rate, one] for one in PRINTED)} |")
        sections.append("")
    missed = [f"{key}: {text}" for key, text in cells.items() if "**" in text]
    head = HEAD.format(
        repetitions=chosen.repetitions,
        error=200 * (0.05 * 0.95 / chosen.repetitions) ** 0.5,
        cells=len(cells),
        measures=len(SHOWN),
        off=len(missed) or "none",
    )
    write_part(chosen.output, "make sim-nowcast", "\n".join([head, *sections, TAIL]))
    print("\n".join(missed) or "no cell is off by more than the simulation's error")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
