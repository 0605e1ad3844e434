"""One feature: what changed of it, its days with what was expected, where its values went."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_headlines import count_words
from monitor.alerts.incident_words import incident_headline, incident_words
from monitor.alerts.incidents import Incident, IncidentAlert
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding
from monitor.alerts.model_summary import list_feature_alerts
from monitor.charts.marks import (
    Kind,
)
from monitor.charts.stacks import Stack
from monitor.charts.strips import StripLook
from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY, floor_to, from_iso, to_datetime, to_iso
from monitor.core.errors import AddressError
from monitor.evidence.watch import moments_of_sums
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS
from monitor.measures.evaluate import make_expected_cells
from monitor.measures.measurement_row import StoredMeasurement
from monitor.pages.day_charts import weekday_words, writer_of
from monitor.pages.features.band_days import BandDays, BandRow, MovedBand, list_moved_bands
from monitor.pages.features.day_cells import (
    OUTSIDE,
    SHOWN_DAYS,
    DayCalendar,
    FeatureDays,
    look_at_days,
)
from monitor.pages.features.feature_charts import ComparedCells, draw_distribution
from monitor.pages.features.feature_series import (
    MarkedDays,
    day_sentence,
    draw_feature_days,
    express_in_unit,
    series_title,
)
from monitor.pages.features.inputs_page import (
    NO_BUDGET,
    list_episodes,
    newest_changes,
    read_shown_days,
)
from monitor.pages.features.training_strips import training_sentences
from monitor.pages.figures import Figure
from monitor.pages.incident_cards import HeadlineCard, link_text, with_stop
from monitor.pages.model_page import make_choice_links, spec_of
from monitor.pages.page_request import (
    MOST_PANES,
    ChartableDays,
    ChartedDay,
    CountedWindow,
    PageData,
    PageLink,
    PageRequest,
    require_known_name,
)
from monitor.pages.period_words import time_axis
from monitor.pages.tab_counts import read_standing
from monitor.pages.window_choice import pick_window
from monitor.records.pane import PaneHalf
from monitor.sentences.change_words import (
    WHY_NOT_JUDGED,
    usual_since_by_subject,
)
from monitor.sentences.effect_sentences import effects_by_feature, signed_text
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    end_sentence,
    readable_name,
)
from monitor.sentences.time_words import day_words
from monitor.specs.model_spec import ModelSpec
from monitor.states.grids import NumericGrid
from monitor.states.strata import WHOLE

FEATURE_QUERY = ("name", "end", "window", "of", "range", "from", "to")
_RANGES = {"60d": SHOWN_DAYS, "180d": 180, "all": 1_000}
_RANGE_WORDS = {"60d": "60 d", "180d": "180 d", "all": "All"}
_MOST_SERIES = 8  # that are offered
_LEAST = 0.0005  # share of the records below which nothing is drawn of missing or new values
_QUALITY = {"missing": "Share missing", "invalid": "Share invalid", "unseen": "Share of new values"}
_MIXED = "Distributions are not shown: each version has a reference of its own."
_LATER_COUNTS = "Distributions are counted as of now: as known then they are not shown."


@dataclass(frozen=True, slots=True)
class ShownPeriod:
    """The time that is shown, microseconds, and what it is called."""

    start: int
    end: int
    name: str
    is_day: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePage:
    """The page of one feature."""

    model: str
    feature: str
    card: HeadlineCard
    shown: str  # the day that the address names, in a sentence; empty: it is the newest
    newest: str  # address of the newest day
    series: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    stack: Stack | None
    without_days: str
    distribution: Figure | None
    days_before: str  # what the distribution is compared with; empty: with training
    moved: tuple[MovedBand, ...]
    widest: float  # largest share of a band, at which bars end
    period: str
    kind: Kind  # "warning" or "critical": an alert stood on the shown day
    bands: tuple[BandRow, ...]
    band_bounds: tuple[str, ...]
    without: str  # why there is no distribution; empty: there is
    quality: Stack | None  # missing and new values
    quality_said: str
    training: tuple[str, ...]


def feature_page(data: PageData, request: PageRequest, name: str) -> FeaturePage:
    """Page of one feature of a model."""
    spec, facts, feature = _resolve_feature(data, request, name)
    standing = read_standing(data, name, request.as_of)
    days, asked = _read_days(data, request, spec, facts), request.parse_moment("end")
    period = _shown_period(data, request, spec, facts, days)
    view = _FeatureView(data, request, spec, facts, standing, days, feature, period)
    chosen, offered = view.choose_series(of_day=asked is not None)
    charted = view.chart(*chosen) if days is not None else []
    stack = view.draw_series(charted, *chosen) if charted else None
    counted = view.count_bands()
    return FeaturePage(
        model=name,
        feature=feature,
        card=view.make_card(chosen),
        shown=view.tell_period(charted, chosen) if asked is not None else "",
        newest=request.link_to("models", name, "feature", name=feature),
        series=tuple(
            PageLink(view.title_of(*each), request.link_here(of=":".join(filter(None, each))), each == chosen)
            for each in offered
        ),
        ranges=tuple(
            PageLink(_RANGE_WORDS[one.text], one.href, one.chosen)
            for one in make_choice_links(
                request, "range", list(_RANGES), request.parse_choice("range", list(_RANGES), "60d")
            )
        ),
        stack=stack,
        without_days=_why_no_days(spec, facts, days, stack),
        distribution=counted.figure,
        days_before=counted.days_before,
        moved=counted.moved,
        widest=max((max(one.now, one.before) for one in counted.moved), default=1.0) or 1.0,
        period="" if period is None else period.name,
        kind=view.kind,
        bands=counted.rows,
        band_bounds=counted.bounds,
        without=counted.without,
        quality=view.draw_quality(),
        quality_said=view.quality_sentence(),
        training=tuple(training_sentences(spec, facts, feature)),
    )


def read_feature_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """What is known of the feature now, as `monitor show` has it."""
    _, facts, feature = _resolve_feature(data, request, name)
    return [
        StoredMeasurement(name, facts.as_of or 0, row)
        for row in facts.rows
        if row.subject == f"{FEATURE}{feature}"
    ]


def _resolve_feature(data: PageData, request: PageRequest, name: str) -> tuple[ModelSpec, ModelFacts, str]:
    request.refuse_unknown_parameters(*FEATURE_QUERY)
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    feature = request.query.get("name", "")
    # A feature that is configured no more has its page as long as something is known of it.
    if not any(row.subject == f"{FEATURE}{feature}" for row in facts.rows):
        require_known_name(feature, sorted({*spec.reading.numeric, *spec.reading.categorical}), "feature")
    return spec, facts, feature


def _read_days(
    data: PageData, request: PageRequest, spec: ModelSpec, facts: ModelFacts
) -> ChartableDays | None:
    """Judged days: the newest, or those about the day that the address names where that is long ago."""
    count = _RANGES[request.parse_choice("range", list(_RANGES), "60d")]
    asked = request.parse_moment("end")
    if facts.as_of is None or spec.budget is None:
        return None
    first, last = request.parse_moment("from"), request.parse_moment("to")
    if first is not None and last is not None and first < last:  # what was dragged over a chart
        days = data.read_judged_days(
            spec, PaneHalf.RECORDS, -(-(last - first) // DAY), min(last, facts.as_of)
        )
        return days if days is not None and days.days else None
    if count == SHOWN_DAYS and (asked is None or asked > facts.as_of - (SHOWN_DAYS - 1) * DAY):
        return read_shown_days(data, spec, facts)
    until = facts.as_of if asked is None else min(facts.as_of, asked + count * DAY // 2)
    days = data.read_judged_days(spec, PaneHalf.RECORDS, count, until)
    return days if days is not None and days.days else None


def _shown_period(
    data: PageData, request: PageRequest, spec: ModelSpec, facts: ModelFacts, days: ChartableDays | None
) -> ShownPeriod | None:
    """The day, or the window, that the address names; the newest judged day."""
    if "window" in request.query:
        pick = pick_window(data, request, spec, data.read_model_place(spec.name, request.as_of))
        if pick.end is None:
            return None
        start = pick.window.start_of(pick.end)
        return ShownPeriod(start, pick.end, pick.name, pick.end - start <= DAY)
    if facts.as_of is None:
        return None
    asked, known = request.parse_moment("end"), [] if days is None else days.days
    if asked is not None and not 0 < asked <= facts.as_of:
        raise AddressError(f"end is a moment by {to_iso(facts.as_of)}: got {to_iso(asked)}")
    for _, start, end in reversed(known):
        if asked in (None, end):
            return ShownPeriod(start, end, day_words(start, facts.as_of), is_day=True)
    end = asked if asked is not None else floor_to(facts.as_of, max(spec.reading.pane, 1))
    return ShownPeriod(end - DAY, end, day_words(end - DAY, facts.as_of), is_day=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedBands:
    """What counts of bands show; `without`: why they show nothing."""

    figure: Figure | None = None
    days_before: str = ""
    moved: tuple[MovedBand, ...] = ()
    rows: tuple[BandRow, ...] = ()
    bounds: tuple[str, ...] = ()
    without: str = ""


class _FeatureView:
    """What is known of one feature."""

    def __init__(
        self,
        data: PageData,
        request: PageRequest,
        spec: ModelSpec,
        facts: ModelFacts,
        standing: ModelStanding,
        days: ChartableDays | None,
        feature: str,
        period: ShownPeriod | None,
    ) -> None:
        self.data, self.request, self.spec, self.facts = data, request, spec, facts
        self.days, self.feature, self.subject, self.period = days, feature, f"{FEATURE}{feature}", period
        self.today = facts.as_of or 0
        self.change = newest_changes(facts.rows).get(self.subject)
        self.alerts: list[tuple[Incident, IncidentAlert]] = [
            (incident, part)
            for incident in standing.incidents
            if not incident.is_recovering
            for part in list_feature_alerts([incident])
            if part.alert.series.subject == self.subject
        ]
        self.severity = min(
            (part.alert.severity for _, part in self.alerts), key=list(Severity).index, default=None
        )
        self.in_unit: bool | None = None  # whether levels are drawn as means; None: not yet known
        self.looks = self._alert_looks()
        self.kind: Kind = "main"  # of what is shown
        day = None if period is None else self._day_of(period.end)
        look = None if day is None or (period is not None and not period.is_day) else self.looks.get(day)
        if look in ("warning", "critical"):
            self.kind = "critical" if look == "critical" else "warning"

    def _day_of(self, end: int) -> int | None:
        """The judged day that ends then, as days since 1970-01-01."""
        every = [] if self.days is None else self.days.days
        return next((day for day, _, stop in every if stop == end), None)

    # The headline.

    def make_card(self, chosen: tuple[str, str]) -> HeadlineCard:
        """What changed, or that it is as expected."""
        if self.alerts:
            return self._alert_card()
        name = readable_name(self.feature)
        since = usual_since_by_subject(self.facts.rows).get((self.subject, ""))
        effect = self._effect_words()
        if since is not None:
            title = f"{name} has been different since {day_words(from_iso(since), self.today)}"
            told = ("Its alert is closed.", self._before_and_now_words(chosen, from_iso(since)), effect)
            return _card("none", "Closed, still different", title, told, "fix it, or accept it as normal.")
        said = self._newest_words(chosen)
        if self.days is None:
            return _card("none", "No alert", f"{name} has no alert", (effect,))
        reason = "" if self.change is None else WHY_NOT_JUDGED.get(self.change.not_judged or "", "")
        if self.change is None or reason:
            day = "" if self.change is None or not self.change.day else (
                f" on {day_words(from_iso(self.change.day), self.today)}"
            )  # fmt: skip
            why = end_sentence(capitalize_first(reason)) if reason else ""
            return _card("none", "Not compared", f"{name} was not compared{day}", (why, effect))
        return _card("ok", "As expected", f"{name} is as expected", (said, effect))

    def _alert_card(self) -> HeadlineCard:
        incident, part = self.alerts[0]
        alone = replace(incident, alerts=(part,), also=(), kind=part.kind)
        words = incident_words(alone, self.today)
        href = self.request.link_to("models", self.facts.model, "incidents", incident.address)
        others = {one.alert.series.subject for one in list_feature_alerts([incident])} - {self.subject}
        more_words = f" with {count_words(len(others))} more feature{'' if len(others) == 1 else 's'}"
        evidence = f"Incident{more_words if others else ''}"
        says = [self._compared_words(part) or words.beside, words.consequence]
        says += [
            incident_headline(replace(of, alerts=(more,), also=(), kind=more.kind), self.today)
            for of, more in self.alerts[1:]
        ]
        since, found = day_words(part.first_day, self.today), part.alert.fired_at
        return HeadlineCard(
            icon="critical" if self.severity is Severity.CRITICAL else "warning",
            state=capitalize_first((self.severity or Severity.WARNING).value),
            meta=(
                f"since {since}",
                "" if found is None else f"found {day_words(found, self.today)}",
                f"acknowledged by {part.acknowledged_by}" if part.acknowledged_by else "",
            ),
            title=words.headline,
            says=tuple(end_sentence(one) for one in says if one),
            next_step=link_text(self.request, self.facts.model, with_stop(words.next_step)),
            actions=(
                ("Acknowledge…", f"{href}#decide", "go"),
                ("Accept as normal…", f"{href}#decide", ""),
                (evidence, href, ""),
            ),
        )

    def _compared_words(self, part: IncidentAlert) -> str:
        """Value of the newest day in the column's unit, and what is usual; empty: that does not show it."""
        change = part.change
        if change is None or change.in_unit is None or change.averaged_days != 1:
            return ""
        charted = self.chart(change.kind, change.category)
        if not charted or charted[-1].low <= charted[-1].value <= charted[-1].high:
            return ""
        return day_sentence(charted[-1], change.kind, self.title_of(change.kind, change.category), self.today)

    def _effect_words(self) -> str:
        effects = effects_by_feature(KnownMeasurements(self.facts.rows, self.facts.window, self.facts.main))
        if self.feature not in effects:
            return ""
        text = signed_text(effects[self.feature], max(map(abs, effects.values())))
        return f"By itself it moves the mean score by about {text} against training."

    def _before_and_now_words(self, chosen: tuple[str, str], since: int) -> str:
        """Average of the days before a change, and the newest value; empty: too few of them are shown."""
        charted = self.chart(*chosen)
        before = [one.value for one in charted if one.end <= since]
        is_plain = chosen[0] in ("share", "missing") or self.title_of(*chosen) == "Mean"
        if len(before) < FEWEST_DAYS or not is_plain:
            return ""
        write, last = writer_of(chosen[0]), charted[-1]
        average = write(math.fsum(before) / len(before))
        title, day = self.title_of(*chosen), day_words(last.start + DAY // 2, self.today)
        return f"{title} {write(last.value)} on {day}; before {day_words(since, self.today)} {average}."

    def _newest_words(self, chosen: tuple[str, str]) -> str:
        """Value and range of the newest day."""
        charted = [] if self.days is None else self.chart(*chosen)
        return day_sentence(charted[-1], chosen[0], self.title_of(*chosen), self.today) if charted else ""

    def tell_period(self, charted: Sequence[ChartedDay], chosen: tuple[str, str]) -> str:
        """The day, or the window, that the address names."""
        if self.period is None:
            return ""
        day = next((one for one in charted if one.end == self.period.end), None)
        if day is None or not self.period.is_day:
            return f"Shown: {self.period.name}."
        return day_sentence(day, chosen[0], self.title_of(*chosen), self.today)

    # Its days.

    def choose_series(self, *, of_day: bool) -> tuple[tuple[str, str], list[tuple[str, str]]]:
        """The series that is shown, as (kind, category), and those that are offered: see `of`."""
        every = [] if self.days is None else list(self.days.watched_kinds(self.subject))
        wanted = [*self._likely_series(of_day=of_day), ("level", ""), ("share", ""), *every]
        likely = [one for one in wanted if one in every]
        default = likely[0] if likely else ("level", "")
        plain = [one for one in every if one[0] in ("level", "spread", "share", "missing")]
        offered = list(dict.fromkeys([default, *plain]))[:_MOST_SERIES]
        names = {":".join(filter(None, one)): one for one in (*every, default)}
        asked = self.request.parse_choice("of", list(names), ":".join(filter(None, default)))
        chosen = names[asked]
        offered = sorted({*offered, chosen}, key=lambda one: every.index(one) if one in every else -1)
        return chosen, offered

    def _likely_series(self, *, of_day: bool) -> Iterator[tuple[str, str]]:
        """What is asked for, the likeliest first: of a day what was most unusual; what changed."""
        if self.days is None:
            return
        place = self._place_of_period()
        if of_day and place is not None:
            kind = self.days.standing_kinds.get(self.subject, ())
            surprises = self.days.find_surprises(None).get(self.subject)
            if kind and kind[place]:
                yield from (one for one in self.days.watched_kinds(self.subject) if one[0] == kind[place])
            elif surprises is not None and surprises.size[place] >= OUTSIDE:
                yield surprises.kinds[place]
        for _, part in self.alerts:
            if part.change is not None:
                yield part.change.kind, part.change.category
        if usual_since_by_subject(self.facts.rows).get((self.subject, "")):
            stood = [kind for kind in self.days.standing_kinds.get(self.subject, ()) if kind]
            yield from (one for one in self.days.watched_kinds(self.subject) if one[0] in stood[-1:])

    def _place_of_period(self) -> int | None:
        """Place of the shown day among the judged ones."""
        if self.days is None or self.period is None:
            return None
        ends = [end for _, _, end in self.days.days]
        return ends.index(self.period.end) if self.period.end in ends else None

    def chart(self, kind: str, category: str) -> list[ChartedDay]:
        """Its days; of the newest the figures of its alert, which say the same in the unit of the column."""
        if self.days is None:
            return []
        charted = self.days.chart_series(self.subject, kind, category)
        if kind != "level" or not charted:
            return charted
        expressed = express_in_unit(charted, self.daily_means)
        self.in_unit = expressed is not None
        if not expressed:
            return charted
        changes = [*(part.change for _, part in self.alerts), self.change]
        of_level = [one for one in changes if one is not None and one.kind == kind]
        return [*expressed[:-1], reduce(ChartedDay.as_judged, reversed(of_level), expressed[-1])]

    def title_of(self, kind: str, category: str) -> str:
        """What a series is called; of a level in the unit of its column the mean."""
        if kind == "level" and self.in_unit is None:
            self.chart(kind, category)
        return series_title(kind, category, in_unit=bool(self.in_unit))

    @cached_property
    def counted(self) -> CountedWindow | None:
        """Counts of the shown time as they are now; None: there is none, or the past is asked for."""
        if self.period is None or self.request.as_of is not None:
            return None
        return self.data.read_window_counts(self.spec, self.period.start, self.period.end, PaneHalf.RECORDS)

    @cached_property
    def daily_means(self) -> Mapping[int, float]:
        """Exact means of its numbers by day, as far as they are counted and few enough to be read."""
        window, every = self.counted, [] if self.days is None else list(self.days.days)
        if window is None or not every or self.subject not in window.counting.summed_names:
            return {}
        bounds = sorted({moment for _, start, end in every for moment in (start, end)})
        if bounds[-1] - bounds[0] > MOST_PANES * window.counting.reading.pane:
            return {}
        sums = self.data.read_span_counts(self.spec.name, window, "moments", bounds)
        by_start = dict(zip(bounds, sums, strict=False))
        grid, found = dict(window.counting.features).get(self.feature), {}
        for day, start, _ in every:
            counted = by_start[start]
            if counted is None or not isinstance(grid, NumericGrid):
                continue
            known = moments_of_sums(window.counting.summed_names, counted.reshape(4, -1))
            if self.subject in known:
                found[day] = grid.centre + known[self.subject][0] * grid.scale
        return found

    def draw_series(self, charted: Sequence[ChartedDay], kind: str, category: str) -> Stack:
        """Values by day, with what was expected; alerts and the shown day are marked."""
        title = self.title_of(kind, category)
        chart = draw_feature_days(charted, title, kind, self._marked(self.looks), height=190)
        axis = time_axis(charted[0].start, charted[-1].end, self.spec.reading.zone)
        ends = to_iso(charted[0].start), to_iso(charted[-1].end)
        label_ = f"{chart.title} of {readable_name(self.feature)} by day"
        return Stack(name="series", label=label_, x=axis, parts=(chart,), ends=ends)

    def _alert_looks(self) -> Mapping[int, StripLook | None]:
        """How each day is drawn on the page of inputs."""
        days = self.days
        surprises = None if days is None else days.find_surprises(None).get(self.subject)
        if days is None or surprises is None:
            return {}
        calendar = DayCalendar.from_days(days.days)
        episodes = list_episodes(self.data.list_alerts(self.facts.model, self.request.as_of))
        is_newest = self.days is not None and days.days[-1][2] > self.today - 3 * DAY
        known = FeatureDays(
            surprises=surprises,
            since=days.changes_since[self.subject],
            kinds=days.standing_kinds[self.subject],
            episodes=episodes.get(self.subject, ()),
            now=self.severity if is_newest else None,
        )
        return {calendar.first + at: look for at, look in enumerate(look_at_days(calendar, known))}

    def _marked(self, looks: Mapping[int, StripLook | None]) -> MarkedDays:
        shown = None if self.period is None or not self.period.is_day else self.period.end
        if "end" not in self.request.query and self.kind == "main":
            shown = None  # the newest day, on which nothing is to be seen
        return MarkedDays(looks=looks, shown_end=shown, link=self.link_day, today=self.today)

    def link_day(self, end: int) -> str:
        """Address of the page of a day."""
        return self.request.link_to(
            "models",
            self.facts.model,
            "feature",
            name=self.feature,
            end=to_iso(end).removesuffix("T00:00:00Z"),
        )

    # Missing and new values.

    def draw_quality(self) -> Stack | None:
        """Shares of missing and of new values by day, where there are any."""
        parts = []
        axis = None
        for kind, title in _QUALITY.items():
            charted = self._quality_days(kind)
            if max((one.value for one in charted), default=0.0) >= _LEAST:
                parts.append(draw_feature_days(charted, title, kind, self._marked({}), height=64))
                axis = axis or time_axis(charted[0].start, charted[-1].end, self.spec.reading.zone)
        if axis is None:
            return None
        return Stack(name="quality", label="Shares of missing and of new values by day", x=axis, parts=parts)

    def _quality_days(self, kind: str) -> list[ChartedDay]:
        if self.days is None or (kind, "") not in self.days.watched_kinds(self.subject):
            return []
        return self.days.chart_series(self.subject, kind, "")

    def quality_sentence(self) -> str:
        """That there is none, where there is none."""
        kinds = [kind for kind in ("missing", "unseen") if self._quality_days(kind)]
        if not kinds:
            return "Not counted by day."
        both = (
            "No missing value, and none that training did not have" if len(kinds) > 1 else "No missing value"
        )
        many = 0 if self.days is None else len(self.days.days)
        return f"{both} in the last {many} days."

    # Its bands.

    def count_bands(self) -> _CountedBands:
        """Counts of the shown time, of the days before it, and of each day."""
        period, spec = self.period, self.spec
        if period is None:
            return _CountedBands(without="No window of this kind has been measured yet.")
        if spec.reference is not None and spec.reference.versions:
            return _CountedBands(without=_MIXED)
        window = self.counted
        if window is None:
            return _CountedBands(without=_LATER_COUNTS)
        without = _why_no_counts(window, self.feature)
        if without or window.reference is None:
            return _CountedBands(without=without)
        expected = make_expected_cells(window.counting, window.reference.records, only=self.subject)
        grid = dict(window.counting.features)[self.feature]
        bounds = self._day_bounds(window)
        counts = self.data.read_span_counts(spec.name, window, self.subject, bounds)
        bands = BandDays.from_counts(expected, counts, numeric=isinstance(grid, NumericGrid))
        chosen, words = self._days_to_compare(bounds, counts)
        whole = window.counting.histogram_view(window.strata[WHOLE], self.subject)
        start = expected.subjects[0].start
        all_now = window.strata[WHOLE].dense_block(self.subject)
        now = expected.tabulate_counts(start + np.arange(len(all_now)), all_now)[0]
        before: Floats = bands.table[chosen].sum(axis=0)
        compared = before if before.sum() else expected.reference_counts[0]
        figure = None
        if isinstance(grid, NumericGrid):
            then = window.counting.histogram_view(window.reference.records, self.subject)
            cells = ComparedCells.from_counts(
                self.feature, grid, whole.regular_counts, then.regular_counts, period.name
            )
            earlier = [counts[at] for at in chosen]
            total = sum(one for one in earlier if one is not None)
            if cells is not None:
                known = None if isinstance(total, int) else total[: len(cells.now)]
                cells = replace(cells, kind=self.kind, before=known, days_before=words, reference="training")
                figure = draw_distribution(cells)
        rows = bands.list_rows(
            [weekday_words(at) for at in bounds[:-1]], [self.link_day(end) for end in bounds[1:]]
        )
        return _CountedBands(
            figure=figure,
            days_before=words if before.sum() else "",
            moved=list_moved_bands(bands, now, compared) if now.sum() and compared.sum() else (),
            rows=rows,
            bounds=tuple(f"{100 * at:.0f} %" for at in bands.bounds),
            without="" if now.sum() else "There is no record of this time.",
        )

    def _day_bounds(self, window: CountedWindow) -> list[int]:
        """Bounds of the days up to the end of the shown time: as many as can be read whole."""
        pane, end = window.counting.reading.pane, self.period.end if self.period is not None else 0
        many = max(8, min(SHOWN_DAYS, MOST_PANES * pane // DAY))
        judged = {} if self.days is None else {start: stop for _, start, stop in self.days.days}
        bounds = [end]
        starts = {stop: start for start, stop in judged.items()}
        while len(bounds) <= many:
            bounds.append(starts.get(bounds[-1], bounds[-1] - DAY))
        return bounds[::-1]

    def _days_to_compare(self, bounds: Sequence[int], counts: Sequence[Ints | None]) -> tuple[list[int], str]:
        """Places of days before the shown time: the same weekdays that were compared; and what they are."""
        period = self.period
        if period is None:
            return [], ""
        surprises = None if self.days is None else self.days.find_surprises(None).get(self.subject)
        skipped = set()
        if self.days is not None and surprises is not None:
            ends = [end for _, _, end in self.days.days]
            skipped = {
                end for end, size in zip(ends, surprises.size.tolist(), strict=True) if math.isnan(size)
            }
        last = len(bounds) - 2
        known = {at for at in range(last + 1) if counts[at] is not None and bounds[at + 1] not in skipped}
        if period.is_day:
            places = [at for at in range(last - 7, -1, -7) if at in known]
            weekday = f"{to_datetime(period.start + DAY // 2):%A}"
            return places, f"{len(places)} {weekday}{'' if len(places) == 1 else 's'} before"
        places = [at for at in sorted(known) if bounds[at + 1] <= period.start]
        return places, f"{len(places)} days before"


def _card(icon: str, state: str, title: str, says: Sequence[str] = (), next_step: str = "") -> HeadlineCard:
    return HeadlineCard(
        icon=icon, state=state, meta=(), title=title, says=tuple(filter(None, says)), next_step=next_step,
    )  # fmt: skip


def _why_no_days(spec: ModelSpec, facts: ModelFacts, days: ChartableDays | None, stack: Stack | None) -> str:
    if stack is not None:
        return ""
    if facts.as_of is None:
        return "No cycle has run yet."
    if spec.budget is None:
        return NO_BUDGET
    if days is None:
        return "Its days are compared from the 14th day on."
    return "Nothing of this feature is followed by day: all its values are alike, or there is no reference."


def _why_no_counts(window: CountedWindow, feature: str) -> str:
    """Why the counts of a window show nothing of a feature."""
    reasons = (
        (window.reference is None, "There is no reference, which would give features their bands."),
        (
            not window.panes or WHOLE not in window.strata,
            "Nothing is counted of this time, or it was counted on other grids.",
        ),
        (
            feature not in dict(window.counting.features),
            "The reference has no such column, so the feature is not counted.",
        ),
    )
    return next((reason for is_so, reason in reasons if is_so), "")
