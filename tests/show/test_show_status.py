"""The layout of `monitor status`: one screen, 80 columns, whatever the names."""

import json
from dataclasses import replace
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st
from summary_examples import SUMMARIES, SUMMARY

from monitor.alerts.alert_rules import Severity
from monitor.alerts.model_standing import HealthState, ModelStanding, StateBadge
from monitor.alerts.model_summary import ChangedSeries
from monitor.sentences.known_measurements import SentenceSection
from monitor.show.model_status import head_lines, status_json, status_lines

TITLES = ("performance", "inputs", "labels", "data", "rules", "next")
TEXTS = st.text(min_size=1, max_size=400).map(lambda text: f"It is {text}.")
STANDINGS = st.builds(
    ModelStanding,
    model=st.text(min_size=1, max_size=80),
    as_of=st.none(),
    state=st.sampled_from(HealthState),
    badges=st.lists(st.sampled_from(StateBadge), max_size=2, unique=True).map(tuple),
    needs_action=st.booleans(),
    because=st.lists(TEXTS, min_size=1, max_size=8).map(tuple),
    rank=st.just((0, 0)),
    sections=st.lists(TEXTS, min_size=1, max_size=5).map(
        lambda texts: tuple(SentenceSection(title, tuple(texts)) for title in TITLES)
    ),
    summary=SUMMARIES,
)
FINE = ModelStanding(
    model="late",
    as_of=0,
    state=HealthState.OK,
    badges=(),
    needs_action=False,
    because=("Every rule is judged, and none is in breach.",),
    rank=(2, 0),
    sections=(SentenceSection("performance", ("Settled: roc_auc 0.697 [0.678, 0.716].",)),),
    summary=SUMMARY,
)


@given(STANDINGS, st.integers(20, 300))
def test_a_model_is_on_one_screen_whatever_its_names(standing: ModelStanding, width: int) -> None:
    lines = status_lines([standing], width)

    assert len(lines) <= 25
    assert max(len(line.text) for line in lines) <= min(max(width, 80), 120)
    assert not any(category(char).startswith("C") for line in lines for char in line.text)
    figures = [figure.title for figure in standing.summary.figures]
    assert {title for title in figures for line in lines if line.text.startswith(title)} == set(figures)


@given(STANDINGS, st.integers(20, 300))
def test_the_details_are_told_where_all_is_asked_for(standing: ModelStanding, width: int) -> None:
    lines = status_lines([standing], width, whole=True)

    assert {title for title in TITLES for line in lines if line.text.startswith(title)} == set(TITLES)


@given(st.lists(STANDINGS, min_size=2, max_size=5), st.integers(20, 300))
def test_several_models_begin_a_line_each(standings: list[ModelStanding], width: int) -> None:
    lines = [line.text for line in head_lines(standings, width)]

    assert len(lines) >= len(standings)
    assert max(map(len, lines)) <= min(max(width, 80), 120)


def test_of_several_models_the_first_reason_is_told_whole() -> None:
    reason = "performance: roc_auc 0.543, reference 0.698, difference −0.155 [−0.171, −0.139], n 4,204."
    first = replace(FINE, model="a", because=(reason, "Another.", "One more."))
    lines = [line.text for line in head_lines([first, replace(FINE, model="longer name")], 80)]

    assert "".join(line[0] for line in lines).split() == ["a", "l"]
    told = " ".join(" ".join(lines[:-1]).split())
    assert told.endswith(f"{reason} (+2 more)")
    assert all("[−0.171, −0.139]" in line for line in lines if "−0.171" in line)


def test_an_interval_stays_in_one_line() -> None:
    for width in range(80, 121):
        text = (
            "roc_auc " * (width % 9) + "0.697 [0.678, 0.716], difference −0.001 [−0.021, +0.019], 31.2 % of 4"
        )
        section = SentenceSection("performance", (f"{text}.",))
        lines = [line.text for line in status_lines([replace(FINE, sections=(section,))], width, whole=True)]

        assert sum("[0.678, 0.716]" in line for line in lines) == 1
        assert sum("[−0.021, +0.019]" in line for line in lines) == 1
        assert sum("31.2 %" in line for line in lines) == 1


def test_what_is_cut_is_said_to_be_cut() -> None:
    long = replace(FINE, because=tuple(f"Reason {at}: {'x ' * 60}." for at in range(20)))

    told = [line.text for line in status_lines([long], 80)]
    assert "  … 17 more: --all" in told
    assert sum("Reason" in line for line in told) == 3, "each whole"
    assert sum("Reason" in line.text for line in status_lines([long], 80, whole=True)) == 20
    assert told[-1] == "More: --all"
    assert head_lines([replace(FINE, because=("x " * 2_000, "y"))], 80)[-1].text.endswith("… (+1 more)")


def test_series_of_which_all_is_the_same_are_one_line() -> None:
    def changed(
        name: str, what: str = "missing", incident: str = "1970-01-01-inputs-missing"
    ) -> ChangedSeries:
        return ChangedSeries(
            subject=f"feature:{name}",
            name=name,
            what=what,
            usual="0 %",
            now="100 %",
            direction="",
            since=0,
            incident=incident,
            severity=Severity.WARNING,
        )

    series = (changed("rain"), changed("load", "mean"), changed("wind"), changed("old", incident=""))
    standing = replace(FINE, summary=replace(SUMMARY, changed=series))

    lines = [line.text for line in status_lines([standing], 80)]

    table = lines[lines.index("What changed") + 2 : -1]
    assert [" ".join(line.split()) for line in table] == [
        "rain and 1 more missing 0 % 100 % 1 Jan",
        "load mean 0 % 100 % 1 Jan",
    ]


def test_json_holds_the_verdict_and_every_sentence() -> None:
    (plain,) = json.loads(status_json([FINE]))

    assert plain == {
        "model": "late",
        "state": "OK",
        "badges": [],
        "because": ["Every rule is judged, and none is in breach."],
        "incidents": [],
        "as_of": "1970-01-01T00:00:00Z",
        "figures": [
            {
                "title": one.title,
                "days": one.span,
                "value": one.value,
                "beside": one.beside,
                "mark": None,
                "note": one.note,
                "exact": "",
            }
            for one in SUMMARY.figures
        ],
        "changed": [],
        "sections": {"performance": ["Settled: roc_auc 0.697 [0.678, 0.716]."]},
    }


def test_of_several_models_it_is_said_how_one_is_shown() -> None:
    needed = replace(FINE, model="falling", state=HealthState.WARNING, because=("performance: it fell.",))

    lines = [line.text for line in status_lines([FINE, needed], 80)]

    assert lines == [
        "falling  Warning  performance: it fell.",
        "late     OK       Every rule is judged, and none is in breach.",
        "One model on one screen: monitor status --model NAME",
    ]
