"""How often the intervals of the measures hold the true value, and how often a critical value cries wolf.

Draws samples of known populations, counts them as the monitor does, measures them by its own functions, and
writes the shares into docs/evidence.md. Some twenty minutes of one core.
python benchmarks/sim_intervals.py [--repetitions 2000] [--output FILE]
"""

import argparse
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sim_alarms import ALARMS
from sim_cases import CASES
from sim_notes import NOTES
from sim_samples import Case, Outcome

from monitor.measures.catalogue import BY_NAME

SIZES = (50, 200, 1_000, 10_000)
LARGE = 10_000  # records from which on there are half as many repetitions
LEAST, MOST = 93.0, 97.0
NONE = "\N{EN DASH}"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "generators"))
from page_parts import write_part  # noqa: E402

HEAD = """## How far the intervals can be trusted

Each interval says 95 %. How often it holds the true value was simulated: `make sim-intervals` draws samples
of 50 to 10,000 records of populations whose values are known, counts them as the monitor does, measures them
by the monitor's own functions, and writes this part. {repetitions} samples of each size ({halved} of
10,000): the shares are exact to about {error:.1f} points ({halved_error:.1f}), two standard deviations. A
population is 400,000 records, drawn with replacement; its true values are those of all its records.

Tables have the measures of which a share is outside of 93 to 97 % (**bold**) although there is enough to go
by: at least 200 records in the denominator and 10 expected records of each outcome, or of each class. Of
false alarms: above 7 %. A dash: no interval in most samples; where some have none, the share that has one
follows in brackets, and the figure is of these. Of so many figures some are outside by the error of the
simulation alone, by a few tenths of a point.

What all of these take for granted: records are independent (days that go together:
[what that does](recipes.md#days-that-go-together)), and the sample is one of the population that one asks
about. Comparisons that are looked at again and again have
[figures of their own](adr/0013-comparisons-that-go-on.md).
"""


@dataclass
class Tally:
    """Of one measure and sample size: samples, those that have an interval, those whose interval is right."""

    times: int = 0
    has: int = 0
    right: int = 0
    records: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Add one sample."""
        self.times += 1
        self.records += outcome.n
        if outcome.right is not None:
            self.has += 1
            self.right += outcome.right

    def share(self, *, alarms: bool) -> float:
        """Per cent right, or wrong if that is what is asked."""
        right = 100 * self.right / self.has
        return 100 - right if alarms else right

    def suffices(self, case: Case, name: str) -> bool:
        """Whether there is enough to go by."""
        n, outcomes = _denominator(name, self.records / self.times), case.rarest
        if BY_NAME[name.partition(" ")[0]].rate and name in case.truth:
            outcomes = min(case.truth[name], 1 - case.truth[name])
        return n >= 200 and n * outcomes >= 10


@dataclass
class Table:
    """Tallies of a case, by measure (and subject), by size."""

    case: Case
    tallies: dict[str, dict[int, Tally]] = field(default_factory=lambda: defaultdict(dict))

    def fill(self, size: int, times: int, rng: np.random.Generator) -> None:
        """Simulate samples of one size."""
        for outcomes in self.case.simulate(rng, size, times):
            for name, outcome in outcomes.items():
                self.tallies[name].setdefault(size, Tally()).add(outcome)

    def text(self) -> str:
        """The case's section."""
        what = "false alarms, %" if self.case.alarms else "holds the true value, %"
        sizes = " | ".join(f"n = {size:,}" for size in SIZES)
        within, rows = list[str](), defaultdict[tuple[str, ...], list[str]](list)
        outside = self.missed()
        for name, by_size in self.tallies.items():
            cells = tuple(self._cell(name, by_size.get(size)) for size in SIZES)
            if any("**" in cell for cell in cells):
                rows[cells].append(f"`{name}`")
            elif _any(cells):
                measure = name.partition(" ")[0]
                within.append(f"`{name if measure in outside else measure}`")
        lines = [f"### {self.case.name}", "", self.case.told, ""]
        if within:
            lines += [f"No share outside: {', '.join(dict.fromkeys(within))}.", ""]
        if rows:
            lines += [f"| {what} | {sizes} |", "|---|" + "---|" * len(SIZES)]
            lines += [f"| {', '.join(names)} | {' | '.join(cells)} |" for cells, names in rows.items()]
        return "\n".join([*lines, ""])

    def missed(self) -> set[str]:
        """Measures of which a figure is outside."""
        every = ((name, tally) for name, by_size in self.tallies.items() for tally in by_size.values())
        return {name.partition(" ")[0] for name, tally in every if "**" in self._cell(name, tally)}

    def _cell(self, name: str, tally: Tally | None) -> str:
        if tally is None or tally.has * 2 < tally.times:
            return NONE
        share, alarms = tally.share(alarms=self.case.alarms), self.case.alarms
        misses = share > 100 - LEAST if alarms else not LEAST <= share <= MOST
        text = f"**{share:.1f}**" if misses and tally.suffices(self.case, name) else f"{share:.1f}"
        return text if tally.has == tally.times else f"{text} ({100 * tally.has / tally.times:.0f})"


def main() -> int:
    """Simulate, write the page."""
    parser = argparse.ArgumentParser(description="Realised coverage of the measures' intervals.")
    parser.add_argument("--repetitions", type=int, default=2_000, help="samples of each size (2,000)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "evidence.md")
    chosen = parser.parse_args()
    write_part(chosen.output, "make sim-intervals", page(_tables(chosen.repetitions), chosen.repetitions))
    return 0


def page(tables: Iterable[Table], repetitions: int) -> str:
    """Text of the part of the page."""
    missed, sections = set[str](), []
    for table in tables:
        sections.append(table.text())
        missed |= table.missed()
    notes = dict.fromkeys(note for names, note in NOTES.items() if missed & set(names))
    return "\n".join([_head(repetitions), *sections, "### Where intervals miss, and why", "", *notes, ""])


def _head(repetitions: int) -> str:
    halved = _times(LARGE, repetitions)
    error, halved_error = (200 * (0.05 * 0.95 / times) ** 0.5 for times in (repetitions, halved))
    counts = {"repetitions": f"{repetitions:,}", "halved": f"{halved:,}"}
    return HEAD.format(**counts, error=error, halved_error=halved_error)


def _tables(repetitions: int) -> Iterator[Table]:
    began = time.process_time()
    for make in (*CASES, *ALARMS):
        table = Table(make())
        for size in SIZES:
            times = _times(size, repetitions)
            table.fill(size, times, np.random.default_rng((zlib.crc32(table.case.name.encode()), size)))
            spent = time.process_time() - began
            print(
                f"{spent:5.0f} s  {table.case.name}: {times:,} samples of {size:,}",
                file=sys.stderr,
                flush=True,
            )
        yield table


def _times(size: int, repetitions: int) -> int:
    return max(2, repetitions // 2) if size >= LARGE else repetitions


def _denominator(name: str, records: float) -> float:
    """Records behind a value: of `precision_at_top` those at the top."""
    _, _, share = name.partition("precision_at_top top:")
    return records * float(share.rstrip("%")) / 100 if share else records


def _any(cells: tuple[str, ...]) -> bool:
    return any(cell != NONE for cell in cells)


if __name__ == "__main__":
    sys.exit(main())
