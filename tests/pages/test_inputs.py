"""The page of inputs: cells are what the judged days say, counts are those of all other places."""

import gzip
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from looked_at import END, Looked, Pages, assert_whole, looking
from serving import Bench

from monitor.alerts.alert_rules import Severity
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_summary import count_changed_features
from monitor.app.pages.store_data import StoreData
from monitor.core.change import Change, ChangeAspect, aspect_of_kind
from monitor.core.clock import DAY, from_iso
from monitor.pages.features.day_cells import (
    FAR,
    OUTSIDE,
    SHOWN_DAYS,
    AlertEpisode,
    DayCalendar,
    FeatureDays,
    look_at_days,
)
from monitor.pages.features.training_strips import has_too_few
from monitor.pages.page_request import ChartedDay, DaySurprises
from monitor.pages.routes import answer_page
from monitor.pages.tab_counts import read_standing
from monitor.records.pane import PaneHalf
from monitor.sentences.known_measurements import FEATURE

FIRST, KINDS = 19_800, ("level", "shape", "missing", "unseen")
CLASSES = {"sw": "warning", "sc": "critical", "sl": "changed", "s2": "far", "s1": "outside", "sn": "hatched"}


def days_of(numbers: Sequence[int]) -> list[tuple[int, int, int]]:
    return [(day, day * DAY, (day + 1) * DAY) for day in numbers]


@st.composite
def judged_features(draw: st.DrawFn) -> tuple[DayCalendar, FeatureDays, ChangeAspect | None]:
    """Days some of which lack, changes that begin before they are found, alerts that tell some of them."""
    numbers = sorted(draw(st.sets(st.integers(FIRST, FIRST + 80), min_size=1, max_size=70)))
    sizes = draw(
        st.lists(
            st.sampled_from([math.nan, 0.0, 2.9, OUTSIDE, 4.0, FAR, math.inf]),
            min_size=len(numbers),
            max_size=len(numbers),
        )
    )
    since, kinds, episodes = [0] * len(numbers), [""] * len(numbers), list[AlertEpisode]()
    at = 0
    while at < len(numbers):
        at += draw(st.integers(0, 40))
        length, before = draw(st.integers(1, 12)), draw(st.integers(0, 20))
        places = range(at, min(at + length, len(numbers)))
        if not places:
            break
        kind = draw(st.sampled_from(KINDS))
        first_day = numbers[at] - before
        if first_day in since:
            first_day = numbers[at]
        for place in places:
            since[place], kinds[place] = first_day, kind
        if draw(st.booleans()):
            fired = (numbers[at] + 1) * DAY
            ended = draw(st.sampled_from([None, fired + length * DAY]))
            severity = draw(st.sampled_from([Severity.WARNING, Severity.CRITICAL]))
            episodes.append(AlertEpisode(fired, ended, severity, aspect_of_kind(kind), True))
        at += length + 1
    known = FeatureDays(
        surprises=DaySurprises(np.asarray(sizes), np.zeros(len(sizes), bool), (("level", ""),) * len(sizes)),
        since=np.asarray(since),
        kinds=kinds,
        episodes=episodes,
        now=draw(st.sampled_from([None, Severity.WARNING, Severity.CRITICAL])),
    )
    return DayCalendar.from_days(days_of(numbers)), known, draw(st.sampled_from([None, *ChangeAspect]))


def look_of(place: int, calendar: DayCalendar, known: FeatureDays, aspect: ChangeAspect | None) -> str | None:
    """The same, said of one day: what an alert told, then what was not compared, what was found later, …."""
    severity = told_on(place, calendar, known, aspect)
    if place == len(calendar.day) - 1:
        severity = known.now
    if severity is not None:
        return severity.value
    size = float(known.surprises.size[place])
    if math.isnan(size):
        return "hatched"
    later = range(place + 1, len(calendar.day))
    newest = len(calendar.day) - 1
    for at in later:
        told = known.now if at == newest else told_on(at, calendar, known, aspect)
        if told is not None and 0 < known.since[at] <= calendar.day[place]:
            return "changed"
    return "far" if size >= FAR else "outside" if size >= OUTSIDE else None


def told_on(
    place: int, calendar: DayCalendar, known: FeatureDays, aspect: ChangeAspect | None
) -> Severity | None:
    """Of the change that stood on a day the worst of its alerts; None: none stood, or none told it."""
    if known.since[place] <= 0 or aspect not in (None, aspect_of_kind(known.kinds[place])):
        return None
    days = [at for at in range(len(calendar.day)) if known.since[at] == known.since[place]]
    start, end = int(calendar.start[days[0]]), int(calendar.end[days[-1]]) + 3 * DAY
    told = [
        one.severity
        for one in known.episodes
        if one.fired <= end and (one.ended is None or one.ended > start)
    ]
    return min(told, key=list(Severity).index, default=None)


@given(judged_features())
def test_a_cell_is_what_is_known_of_its_day(
    drawn: tuple[DayCalendar, FeatureDays, ChangeAspect | None],
) -> None:
    calendar, known, aspect = drawn
    looks = look_at_days(calendar, known, aspect)

    assert len(looks) == min(int(calendar.day[-1] - calendar.day[0]) + 1, SHOWN_DAYS)
    places = {int(day): at for at, day in enumerate(calendar.day)}
    for day, look in zip(range(calendar.first, calendar.last + 1), looks, strict=True):
        expected = "hatched" if day not in places else look_of(places[day], calendar, known, aspect)
        assert look == expected, (day, aspect)


def test_an_alert_that_no_day_judged_colours_the_days_on_which_it_fired() -> None:
    calendar = DayCalendar.from_days(days_of(range(FIRST, FIRST + 6)))
    of_window = AlertEpisode(
        (FIRST + 2) * DAY, (FIRST + 4) * DAY, Severity.CRITICAL, ChangeAspect.MISSING, False
    )
    calm = DaySurprises(np.zeros(6), np.zeros(6, bool), (("level", ""),) * 6)
    known = FeatureDays(
        surprises=calm, since=np.zeros(6, int), kinds=[""] * 6, episodes=[of_window], now=None
    )

    assert look_at_days(calendar, known) == [None, "critical", "critical", None, None, None]
    assert look_at_days(calendar, known, ChangeAspect.LEVEL) == [None] * 6


@pytest.fixture(scope="module")
def pages(inputs: Bench) -> Iterator[Pages]:
    with looking(inputs) as found:
        yield found


def strips_of(page: Looked) -> dict[str, list[str]]:
    """By feature how each of its days is drawn, from the picture."""
    found = {}
    for name, text in re.findall(r'<svg class="strip"[^>]*aria-label="([^,]*),[^>]*>(.*?)</svg>', page.text):
        rects = re.findall(r'<rect class="(s[wcl12n])" x="([\d.]+)%" y="\d+" width="([\d.]+)%"', text)
        found[name] = [(CLASSES[look], float(x), float(width)) for look, x, width in rects]
    return found  # type: ignore[return-value]


def looks_of(strip: Any, many: int) -> list[str | None]:
    """Look of each of the days of a strip."""
    each = 100 / many
    looks: list[str | None] = [None] * many
    for look, x, width in strip:
        for at in range(round(x / each), round((x + width) / each + 0.1)):
            looks[at] = look
    return looks


def _ends_of(strip: Any) -> set[tuple[str, float]]:
    """Look and right end of each piece, the gap between days left out."""
    return {(look, 100.0 if x + width > 99 else 0.0) for look, x, width in strip}


@pytest.mark.parametrize("show", ["all", "level", "missing", "new"])
@pytest.mark.parametrize("moment", ["", "2024-04-09"])
def test_the_cells_of_the_page_are_what_the_judged_days_say(
    inputs: Bench, pages: Pages, show: str, moment: str
) -> None:
    aspect = None if show == "all" else ChangeAspect(show)
    as_of = from_iso(moment) if moment else END
    with inputs.app() as app:
        data = StoreData(app, lambda: END)
        (spec,) = data.list_specs()
        days = data.read_judged_days(spec, PaneHalf.RECORDS, SHOWN_DAYS, as_of)
        standing = read_standing(data, "late", as_of if moment else None)
    assert days is not None
    firing = {
        part.alert.series.subject: aspect_of_kind(part.change.kind)
        for one in standing.incidents
        for part in one.every_alert
        if part.change is not None
    }
    query = f"?show={show}" + (f"&as_of={moment}" if moment else "")
    strips = strips_of(pages.at(f"/models/late/features{query}"))

    assert set(strips) == {"amount", "group"}
    for name, strip in strips.items():
        subject, many = f"{FEATURE}{name}", len(days.days)
        size, looks = days.find_surprises(aspect)[subject].size, looks_of(strip, many)
        for at in range(many):
            alerted = days.changes_since[subject][at] > 0 and aspect in (
                None, aspect_of_kind(days.standing_kinds[subject][at]),
            )  # fmt: skip
            expected = "warning" if alerted else "hatched" if math.isnan(size[at]) else (
                "far" if size[at] >= FAR else "outside" if size[at] >= OUTSIDE else None
            )  # fmt: skip
            assert looks[at] == expected or (looks[at] == "changed" and not alerted), (name, at)
        is_firing = aspect in (None, firing[subject]) if subject in firing else False
        assert (looks[-1] == "warning") == is_firing


@pytest.mark.parametrize("moment", ["", "2024-04-09", "2024-04-06"])
def test_the_count_of_changed_features_is_one_wherever_it_stands(
    inputs: Bench, pages: Pages, moment: str
) -> None:
    query = f"?as_of={moment}" if moment else ""
    with inputs.app() as app:
        standing = read_standing(StoreData(app, lambda: END), "late", from_iso(moment) if moment else None)
    count = count_changed_features(standing.incidents)
    page = pages.at(f"/models/late/features{query}")
    tab = re.search(r'aria-current="page">Inputs(?:<span class="count[^>]*>(\d+)</span>)?', page.text)
    tile = re.search(r'Inputs[^<]*</span><span class="v[^>]*>(\d+)', pages.at(f"/models/late{query}").text)
    fleet = re.search(r'data-l="Inputs" data-v="([\d.]+)"', pages.at(f"/{query}").text)
    groups = page.text.split('<tr class="grp">')
    in_groups = sum(one.count('<th scope="row">') for one in groups if "Alert now" in one)
    coloured = [
        name for name, strip in strips_of(page).items() if strip and ("warning", 100.0) in _ends_of(strip)
    ]

    assert tab is not None
    assert tile is not None
    assert fleet is not None
    assert {int(tab[1] or 0), int(tile[1]), int(float(fleet[1])), in_groups} == {count}
    assert page.text.count('<b class="amber">') == count
    assert len(coloured) == count, "the newest cell of each is an alert"
    assert ("No alert on any of 2 inputs" in page.words) == (count == 0)
    assert moment or count == 1


def test_shares_of_missing_values_are_those_of_the_log(inputs: Bench) -> None:
    with inputs.app() as app:
        data = StoreData(app, lambda: END)
        (spec,) = data.list_specs()
        days = data.read_judged_days(spec, PaneHalf.RECORDS, SHOWN_DAYS, END)
    assert days is not None

    charted = days.chart_series("feature:amount", "missing", "")
    assert [one.value for one in charted[-4:]] == [0.0, 0.0, 1.0, 1.0]
    assert days.newest_shares("missing")["feature:amount"] == 1.0


def test_an_input_that_is_missing_is_said_first(pages: Pages) -> None:
    page = pages.at("/models/late/features")

    assert "One of 2 inputs changed on 8 Apr: one missing" in page.words
    assert "amount is missing in every record since 8 Apr" in page.words
    assert "▲ 100 %" in page.words
    assert_whole(page)
    link = next(
        str(one["href"]) for tag, one in page.elements if tag == "a" and "end=2024-04-09" in str(one["href"])
    )
    assert pages.at(link).status == 200


def test_the_rows_behind_the_page_are_those_of_show(inputs: Bench, pages: Pages) -> None:
    done = inputs.monitor("show", "--model", "late", "--all", "--format", "json")
    shown = [row for row in json.loads(done.stdout) if str(row["subject"]).startswith(FEATURE)]

    assert shown
    assert pages.at("/models/late/features.json").plain() == shown
    assert pages.at("/models/late/feature.json?name=amount").plain() == [
        row for row in shown if row["subject"] == f"{FEATURE}amount"
    ]


@pytest.mark.parametrize(
    ("query", "first"),
    [("sort=name", "amount"), ("sort=-name", "group"), ("sort=-missing", "amount"), ("q=GRO", "group")],
)
def test_inputs_are_sorted_and_filtered_without_a_script(pages: Pages, query: str, first: str) -> None:
    names = re.findall(
        r'<th scope="row"><a href="[^"]*">(\w+)</a>', pages.at(f"/models/late/features?{query}").text
    )

    assert names[0] == first
    assert ("q=" in query) == (len(names) == 1)


def test_a_filter_without_a_hit_says_so(pages: Pages) -> None:
    for query in ("q=nothing", "q=nothing&against=training"):
        assert "No feature matches. Clear" in pages.at(f"/models/late/features?{query}").words


def test_against_training_is_the_index_that_is_kept(inputs: Bench, pages: Pages) -> None:
    done = inputs.monitor("show", "--model", "late", "--all", "--window", "7d", "--format", "json")
    newest = {
        str(row["subject"]).removeprefix(FEATURE): row["value"]
        for row in json.loads(done.stdout)
        if row["measure"] == "stability_index" and not (row["against"] or row["segment"] or row["version"])
        if str(row["subject"]).startswith(FEATURE)
    }
    page = pages.at("/models/late/features?against=training&window=7d")
    told = dict(
        re.findall(
            r'<th scope="row"><a [^>]*>(\w+)</a>.*?<td class="num">(?:<b>|<span[^>]*>)([^<]*)<', page.text
        )
    )

    assert set(told) == set(newest)
    for name, text in told.items():
        assert text == "cannot be checked: too few records" or float(text) == pytest.approx(
            newest[name], abs=6e-4
        )
    assert "far from training" in page.words


def test_a_model_without_a_budget_shows_training_first_and_says_why(bench: Bench) -> None:
    with looking(bench) as found:
        usual, plain = (found.at(f"/models/late/features{query}") for query in ("?against=usual", ""))

    assert "far from training" in plain.words
    assert "the model states rules of its own, and no budget" in usual.words
    assert "calm" not in usual.text, "nothing is said to be as expected"


def test_where_chance_exceeds_all_nothing_can_be_judged() -> None:
    assert has_too_few(0.09, 0.1)
    assert not has_too_few(0.11, 0.1)
    assert not has_too_few(0.0, None)


class WideDays:
    """Judged days of three hundred features, most of them calm."""

    def __init__(self, names: Sequence[str]) -> None:
        rng = np.random.default_rng(3)
        self.names = [f"{FEATURE}{name}" for name in names]
        self.sizes = np.abs(rng.normal(size=(len(names), SHOWN_DAYS)))
        self.sizes[:, [25, 26, 27, 28, 29, 49, 50, 51, 52, 53, 54, 55, 56]] = math.nan
        self.found = {
            name: DaySurprises(size, size > 1, (("level", ""),) * SHOWN_DAYS)
            for name, size in zip(self.names, self.sizes, strict=True)
        }
        self.changes_since = {name: np.zeros(SHOWN_DAYS, int) for name in self.names}
        self.standing_kinds = {name: [""] * SHOWN_DAYS for name in self.names}

    @property
    def days(self) -> Sequence[tuple[int, int, int]]:
        return days_of(range(END // DAY - SHOWN_DAYS, END // DAY))

    def find_surprises(self, _aspect: ChangeAspect | None) -> dict[str, DaySurprises]:
        return self.found

    def newest_shares(self, _kind: str) -> dict[str, float]:
        return dict.fromkeys(self.names[::20], 0.17)

    def watched_kinds(self, _subject: str) -> Sequence[tuple[str, str]]:
        return [("level", "")]

    def chart_change(self, _subject: str, _change: Change) -> list[ChartedDay]:
        return []


class WideStore(StoreData):
    """The same model with three hundred features."""

    names = tuple(
        f"{first}_{then}_{at}d"
        for first in ("acct", "card", "merchant", "device", "session", "ip")
        for then in ("amt_avg", "cnt", "dist_km", "gap_h", "ratio")
        for at in range(1, 11)
    )

    def read_model_facts(self, model: str | None, as_of: int | None) -> list[ModelFacts]:
        (facts,) = super().read_model_facts(model or "late", as_of)
        own = [row for row in facts.rows if row.subject == f"{FEATURE}group"]
        others = tuple(row for row in facts.rows if not row.subject.startswith(FEATURE))
        wide = tuple(replace(row, subject=f"{FEATURE}{name}") for name in self.names for row in own)
        return [replace(facts, rows=(*others, *wide))]

    def read_judged_days(self, *_asked: object) -> Any:
        return WideDays(self.names)


def test_three_hundred_features_are_a_small_page(inputs: Bench) -> None:
    with inputs.app() as app:
        answer = answer_page(WideStore(app, lambda: END), "/models/late/features", "")
    text = answer.body.decode()

    assert text.count('<th scope="row">') >= 300
    assert len(gzip.compress(answer.body)) <= 10_000
