"""What a look at some rows tells: times, scores, classes, ids and delays that are not as configured. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.advice.log_habits import feature_warnings, load_warnings, name_warnings
from monitor.alerts.default_rules import MISDATED_SHARE
from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, format_duration, to_iso
from monitor.core.errors import SourceError
from monitor.look.row_samples import RowSample
from monitor.look.table_look import ENOUGH, LOOKED_AT, NAMED_FROM, counts_of
from monitor.records.column_values import (
    CategoryValues,
    NumberValues,
    encode_texts,
    parse_categories,
    parse_texts,
)
from monitor.records.parsed_times import ParsedTimes
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import parse_predictions, parse_role_times, parse_scores
from monitor.sources.indexes import RowCount
from monitor.sources.sql.time_ranges import is_partition_of
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range
from monitor.specs.read_ranges import OLDEST_LOG

_FEW = 0.005  # share that is worth a word
_LISTED = 6
MOSTLY = 0.95  # of scores: of more out of range the range is wrong; few percentages lie within [0, 1]


@dataclass(slots=True)
class RowFindings:
    """Sentences, in the order in which they were found, and figures that later ones need."""

    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # newest, oldest, has_older: newest and oldest event time, neither in the future nor before 1970; None:
    # not known. Whether older ones lie before a pause of half a year.
    newest: int | None = None
    oldest: int | None = None
    has_older: bool = False
    # event times that predictions may have: others are misdated, and nothing is estimated by them. None: not
    # known.
    expected: Range | None = None
    # misdated, misdated_labels: predictions with other event times, None: not known; share of the labels
    # looked at that are theirs.
    misdated: RowCount | None = None
    misdated_labels: float = 0.0
    # names of versions and arms that occur, by role.
    strata: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # microseconds from event to label, ascending.
    delays: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    # age at which every class has the settled share of its labels; None: too few to tell.
    settling: int | None = None
    # records, joined, first, alike: predictions that were looked at; labels that have a prediction, with its
    # outputs: the newest, and of two classes the oldest; predictions that were made when the newest were,
    # labelled or not.
    records: pa.Table | None = None
    joined: pa.Table | None = None
    first: pa.Table | None = None
    alike: pa.Table | None = None


def look_at_records(sample: RowSample, model: ModelSpec, now: int, title: str, findings: RowFindings) -> None:
    """Note what some predictions tell."""
    look_at_times(sample, model, now, title, findings)
    if sample.n == 0:
        return
    reading, rows = model.reading, well_dated(sample.rows, model.reading, findings)
    sample = replace(sample, rows=rows)
    findings.records = rows
    about = f"{title}: of {sample.title} rows"
    findings.warnings += load_warnings(rows, model, about)
    findings.warnings += feature_warnings(rows, model, about)
    findings.warnings += name_warnings(rows, reading, about)
    findings.warnings += _id_findings(rows, model, about)
    findings.warnings += _score_findings(rows, reading, about)
    if reading.task is not ModelTask.REGRESSION:
        predicted = parse_predictions(rows, reading, parse_scores(rows, reading))
        usable = isinstance(predicted, CategoryValues) and not set(predicted.levels).isdisjoint(
            reading.classes
        )
        few = rows.num_rows < NAMED_FROM
        if isinstance(predicted, CategoryValues) and "prediction" in rows.column_names and (usable or few):
            findings.warnings += _class_findings(predicted, reading, "prediction", about)
    findings.warnings += _arm_findings(rows, reading, about)
    findings.warnings += serving_warnings(sample, reading, title)
    findings.strata = {
        role: parse_texts(rows[role]).levels for role in ("version", "arm") if role in rows.column_names
    }


def look_at_times(sample: RowSample, model: ModelSpec, now: int, title: str, findings: RowFindings) -> None:
    """Note what the times of some predictions tell."""
    if sample.n == 0:
        return
    reading, rows = model.reading, sample.rows
    about = f"{title}: of {sample.title} rows"
    for role in ("event_time", "logged_at"):
        if role not in rows.column_names:
            continue
        try:
            parsed = parse_role_times(rows, role, reading)
        except SourceError as error:
            findings.faults.append(f"{title}: {error}")
            continue
        _look_at_times(parsed, rows[role], reading, role, about, findings)
        if role == "event_time":
            findings.newest = _newest_past_event(parsed, now)
            findings.warnings += _implausible_findings(parsed, reading, now, about)


def look_at_partitions(
    rows: pa.Table | None, role: str, model: ModelSpec, title: str, findings: RowFindings
) -> None:
    """Note rows that lie in the partition of another day than that of their time: no statement finds them."""
    if rows is None:
        return
    try:
        moments = parse_role_times(rows, role, model.reading)
    except SourceError:
        return  # a fault that is told of the times themselves
    texts = rows["partition"].cast(pa.string()).to_pylist()
    read = [is_partition_of(text, us) for text, us in zip(texts, moments.us.tolist(), strict=True)]
    astray = int(np.sum(moments.known & ~np.asarray(read, dtype=bool)))
    if astray:
        findings.faults.append(
            f"{title}: of {rows.num_rows} rows {astray} lie in the partition of another day than their "
            f"{role} and would not be read: give the column of that day, or leave `partition` out"
        )


def look_at_odd_times(
    sample: RowSample, odd: pa.Table | None, model: ModelSpec, title: str, findings: RowFindings
) -> None:
    """Note texts that are no times, and what becomes of their rows; times of another format are a fault."""
    if odd is None or not odd.num_rows:
        return
    role = odd.column_names[0]
    together = pa.concat_tables([sample.rows.select([role]), odd], promote_options="permissive")
    try:
        parsed = parse_role_times(together, role, model.reading)
    except SourceError as error:
        findings.faults.append(f"{title}: {error}")
        return
    n = int((~parsed.known[sample.n :]).sum())
    if n:
        some = "1 row holds" if n == 1 else f"{n:,} rows{' or more' * (n >= LOOKED_AT)} hold"
        name = f'"{model.reading.column_name(role)}" ({role}){_unparsed_finding(parsed, together[role])}'
        effect = "left out" if role == "event_time" else "taken as reported with their events"
        findings.warnings.append(f"{title}: {some} no time that is understood in {name}: {effect}")


def look_at_labels(sample: RowSample, model: ModelSpec, title: str, findings: RowFindings) -> None:
    """Note what some labels tell: of their predictions, classes, delays."""
    if sample.n == 0:
        return
    reading, rows = model.reading, well_dated(sample.rows, model.reading, findings)
    findings.misdated_labels = 1.0 - rows.num_rows / sample.n
    sample = replace(sample, rows=rows)
    about = f"{title}: of {sample.title} labels"
    there = np.asarray(rows["found"].combine_chunks()) > 0
    findings.joined = joined_of(rows)
    if not there.any() and sample.n >= NAMED_FROM:
        findings.faults.append(_never_matched(model, about))
    else:
        findings.warnings += _orphan_findings(there, model, about)
    values = parse_categories(rows["label"])
    if reading.task is not ModelTask.REGRESSION:
        findings.warnings += _class_findings(values, reading, "label", about)
    if "reported_at" not in rows.column_names:
        return
    try:
        reported, event = (
            parse_role_times(rows, "reported_at", reading),
            parse_role_times(rows, "event_time", reading),
        )
    except SourceError as error:
        findings.faults.append(f"{title}: {error}")
        return
    _look_at_times(reported, rows["reported_at"], reading, "reported_at", about, findings)
    findings.warnings += _days_alone(reported, model, about)
    dated = reported.known & event.known & there
    delays = (reported.us - event.us)[dated]
    if len(delays) == 0:
        return
    findings.delays = np.sort(delays)
    findings.warnings += _negative_delay_findings(delays, about)
    kinds = np.zeros(len(delays), np.int64) if reading.task is ModelTask.REGRESSION else values.codes[dated]
    # What comes later than the horizon is not counted.
    keep_mask = delays <= reading.horizon
    findings.settling = settling_estimate(delays[keep_mask], kinds[keep_mask], model.keys.settled_share)
    findings.warnings += horizon_warnings(delays, model, about)


def newest_event(sample: RowSample, reading: ReadingOptions, now: int) -> int | None:
    """Newest event time up to now; None: there is none that is understood."""
    try:
        return (
            _newest_past_event(parse_role_times(sample.rows, "event_time", reading), now)
            if sample.n
            else None
        )
    except SourceError:  # said of the times themselves
        return None


def _newest_past_event(event: ParsedTimes, now: int) -> int | None:
    past = event.us[event.known & (event.us <= now)]
    return int(past.max()) if len(past) else None


def well_dated(rows: pa.Table, reading: ReadingOptions, findings: RowFindings) -> pa.Table:
    """Rows but those whose event times are misdated; all, where nothing else is there."""
    try:
        event = parse_role_times(rows, "event_time", reading)
    except SourceError:  # said of the times themselves
        return rows
    if findings.expected is None:
        return rows
    first, last = findings.expected
    keep_mask = ~event.known | ((event.us >= first) & (event.us < last))
    return rows.filter(pa.array(keep_mask)) if keep_mask.any() else rows


def misdated_warning(
    misdated: RowCount, rows: RowCount, model: ModelSpec, title: str, expected: Range
) -> str:
    """What is said of predictions that no window will ever have; empty where they are few, or all are."""
    if not misdated.n or misdated.n < MISDATED_SHARE * rows.n or (misdated == rows and not rows.more):
        return ""
    name = f'"{model.reading.column_name("event_time")}" (event_time)'
    first, last = (to_iso(moment)[:10] for moment in expected)
    return (
        f"{title}: {misdated} of {rows} rows have event times before {first} or after {last} in {name}: no "
        "window counts them. Look at what writes them: a unit, a default value, a year"
    )


def joined_of(rows: pa.Table) -> pa.Table:
    """Those of some labels that have a prediction."""
    return rows.filter(pc.and_(pc.greater(rows["found"], 0), pc.is_valid(rows["label"])))


def settling_estimate(delays: Ints, kinds: Ints, share: float) -> int | None:
    """Age at which the slowest class with enough labels has its share of them."""
    ages = [
        int(np.quantile(delays[kinds == kind], share, method="inverted_cdf"))
        for kind in np.unique(kinds[kinds >= 0])
        if (kinds == kind).sum() >= ENOUGH
    ]
    return max(0, *ages) if ages else None


def horizon_warnings(delays: Ints, model: ModelSpec, about: str) -> Iterator[str]:
    """Warn of labels too late for the horizon."""
    horizon = model.reading.horizon
    late = float(np.mean(delays > horizon))
    if late > _FEW:
        fits = _rounded_duration(int(np.quantile(delays, 0.99)))
        yield (
            f"{about} {late:.1%} come later than the horizon ({format_duration(horizon)}) after their "
            f'prediction: these are stale and never counted; horizon = "{fits}" would hold 99% of them'
        )


def shortest_horizon_text(model: ModelSpec, age: int) -> str:
    """Shortest horizon, in whole days, that holds the longest window and the age at which it settles."""
    longest = max((window.length for window in model.windows), default=0)
    return _rounded_duration(longest + age)


def _look_at_times(
    parsed: ParsedTimes,
    column: pa.ChunkedArray,
    reading: ReadingOptions,
    role: str,
    about: str,
    findings: RowFindings,
) -> None:
    there = int(parsed.known.sum()) + parsed.invalid
    if parsed.invalid == 0:
        return
    name = f'"{reading.column_name(role)}" ({role})'
    example = _unparsed_finding(parsed, column)
    text = f"{about} {parsed.invalid / there:.1%} hold no time that is understood in {name}{example}"
    if role == "event_time" and parsed.invalid == there:
        findings.faults.append(f"{text}: nothing can be counted")
    else:
        findings.warnings.append(
            f"{text}: such a {'row is left out' if role == 'event_time' else 'time is unknown'}"
        )


def _unparsed_finding(parsed: ParsedTimes, column: pa.ChunkedArray) -> str:
    """Nothing of a row is shown: only the shape of its text, digits as 0."""
    at = np.flatnonzero(~parsed.known & np.asarray(column.is_valid()))
    if len(at) == 0:
        return ""
    shape = "".join("0" if letter.isdigit() else letter for letter in str(column[int(at[0])].as_py())[:40])
    return f', as in "{shape}" (digits as 0)'


def _implausible_findings(event: ParsedTimes, reading: ReadingOptions, now: int, about: str) -> Iterator[str]:
    moments = event.us[event.known]
    if len(moments) == 0:
        return
    name = f'"{reading.column_name("event_time")}" (event_time)'
    early = float(np.mean(moments < OLDEST_LOG))
    ahead, late = int(moments.max()) - now, int(np.sum(moments > now + reading.tolerance))
    if early > 0.5:
        yield f"{about} {early:.1%} lie before 1990 in {name}: is event_time_unit right?"
    if late:  # a few too: of a slow log a wrong time zone moves no more
        why = "is event_time_unit right?" if ahead > 370 * DAY else "is the source's timezone right?"
        lie = f"{about} {late:,} lie in the future in {name}, the newest by {_rounded_duration_text(ahead)}"
        yield f"{lie}: they wait until then; {why}"


def _id_findings(rows: pa.Table, model: ModelSpec, about: str) -> Iterator[str]:
    roles = [role for role, _ in model.predictions.id_columns if role in rows.column_names]
    if "version" in rows.column_names:
        roles.append("version")
    codes = np.stack([encode_texts(rows[role]) for role in roles])
    named_rows = codes[:, codes[0] >= 0]
    name = ", ".join(f'"{column}"' for _, column in model.predictions.id_columns)
    missing = 1.0 - named_rows.shape[1] / rows.num_rows
    if missing > _FEW:
        yield f"{about} {missing:.1%} have no id ({name}): they are not counted"
    repeated = 1.0 - np.unique(named_rows, axis=1).shape[1] / max(named_rows.shape[1], 1)
    if repeated > 0.05:
        yield (
            f"{about} {repeated:.1%} repeat an id ({name}): only the first row of an id counts; does "
            "it name a prediction, and is a version column configured where several versions log it?"
        )


def _score_findings(rows: pa.Table, reading: ReadingOptions, about: str) -> Iterator[str]:
    score = parse_scores(rows, reading) if reading.has_score else None
    if not isinstance(score, NumberValues) or not score.finite.any():
        return
    finite = score.values[score.finite]
    if len(finite) >= ENOUGH and finite.min() == finite.max():
        yield f"{about} all have the score {finite[0]:g}: nothing ranks them"
    outside = float(np.mean((finite < reading.score_range[0]) | (finite > reading.score_range[1])))
    # More of them are a fault, which is told elsewhere.
    if outside > 0 and (outside <= MOSTLY or len(finite) < NAMED_FROM):
        low, high = reading.score_range
        yield (
            f"{about} {outside:.1%} have a score outside score_range [{low:g}, {high:g}] (they go from "
            f"{finite.min():g} to {finite.max():g}): such a score is invalid"
        )


def _class_findings(values: CategoryValues, reading: ReadingOptions, role: str, about: str) -> Iterator[str]:
    if not reading.classes:
        return
    counts = counts_of(values)
    total = sum(counts.values())
    if total == 0:
        return
    holds = value_share_words(counts)
    full_name = f'"{reading.column_name(role)}" ({role})'
    for name in reading.classes:
        if name not in counts and total >= ENOUGH:
            yield f'{about} none is of the class "{name}" in {full_name}; it holds {holds}'
    other = sum(count for name, count in counts.items() if name not in reading.classes)
    if other:
        names = ", ".join(f'"{name}"' for name in reading.classes)
        yield (
            f"{about} {other / total:.1%} are of no configured class ({names}) in {full_name}; it "
            f"holds {holds}"
        )


def _arm_findings(rows: pa.Table, reading: ReadingOptions, about: str) -> Iterator[str]:
    arms = reading.arms
    if arms is None or "arm" not in rows.column_names:
        return
    counts = counts_of(parse_categories(rows["arm"]))
    holds = value_share_words(counts)
    for key, name in (("control_value", arms.control), ("treatment_value", arms.treatment)):
        if name not in counts and rows.num_rows >= ENOUGH:
            yield f'{about} none has {key} "{name}" in "{arms.column}"; it holds {holds}'


def serving_warnings(sample: RowSample, reading: ReadingOptions, title: str) -> Iterator[str]:
    """Warn of values of rows that serve that do not occur."""
    rows, serving = sample.rows, reading.serving
    if serving is None or "serving" not in rows.column_names or rows.num_rows < ENOUGH:
        return
    counts = counts_of(parse_categories(rows["serving"]))
    lacking = [value for value in serving.values if value not in counts]
    if lacking:
        name = ", ".join(f'"{value}"' for value in lacking)
        end = "" if len(lacking) < len(serving.values) else ": no row serves, the whole model has no record"
        yield (
            f'{title}: of {sample.title} rows none has {name} (serving.values) in "{serving.column}"; '
            f"it holds {value_share_words(counts)}{end}"
        )


def _orphan_findings(there: np.ndarray, model: ModelSpec, about: str) -> Iterator[str]:
    lacking = 1.0 - float(np.mean(there))
    if lacking <= 0.05 or model.labels is None:
        return
    mine = ", ".join(f'"{column}"' for _, column in model.predictions.id_columns)
    theirs = ", ".join(f'"{column}"' for _, column in model.labels.id_columns)
    yield (
        f"{about} {lacking:.1%} have no prediction: are {theirs} (labels) and {mine} (predictions) the same "
        "ids, or are predictions deleted earlier?"
    )


def _days_alone(reported: ParsedTimes, model: ModelSpec, about: str) -> Iterator[str]:
    """Warn of reports that bear a date, no time of day: later ones of the day lie before the last search."""
    days, zone = np.unique(reported.us[reported.known]), ZoneInfo(model.reading.zone)
    if len(days) < 2 or model.keys.reading.overlap >= DAY:
        return
    midnights = (datetime.fromtimestamp(day / SECOND, zone) for day in days.tolist())
    if all(moment.time() == time.min for moment in midnights):
        yield (
            f"{about} reported_at holds dates, no times of day: what is added later on the same day is found "
            f"by the audit alone, not by the next cycle; set overlap in [models.reading] to 1d or "
            f"more: it is {format_duration(model.keys.reading.overlap)}"
        )


def _never_matched(model: ModelSpec, about: str) -> str:
    labels = model.predictions if model.labels is None else model.labels
    mine, theirs = (
        ", ".join(f'"{column}"' for _, column in side.id_columns) for side in (model.predictions, labels)
    )
    columns = ", ".join('"…"' for _ in model.predictions.id_columns)
    line = f"id = [{columns}]" if len(model.predictions.id_columns) > 1 else f"id = {columns}"
    return (
        f"{about} none has a prediction: {theirs} (labels) and {mine} (predictions) hold other ids, so no "
        f"label counts; write [models.labels] {line}, what holds the ids of the predictions"
    )


def _negative_delay_findings(delays: Ints, about: str) -> Iterator[str]:
    early = float(np.mean(delays < -MINUTE))
    if early > _FEW:
        yield (
            f"{about} {early:.1%} were reported before their prediction was made: are reported_at and "
            "event_time the right columns, and in one time zone?"
        )


def value_share_words(counted: Mapping[str, int]) -> str:
    """Values and their shares; rare ones, which may be ids or names, are not named."""
    total = max(1, sum(counted.values()))
    named = [name for name, count in counted.items() if count >= NAMED_FROM][:_LISTED]
    others = len(counted) - len(named)
    parts = [f'"{name}" {counted[name] / total:.1%}' for name in named]
    if others:
        parts.append(f"{others:,} {'other' if named else 'rare'} value{'s' if others > 1 else ''}")
    return ", ".join(parts) or "nothing"


def _rounded_duration(us: int) -> str:
    return format_duration(max(1, -(-us // DAY)) * DAY)


def _rounded_duration_text(us: int) -> str:
    """A duration as people say it: whole hours, or whole days from two days on."""
    if us >= 2 * DAY:
        unit = DAY
    elif us >= HOUR:
        unit = HOUR
    else:
        unit = MINUTE
    return format_duration(max(1, round(us / unit)) * unit)
