"""What people have accepted, in words."""

from monitor.core.text import readable_text
from monitor.sentences.time_words import utc_moment_words


def acceptance_sentence(
    what: str, *, who: str, why: str, window: str, end: int, until: int | None, days: bool
) -> str:
    """Who has accepted what, as of which window or days, until when, and why.

    Parameters
    ----------
    what
        a rule, and which part of the model it is about.
    end
        of the accepted window, or of the newest accepted day; microseconds.
    until
        microseconds; None: until it is withdrawn.
    days
        its days are what is expected: that does not end.

    >>> of = {"who": "ada", "why": "a campaign", "end": 86_400_000_000}
    >>> acceptance_sentence("performance", window="7d", until=None, days=False, **of)
    'ada has accepted performance as it was, 7d to 2 Jan 1970, until you withdraw it: a campaign'
    >>> acceptance_sentence("changed (age)", window="", until=None, days=True, **of)
    'ada has accepted changed (age), so its days up to 2 Jan 1970 are what is expected: a campaign'
    """
    if days:
        sentence = f", so its days up to {utc_moment_words(end)} are what is expected"
    else:
        lasting = "you withdraw it" if until is None else utc_moment_words(until)
        sentence = f" as it was, {f'{window} to ' if window else ''}{utc_moment_words(end)}, until {lasting}"
    return readable_text(f"{who or 'someone'} has accepted {what}{sentence}: {why}").removesuffix(".")
