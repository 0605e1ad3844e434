"""Segments, experiments and the feed: what they answer first, by rows whose answer is known beforehand."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from looked_at import END, NOW, Looked, Pages, assert_whole, looking
from row_examples import firing, row_of
from serving import Bench

from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.default_rules import MISMATCH
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow, StoredMeasurement
from monitor.pages.slices.compare_page import find_differing_outcomes
from monitor.specs.stored_rows import ChartedRows

PAGES = ("segments", "compare", "log", "measures", "measures/roc_auc")
P_VALUE, DIFFERENCE = "control_p_value_always_valid", "outcome_rate_difference_always_valid"
RATIO, SHARE = "sample_ratio_p_value_always_valid", "control_record_share"


@pytest.fixture(scope="module")
def pages(tasks: Bench) -> Iterator[Pages]:
    with looking(tasks, NOW) as found:
        yield found


def changed(bench: Bench, change: Callable[[MeasurementRow], MeasurementRow], address: str) -> Looked:
    """A page of the store with other rows."""

    class Changed(StoreData):
        def read_model_facts(self, model: str | None, as_of: int | None) -> list[ModelFacts]:
            found = StoreData.read_model_facts(self, model, as_of)
            return [replace(one, rows=[change(row) for row in one.rows]) for one in found]

        def read_revisions(self, model: str, which: ChartedRows) -> list[StoredMeasurement]:
            found = StoreData.read_revisions(self, model, which)
            return [replace(one, row=change(one.row)) for one in found]

    with bench.app() as app:
        return Pages(KeptPages(Changed(app, lambda: NOW))).at(address)


def headline(page: Looked) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page.text)
    assert found is not None
    return html.unescape(found[1])


def with_values(measure: str, values: dict[str, Measurement]) -> Callable[[MeasurementRow], MeasurementRow]:
    """Rows of a measure of some segments replaced; of the whole under "all"."""

    def change(row: MeasurementRow) -> MeasurementRow:
        name = row.segment or ("all" if row.is_of_whole else "")
        if (row.measure, row.against, row.subject) != (measure, "", "") or name not in values:
            return row
        return replace(row, measurement=values[name])

    return change


def interval(value: float, half: float, n: int = 500) -> Measurement:
    return Measurement(value, n=n, interval=Interval(value - half, value + half))


ALL = {"all": interval(0.697, 0.01, 5_000)}


def order_of_segments(page: Looked) -> list[str]:
    return re.findall(
        r'<th scope="row" data-v="([^"]*=[^"]*)">', page.text.partition('<details class="more"')[0]
    )


def test_the_segment_that_is_clearly_worse_is_the_headline_and_stands_first(tasks: Bench) -> None:
    values = ALL | {
        "region=north": interval(0.66, 0.15),  # least of all values but one, and within chance
        "region=south": interval(0.548, 0.03),
        "arm=0": interval(0.71, 0.03),
        "arm=1": interval(0.69, 0.03),
    }
    page = changed(tasks, with_values("roc_auc", values), "/models/flight/segments")

    assert headline(page) == "region=south is the worst segment: ROC AUC 0.548, all records 0.697"
    assert order_of_segments(page) == ["region=south", "region=north", "arm=1", "arm=0"]


def test_several_are_counted_and_the_worst_of_them_named_first(tasks: Bench) -> None:
    values = ALL | {"region=north": interval(0.5, 0.03), "region=south": interval(0.548, 0.03)}
    page = changed(tasks, with_values("roc_auc", values), "/models/flight/segments")

    assert headline(page) == "2 of 3 segments are clearly worse: region=north and region=south"
    assert "ROC AUC 0.500 in region=north, 0.697 over all records" in page.words


def test_where_higher_is_worse_the_highest_stands_first(tasks: Bench) -> None:
    values = {
        "all": interval(5.0, 0.1),
        "region=north": interval(7.0, 0.2),
        "region=south": interval(4.0, 0.2),
    }
    change = with_values("root_mean_squared_error", values)
    page = changed(tasks, change, "/models/basket/segments?measure=root_mean_squared_error")

    assert headline(page) == "region=north is the worst segment: RMSE 7, all records 5"
    assert order_of_segments(page)[0] == "region=north"


def test_differences_within_chance_name_nobody(pages: Pages) -> None:
    page = pages.at("/models/flight/segments")

    assert headline(page) == "No segment is clearly worse than the rest"
    assert re.search(r"ROC AUC 0\.\d{3} over all records, 18 – 19 Mar 2024, final\.", page.words)


def test_segments_with_few_labels_are_folded_and_say_how_many_they_have(pages: Pages) -> None:
    page = pages.at("/models/flight/segments")

    assert "1 segment with fewer than 50 labels, or of one class alone: arm=0 (37)" in page.words
    assert "arm=0" not in order_of_segments(page)
    assert re.search(r"A difference of 5 % shows from about [\d,]+ labels on\.", page.words)


def test_a_segment_of_an_earlier_window_is_none_of_the_page(tasks: Bench) -> None:
    def change(row: MeasurementRow) -> MeasurementRow:
        return replace(row, window_end=row.window_end - DAY) if row.segment == "region=north" else row

    there, gone = (
        changed(tasks, one, "/models/flight/segments?measure=records") for one in (lambda row: row, change)
    )
    assert set(order_of_segments(there)) - set(order_of_segments(gone)) == {"region=north"}


def test_columns_sort_and_the_filter_hides_without_a_script(pages: Pages) -> None:
    def shown(query: str) -> list[str]:
        text = pages.at(f"/models/flight/segments?{query}").text.partition('<details class="more"')[0]
        return re.findall(r'<tr><th scope="row" data-v="([^"]*=[^"]*)">', text)

    assert shown("sort=name") == sorted(shown("sort=-name"))
    assert shown("sort=-value") == shown("sort=value")[::-1]
    assert shown("q=north") == ["region=north"]
    assert "No segment matches." in pages.at("/models/flight/segments?q=nothing").words


def test_an_alert_of_a_segment_colours_its_interval_and_leads_to_its_incident(tasks: Bench) -> None:
    verdict = Verdict(outcome=Outcome.BREACH, window_end=NOW - DAY, value=0.7, limit=0.8, n=70)
    alert = firing(AlertedSeries("low", segment="region=north", window="1d"), verdict, NOW - DAY)
    alert = replace(alert, severity=Severity.CRITICAL)

    class Alerted(StoreData):
        def read_model_facts(self, model: str | None, as_of: int | None) -> list[ModelFacts]:
            found = StoreData.read_model_facts(self, model, as_of)
            return [replace(one, alerts=((alert, ""),), incidents=()) for one in found]

    with tasks.app() as app:
        page = Pages(KeptPages(Alerted(app, lambda: NOW))).at("/models/flight/segments")
    row = re.search(r'<tr><th scope="row" data-v="region=north">.*?</tr>', page.text, re.DOTALL)

    assert row is not None
    assert re.search(r'href="/models/flight/incidents/[^"]+">\s*<span class="badge critical', row[0])
    assert 'class="whisker critical"' in row[0]
    assert page.text.count('class="whisker critical"') == 1


def test_labels_that_are_awaited_say_since_when(tasks: Bench) -> None:
    names = ("region=north", "region=south", "arm=0", "arm=1", "all")
    none = dict.fromkeys(names, Measurement.without_value(Reason.NO_LABELS, n=0))
    page = changed(tasks, with_values("roc_auc", none), "/models/flight/segments")

    assert headline(page) == "Segments cannot be compared yet"


def p_values(*steps: tuple[int, str, float]) -> list[StoredMeasurement]:
    return [
        StoredMeasurement(
            "late",
            day,
            row_of(P_VALUE, Measurement(value, n=9), window=CUMULATIVE, window_end=day, subject=of),
        )
        for day, of, value in steps
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (p_values((1, "", 0.2), (2, "", 0.06)), {}),
        (p_values((1, "", 0.2), (2, "", 0.04), (3, "", 0.01)), {"": 2}),
        # Of two classes each is held against half of it.
        (p_values((1, "class:a", 0.04), (2, "class:b", 0.02)), {"class:b": 2}),
        ([], {}),
    ],
)
def test_arms_differ_since_the_first_day_of_the_rules_own_test(
    rows: Sequence[StoredMeasurement], expected: dict[str, int]
) -> None:
    assert find_differing_outcomes(rows, 0.95) == expected


def experiment(tasks: Bench, values: dict[str, Measurement]) -> Looked:
    def change(row: MeasurementRow) -> MeasurementRow:
        is_other = row.window == CUMULATIVE and row.measure in values
        return replace(row, measurement=values[row.measure]) if is_other else row

    return changed(tasks, change, "/models/flight/compare")


def test_a_difference_is_the_headline_with_its_size_and_first_day(tasks: Bench) -> None:
    values = {
        P_VALUE: Measurement(0.001, n=9_000),
        DIFFERENCE: Measurement(0.031, n=9_000, interval=Interval(0.012, 0.05)),
    }
    page = experiment(tasks, values)

    assert re.fullmatch(r"Treatment and control differ by \+3\.1 points since \d+ Mar", headline(page))
    assert "Share of late = 1: +1.2 to +5.0 points in treatment, of 9,000 labelled records." in page.words
    assert "Next: decide the experiment." in page.words


def test_arms_of_another_size_than_planned_come_before_their_outcomes(tasks: Bench) -> None:
    values = {
        P_VALUE: Measurement(0.001, n=9_000),
        RATIO: Measurement(MISMATCH / 2, n=9_000),
        SHARE: Measurement(0.36, n=9_000, interval=Interval(0.34, 0.38)),
    }
    page = experiment(tasks, values)

    assert headline(page) == "The control group is larger than planned: 36.0 % of the records, planned 30.0 %"
    assert "check how records are assigned" in page.words


def test_no_difference_says_how_many_records_are_needed_or_that_there_are_enough(tasks: Bench) -> None:
    wide, narrow = (
        {DIFFERENCE: Measurement(0.002, n=9_000, interval=Interval(0.002 - half, 0.002 + half))}
        for half in (0.02, 0.008)
    )
    calm = {P_VALUE: Measurement(0.4, n=9_000)}

    # Twice as narrow an interval takes four times as many records.
    assert headline(experiment(tasks, wide | calm)) == (
        "No detectable difference yet: 9,000 of about 36,000 labelled records"
    )
    assert "A difference of 1.0 points shows from there on." in experiment(tasks, wide | calm).words
    assert headline(experiment(tasks, narrow | calm)) == "Treatment and control do not differ by what matters"


def test_too_few_labels_say_how_many_both_arms_need(tasks: Bench) -> None:
    few = {DIFFERENCE: Measurement.without_value(Reason.TOO_FEW, n=1_200)}

    # 500 in an arm that is to be 30 % of the records.
    assert headline(experiment(tasks, few)) == "Too early to compare: 1,200 of about 1,667 labelled records"


def test_figures_of_the_log_that_are_not_zero_are_the_headline(tasks: Bench) -> None:
    def change(row: MeasurementRow) -> MeasurementRow:
        values = {"rows_without_id": 14.0, "repeated_ids": 1.0, "panes_waiting": 2.0}
        return (
            replace(row, measurement=Measurement(values[row.measure], n=0)) if row.measure in values else row
        )

    page = changed(tasks, change, "/models/flight/log")

    assert headline(page) == "14 rows have no id and 1 id is in more than one part of the log"
    assert "Records and labels arrive as usual: 144 on 19 Mar, 90 % of labels within 1 hour." in page.words
    table = page.text[page.text.index('aria-label="What is odd"') :].partition("</table>")[0]
    assert table.count("<tr>") == 1 + 3
    assert "2 parts of the log wait to be counted" in table
    assert "rows_without_time" not in table


def test_an_incident_of_the_feed_is_its_first_card(bench: Bench) -> None:
    with looking(bench, END) as pages:
        page, model = pages.at("/models/late/log"), pages.at("/models/late")

    assert headline(page) == headline(model)
    assert page.words.index("Critical") < page.words.index("Over time")


@pytest.mark.parametrize("name", ["flight", "animal", "basket"])
@pytest.mark.parametrize("part", PAGES)
def test_every_mark_leads_somewhere(pages: Pages, name: str, part: str) -> None:
    part = (
        part.replace("roc_auc", "accuracy" if name == "animal" else "root_mean_squared_error")
        if (name != "flight")
        else part
    )
    page = pages.at(f"/models/{name}/{part}")
    links = {
        str(of["href"]) for tag, of in page.elements if tag == "a" and str(of["href"]).startswith("/models")
    }

    assert page.status == 200
    assert_whole(page)
    assert [link for link in sorted(links)[::7] if pages.at(link).status != 200] == []
    for ending in (".json", ".csv"):
        path, dot, query = f"/models/{name}/{part}".partition("?")
        assert pages.at(f"{path}{ending}{dot}{query}").status == 200


@pytest.mark.parametrize("part", PAGES)
def test_a_page_as_known_then_asks_no_later_row(bench: Bench, part: str) -> None:
    moment = END - 15 * DAY
    with looking(bench, END) as pages:
        rows = pages.at(f"/models/late/{part}.json?as_of={to_iso(moment)}").plain()

    assert all(row["as_of"] is None or row["as_of"] <= to_iso(moment) for row in rows)
    assert part == "compare" or rows


def test_truths_of_labels_are_words(pages: Pages) -> None:
    page = pages.at("/models/flight/measures")

    assert not re.search(r">(settled|provisional|nowcast)<", page.text)
    assert {"final", "labels still come"} <= set(re.findall(r'hidesm">([^<]+)<', page.text))
    assert LabelTruth.SETTLED.value in pages.at("/models/flight/measures.json").text
