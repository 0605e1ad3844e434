import pytest
from old_voice import NOT_YET, kept_sentences, main, old_words, page_text, read_places, template_text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is told.\nSurely, by chance.", [(1, "told"), (2, "surely"), (2, "by chance")]),
        ("All rules were judged, none by judgement.", [(1, "judged"), (1, "judgement")]),
        ("of the whole, of the whole model", [(1, "the whole")]),
        ("It recommends an untold amendment.", []),
        ("Somebody mends odd rows", [(1, "somebody"), (1, "mends"), (1, "odd rows")]),
    ],
)
def test_words_are_found_on_their_lines(text: str, found: list[tuple[int, str]]) -> None:
    assert list(old_words(text)) == found


def test_of_a_template_the_text_counts_and_no_name() -> None:
    template = (
        "{# as told #}\n"
        '<p class="judged">{{ page.told }} {{ "of the whole log" if told else "surely" }}</p>\n'
        '{% for one in lanes\n  if one.told %}<p title="It is judged">was told</p>{% endfor %}'
    )

    text = template_text(template)

    assert [line for line, _ in old_words(text)] == [4, 4]
    assert "of the whole log" in text.splitlines()[1]
    assert len(text.splitlines()) == len(template.splitlines())


def test_of_a_page_code_does_not_count() -> None:
    text = "a `told` b\n```\ntold\n```\n[judged](told.md) told\n"

    assert list(old_words(page_text(text))) == [(5, "judged"), (5, "told")]


def test_of_cases_their_sentences_count() -> None:
    case = "kept, told\n    It is fine.\n"

    assert list(old_words(kept_sentences("messages.txt", case))) == []
    assert list(old_words(kept_sentences("page_model.txt", case))) == [(1, "told")]


def test_the_old_voice_is_gone_but_where_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out


def test_places_that_are_not_done_yet_are_there() -> None:
    assert read_places().keys() >= NOT_YET
