"""Whether a database counts by GROUP BY what is counted here: `monitor check --prove`, of a user's rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from monitor.advice.query_plans import PlanReader
from monitor.advice.row_findings import newest_event
from monitor.core.clock import floor_to, to_iso
from monitor.core.errors import MonitorError, error_line
from monitor.look.row_samples import sample_records
from monitor.look.table_look import ModelLook
from monitor.records.counting import VOLUME, Counting
from monitor.records.pane import CountedPanes, PaneHalf, PanePart
from monitor.sentences.time_words import utc_moment_words
from monitor.show.terminal_words import counted_noun
from monitor.sources import PushedSource, SqlSource
from monitor.sources.source_meter import SourceUsage
from monitor.sources.sql.relations import make_event_time, survey_relation
from monitor.specs.model_spec import ModelSpec, SourceSpec
from monitor.specs.read_ranges import counted_ranges
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.strata import WHOLE

_FACTS = ("rows", "newest", "records", "labelled", "checksum")  # of a part, beside its counters
_BEYOND = ("new values", "missing values", "invalid values")  # cells behind the regular ones


class ProofOutcome(StrEnum):
    """What came of counting a pane both ways."""

    EQUAL = "equal"
    DIFFERENT = "different"
    REFUSED = "refused"
    NOT_COMPARED = "not_compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingProof:
    """A pane of a model, counted here and by GROUP BY."""

    outcome: ProofOutcome
    text: str  # a sentence: how they compare, what to write
    pane: int | None = None  # start in microseconds; None: none was counted
    rows: int = 0  # of the pane
    here: SourceUsage | None = None  # what either way has cost; None: it was not tried
    grouped: SourceUsage | None = None

    @property
    def failed(self) -> bool:
        """Whether the counts differ, or the database refuses to count."""
        return self.outcome in (ProofOutcome.DIFFERENT, ProofOutcome.REFUSED)

    def plain_values(self) -> dict[str, Any]:
        """What JSON has of it."""
        cost = {"here": self.here, "grouped": self.grouped}
        return {
            "outcome": self.outcome,
            "text": self.text,
            "pane": None if self.pane is None else to_iso(self.pane),
            "rows": self.rows,
            **{way: used and {"seconds": used.seconds, "rows": used.rows} for way, used in cost.items()},
        }


def prove_counting(
    spec: SourceSpec,
    model: ModelSpec,
    source: SqlSource,
    counting: Counting,
    look: ModelLook | None,
    *,
    newest: int | None,
    now: int,
    say: Callable[[str], None],
) -> CountingProof:
    """Count records of the newest whole pane that has rows here and by GROUP BY, and compare.

    Labels are read and counted here either way: there is nothing to compare, and to read them is paid.

    Parameters
    ----------
    model
        with the reading of `counting`.
    source
        whose reader both ways share.
    newest
        newest event time up to now, in microseconds; None: there is none.
    say
        is told what will be read, before it is.

    Raises
    ------
    SourceError
        if the pane cannot be counted here.
    """
    engine = source.reader.engine
    if not (engine.counts or engine.can_be_proven):
        return _not_compared(
            f"GROUP BY does not count in {engine.title or engine.name}: there is nothing to prove"
        )
    start = _newest_whole_pane(model, source, look, newest=newest, now=now)
    if start is None:
        return _not_compared("no whole pane has rows, so there is nothing to count by GROUP BY")
    local, grouped = SqlSource(source.reader), PushedSource(source.reader)
    pane, where = _ProvenPane(model, counting, start, now), f"the pane from {utc_moment_words(start)} UTC"
    say(f"{where} is counted twice, here and by GROUP BY: {pane.foresee_reads(source)}")
    here = pane.count_records(local)
    proof = replace(_not_compared(""), pane=start, rows=here.rows, here=local.usage)
    if not here.rows:
        return replace(proof, text=f"{where} has no row that counts, so there is nothing to compare")
    try:
        records = pane.count_grouped_records(grouped)
        if isinstance(records, str):
            return replace(proof, text=f"records are read and counted here in any case: {records}")
        (there,) = records.parts
    except (MonitorError, ValueError, LookupError) as error:
        text = f"{where} cannot be counted by GROUP BY: {error_line(error)}"
        return replace(proof, outcome=ProofOutcome.REFUSED, text=text, grouped=grouped.usage)
    if there != here:  # rows may have come meanwhile
        here = pane.count_records(local)
    proof = replace(proof, grouped=grouped.usage)
    return _compare_parts(proof, spec, counting, where, here, there, counts=engine.counts)


def first_difference(counting: Counting, here: PanePart, there: PanePart) -> str:
    """Where two parts of a pane differ first: block, cell, stratum and both values; empty: nowhere."""
    strata = sorted({*here.strata, *there.strata}, key=lambda one: (one != WHOLE, str(one)))
    for stratum in strata:
        layout = (here.strata.get(stratum) or there.strata[stratum]).layout
        none = Counters.make_empty(layout)
        mine, other = (part.strata.get(stratum, none).dense_counts() for part in (here, there))
        words = stratum.version or stratum.segment or "all records"
        for at in np.flatnonzero(mine != other).tolist():
            block = next(one for one in layout.blocks if layout.offsets[one.name] + one.size > at)
            cell = _cell_words(counting, block.name, at - layout.offsets[block.name])
            return f"{block.name}, {cell}, {words}: {mine[at]:,} here, {other[at]:,} by GROUP BY"
        if (stratum in here.strata) != (stratum in there.strata):
            return f"{words}: counted {'here' if stratum in here.strata else 'by GROUP BY'} alone"
    facts = ((name, getattr(here, name), getattr(there, name)) for name in _FACTS)
    return next(
        (f"{name}: {mine} here, {other} by GROUP BY" for name, mine, other in facts if mine != other), ""
    )


@dataclass(frozen=True, slots=True)
class _ProvenPane:
    """A pane, as a cycle asks a source for it."""

    model: ModelSpec
    counting: Counting
    start: int
    as_of: int

    def count_records(self, source: SqlSource) -> PanePart:
        (part,) = source.count_panes(
            self.model,
            PaneHalf.RECORDS,
            self._ranges,
            self.counting,
            panes=np.asarray([self.start]),
            as_of=self.as_of,
        ).parts
        return part

    def count_grouped_records(self, source: PushedSource) -> CountedPanes | str:
        return source.count_grouped_records(
            self.model, self._ranges, self.counting, panes=np.asarray([self.start]), as_of=self.as_of
        )

    def foresee_reads(self, source: SqlSource) -> str:
        """What both ways will read: the bill where a dry run tells it, else rows."""
        engine = source.reader.engine
        try:
            if engine.dollars_per_tib is None:
                return f"each way reads {counted_noun(self._count_rows(source), 'row')}"
            planned = PlanReader(source.reader)
            self.count_records(SqlSource(planned))
            self.count_grouped_records(PushedSource(planned))
        except (MonitorError, ValueError, LookupError) as error:  # the statement itself will say why
            return f"what it reads is not known before ({error_line(error)})"
        billed = sum(engine.bytes_of_plan(plan.rows) or 0 for plan in planned.plans)
        return (
            f"{counted_noun(len(planned.plans), 'statement')}, billed by {billed / 1e6:,.0f} MB, "
            f"about ${billed / 2**40 * engine.dollars_per_tib:.4f}"
        )

    def _count_rows(self, source: SqlSource) -> int:
        with source.reader.open_session() as session:
            survey = survey_relation(session, source.reader.engine, self.model.predictions, "p")
            lo, hi = self._ranges[0][0], self._ranges[-1][1]
            time = make_event_time(session, survey, self.model, (lo, hi))
            sql = f"SELECT count(*) AS n FROM {survey.item} WHERE {time.range_condition(lo, hi)}"
            return int(session.read_rows(sql)[0][0])

    @property
    def _ranges(self) -> list[tuple[int, int]]:
        return counted_ranges([self.start], self.counting.reading, self.as_of)


def _compare_parts(
    proof: CountingProof,
    spec: SourceSpec,
    counting: Counting,
    where: str,
    here: PanePart,
    there: PanePart,
    *,
    counts: bool,
) -> CountingProof:
    """What is said of two counts of a pane."""
    if there == here:
        cells = sum(len(counters.index) for counters in here.strata.values())
        compared = f"all {counted_noun(cells, 'count')} of {counted_noun(here.rows, 'row')} are equal"
        text = f"GROUP BY counts {where} as it is counted here, {compared}: {_words_of_use(spec, counts)}"
        return replace(proof, outcome=ProofOutcome.EQUAL, text=text)
    first = first_difference(counting, here, there)
    text = f'GROUP BY counts {where} otherwise, so leave engine = "sql" out: {first}'
    return replace(proof, outcome=ProofOutcome.DIFFERENT, text=text)


def _not_compared(text: str) -> CountingProof:
    return CountingProof(outcome=ProofOutcome.NOT_COMPARED, text=text)


def _newest_whole_pane(
    model: ModelSpec, source: SqlSource, look: ModelLook | None, *, newest: int | None, now: int
) -> int | None:
    """Start of the newest pane that is over and has rows, as far as some rows tell."""
    over = floor_to(now, model.reading.pane)
    if newest is not None and newest >= over and look is not None:
        with source.reader.open_session() as session:
            newest = newest_event(sample_records(session, look, over - 1), model.reading, over - 1)
    return None if newest is None else floor_to(newest, model.reading.pane)


def _words_of_use(spec: SourceSpec, counts: bool) -> str:  # noqa: FBT001 -- private
    """What to write so that it counts."""
    wanted = {'engine = "sql"': spec.engine == "sql", "proven = true": counts or spec.proven}
    lacking = " and ".join(key for key, there in wanted.items() if not there)
    return f"write {lacking} in [sources.{spec.name}] to have it count" if lacking else "so it counts already"


def _cell_words(counting: Counting, block: str, at: int) -> str:
    """A cell of a block: values, or its number where they are no simple range."""
    grid = counting.label if block == "label" else counting.output_grids.get(block)
    if block == "volume":
        return VOLUME[at]
    if grid is None:
        return f"cell {at}"
    if at >= grid.regular_size:
        return _BEYOND[at - grid.regular_size]
    if isinstance(grid, CategoryGrid):
        return f'"{grid.levels[at]}"' if at < len(grid.levels) else "rare values"
    return _range_words(grid, at)


def _range_words(grid: NumericGrid, at: int) -> str:
    """Values of a regular cell of numbers."""
    lower = [f"from {grid.edges[at - 1]:g}"] if at else []
    return " ".join([*lower, *([f"below {grid.edges[at]:g}"] if at < len(grid.edges) else [])]) or "any value"
