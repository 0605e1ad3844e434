import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from monitor.core.text import readable_text

_ACTING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_ANY_TEXT = st.text(st.characters())  # lone surrogates too


def test_every_character_that_acts_or_is_not_seen_is_escaped_and_no_other_is() -> None:
    for code in range(0x110000):
        char = chr(code)
        shown = readable_text(char)
        if unicodedata.category(char) in _ACTING:
            assert shown.isascii()
            assert shown.isprintable()
            assert shown.encode().decode("unicode_escape") == char
        else:
            assert shown == char


@given(_ANY_TEXT)
def test_readable_text_has_no_acting_character_and_is_one_line(text: str) -> None:
    shown = readable_text(text)

    assert not {unicodedata.category(char) for char in shown} & _ACTING
    assert len(shown.splitlines()) <= 1
    shown.encode()  # no lone surrogate


@given(_ANY_TEXT)
def test_readable_text_is_not_changed_again(text: str) -> None:
    assert readable_text(readable_text(text)) == readable_text(text)


@given(_ANY_TEXT, _ANY_TEXT)
def test_parts_may_be_made_readable_before_they_are_put_together(left: str, right: str) -> None:
    assert readable_text(left) + readable_text(right) == readable_text(left + right)
