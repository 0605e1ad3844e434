import json
import re
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_passwords import WORDS, odd_passwords, traces

from monitor.core import secrets
from monitor.core.errors import ConfigurationError, SourceUnavailable, StoreError
from monitor.core.secrets import Secrets, hide_secrets

LONG = [one for one in odd_passwords(200, seed=3) if one not in WORDS and len(one.strip()) > 3]


@pytest.mark.parametrize("password", LONG)
def test_every_form_of_a_password_is_hidden(password: str) -> None:
    secrets.learn(password, pieces=True)
    forms = [password, quote(password), quote(password, safe=""), quote(password, safe=" +")]
    forms += [quote_plus(password), repr(password), json.dumps(password), ascii(password)]
    forms += [
        password.replace("'", "''"),
        *password.split(),
        *password.split("@"),
        *re.split(r"[\s@]", password),
    ]

    said = [hide_secrets(f'failed: "{form}" was refused') for form in forms if len(form) > 3]

    assert [traces(password, text) for text in said] == [[]] * len(said)


@given(st.text(min_size=4).filter(lambda text: len(text.strip()) > 3 and text.isprintable()))
def test_no_text_around_a_secret_lets_it_be_seen(secret: str) -> None:
    known = Secrets()
    known.learn_secret(secret, "\x00")

    assert secret not in known.hide_known_secrets(f"before{secret}after{secret!r}")


def test_of_two_secrets_the_longer_is_hidden_whole() -> None:
    secrets.learn("hunter2")
    secrets.learn("hunter2-and-more")

    assert hide_secrets("got hunter2-and-more, hunter2") == "got ***, ***"


def test_a_password_that_is_a_word_is_hidden_as_a_word() -> None:
    secrets.learn("postgres")

    assert (
        hide_secrets('postgresql: no role "postgres", app_postgres') == 'postgresql: no role "***", app_***'
    )


def test_a_short_password_is_hidden_where_it_stands_as_one_only() -> None:
    secrets.learn("ab")

    assert (
        hide_secrets("about postgresql://ann:ab@db/x?password=ab")
        == "about postgresql://ann:***@db/x?password=***"
    )


def test_the_beginning_of_a_secret_is_hidden_where_a_text_was_cut() -> None:
    known = Secrets()
    known.learn_secret('s3cr"et-of-many-words', "${PW}")

    assert known.hide_known_secrets('got "s3cr\\"et-of-m…": no') == 'got "${PW}…": no'


def test_secrets_that_change_by_the_minute_do_not_fill_the_memory() -> None:
    known = Secrets()
    for at in range(1_200):
        known.learn_secret(f"token-{at:05d}")

    assert known.hide_known_secrets("token-00000 token-00600 token-01199") == "*** token-00600 ***"


@pytest.mark.parametrize("kind", [StoreError, SourceUnavailable, lambda text: ConfigurationError([text])])
def test_an_error_of_ours_holds_no_secret(kind: type[Exception]) -> None:
    secrets.learn("p@ss word", pieces=True)

    error = kind("no host word@db")

    told = f"{error}{error!r}{error.args}{getattr(error, 'faults', '')}{traceback.format_exception(error)}"
    assert "word" not in told
    assert str(error) == "no host ***@db"
