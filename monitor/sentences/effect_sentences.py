"""What moved the mean score, in sentences: of a window against the reference, of a change since it began."""

import math
from collections.abc import Iterator, Mapping

from monitor.core.change import Change, ChangeEffect, EffectStanding
from monitor.core.effect import MOVE, UNATTRIBUTED
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import with_minus
from monitor.sentences.known_measurements import KnownMeasurements, join_few_names, readable_name

_NAMED = 2  # features that a sentence names


def score_move_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """By how much the mean score is above or below the reference's, and which features do it."""
    row = _move_row(measurements)
    if row is None or row.measurement.value is None or row.measurement.interval is None:
        return
    value, interval = row.measurement.value, row.measurement.interval
    if interval.lower <= 0 <= interval.upper:
        return  # what is said of the score's shift says so
    side, size = ("above" if value > 0 else "below"), size_text(abs(value), value)
    yield f"{_mean_name(row.subject)} is {size} {side} the reference"
    together, alone, beyond = _read_detail(row)
    if together is not None:
        yield (
            "What moved it cannot be attributed to single features: one by one they make "
            f"{signed_text(together, value)}"
        )
        return
    if alone:
        yield f"By itself {_named_effects(alone, value)}"
    if beyond:
        names, they = (
            join_few_names(map(readable_name, beyond)),
            "it lies" if len(beyond) == 1 else "they lie",
        )
        yield f"The effect of {names} is not known: {they} beyond the reference"


def effects_by_feature(measurements: KnownMeasurements) -> Mapping[str, float]:
    """Effects on the mean score that may be said, by name; the largest first."""
    row = _move_row(measurements)
    return {} if row is None else _read_detail(row)[1]


def change_effect_sentence(changes: Mapping[str, Change]) -> str:
    """What features that changed, by name, do to the mean score since then; empty: it is not known.

    >>> of = {"moved": 0.0617, "moved_half_width": 0.013, "target": "score", "standing": "known"}
    >>> change_effect_sentence({"a": Change(effect=ChangeEffect(own=0.0485, own_half_width=0.023, **of))})
    'The mean score rose by 0.062 since then. By itself a moves it by about +0.049'
    """
    effects = {name: change.effect for name, change in changes.items() if change.effect is not None}
    if not effects:
        return ""
    moved = max(effects.values(), key=lambda one: abs(one.moved))
    name = _mean_name(moved.target)
    if abs(moved.moved) <= moved.moved_half_width:
        return f"{name} shows no detectable change since then"
    verb, size = "rose" if moved.moved > 0 else "fell", size_text(abs(moved.moved), moved.moved)
    return f"{name} {verb} by {size} since then{_who_moved_it(effects, moved.moved)}"


def exact_effect_sentence(change: Change | None) -> str:
    """What a feature that changed does to the mean score, with its interval; empty: it is not known.

    >>> effect = ChangeEffect(0.0485, 0.023, 0.0617, 0.013, "known", "score")
    >>> exact_effect_sentence(Change(effect=effect))
    'On the mean score by itself +0.049 (+0.026 to +0.072), of +0.062 (+0.049 to +0.075)'
    """
    effect = None if change is None else change.effect
    if effect is None or effect.standing != EffectStanding.KNOWN:
        return ""
    own, of = (
        " to ".join(signed_text(value + side * half, effect.moved) for side in (-1, 1))
        for value, half in ((effect.own, effect.own_half_width), (effect.moved, effect.moved_half_width))
    )
    name = _mean_name(effect.target).removeprefix("The ")
    return (
        f"On the {name} by itself {signed_text(effect.own, effect.moved)} ({own}), "
        f"of {signed_text(effect.moved, effect.moved)} ({of})"
    )


def _who_moved_it(effects: Mapping[str, ChangeEffect], move: float) -> str:
    """End of a sentence on the mean score: which of some features moved it."""
    them = "it" if len(effects) == 1 else "them"
    if any(one.standing == EffectStanding.MIXED for one in effects.values()):
        return ". That cannot be attributed to single features"
    known = {name: one for name, one in effects.items() if one.standing == EffectStanding.KNOWN}
    if not known:
        return f". The part of {them} is not known: the reference hardly has such values"
    together = math.fsum(one.own for one in known.values())
    # Half widths add up: effects of one table may well be wrong together.
    half = math.fsum(one.own_half_width for one in known.values())
    if 1 < len(known) == len(effects) and abs(together) > half:
        return f". Together they move it by about {signed_text(together, move)}"
    certain = {name: one.own for name, one in known.items() if abs(one.own) > one.own_half_width}
    if not certain:
        return f", not detectably by {them}"
    largest = dict(sorted(certain.items(), key=lambda pair: -abs(pair[1])))
    return f". By itself {_named_effects(largest, move)}"


def _named_effects(effects: Mapping[str, float], move: float) -> str:
    """The largest effects in words, at most two: "a moves it by about +0.02, b by about −0.01"."""
    (name, effect), *others = list(effects.items())[:_NAMED]
    words = [f"{readable_name(name)} moves it by about {signed_text(effect, move)}"]
    words += [f"{readable_name(other)} by about {signed_text(value, move)}" for other, value in others]
    return ", ".join(words)


def signed_text(value: float, beside: float) -> str:
    """A move, with as many decimals as give two digits of the larger of two.

    >>> signed_text(0.0485, 0.0617), signed_text(-331.2, 1204.0), signed_text(-0.0004, 0.03)
    ('+0.049', '−331', '0.000')
    """
    text = size_text(abs(value), beside)
    return (
        text
        if not any(digit in "123456789" for digit in text)
        else with_minus(f"{'+' if value > 0 else '-'}{text}")
    )


def size_text(size: float, beside: float) -> str:
    """A size, as `signed_text`."""
    largest = max(size, abs(beside))
    decimals = 0 if largest == 0 else min(max(1 - math.floor(math.log10(largest)), 0), 9)
    return f"{size:,.{decimals}f}"


def _mean_name(target: str) -> str:
    if target.startswith("class:"):
        return f"The mean probability of {readable_name(target.removeprefix('class:'))}"
    return f"The mean {target}"


def _move_row(measurements: KnownMeasurements) -> MeasurementRow | None:
    rows = measurements.subject_rows(MOVE, "", "")
    return rows[0] if rows else None


def _read_detail(row: MeasurementRow) -> tuple[float | None, dict[str, float], list[str]]:
    """What features make together, if it cannot be attributed; what each makes; those that are beyond."""
    detail = row.measurement.detail
    if detail is None or not detail.rows:
        return None, {}, []
    (first, together, *_), *features = detail.rows
    alone = {str(name): float(effect) for name, effect, *_ in features if isinstance(effect, int | float)}
    beyond = [str(name) for name, effect, *_ in features if effect is None]
    return (float(together or 0.0) if first == UNATTRIBUTED else None), alone, beyond
