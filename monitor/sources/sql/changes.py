"""Which rows changed: logged, or labelled, since a moment."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.clock import FIRST, HOUR
from monitor.core.errors import SourceError
from monitor.records.pane import Part
from monitor.records.rows import Batches, dated, times
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.relations import Looked, exact, look, same_id
from monitor.sources.sql.scan import formats_near, has_own_table, in_formats, look_labels, outcome
from monitor.sources.sql.statements import Output, Session, Statement, Want
from monitor.sources.sql.time_columns import comparable, event_time, without_offsets
from monitor.sources.sql.time_ranges import Comparable, Shape
from monitor.specs.model import ModelSpec, Relation
from monitor.specs.protocols import MisdatedRows, Range

_ENDS = ("min", "max")  # of an id's event times


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which changes are read: rows seen since a moment and up to another, event times within bounds."""

    since: int | None  # None: whenever they were seen
    as_of: int
    bounds: Range
    # of the bounds: pieces that make them up hold each row once. None: all of them.
    piece: Range | None = None
    # piece of the time from `since` on in which rows were seen: as `piece`, which is None then.
    seen: Range | None = None
    # rows whose event times are no times come with the first piece, if all rows are asked for.
    odd: bool = True
    limit: int | None = None  # rows at which a statement may end

    def of(self, piece: Range) -> "Wanted":
        """The same of a piece of the bounds."""
        return self if piece == self.bounds else replace(self, piece=piece)

    def condition(self, event: Comparable) -> str:
        """Condition of the event time."""
        lo, hi = self.piece or self.bounds
        own = event.part(self.bounds, (lo, hi))
        first = self.odd and self.since is None and lo <= self.bounds[0]
        odd = event.odd_near(self.bounds) if first else None
        return own if odd is None else f"{own} OR {odd}"

    def recent(self, seen: Comparable) -> str:
        """Condition of the time at which rows were seen."""
        span = (self.since or 0, self.as_of + 1)
        return seen.condition(*span) if self.seen is None else seen.part(span, self.seen)

    def unseen(self, event: Comparable) -> str:
        """Condition of the event time of rows whose own time is not known: theirs stands for it."""
        lo, hi = self.bounds
        if self.seen is not None and self.seen[0] != self.since:
            return "1 = 0"  # they came with the first piece
        late = event.condition(max(lo, self.since or lo), hi)
        return late if self.piece is None else f"({late}) AND ({event.part(self.bounds, self.piece)})"


@dataclass(frozen=True, slots=True)
class MisdatedRange:
    """Event times outside of which rows are misdated: of those logged since a moment, and of any."""

    since: int | None
    as_of: int
    recent: Range
    ever: Range


def read_changed_records(session: Session, engine: Engine, model: ModelSpec, wanted: Wanted) -> Batches:
    """`event_time` and, if there is such a column, `logged_at` of rows logged since then (and some more)."""
    looked = look(session, engine, model.predictions, "p")
    event = event_time(session, looked, model, wanted.bounds)
    logged = _time(session, looked, model, "logged_at", event.condition(*wanted.bounds))
    outputs = [_output(looked, model, model.predictions, "event_time")]
    if logged is None:
        conditions = [wanted.condition(event)]
    else:
        outputs.append(_output(looked, model, model.predictions, "logged_at"))
        conditions = _since(session, looked, event, logged, wanted)
    yield from _select(session, outputs, looked.item, conditions, wanted.limit)


def read_changed_labels(session: Session, engine: Engine, model: ModelSpec, wanted: Wanted) -> Batches:
    """Times of predictions, and labels reported since then (and some more), with their `reported_at`."""
    if model.labels is None:
        raise SourceError("no labels are configured")
    looked = look(session, engine, model.predictions, "p")
    labels = look_labels(session, engine, model.labels, looked)
    event = event_time(session, looked, model, wanted.bounds)
    near = event.condition(*wanted.bounds) if labels is looked else None
    reported = _time(session, labels, model, "reported_at", near)
    wanted = replace(wanted, odd=False)
    roles = [role for role in ("event_time", "logged_at") if model.predictions.column(role)]
    outputs = [_output(looked, model, model.predictions, role) for role in roles]
    if labels is looked:
        source, there = looked.item, _labelled(looked, model.labels)
    else:
        join = same_id(model.predictions, model.labels, looked, labels)
        source, there = f"{labels.item} JOIN {looked.item} ON {join}", "1 = 1"
    if reported is None:
        conditions = [wanted.condition(event)]
    else:
        outputs.append(_output(labels, model, model.labels, "reported_at"))
        if wanted.since is not None:  # by which it is seen whether they are still those that are known
            column = str(model.labels.column("label"))
            outputs.append(labels.output(outcome(model.reading), "label", column))
        conditions = _since(session, labels, event, reported, wanted)
    conditions = [f"{there} AND ({condition})" for condition in conditions]
    yield from _select(session, outputs, source, conditions, wanted.limit)


def finds_slices(session: Session, engine: Engine, model: ModelSpec, span: Range, *, labels: bool) -> bool:
    """Whether a slice of a span is found without reading all rows: by an index, partitions, bounds of files.

    Parameters
    ----------
    labels
        those of the slice are looked for, too: unless they are joined by hash, by an index on their id.
    """
    looked = look(session, engine, model.predictions, "p")
    event, middle = event_time(session, looked, model, span), sum(span) // 2
    if not engine.has_indexes or event.shape in (Shape.UNKNOWN, Shape.NOTHING):
        return event.shape is not Shape.UNKNOWN
    narrow = event.condition(middle, middle + HOUR)
    if not looked.engine.has_index(session, looked.item, narrow):
        return engine.prunes(session, looked.item, narrow, event.condition(*span))
    if not labels or model.labels is None or not has_own_table(model.labels) or engine.hashes_joins:
        return True
    here = look_labels(session, engine, model.labels, looked)
    return finds_ids(session, here, str(model.labels.column("id")))


def finds_seen(session: Session, engine: Engine, model: ModelSpec, wanted: Wanted, *, labels: bool) -> bool:
    """Whether an index finds the rows seen within an hour, and another the predictions of labels."""
    looked = look(session, engine, model.predictions, "p")
    here = look_labels(session, engine, model.labels, looked) if labels and model.labels else looked
    near = event_time(session, looked, model, wanted.bounds).condition(*wanted.bounds)
    role = "reported_at" if labels else "logged_at"
    seen = _time(session, here, model, role, near if here is looked else None)
    if seen is None or not engine.has_indexes or seen.shape in (Shape.UNKNOWN, Shape.NOTHING):
        return False
    if not engine.has_index(session, here.item, seen.condition(wanted.as_of - HOUR, wanted.as_of)):
        return False
    return here is looked or finds_ids(session, looked, str(model.predictions.column("id")))


def finds_ids(session: Session, looked: Looked, column: str) -> bool:
    """Whether an index finds rows by a column of their id."""
    ref = looked.ref(column, "id")
    return looked.engine.has_index(session, looked.item, f"{ref} = (SELECT {ref} FROM {looked.item} LIMIT 1)")


def without_rows(session: Session, engine: Engine, model: ModelSpec, part: Part) -> str:
    """Title of the table of predictions, or of that of labels, if it has no row at all; else empty."""
    relation = model.predictions if part is Part.RECORDS else model.labels
    if relation is None or (part is Part.LABELS and not has_own_table(relation)):
        return ""
    looked = look(session, engine, relation, "t")
    found = session.rows(f"SELECT 1 AS there FROM {looked.item} LIMIT 1")
    return "" if found else looked.title


def has_rows(session: Session, engine: Engine, model: ModelSpec, as_of: int, bounds: Range) -> bool:
    """Whether predictions have event times within bounds, and are visible (texts: widened to a minute)."""
    looked = look(session, engine, model.predictions, "p")
    near = event_time(session, looked, model, bounds).condition(*bounds)
    where = f"({near}){_visible(session, looked, model, near, as_of)}"
    return bool(session.rows(f"SELECT 1 AS there FROM {looked.item} WHERE {where} LIMIT 1"))


def count_orphans(session: Session, engine: Engine, model: ModelSpec, bounds: Range) -> int | None:
    """Labels reported within the bounds without a prediction within these and a horizon more on both sides.

    Predictions count that were logged before the end of the bounds: a replay finds what was found then. None
    without such a time: predictions are never looked for through the whole log, and labels of older ones
    cannot be told from orphans.
    """
    if model.labels is None or not has_own_table(model.labels):
        return 0
    if model.labels.column("reported_at") is None:
        return None
    looked, labels = look(session, engine, model.predictions, "p"), look(session, engine, model.labels, "l")
    same = same_id(model.predictions, model.labels, looked, labels)
    around = (bounds[0] - model.reading.horizon, bounds[1] + model.reading.horizon)
    near = event_time(session, looked, model, around).condition(*around)
    visible = f"({near}){_visible(session, looked, model, near, bounds[1] - 1)}"
    # not NOT EXISTS: without an index on the ids SQLite would read the predictions once a label
    source = f"{labels.item} LEFT JOIN {looked.item} ON {same} AND {visible}"
    alone = f"{looked.ref(str(model.predictions.column('id')), 'id')} IS NULL"
    column = str(model.labels.column("reported_at"))
    reported = comparable(session, labels, column, "reported_at", model.reading)
    outputs = [_output(labels, model, model.labels, "reported_at")]
    orphans = 0
    for table in _select(session, outputs, source, [f"{alone} AND ({reported.condition(*bounds)})"]):
        moment = times(table, "reported_at", model.reading)
        orphans += int(np.sum(moment.known & (moment.us >= bounds[0]) & (moment.us < bounds[1])))
    return orphans


def count_strays(
    session: Session, engine: Engine, model: ModelSpec, as_of: int, bounds: Range
) -> dict[str, int]:
    """Visible rows without an id within event-time bounds; without an event time, logged within bounds.

    No event time is a bound of it too: an index finds these rows, and only the default partition holds any.
    """
    looked, reading = look(session, engine, model.predictions, "p"), model.reading
    event = event_time(session, looked, model, bounds)
    logged = _time(session, looked, model, "logged_at", event.condition(*bounds))
    outputs = [_output(looked, model, model.predictions, "event_time")]
    outputs += [] if logged is None else [_output(looked, model, model.predictions, "logged_at")]
    nameless = " OR ".join(f"{ref} IS NULL" for ref in _id(looked, model))
    nameless = f"({nameless}) AND ({event.condition(*bounds)})"
    batches = dated(_select(session, outputs, looked.item, [nameless]), "logged_at", reading)
    without_id = sum(int(batch.within(bounds, as_of).sum()) for batch in batches)
    column = str(model.predictions.column("event_time"))
    timeless = f"{looked.ref(column, 'event_time')} IS NULL"
    if logged is None:
        sql = f"SELECT count(*) AS timeless FROM {looked.item} WHERE {timeless}"
        return {"rows_without_id": without_id, "rows_without_time": int(session.rows(sql)[0][0])}
    without_time, span = 0, f"{logged.condition(bounds[0], as_of + 1)} OR {logged.missing}"
    for table in _select(session, outputs[1:], looked.item, [f"{timeless} AND ({span})"]):
        moment = times(table, "logged_at", reading)
        without_time += int(np.sum(~moment.known | ((moment.us >= bounds[0]) & (moment.us <= as_of))))
    return {"rows_without_id": without_id, "rows_without_time": without_time}


def count_misdated(session: Session, engine: Engine, model: ModelSpec, asked: MisdatedRange) -> MisdatedRows:
    """Visible rows whose event time lies outside of what is read; times of logging may be a minute late.

    Cost: two columns of the rows logged since, by an index on when; else one narrow count, by the index on
    the event time that cycles need, which goes through misdated rows alone.
    """
    looked = look(session, engine, model.predictions, "p")
    event = event_time(session, looked, model, asked.recent)
    logged = _time(session, looked, model, "logged_at", event.condition(*asked.recent))
    if (
        logged is not None
        and asked.since is not None
        and _finds_logged(session, looked, event, logged, asked)
    ):
        logged = without_offsets(session, looked, logged, asked.since, asked.as_of)
        new = logged.condition(asked.since + 1, asked.as_of + 1)
        misdated = f"count(CASE WHEN {event.outside(asked.recent)} THEN 1 END) AS misdated"
        sql = f"SELECT count(*) AS logged, {misdated} FROM {looked.item} WHERE {new}"
        counts = session.rows(sql)[0]
        return MisdatedRows(misdated=int(counts[-1]), logged=int(counts[0]))
    where = f"({event.outside(asked.ever)})"
    if logged is not None and logged.shape is not Shape.NOTHING:
        logged = replace(logged, sql=engine.off_index(logged.sql) or logged.sql)  # it would find nearly all
        where += f" AND ({logged.condition(FIRST, asked.as_of + 1)})"
    rows = session.rows(f"SELECT count(*) AS misdated FROM {looked.item} WHERE {where}")
    return MisdatedRows(int(rows[0][0]))


def _finds_logged(
    session: Session, looked: Looked, event: Comparable, logged: Comparable, asked: MisdatedRange
) -> bool:
    """Whether rows logged since are found by an index, or by no more work than any others."""
    engine = looked.engine
    if logged.shape in (Shape.UNKNOWN, Shape.NOTHING):
        return False
    if not engine.has_indexes or engine.has_index(
        session, looked.item, logged.condition(asked.as_of - HOUR, asked.as_of)
    ):
        return True
    if event.shape in (Shape.UNKNOWN, Shape.NOTHING):
        return True
    narrow = event.condition(asked.as_of - HOUR, asked.as_of)
    return not (
        engine.has_index(session, looked.item, narrow)
        or engine.prunes(session, looked.item, narrow, event.condition(*asked.recent))
    )


def count_repeated(session: Session, engine: Engine, model: ModelSpec, as_of: int, bounds: Range) -> int:
    """Ids, with their version, whose first and last event times within bounds lie in different panes.

    `logged_at` is compared in SQL, where the moment may be up to a minute late. Of texts the first and last
    are those of the database: an id is left out where one of them is no time.
    """
    looked, reading = look(session, engine, model.predictions, "p"), model.reading
    event = event_time(session, looked, model, bounds)
    near = event.condition(*bounds)
    named = " AND ".join(f"{ref} IS NOT NULL" for ref in _id(looked, model))
    columns = [(column, role) for role, column in model.predictions.id_columns]
    if version := model.predictions.column("version"):
        columns.append((version, "version"))
    key = [exact(looked, column, role) for column, role in columns]
    column = str(model.predictions.column("event_time"))
    time, kind, unit = looked.ref(column, "event_time"), looked.types[column], reading.unit("event_time")
    where = f"{named} AND ({near}){_visible(session, looked, model, near, as_of)}"
    grouped = f"{where} GROUP BY {', '.join(key)} HAVING min({time}) < max({time})"
    times_of = (engine.output(Want.TIME, "event_time", f"{end}({time})", kind, unit) for end in _ENDS)
    outputs = [replace(output, name=end) for output, end in zip(times_of, _ENDS, strict=True)]
    said = (_output(looked, model, model.predictions, "event_time"),)
    formats = formats_near(session, looked, said, "", event, bounds)
    of_ends = {end: form for form in formats.values() for end in _ENDS}
    repeated = 0
    for batch in _select(session, outputs, looked.item, [grouped]):
        table = in_formats(batch, of_ends)
        first, last = (times(pa.table({"event_time": table[name]}), "event_time", reading) for name in _ENDS)
        both = first.known & last.known
        repeated += int(np.sum(both & (first.us // reading.pane != last.us // reading.pane)))
    return repeated


def _visible(session: Session, looked: Looked, model: ModelSpec, near: str, as_of: int) -> str:
    """Further condition: logged as of a moment, which may be up to a minute late, or nobody knows when."""
    logged = _time(session, looked, model, "logged_at", near)
    return "" if logged is None else f" AND ({logged.condition(0, as_of + 1)} OR {logged.missing})"


def _labelled(looked: Looked, labels: Relation) -> str:
    """Condition of rows of the prediction table that hold a label, or a report that retracts it."""
    roles = [role for role in ("label", "reported_at") if labels.column(role)]
    there = " OR ".join(f"{looked.ref(str(labels.column(role)), role)} IS NOT NULL" for role in roles)
    return f"({there})"


def _since(
    session: Session, looked: Looked, event: Comparable, seen: Comparable, wanted: Wanted
) -> list[str]:
    """Conditions of disjoint sets of rows: those seen since then, and those of whom that is not known.

    Rows whose times are no times lie in no interval: they are looked for in the first read and in audits.
    """
    if wanted.since is None:
        return [wanted.condition(event)]
    recent = wanted.recent(seen)
    within, off_index = event, looked.engine.off_index(event.sql)
    if wanted.piece is None and off_index and looked.engine.has_index(session, looked.item, recent):
        within = replace(event, sql=off_index)  # else the wider range may be looked for
    return [
        f"({recent}) AND {seen.sql} IS NOT NULL AND ({wanted.condition(within)})",
        f"{seen.sql} IS NULL AND ({wanted.unseen(event)})",
    ]


def _select(
    session: Session, outputs: list[Output], source: str, conditions: list[str], limit: int | None = None
) -> Batches:
    ending = "" if limit is None else f" LIMIT {limit}"
    for condition in conditions:
        yield from session.batches(Statement(tuple(outputs), f"FROM {source} WHERE {condition}{ending}"))


def _time(
    session: Session, looked: Looked, model: ModelSpec, role: str, near: str | None
) -> Comparable | None:
    """When rows were seen: predictions logged, labels reported."""
    relation = model.predictions if role == "logged_at" else model.labels
    column = None if relation is None else relation.column(role)
    if column is None:
        return None
    return comparable(session, looked, column, role, model.reading, near=near)


def _id(looked: Looked, model: ModelSpec) -> list[str]:
    return [looked.ref(column, role) for role, column in model.predictions.id_columns]


def _output(looked: Looked, model: ModelSpec, relation: Relation, role: str) -> Output:
    """Column of a time."""
    return looked.output(Want.TIME, role, str(relation.column(role)), unit=model.reading.unit(role))
