"""The layout of `monitor status`: one screen, 80 columns, whatever the names."""

import json
from dataclasses import replace
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.model_standing import HealthState, ModelStanding, StateBadge
from monitor.sentences.known_measurements import SentenceSection
from monitor.show.model_status import MOST_LINES, head_lines, status_json, status_lines

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
)


@given(STANDINGS, st.integers(20, 300))
def test_a_model_is_on_one_screen_whatever_its_names(standing: ModelStanding, width: int) -> None:
    lines = status_lines([standing], width)

    assert len(lines) <= MOST_LINES
    assert max(len(line.text) for line in lines) <= min(max(width, 80), 120)
    assert not any(category(char).startswith("C") for line in lines for char in line.text)
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
        lines = [line.text for line in status_lines([replace(FINE, sections=(section,))], width)]

        assert sum("[0.678, 0.716]" in line for line in lines) == 1
        assert sum("[−0.021, +0.019]" in line for line in lines) == 1
        assert sum("31.2 %" in line for line in lines) == 1


def test_what_is_cut_is_said_to_be_cut() -> None:
    long = replace(FINE, because=tuple(f"Reason {at}: {'x ' * 60}." for at in range(20)))

    wordy = replace(FINE, sections=(SentenceSection("performance", ("x " * 2_000 + ".", "Short.")),))

    told = [line.text for line in status_lines([long], 80)]
    assert "  … 15 more: --all" in told
    assert sum("Reason" in line for line in told) == 5, "each whole"
    assert sum("Reason" in line.text for line in status_lines([long], 80, whole=True)) == 20
    assert status_lines([wordy], 80)[-2].text.endswith("x …")
    assert status_lines([wordy], 80)[-1].text == "More: --all"
    assert head_lines([replace(FINE, because=("x " * 2_000, "y"))], 80)[-1].text.endswith("… (+1 more)")


def test_a_sentence_is_told_whole_or_not_at_all_and_those_on_performance_stay() -> None:
    told = tuple(f"{at} is {'what is told here ' * 4}indeed." for at in range(6))
    sections = tuple(SentenceSection(title, told) for title in ("performance", "inputs", "labels"))
    lines = [line.text for line in status_lines([replace(FINE, sections=sections)], 80)]

    assert sum("indeed." in line for line in lines) < 18
    assert " ".join(lines).count(" is what") == sum(line.count("indeed.") for line in lines)
    performance = " ".join(lines).partition("inputs")[0]
    assert performance.count("indeed.") == 6
    assert lines[-1] == "More: --all"


def test_a_sentence_alone_ends_with_a_clause_and_that_on_rules_before_what_is_to_do() -> None:
    because = tuple(f"Reason {at} is {'what is told here ' * 5}indeed." for at in range(6))
    told = {
        "performance": "Settled: roc_auc 0.697, difference −0.001 [−0.021, +0.019].",
        "inputs": f"7 of 16: {', '.join(f'feature_{at} 0.{at}3 (mean {at}, ×2)' for at in range(30))}.",
        "data": "Surely more faulty values than the reference: dest +0.3 points [+0.2, +0.6] unseen.",
        "rules": f"19 of 19 rules are judged; of the newest day 17 of 23 subjects; not {'these ' * 40}all.",
        "next": "As of 2014-01-01 UTC, the last cycle of a replay: monitor run goes on from there.",
    }
    sections = tuple(SentenceSection(title, (text,)) for title, text in told.items())
    lines = [line.text for line in status_lines([replace(FINE, because=because, sections=sections)], 80)]

    said = " ".join(" ".join(lines).split())
    assert len(lines) == MOST_LINES
    assert all(told[title] in said for title in ("performance", "data", "next"))
    assert "rules 19 of 19 rules are judged; of the newest day 17 of 23 subjects … next" in said
    assert said.partition("inputs ")[2].partition(" data")[0].endswith("×2) …")


def test_what_moved_is_told_before_how_labels_come_and_which_rules_are_judged() -> None:
    told = tuple(f"{at} is {'what is told here ' * 4}indeed." for at in range(3))
    because = tuple(f"Reason {at} is {'what is told here ' * 5}indeed." for at in range(5))
    sections = tuple(SentenceSection(title, told) for title in ("performance", "inputs", "labels", "rules"))
    lines = [line.text for line in status_lines([replace(FINE, because=because, sections=sections)], 80)]

    inputs, labels = (" ".join(lines).partition(title)[2] for title in ("inputs", "labels"))
    assert len(lines) <= MOST_LINES
    assert sum("Reason" in line for line in lines) == 5
    assert inputs.partition("labels")[0].count("indeed.") == 3
    assert labels.count("indeed.") < 6


def test_json_holds_the_verdict_and_every_sentence() -> None:
    (plain,) = json.loads(status_json([FINE]))

    assert plain == {
        "model": "late",
        "state": "OK",
        "badges": [],
        "because": ["Every rule is judged, and none is in breach."],
        "incidents": [],
        "as_of": "1970-01-01T00:00:00Z",
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
