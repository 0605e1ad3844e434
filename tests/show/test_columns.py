"""Tables on a terminal: no line is wider than it, and nothing of them is lost."""

import os
import subprocess
import sys
import termios

import pytest

from monitor.show.terminal_layout import (
    align_columns,
    display_width,
    format_table_rows,
    wrap_paragraphs,
    wrap_text,
)

HEAD = ("measure", "subject", "value", "interval", "n", "note")
ROWS = [
    ("accuracy", "", "71.3 %", "[67.3, 75.0]", "526", "reference 73.9 %, difference −2.6 [−6.7, +1.1]"),
    ("stability_index", "feature:recent_dep_delay_min", "0.056", "", "526", "band none"),
    ("outcome_rate_difference_always_valid", "", "0.2 %", "[−0.8, 1.3]", "160,758", ""),
    ("stability_index_critical", "feature:a_name_of_many_characters_that_we_gave", "0.007", "", "9", ""),
]  # fmt: skip
TABLE = [HEAD, *ROWS]


def words(lines: list[str]) -> list[str]:
    """All that is written, whichever line it stands on."""
    return " ".join(lines).replace("; ", " ").split()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_lost(width: int) -> None:
    lines = [line for row in format_table_rows(TABLE, width) for line in row.split("\n")]

    assert max(map(len, lines)) <= width
    assert set(words(lines)) >= {word for row in ROWS for cell in row for word in cell.split()}


def test_a_pipe_has_a_line_for_each_row() -> None:
    lines = align_columns(TABLE).split("\n")

    assert len(lines) == len(TABLE)
    assert all(line.endswith(row[-1]) for line, row in zip(lines, TABLE, strict=True))


def test_what_fits_stays_as_it_is() -> None:
    assert align_columns(TABLE, 200) == align_columns(TABLE)


def test_a_note_goes_on_below_its_row() -> None:
    head, first, note, *_ = align_columns(TABLE[:2], 60).split("\n")

    assert head.split() == ["measure", "subject", "value", "interval", "n"]
    assert first.split() == ["accuracy", "71.3", "%", "[67.3,", "75.0]", "526"]
    assert note == "    reference 73.9 %, difference −2.6 [−6.7, +1.1]"


def test_a_long_name_moves_what_follows_it_to_the_next_line_in_its_column() -> None:
    head, measure, subject, value = align_columns([HEAD, ROWS[3]], 60).split("\n")

    assert measure == "stability_index_critical"
    assert subject.strip() == "feature:a_name_of_many_characters_that_we_gave"
    assert value.split() == ["0.007", "9"]
    assert value.index("0.007") == head.index("value")


def test_columns_without_room_stand_below_with_their_headings() -> None:
    counts = [("actual", *(f"predicted {at}" for at in range(9))), ("0", *map(str, range(9)))]

    _, row, rest, *_ = align_columns(counts, 60).split("\n")

    assert row.split() == ["0", *"0123"]
    assert rest.startswith("    predicted 4 4; predicted 5 5")


def test_a_long_line_goes_on_below_further_in_than_it_begins() -> None:
    assert wrap_paragraphs(f"  a {'b ' * 10}c\nshort", 20).split("\n") == [
        "  a b b b b b b b b",
        "      b b c",
        "short",
    ]
    assert wrap_paragraphs(100 * "x", None) == 100 * "x"


def test_a_name_that_is_wider_than_the_terminal_is_broken() -> None:
    lines = align_columns([("of", "n"), (200 * "x", "7")], 80).split("\n")

    assert max(map(len, lines)) <= 80
    assert "".join(lines[1:]).replace(" ", "") == 200 * "x" + "7"


def test_the_width_is_that_of_the_terminal_which_is_written_to() -> None:
    main, end = os.openpty()
    termios.tcsetwinsize(end, (50, 97))
    command = [
        sys.executable,
        "-c",
        "from monitor.show.terminal_words import wrap_width; print(wrap_width())",
    ]
    bare = {name: value for name, value in os.environ.items() if name != "COLUMNS"}

    subprocess.run(command, stdin=end, stdout=end, env=bare, check=True)

    assert os.read(main, 80).strip() == b"97"
    for env, width in ((bare, b"None"), (bare | {"COLUMNS": "72"}, b"72")):  # of a pipe as it asks for
        piped = subprocess.run(command, stdin=end, capture_output=True, env=env, check=True)
        assert piped.stdout.strip() == width


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    decomposed = "cafe\N{COMBINING ACUTE ACCENT}"
    table = [("of", "n", "note"), ("東京駅", "7", "x"), (decomposed, "12", "y"), ("plain", "1", "z")]

    assert align_columns(table).split("\n") == [
        "of       n  note",
        "東京駅   7  x",
        f"{decomposed}    12  y",
        "plain    1  z",
    ]
    for width in (14, 20, 33):
        lines = [
            *align_columns([*table, ("a", "2", 30 * "東京")], width).split("\n"),
            *wrap_text(40 * "東京 ", width),
        ]
        assert max(map(display_width, lines)) <= width
        assert "".join(lines).count("東") == 1 + 30 + 40
