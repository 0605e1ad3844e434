"""Changes in words: how much, since when, what was expected, how rare, where; and several together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from monitor.core.change import Change, ExpectedBand, NotJudged, UnitFigures
from monitor.core.clock import DAY, HOUR, format_duration, from_iso, to_iso
from monitor.core.measurement import BECAUSE
from monitor.core.text import number_text, readable_text
from monitor.measures.catalogue.daily_measures import ALERTS, BUDGET, EVIDENCE
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import (
    approximate_text,
    format_factor,
    format_measure_difference,
    format_measure_value,
    with_minus,
)
from monitor.sentences.known_measurements import FEATURE, join_few_names, readable_name
from monitor.windows.window_ends import hour_length

RESIDUAL_LEVEL, RESIDUAL_SLOPE = "residual_level", "residual_slope"  # of labels against what scores promise
UNFOLDING, UNFOLDING_FEED = "labels_so_far", "labels_by_age"  # of labels that still come in
NEW_VERSION = "version"  # fault of the log whose category names the versions
WHY_NOT_JUDGED: Mapping[str, str] = {
    NotJudged.LEARNING: "fewer than 14 days are learned",
    NotJudged.TOO_FEW: "fewer than 20 records",
    NotJudged.NO_RECORDS: "no values, look whether they are written",
    NotJudged.UNDEFINED: "their formula has no value",
    NotJudged.UNUSUAL: "the day is one of unusual_days",
    NotJudged.NOT_FOLLOWED: "all values alike, or no reference",
    NotJudged.NOT_CHOSEN: "fewer than 20 records on its first days, or not one of the 20 largest",
}
_OUTCOME_WORDS = {
    "(correct)": "correct predictions",
    **dict.fromkeys(("1", "1.0", "true", "True", "TRUE", "yes"), "positive labels"),
}
_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_THURSDAY = 3  # 1970-01-01
_MILLION = 1_000_000.0
_MISSING_BESIDES = 0.01  # of the values, from which on it is told that more are missing than is usual
_FEW_MOVED = 1.0  # sd of the robust level, below which a mean that is a multiple is that by few numbers
_AS_FAR = 2.0  # times its level that a mean moved, up to which all numbers moved with it
_SAME_DAY = 3  # changes of one first day that are told together
_INPUTS, _NEARBY, _SMALLER_NAMED = (FEATURE, "score"), 7 * DAY, 2


@dataclass(frozen=True, slots=True)
class _KindWords:
    """How a kind of change is told."""

    value: str  # what was observed
    # deviation, in_unit: of a number: the same in standard deviations; before its mean or spread in the
    # column's unit.
    deviation: str = ""
    in_unit: str = ""
    fault: str = ""  # the same of records that should not be, where hardly any were expected
    measure: str = ""  # as whose values it is written: unit and decimals; empty: a plain number
    counted_in: str = "records"  # what segments have their shares of
    # name, unit: over a chart, and its unit there.
    name: str = ""
    unit: str = ""
    relative: bool = False  # a change is told as a share of what was expected


def _number_kind(name: str, deviation: str, in_unit: str = "", unit: str = "sd") -> _KindWords:
    return _KindWords(f"{name} {{}}", deviation, in_unit, unit=unit, counted_in="values")


def _fault_kind(words: str, name: str = "", counted_in: str = "records", value: str = "{}") -> _KindWords:
    return _KindWords(value, fault=words, measure="missing_rate", name=name, counted_in=counted_in)


def _performance_kind(measure: str, value: str, *, relative: bool = False) -> _KindWords:
    return _KindWords(value, measure=measure, counted_in="labels", relative=relative)


def _residual_kind(name: str, words: str) -> _KindWords:
    """Log odds; of numbers, that have no category, usual errors."""
    return _KindWords(f"{words} {{}}", counted_in="labels", name=name, unit="log odds")


CHANGE_KINDS: Mapping[str, _KindWords] = {
    "level": _number_kind("level", "level {} usual", "mean"),
    "spread": _number_kind("spread", "spread {} usual", "spread about"),
    "skew": _number_kind("skew", "skew {} usual"),
    "shape": _number_kind("shape", "shape {} from usual, as χ²", unit="χ²"),
    "share": _KindWords("{category} in {} of the records", measure="missing_rate"),
    "records": _KindWords("{} records", measure="records", relative=True),
    "coverage": _KindWords("labels for {} of the records", measure="coverage"),
    RESIDUAL_LEVEL: _residual_kind("labels", "{category} labels against the scores"),
    RESIDUAL_SLOPE: _residual_kind("separation", "how scores separate {category} labels"),
    UNFOLDING: _residual_kind("labels", "{category} labels so far"),
    UNFOLDING_FEED: _residual_kind("labels", "labels so far"),
    # What was watched of scores in stores of earlier versions.
    "roc_auc": _performance_kind("roc_auc", "ROC AUC {}"),
    "log_loss": _performance_kind("log_loss", "log loss {}"),
    "error_rate": _performance_kind("error_rate", "error rate {}"),
    "root_mean_squared_error": _performance_kind("root_mean_squared_error", "RMSE {}", relative=True),
    "base_rate": _performance_kind("missing_rate", "{category} in {} of the labels"),
    "missing": _fault_kind(
        "missing values in {} of the records", "missing values", value="missing in {} of the records"
    ),
    "invalid": _fault_kind("invalid values in {} of the records", "invalid values", "values"),
    "unseen": _fault_kind("unseen values in {} of the records", "unseen values", "values"),
    "constant": _fault_kind("one value or narrow range in {} of the records", "constant values", "values"),
    "beyond": _fault_kind(
        "numbers far beyond all of the reference's in {} of the records", "far-off numbers", "values"
    ),
    "duplicates": _fault_kind("repeated rows: {} of all"),
    "stale": _fault_kind("rows logged after the horizon: {} of all"),
    "unlogged": _fault_kind("rows without a logged_at: {} of all"),
    "late": _fault_kind("rows logged far later than usual: {} of all"),
    "future": _fault_kind("rows logged before their event, or at once: {} of all"),
    NEW_VERSION: _fault_kind("records of a new version: {} of all"),
    "early": _fault_kind("labels reported before their event: {} of all", counted_in="labels"),
    "corrected": _fault_kind("corrected labels: {} of all", counted_in="labels"),
    "retracted": _fault_kind("labels taken back: {} of the records"),
}


def change_sentence(change: Change, day_end: int) -> str:
    """What changed, how much, what was expected, since when, how rare it is, which segment holds it.

    Parameters
    ----------
    day_end
        end of the judged day; microseconds.

    >>> band = ExpectedBand(3000.0, 3600.0)
    >>> fall = Change(
    ...     kind="records", observed=1200.0, expected=band, since="2024-03-03", chance_months=4321.0
    ... )
    >>> change_sentence(fall, 19_787 * DAY)  # doctest: +NORMALIZE_WHITESPACE
    '1,200 records (−64 %) on 2024-03-04, expected 3,000 to 3,600 on Mondays; began 2024-03-03;
    a false alert like this comes once in 4,300 months'
    """
    parts = [
        _observed_words(change, day_end),
        _missing_words(change),
        _began_words(change),
        _chance_words(change),
        _segment_words(change),
    ]
    return readable_text("; ".join(filter(None, parts)))


def observed_change_words(change: Change, day_end: int) -> str:
    """What is observed, what was expected, what is missing besides, and which segment holds it."""
    parts = [_observed_words(change, day_end), _missing_words(change), _segment_words(change)]
    return readable_text("; ".join(filter(None, parts)))


def short_change_sentence(change: Change, day_end: int) -> str:
    """What is now, what was expected, and when it began."""
    return "; ".join(filter(None, [_observed_words(change, day_end), _began_words(change)]))


def observed_and_usual_words(change: Change) -> tuple[str, str, str] | None:
    """What was observed, and both ends of what was expected of a day; None: no day shows it."""
    observed, band = change.observed, change.expected
    if observed is None or band is None or not change.averaged_days:
        return None
    if change.averaged_days == 1 and band.low <= observed <= band.high:
        return None
    value, low, high = _value_and_band(change, observed, band)
    return value, low, high


def is_against_scores(change: Change) -> bool:
    """Whether a change is of labels beside what their scores promise, all in or still coming."""
    return change.kind in (RESIDUAL_LEVEL, RESIDUAL_SLOPE, UNFOLDING, UNFOLDING_FEED)


def outcomes_sentence(change: Change) -> str:
    """How labels differ from what scores promise, with the counts where they are known.

    >>> from monitor.core.change import OutcomeCounts
    >>> change = Change(kind="residual_level", category="DEFAULT", outcomes=OutcomeCounts(1000, 84, 60.2))
    >>> outcomes_sentence(change)
    'more DEFAULT labels than the scores say: 84 instead of 60 of 1,000'
    """
    n, observed, expected = change.outcomes or (0, 0.0, 0.0)
    if change.kind == UNFOLDING_FEED:
        return f"labels come {'sooner' if change.rises else 'later'} than usual: {_so_far_words(change)}"
    if not change.category:
        return _error_words(change)
    what = outcome_words(change)
    so_far = change.kind == UNFOLDING
    if change.kind == RESIDUAL_SLOPE or (so_far and change.outcomes is None):
        how = "better" if change.rises else "less well"
        return f"scores tell {what} apart {how}{', by the labels so far' if so_far else ''}"
    figures = _so_far_words(change) if so_far else f"{observed:,.0f} instead of {expected:,.0f} of {n:,}"
    sentence = f"{'more' if change.rises else 'fewer'} {what} than the scores say"
    return sentence if change.outcomes is None else f"{sentence}: {figures}"


def outcome_words(change: Change) -> str:
    """The labels that a change is of: "positive labels", "DEFAULT labels"."""
    return _OUTCOME_WORDS.get(change.category, f"{change.category} labels")


def _error_words(change: Change) -> str:
    """How numbers differ from their predictions."""
    if change.kind == RESIDUAL_SLOPE:
        high, low = ("low", "high") if change.rises else ("high", "low")
        return f"high predictions are too {high}, and low ones too {low}"
    sentence = f"labels are {'higher' if change.rises else 'lower'} than predicted"
    if change.outcomes is None:
        return sentence
    observed, expected = (approximate_text(value) for value in change.outcomes[1:])
    return f"{sentence}: by {observed} on average, usually by {expected}"


def _so_far_words(change: Change) -> str:
    _, observed, expected = change.outcomes or (0, 0.0, 0.0)
    return f"{observed:,.0f} so far, {expected:,.0f} expected by now"


def fault_words(change: Change) -> str:
    """Share of what should not be, in words."""
    share = format_measure_value("missing_rate", change.observed)
    return (_kind_words(change).fault or _kind_words(change).value).format(share, category=change.category)


def hour_span_words(change: Change) -> Iterator[str]:
    """From when to when, of a gross fault that hours told: "from 09:00 to 10:00 UTC"; none of a whole day."""
    if change.hours is not None:
        first, end = (moment[11:16] for moment in change.hours)
        yield f"from {first} to {end} UTC"


def told_later_sentence(pane: int, every: int, *, logged: bool) -> str:
    """By when gross faults are told, where that is not within two hours; empty: it is.

    Parameters
    ----------
    pane, every
        length of a pane, and between cycles; microseconds.
    logged
        whether rows say when they were logged.

    >>> told_later_sentence(3 * HOUR, HOUR, logged=True)
    'Gross faults fire within 6h: panes are of 3h'
    """
    unit = hour_length(pane)
    if unit is None or every >= DAY:
        why = (
            f"a cycle runs each {format_duration(every)}" if unit else f"panes are of {format_duration(pane)}"
        )
        return f"Gross faults fire when their day is checked: {why}"
    parts = [f"panes are of {format_duration(pane)}"] if unit > HOUR else []
    parts += [f"a cycle runs each {format_duration(every)}"] if every > HOUR else []
    told = f"Gross faults fire within {format_duration(2 * unit + (every if every > HOUR else 0))}"
    told = f"{told}: {' and '.join(parts)}" if parts else ""
    silent = (
        ""
        if logged
        else "Without logged_at, silence fires after 36h, and fewer records when their day is checked"
    )
    return ". ".join(filter(None, [told, silent]))


def kind_measure(change: Change) -> str:
    """As whose values a kind of change is written."""
    return _kind_words(change).measure or change.kind


def chart_title(change: Change) -> str:
    """What is drawn day by day: "level", "missing values", "share of UA"."""
    category = "" if change.kind == NEW_VERSION else change.category
    name = _kind_words(change).name or change.kind.replace("_", " ")
    return f"{name} of {category}" if category else name


def chart_unit(change: Change) -> str:
    """Unit of a number whose column's unit is not known; empty: it is, or it is no number."""
    return "" if change.in_unit is not None else _kind_words(change).unit


def chart_measure(change: Change) -> str:
    """Measure as whose values the days are written; empty: as plain numbers."""
    return _kind_words(change).measure


def subject_name(subject: str, segment: str | None) -> str:
    """A subject of the whole, or in a segment.

    >>> subject_name("feature:age", None), subject_name("", "region=north")
    ('age', 'performance in region=north')
    """
    name = readable_name(subject) if subject else "performance"
    return f"{name} in {readable_name(segment)}" if segment else name


def _kind_words(change: Change) -> _KindWords:
    return CHANGE_KINDS.get(change.kind) or _KindWords(f"{change.kind.replace('_', ' ')} {{}}")


def _observed_words(change: Change, day_end: int) -> str:
    """What was observed, by how much it differs, and what was expected of which days."""
    observed, band = change.observed, change.expected
    if change.outcomes is not None or change.kind == UNFOLDING:
        return outcomes_sentence(change)
    if observed is None:
        name = change.kind.replace("_", " ")
        return f"{name} changed, now not known{_why_not_judged(change)}" if name else ""
    if band is None:
        return _value_words(change, observed)
    # Of a share that is followed from day to day the band may begin at 0 too: it reads as a fault then.
    if band.low == 0 and _kind_words(change).fault and (change.kind == NEW_VERSION or not change.category):
        return _fault_words(change, observed, band)
    value, low, high = _value_and_band(change, observed, band)
    if change.averaged_days == 0:
        why = _why_not_judged(change)
        return f"{value} when it was found, expected {low} to {high}; now not known{why}"
    return f"{value} {_expected_words(change, observed, band, (low, high), day_end)}"


def _value_and_band(change: Change, observed: float, band: ExpectedBand) -> tuple[str, str, str]:
    """The observed value and both ends of what was expected: in the column's unit, where that is known."""
    words, middle = _kind_words(change), (band.low + band.high) / 2
    if change.in_unit is not None and words.in_unit:
        value, low, high = map(approximate_text, change.in_unit)
        factor = _unit_factor_words(change, change.in_unit, observed, band)
        return f"{words.in_unit} {value} ({factor or f'{_signed_text(observed - middle)} sd'})", low, high
    if words.unit == "sd":
        side = "above" if observed >= 0 else "below"
        value = words.deviation.format(f"{abs(observed):.2f} sd {side}")
        return value, _signed_text(band.low), f"{_signed_text(band.high)} sd"
    if words.deviation:
        return words.deviation.format(_signed_text(observed)), _signed_text(band.low), _signed_text(band.high)
    low, high = (format_measure_value(words.measure or change.kind, end) for end in band)
    return _value_words(change, observed, middle), low, high


def _unit_factor_words(change: Change, figures: UnitFigures, observed: float, band: ExpectedBand) -> str:
    """By which factor a mean or a spread differs, where it is one worth telling, as "×12"."""
    middle, moved = (figures.low + figures.high) / 2, abs(observed - (band.low + band.high) / 2)
    # A robust level that hardly moves while the mean is a multiple: few numbers did it, not the unit of all.
    alike = abs(figures.observed - middle) * (band.high - band.low) <= _AS_FAR * moved * (
        figures.high - figures.low
    )
    by_few = change.kind == "level" and moved < _FEW_MOVED and not alike
    one_sign = figures.low * figures.high > 0
    return format_factor(figures.observed, middle if one_sign else 0.0, of_few=by_few)


def _value_words(change: Change, value: float, usual: float | None = None) -> str:
    """A value with its unit, and by how much it differs from what is usual: of counts the share of it."""
    words = _kind_words(change)
    measure = words.measure or change.kind
    text = words.value.format(format_measure_value(measure, value), category=change.category)
    if usual is None or (words.relative and not usual):
        return text
    if words.relative:
        return f"{text} ({with_minus(f'{100 * (value / usual - 1):+.0f} %')})"
    return f"{text} ({format_measure_difference(measure, value - usual)})"


def _fault_words(change: Change, share: float, band: ExpectedBand) -> str:
    usual = f"at most {format_measure_value('missing_rate', band.high)}" if band.high else "none"
    text = _kind_words(change).fault.format(format_measure_value("missing_rate", share))
    text = text.replace("a new version", f"the new version {change.category}") if change.category else text
    before = "on the days before" if change.hours is None else "in the weeks before"
    return f"{' '.join([text, *hour_span_words(change)])}, {usual} {before}"


def _expected_words(
    change: Change, observed: float, band: ExpectedBand, ends: tuple[str, str], day_end: int
) -> str:
    """Of which days a value is, and what was expected of one. What several days show, none may show alone."""
    # Rows that were kept before they had a date are taken as of UTC.
    moment = from_iso(change.day) if change.day else day_end - DAY // 2
    day, weekday = to_iso(moment)[:10], _WEEKDAYS[(moment // DAY + _THURSDAY) % 7]
    low, high = ends
    if change.hours is not None:
        at = " ".join(hour_span_words(change))
        return f"on {day} {at}, expected {low} to {high} in this hour of the week"
    several, within = change.averaged_days > 1, band.low <= observed <= band.high
    on = f"on average over {change.averaged_days:.0f} days to {day}" if several else f"on {day}"
    if several or (within and change.since == day):
        return f"{on}, though a single {weekday[:-1]} may be from {low} to {high}"
    expected = "as is expected again:" if within else "expected"
    return f"{on}, {expected} {low} to {high} on {weekday}"


def _why_not_judged(change: Change) -> str:
    why = WHY_NOT_JUDGED.get(change.not_judged or "", "")
    return f": {why}" if why else ""


def _signed_text(value: float) -> str:
    return with_minus(f"{value:+.2f}")


def _missing_words(change: Change) -> str:
    """Values that are missing besides what changed: the change is one of those that are there."""
    missing = change.missing
    if change.kind == "missing" or missing is None or missing.observed - missing.expected < _MISSING_BESIDES:
        return ""
    observed, expected = (format_measure_value("missing_rate", share) for share in missing)
    return f"besides, {observed} of the values are missing, at most {expected} expected"


def _began_words(change: Change) -> str:
    return f"began {change.since}" if change.since else ""


def _segment_words(change: Change) -> str:
    segment = change.segment
    if segment is None:
        return ""
    if not segment.name:
        return "no segment stands out"
    share = f"{100 * segment.of_change:.0f} % of it in {segment.name}"
    return f"{share}, which has {100 * segment.of_records:.0f} % of the {_kind_words(change).counted_in}"


def _chance_words(change: Change) -> str:
    """How rare such evidence is where nothing changes; to two digits."""
    months = change.chance_months
    if months is None or months < 1:
        return ""
    if months >= _MILLION:
        return "not chance"
    rounded = float(f"{months:.2g}")
    often = "a month" if rounded < 1.5 else f"in {rounded:,.0f} months"
    return f"a false alert like this comes once {often}"


# All changes of a model together.


def common_start_words(change: Change | None, every: Iterable[Change | None]) -> str:
    """That a change is one of some that began on one day; empty: of fewer than three."""
    day = _change_start_day(change)
    many = sum(_change_start_day(other) == day for other in every) if day else 0
    return f"one of {many} changes that began on {day}" if many >= _SAME_DAY else ""


def usual_since_by_subject(rows: Iterable[MeasurementRow]) -> dict[tuple[str, str], str]:
    """First days of changes that are told no longer though they are not back, by subject and segment."""
    found = {}
    for row in rows:
        change = row.measurement.change if row.measure == EVIDENCE else None
        if change is not None and change.usual_since:
            found[row.subject, row.segment or ""] = change.usual_since
    return found


def judged_subjects_words(rows: Iterable[MeasurementRow]) -> Iterator[str]:
    """Of how many subjects the newest days are judged, and of which not, and why: parts of a sentence."""
    subjects: list[str] = []
    names_by_reason: dict[str, list[str]] = {}
    for row in rows:
        result = row.measurement
        if row.measure != EVIDENCE:
            continue
        if result.change is not None:
            subjects.append(row.subject)
            if reason := result.change.not_judged:
                names_by_reason.setdefault(reason, []).append(subject_name(row.subject, row.segment))
        elif result.detail is not None and result.detail.rows and result.detail.columns == BECAUSE:
            part = "records" if row.subject else "labels"
            yield f"no day of {part} is checked yet, {result.detail.rows[0][0]}"
    if subjects:
        judged = len(subjects) - sum(map(len, names_by_reason.values()))
        every = f"all {judged}" if judged == len(subjects) else f"{judged} of {len(subjects)}"
        yield f"on the newest day {every} series were checked"
    for reason, names in names_by_reason.items():
        yield f"not {join_few_names(names)}: {WHY_NOT_JUDGED.get(reason, reason)}"


def alert_budget_sentences(rows: Iterable[MeasurementRow]) -> Iterator[str]:
    """How many changes fired, true ones and false ones, beside how many false ones are allowed.

    Without a budget of false alerts nothing is said.
    """
    counts = {row.measure: row.measurement.value for row in rows if row.measure in (ALERTS, BUDGET)}
    alerts, allowed = counts.get(ALERTS), counts.get(BUDGET)
    if alerts is not None and allowed is not None:
        many = f"{number_text(alerts)} {'change' if alerts == 1 else 'changes'}"
        false = f"{number_text(allowed)} false {'alert' if allowed == 1 else 'alerts'}"
        yield f"{many} fired in 30 days; the budget allows about {false}"


def _change_start_day(change: Change | None) -> str:
    return "" if change is None else change.since or ""


def evident_input_sentences(rows: Iterable[MeasurementRow], first_days: Iterable[str]) -> Iterator[str]:
    """Inputs whose change is below the smallest that is told, and as evident: the most so first."""
    fired = [from_iso(day) for day in first_days]
    found: list[tuple[float, str]] = []
    for row in rows:
        change, stands = row.measurement.change, (row.measurement.value or 0.0) > 1
        if row.measure != EVIDENCE or row.segment or stands or not row.subject.startswith(_INPUTS):
            continue
        if change is None or not change.since or (change.evidence_any_size or 0.0) <= 1:
            continue
        if any(abs(from_iso(change.since) - day) <= _NEARBY for day in fired):
            words = f"{subject_name(row.subject, None)}: {short_change_sentence(change, row.window_end)}"
            words = readable_text(f"As evident, though too small to fire, is {words}")
            found.append((change.evidence_any_size or 0.0, words))
    yield from (words for _, words in sorted(found, reverse=True)[:_SMALLER_NAMED])
