"""Inputs: which features changed, by cause; sixty days of each as cells; or how far each is from training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_headlines import count_words
from monitor.alerts.incident_words import incident_words
from monitor.alerts.incidents import Incident, IncidentAlert
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding
from monitor.alerts.model_summary import (
    ChangedSeries,
    count_changed_features,
    count_changes_by_word,
    list_feature_alerts,
)
from monitor.charts.scales import Axis, AxisTick
from monitor.charts.strips import StripCell, StripLook
from monitor.core.change import Change, ChangeAspect, EffectStanding, NotJudged, aspect_of_kind
from monitor.core.clock import DAY, from_iso, to_datetime, to_iso
from monitor.measures.catalogue.daily_measures import EVIDENCE, FEWEST_DAYS
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.measures.value_words import approximate_text, format_measure_value
from monitor.pages.features.day_cells import (
    OUTSIDE,
    SHOWN_DAYS,
    AlertEpisode,
    DayCalendar,
    FeatureDays,
    look_at_days,
)
from monitor.pages.features.training_strips import TRAINING_QUERY, TrainingStrips, read_training_strips
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import ChartableDays, DaySurprises, PageData, PageLink, PageRequest
from monitor.pages.period_words import day_and_month_words
from monitor.pages.tab_counts import read_standing
from monitor.records.pane import PaneHalf
from monitor.sentences.change_words import WHY_NOT_JUDGED, chart_title, usual_since_by_subject
from monitor.sentences.effect_sentences import effects_by_feature, signed_text
from monitor.sentences.known_measurements import FEATURE, KnownMeasurements, capitalize_first, join_few_names
from monitor.sentences.time_words import day_range_words, day_words
from monitor.show.alert_tables import ShownAlert
from monitor.specs.model_spec import ModelSpec

INPUTS_QUERY = ("show", "against", "sort", "q", *TRAINING_QUERY)
_SHOWN = {
    "all": (None, "All"),
    "level": (ChangeAspect.LEVEL, "Level, shape"),
    "missing": (ChangeAspect.MISSING, "Missing"),
    "new": (ChangeAspect.NEW, "New values"),
}
_SORTS = ("cause", "name", "missing", "new", "effect", "changed")
_USUAL, _TRAINING = "usual", "training"
_ASPECT_OF_MEASURE = {
    "missing_rate": ChangeAspect.MISSING,
    "invalid_rate": ChangeAspect.MISSING,
    "unseen_rate": ChangeAspect.NEW,
    "out_of_range_rate": ChangeAspect.NEW,
}
_KIND_WORDS = {
    "level": "mean",
    "skew": "distribution",
    "shape": "distribution",
    "missing": "missing values",
    "invalid": "invalid values",
    "unseen": "new values",
    "beyond": "values far beyond the reference",
}
_SHORT_REASONS: Mapping[str, str] = {NotJudged.NO_RECORDS: "no values", NotJudged.TOO_FEW: "too few"}
NO_BUDGET = "Days are not compared: the model states rules of its own, and no budget."
_CLOSED = "Alert closed, still different"
_CALM, _WITHIN_CHANCE = "As expected", " · grey days were unusual, but within chance"
_LEAST = 0.0005  # share of the records that is worth a figure
_TICK_DAYS = 14
_HATCHED = StripCell("hatched")


@dataclass(frozen=True, slots=True)
class InputValue:
    """What stands in a column today: a dot, a figure, or an alert's figure; `words` at the pointer."""

    text: str = ""  # empty: as expected
    look: str = ""  # "critical", "warning": an alert; "soft": no value
    words: str = ""
    number: float = 0.0  # what the column is sorted by


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRow:
    """A feature: its days, and what is today."""

    name: str
    href: str
    cells: tuple[StripCell | None, ...]
    values: tuple[InputValue, ...]  # level and shape, missing, new values
    effect: InputValue  # on the mean score
    since: str
    first_day: int  # of the change; 0: none


@dataclass(frozen=True, slots=True)
class InputGroup:
    """Features of one cause, or without one."""

    title: str
    rows: tuple[InputRow, ...]
    href: str = ""  # of the incident
    count: int = 0  # how many of the rows have an alert
    is_calm: bool = False  # no alert, and nothing that is not back


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsPage:
    """The page of a model's features."""

    model: str
    headline: str
    about: str
    groups: tuple[InputGroup, ...]
    shown: tuple[PageLink, ...]
    against: tuple[PageLink, ...]
    sorts: Mapping[str, str]  # address by column
    sorted_by: str
    filter: str
    days: str  # the days that are shown, in words
    axis: Axis | None
    has_effects: bool
    without: str  # why there are no days; empty: there are
    training: TrainingStrips | None


def inputs_page(data: PageData, request: PageRequest, name: str) -> InputsPage:
    """Page of the features of a model.

    `show` chooses what is looked at, `against` what with it is compared, `q` filters, `sort` orders.
    """
    request.refuse_unknown_parameters(*INPUTS_QUERY)
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    standing = read_standing(data, name, request.as_of)
    aspect, _ = _SHOWN[request.parse_choice("show", list(_SHOWN), "all")]
    sort = request.parse_choice("sort", [*_SORTS, *(f"-{each}" for each in _SORTS)], "cause")
    days = read_shown_days(data, spec, facts)
    told = spec.budget is not None or count_changed_features(standing.incidents) > 0
    against = request.parse_choice("against", [_USUAL, _TRAINING], _USUAL if told else _TRAINING)
    made = _RowMaker(data, request, facts, standing, days, aspect)
    training = read_training_strips(data, request, spec, facts) if against == _TRAINING else None
    groups = [] if training is not None else list(made.list_groups(_known_features(spec, facts)))
    headline, about = _headline_and_about(facts, standing, groups, days)
    if sort != "cause":
        groups = [InputGroup("", tuple(_sort_rows(groups, sort)))]
    wanted = request.query.get("q", "").casefold()
    kept = [
        replace(one, rows=rows)
        for one in groups
        if (rows := tuple(row for row in one.rows if wanted in row.name.casefold()))
    ]
    return InputsPage(
        model=name,
        headline=headline if training is None else training.headline,
        about=about if training is None else training.about,
        groups=tuple(kept),
        shown=tuple(
            PageLink(text, request.link_here(show=None if each == "all" else each), one is aspect)
            for each, (one, text) in _SHOWN.items()
        ),
        against=tuple(
            PageLink(f"Against {each}", request.link_here(against=each, sort=None), each == against)
            for each in (_USUAL, _TRAINING)
        ),
        sorts={each: request.link_here(sort=f"-{each}" if sort == each else each) for each in _SORTS},
        sorted_by=sort,
        filter=request.query.get("q", ""),
        days="" if made.calendar is None else _days_words(made.calendar, facts),
        axis=None if made.calendar is None else _days_axis(made.calendar),
        has_effects=any(row.effect.text for one in groups for row in one.rows),
        without=_why_no_days(spec, facts, days),
        training=training,
    )


def read_inputs_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """What is known of the features now, as `monitor show` has it."""
    request.refuse_unknown_parameters(*INPUTS_QUERY)
    spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    return [
        StoredMeasurement(name, facts.as_of or 0, row)
        for row in facts.rows
        if row.subject.startswith(FEATURE)
    ]


def read_shown_days(data: PageData, spec: ModelSpec, facts: ModelFacts) -> ChartableDays | None:
    """The newest days of the records as they were judged; None: they are not, or not yet."""
    if facts.as_of is None or spec.budget is None:
        return None
    days = data.read_judged_days(spec, PaneHalf.RECORDS, SHOWN_DAYS, facts.as_of)
    return days if days is not None and days.days else None


def newest_changes(rows: Sequence[MeasurementRow]) -> dict[str, Change]:
    """What the newest judged day says of each subject of the whole."""
    return {
        row.subject: row.measurement.change
        for row in rows
        if row.measure == EVIDENCE and row.segment is None and row.measurement.change is not None
    }


def _known_features(spec: ModelSpec, facts: ModelFacts) -> list[str]:
    """Features that are watched, in the order of the configuration."""
    configured = [*spec.reading.numeric, *spec.reading.categorical]
    known = {row.subject.removeprefix(FEATURE) for row in facts.rows if row.subject.startswith(FEATURE)}
    return [name for name in configured if name in known] + sorted(known - set(configured))


def aspect_of_alert(part: IncidentAlert) -> ChangeAspect:
    """What of the values an alert of a feature is about."""
    if part.change is not None:
        return aspect_of_kind(part.change.kind)
    return _ASPECT_OF_MEASURE.get("" if part.rule is None else part.rule.measure, ChangeAspect.LEVEL)


def list_episodes(alerts: Sequence[ShownAlert]) -> dict[str, list[AlertEpisode]]:
    """When alerts of features fired, by subject: of the whole, and no information."""
    found: dict[str, list[AlertEpisode]] = {}
    for shown in alerts:
        alert, series = shown.alert, shown.alert.series
        if not series.subject.startswith(FEATURE) or series.segment or alert.severity is Severity.INFO:
            continue
        if alert.fired_at is None:
            continue
        measure = "" if shown.rule is None else shown.rule.measure
        change = alert.breach.change
        aspect = (
            _ASPECT_OF_MEASURE.get(measure, ChangeAspect.LEVEL)
            if change is None
            else aspect_of_kind(change.kind)
        )
        found.setdefault(series.subject, []).append(
            AlertEpisode(alert.fired_at, alert.resolved_at, alert.severity, aspect, change is not None)
        )
    return found


class _RowMaker:
    """Rows of features, and what all of them are made of."""

    def __init__(
        self,
        data: PageData,
        request: PageRequest,
        facts: ModelFacts,
        standing: ModelStanding,
        days: ChartableDays | None,
        aspect: ChangeAspect | None,
    ) -> None:
        self.request, self.facts, self.standing, self.days, self.aspect = (
            request, facts, standing, days, aspect,
        )  # fmt: skip
        self.calendar = None if days is None else DayCalendar.from_days(days.days)
        self.changes = newest_changes(facts.rows)
        self.episodes = {} if days is None else list_episodes(data.list_alerts(facts.model, request.as_of))
        firing = [one for one in standing.incidents if not one.is_recovering]
        self.firing = firing
        self.alerts: dict[str, list[IncidentAlert]] = {}
        for part in list_feature_alerts(firing):
            self.alerts.setdefault(part.alert.series.subject, []).append(part)
        self.told = {(one.incident, one.subject): one for one in standing.summary.changed}
        self.effects = effects_by_feature(KnownMeasurements(facts.rows, facts.window, facts.main))
        self.shares = {} if days is None else {
            aspect: _largest_shares(days, kinds)
            for aspect, kinds in (
                (ChangeAspect.MISSING, ("missing", "invalid")), (ChangeAspect.NEW, ("unseen", "beyond")),
            )
        }  # fmt: skip

    def list_groups(self, features: Sequence[str]) -> Iterator[InputGroup]:
        """Alerts by incident; changes that are closed; what is as expected; what is not compared."""
        named: set[str] = set()
        for incident in self.firing:
            for title, parts in _titled_parts(incident, self.facts.as_of or 0):
                subjects = dict.fromkeys(
                    part.alert.series.subject
                    for part in list_feature_alerts([incident])
                    if part in parts and part.alert.series.subject not in named
                )
                named.update(subjects)
                if subjects:
                    rows = tuple(self.make_row(one, incident) for one in subjects)
                    href = self.request.link_to("models", self.facts.model, "incidents", incident.address)
                    yield InputGroup(title, rows, href, len(rows))
        closed = {
            subject: since
            for (subject, segment), since in usual_since_by_subject(self.facts.rows).items()
            if not segment and subject.startswith(FEATURE) and subject not in named
        }
        if closed:
            rows = tuple(self.make_row(one, since=from_iso(since)) for one, since in closed.items())
            yield InputGroup(_CLOSED, rows)
        others = [f"{FEATURE}{one}" for one in features if f"{FEATURE}{one}" not in {*named, *closed}]
        surprises = {} if self.days is None else self.days.find_surprises(self.aspect)
        compared = [one for one in others if self.days is None or _is_ever_judged(surprises.get(one))]
        unusual = {one: _unusual_days(surprises.get(one)) for one in compared}
        # What was unusual last stands first, then what moves the score most.
        compared.sort(
            key=lambda one: (
                -max(unusual[one], default=-1),
                -abs(self.effects.get(one.removeprefix(FEATURE), 0.0)),
            )
        )
        if compared:
            title = _CALM + (_WITHIN_CHANCE if any(unusual.values()) else "") if self.days else "Inputs"
            yield InputGroup(title, tuple(map(self.make_row, compared)), is_calm=True)
        rest = [one for one in others if one not in unusual]
        if rest:
            yield InputGroup("Not compared in these days", tuple(map(self.make_row, rest)))

    def make_row(self, subject: str, incident: Incident | None = None, since: int = 0) -> InputRow:
        """Row of a feature."""
        bare, today = subject.removeprefix(FEATURE), self.facts.as_of or 0
        href = self.request.link_to("models", self.facts.model, "feature", name=bare)
        parts = self.alerts.get(subject, [])
        first = min((part.first_day for part in parts), default=since)
        return InputRow(
            name=bare,
            href=href,
            cells=self.make_cells(subject, bare, href, parts),
            values=tuple(self.make_value(subject, aspect, parts, incident) for aspect in ChangeAspect),
            effect=self.make_effect(bare, parts),
            since=day_words(first, today) if first else "",
            first_day=first,
        )

    def make_cells(
        self, subject: str, bare: str, href: str, parts: Sequence[IncidentAlert]
    ) -> tuple[StripCell | None, ...]:
        """Its days."""
        if self.days is None or self.calendar is None:
            return ()
        surprises = self.days.find_surprises(self.aspect).get(subject)
        if surprises is None:
            return (_HATCHED,) * (self.calendar.last - self.calendar.first + 1)
        mine = [part for part in parts if self.aspect in (None, aspect_of_alert(part))]
        known = FeatureDays(
            surprises=surprises,
            since=self.days.changes_since[subject],
            kinds=self.days.standing_kinds[subject],
            episodes=self.episodes.get(subject, ()),
            now=min((part.alert.severity for part in mine), key=list(Severity).index, default=None),
        )
        looks = look_at_days(self.calendar, known, self.aspect)
        return tuple(
            None
            if look is None
            else _HATCHED
            if look == "hatched"
            else self._linked_cell(at, look, known, bare, href)
            for at, look in enumerate(looks)
        )

    def _linked_cell(self, at: int, look: StripLook, known: FeatureDays, bare: str, href: str) -> StripCell:
        """A cell that leads to its day."""
        calendar = self.calendar
        if calendar is None:
            return _HATCHED
        day = calendar.first + at
        place = int(calendar.day.searchsorted(day))
        date = to_datetime(day * DAY)
        words = f"{bare} · {date:%a} {date.day} {date:%b} · {cell_words(look, known, place)}"
        end = to_iso(int(calendar.end[place]))
        return StripCell(look, words, f"{href}&end={end.removesuffix('T00:00:00Z').replace(':', '%3A')}")

    def make_value(
        self,
        subject: str,
        aspect: ChangeAspect,
        parts: Sequence[IncidentAlert],
        incident: Incident | None,
    ) -> InputValue:
        """What stands in a column today."""
        part = next((one for one in parts if aspect_of_alert(one) is aspect), None)
        share = self.shares.get(aspect, {}).get(subject, 0.0)
        if part is not None:
            told = None if incident is None else self.told.get((incident.address, subject))
            return _alert_value(part, told, share)
        change = self.changes.get(subject)
        if aspect is ChangeAspect.LEVEL:
            reason = "" if change is None else change.not_judged or ""
            text = _SHORT_REASONS.get(reason, "")
            return InputValue(text, "soft", WHY_NOT_JUDGED.get(reason, "")) if text else InputValue()
        if share < _LEAST:
            return InputValue()
        text = format_measure_value("missing_rate", share)
        return InputValue(text, "", "share of the day's records", share)

    def make_effect(self, bare: str, parts: Sequence[IncidentAlert]) -> InputValue:
        """What it does to the mean score: since its change, or against training."""
        effects = [part.change.effect for part in parts if part.change is not None and part.change.effect]
        known = [one for one in effects if one.standing == EffectStanding.KNOWN]
        if known:
            text = signed_text(known[0].own, known[0].moved)
            return InputValue(text, "", f"moves the mean score by about {text} since then", abs(known[0].own))
        if bare not in self.effects:
            return InputValue()
        text = signed_text(self.effects[bare], max(map(abs, self.effects.values())))
        if not any(digit in "123456789" for digit in text):
            return InputValue()
        words = f"moves the mean score by about {text} against training"
        return InputValue(text, "", words, abs(self.effects[bare]))


def cell_words(look: StripLook, known: FeatureDays, place: int) -> str:
    """What a day of a feature says: "alert: missing values", "mean far below usual, no alert"."""
    kind, category = known.surprises.kinds[place]
    if look in ("warning", "critical", "changed"):
        what = _words_of_kind(known.kinds[place] or kind, category if not known.kinds[place] else "")
        return f"alert: {what}" if look != "changed" else "changed, before the alert"
    side = "above" if known.surprises.rises[place] else "below"
    if kind in ("shape", "skew"):
        side = "from"
    return f"{_words_of_kind(kind, category)} {'far ' if look == 'far' else ''}{side} usual, no alert"


def _words_of_kind(kind: str, category: str) -> str:
    return _KIND_WORDS.get(kind) or chart_title(Change(kind=kind, category=category))


def _titled_parts(incident: Incident, today: int) -> Iterator[tuple[str, tuple[IncidentAlert, ...]]]:
    """What an incident is of, and what began with it."""
    title = incident_words(incident, today).title
    yield f"Alert now · {title}", incident.alerts
    yield "Alert now · in the same incident, perhaps another cause", incident.also


def _alert_value(part: IncidentAlert, told: ChangedSeries | None, share: float) -> InputValue:
    """Figure of an alert: ▲ or ▼ and the value."""
    change, look = part.change, part.alert.severity.value
    if change is None:
        value, measure = part.alert.breach.value, "" if part.rule is None else part.rule.measure
        text = format_measure_value(measure, value) if value is not None and measure else "alert"
        return InputValue(f"▲ {text}", look, part.alert.series.rule, value or 0.0)
    words = _words_of_kind(change.kind, change.category)
    if told is not None and told.usual:
        words = f"{words}: {told.now}, usually {told.usual}"
    sign = "▲" if change.rises else "▼"
    if change.in_unit is not None and change.averaged_days:
        return InputValue(f"{sign} {approximate_text(change.in_unit.observed)}", look, words)
    if change.observed is not None and change.kind in ("share", "missing", "invalid", "unseen", "beyond"):
        text = format_measure_value("missing_rate", change.observed)
        return InputValue(f"{sign} {text}", look, words, share)
    return InputValue(f"{sign} changed", look, words, share)


def _largest_shares(days: ChartableDays, kinds: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in kinds:
        for subject, share in days.newest_shares(kind).items():
            found[subject] = max(share, found.get(subject, 0.0))
    return found


def _is_ever_judged(surprises: DaySurprises | None) -> bool:
    return surprises is not None and any(kind for kind, _ in surprises.kinds)


def _unusual_days(surprises: DaySurprises | None) -> list[int]:
    """Places of days that are drawn grey: unusual, but within chance."""
    return [] if surprises is None else np.flatnonzero(surprises.size >= OUTSIDE).tolist()


def _sort_rows(groups: Sequence[InputGroup], sort: str) -> list[InputRow]:
    """All rows by one column; of equal ones in the order of causes."""
    rows = [row for one in groups for row in one.rows]
    keys = {
        "name": lambda row: row.name.casefold(),
        "missing": lambda row: row.values[1].number,
        "new": lambda row: row.values[2].number,
        "effect": lambda row: row.effect.number,
        "changed": lambda row: row.first_day,
    }
    return sorted(rows, key=keys.get(sort.removeprefix("-"), lambda _row: 0), reverse=sort.startswith("-"))


def _headline_and_about(
    facts: ModelFacts, standing: ModelStanding, groups: Sequence[InputGroup], days: ChartableDays | None
) -> tuple[str, str]:
    """How many changed, when and how; then what else there is."""
    count = count_changed_features(standing.incidents)
    total = standing.summary.inputs.beside.removeprefix("of ").removesuffix(" changed")
    if not total:
        return "No input is watched", "No feature is configured, or no window has been measured."
    plural = "" if total == "1" else "s"
    closed = [row.name for one in groups if one.title == _CLOSED for row in one.rows]
    calm = sum(len(one.rows) for one in groups if one.is_calm)
    said = []
    if count:
        first_days = [part.first_day for part in list_feature_alerts(standing.incidents)]
        first, last = min(first_days), max(first_days)
        when = f"{'on' if first == last else 'since'} {day_range_words(first, last, facts.as_of or 0)}"
        words = count_changes_by_word(standing.summary.changed)
        how = [f"{count_words(many)} {word}" for word, many in words.items()]
        of = f"{capitalize_first(count_words(count))} of {total}"
        headline = f"{of} input{plural} changed {when}{': ' if how else ''}{', '.join(how)}"
    else:
        headline = f"No alert on any of {total} input{plural}" if total != "1" else "No alert on the input"
    if closed:
        are, whose = ("is", "its alert is") if len(closed) == 1 else ("are", "their alerts are")
        said.append(f"{join_few_names(closed)} {are} still different from before, though {whose} closed.")
    if calm and days is not None:
        said.append(f"{capitalize_first(count_words(calm))} {'is' if calm == 1 else 'are'} as expected.")
    if days is not None and all(
        (one.not_judged or "") == NotJudged.UNUSUAL for one in newest_changes(facts.rows).values()
    ):
        said.append("The newest day is one of unusual_days: it is not compared.")
    return headline, " ".join(said)


def _days_words(calendar: DayCalendar, facts: ModelFacts) -> str:
    first, last = (day_words(day * DAY, facts.as_of or 0) for day in (calendar.first, calendar.last))
    return f"Day by day, {first} – {last}"


def _days_axis(calendar: DayCalendar) -> Axis:
    """Each second week's Monday at the middle of its cell."""
    length = calendar.last - calendar.first + 1
    monday = calendar.first + (4 - calendar.first) % 7  # 1970-01-01 was a Thursday
    ticks = tuple(
        AxisTick(day - calendar.first + 0.5, day_and_month_words(day * DAY))
        for day in range(monday, calendar.last + 1, _TICK_DAYS)
    )
    return Axis(0.0, float(max(length, 1)), ticks)


def _why_no_days(spec: ModelSpec, facts: ModelFacts, days: ChartableDays | None) -> str:
    """Why no day is compared, and from when on."""
    if days is not None:
        return ""
    if facts.as_of is None:
        return "No cycle has run yet: the days begin with the first one."
    if spec.budget is None:
        return NO_BUDGET
    learnt = [
        row.measurement.n
        for row in facts.rows
        if row.measure == EVIDENCE and row.measurement.reason is not None and row.subject
    ]
    first = (
        "" if not learnt else f": {day_words(facts.as_of + (FEWEST_DAYS - min(learnt)) * DAY, facts.as_of)}"
    )
    return f"Changes are found from the {FEWEST_DAYS}th day{first}."
