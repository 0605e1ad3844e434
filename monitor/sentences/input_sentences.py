"""What goes in and comes out: features and scores that moved, by how much; the quality of the data."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.core.measurement import DetailTable, Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import BetterDirection, MeasureFamily
from monitor.measures.measurement_comparison import REFERENCE, SEASON
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import (
    approximate_text,
    difference_base,
    format_factor,
    format_measure_difference,
    format_measure_value,
    stability_band,
)
from monitor.sentences.effect_sentences import effects_by_feature, score_move_sentences
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    join_few_names,
    readable_name,
)
from monitor.sentences.reason_words import reason_words, why_absent
from monitor.sentences.time_words import window_words

INDEX = "stability_index"
OUT_OF_RANGE, _FEW = "out_of_range_rate", 0.01
_FAULTS = {"missing_rate": "missing", "invalid_rate": "invalid", "unseen_rate": "new"}
_CELLS, LOST = (
    ("cell", "expected", "actual", "contribution"),
    {"(missing)": "missing", "(invalid)": "invalid"},
)


@dataclass(frozen=True, slots=True)
class LostShares:
    """What a stability index owes to values that are missing or invalid, more of them or fewer."""

    what: str  # "missing", "invalid", or both
    # now, then: their share of the records: of the window, and of the reference.
    now: float
    then: float
    there: float  # index of the values that are there

    @property
    def smaller_share(self) -> float:
        """Smaller one of the two shares of values that are there."""
        return 1.0 - max(self.now, self.then)

    def __str__(self) -> str:
        now, then = (format_measure_value("missing_rate", share) for share in (self.now, self.then))
        return f"{now} are {self.what}, reference {then}"

    @property
    def loss_and_rest_words(self) -> str:
        """The same, and the index without them."""
        return f"{self}; {format_measure_value(INDEX, self.there)} without them"


def find_lost_shares(index: float | None, detail: DetailTable | None) -> LostShares | None:
    """Values that are missing or invalid; None: they are not among the cells that moved most, or by a point.

    With the shares P and Q of values that are there, and p' and q' of each among those, an index is the terms
    of what is lost, (P - Q)·ln(P / Q), and Σ (P p' - Q q')·ln(p' / q'): that is the index of the values that
    are there, times (P + Q) / 2.

    >>> rows = (("(missing)", 0.0, 0.5, 2.5), ("0.4 to 0.5", 0.1, 0.05, 0.03))
    >>> (str(find_lost_shares(2.85, DetailTable(_CELLS, rows))),
    ... round(find_lost_shares(2.85, DetailTable(_CELLS, rows)).there, 3))
    ('50.0 % are missing, reference 0 %', 0.005)
    """
    if index is None or detail is None or detail.columns != _CELLS:
        return None
    rows = [row for row in detail.rows if row[0] in LOST]
    if not rows:
        return None
    then, now, terms = ([float(row[at] or 0.0) for row in rows] for at in (1, 2, 3))
    before, after = 1.0 - math.fsum(then), 1.0 - math.fsum(now)
    if abs(after - before) < _FEW:
        return None
    there = 0.0
    if min(before, after) > 0:
        rest = index - math.fsum(terms) - (after - before) * math.log(after / before)
        there = max(2 * rest / (after + before), 0.0)
    what = " or ".join(LOST[str(row[0])] for row in rows)
    return LostShares(what, math.fsum(now), math.fsum(then), there)


def input_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """Sentences on which features, scores, predictions and labels moved, and by how much; seasons first."""
    seasonal = bool(measurements.feature_rows(INDEX, SEASON))
    if seasonal:
        yield from _feature_sentences(measurements, SEASON)
        yield from score_move_sentences(measurements)
        yield from _feature_sentences(measurements, where="Against the reference")
    else:
        yield from _feature_sentences(measurements)
        yield from score_move_sentences(measurements)
    yield from _output_sentences(measurements)


def _feature_sentences(measurements: KnownMeasurements, against: str = "", where: str = "") -> Iterator[str]:
    rows, of = measurements.feature_rows(INDEX, against), f" from their {against}" if against else ""
    far = f"drifted for the {against}" if against else "drifted"
    judged_rows = [row for row in rows if row.measurement.value is not None]
    if not judged_rows:
        reason = why_absent(rows[0].measurement) if rows else reason_words("no_reference")
        yield f"Whether features drifted{of} is not known: {reason}"
        return
    effects = {} if against else effects_by_feature(measurements)
    moved_rows = sorted(
        filter(lambda row: has_values_beyond_chance(measurements, row), judged_rows),
        key=lambda row: (-abs(effects.get(row.subject.removeprefix(FEATURE), 0.0)), -_index_value(row)),
    )
    large = [row for row in moved_rows if stability_band(_index_value(row)) != "none"]
    where = where or capitalize_first(window_words(judged_rows[0], judged_rows[0].window_end))
    if not moved_rows:
        yield f"{where} no feature {far}, of {len(judged_rows)}"
    else:
        size = f"{len(large)} by PSI 0.1 or more" if large else "by less than PSI 0.1"
        size = "by PSI 0.1 or more" if len(large) == len(moved_rows) else size
        most = join_few_names(
            [
                f"{readable_name(row.subject)} "
                f"{_index_with_band(row, *_mean_words(measurements, row), *_lost_words(row))}"
                for row in moved_rows
            ]
        )
        yield f"{where} {len(moved_rows)} of {len(judged_rows)} features {far}, {size}: {most}"
        if not large and not against:
            yield "Chance alone makes one feature of 20 drift"
    yield from _lost_only_sentences(
        measurements, {readable_name(row.subject): row for row in judged_rows}, against
    )
    if len(judged_rows) < len(rows):
        blind: dict[str, list[str]] = {}
        for row in rows:
            if row.measurement.value is None:
                blind.setdefault(_unknown_reason(row), []).append(readable_name(row.subject))
        for reason, names in blind.items():
            yield f"Of {join_few_names(names)} this is not known: {reason}"


def _unknown_reason(row: MeasurementRow) -> str:
    """Why nothing is known of a feature."""
    if row.measurement.reason == Reason.OUT_OF_RANGE:
        return "most of its numbers lie beyond all of the reference's, before as now"
    return why_absent(row.measurement)


def _output_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    found = {
        name: measurements.newest_row(INDEX, "settled" if subject == "label" else "", subject)
        for subject, name in (("score", "scores"), ("prediction", "predictions"), ("label", "labels"))
    }
    rows = {name: row for name, row in found.items() if row is not None}
    judged = {name: row for name, row in rows.items() if row.measurement.value is not None}
    sentences = [
        f"{name} {_index_words(measurements, row)}"
        for name, row in judged.items()
        if has_values_beyond_chance(measurements, row)
    ]
    still = [name for name, row in judged.items() if not _is_beyond_chance(measurements, row)]
    if sentences:
        yield f"What comes out drifted (PSI): {', '.join(sentences)}"
    yield from _lost_only_sentences(measurements, judged)
    if still:
        yield f"No detectable drift of {join_few_names(still)}"
    for name, row in rows.items():
        if (
            row.measurement.value is None and row.measurement.reason is not Reason.NO_LABELS
        ):  # said of performance
            yield f"Whether {name} drifted is not known: {reason_words(str(row.measurement.reason))}"


def quality_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """Sentences on missing, invalid and unseen values, and on odd rows of the log."""
    yield from faulty_value_sentences(measurements)
    far, odd = list(_misdated_sentences(measurements)), list(_odd_row_words(measurements))
    yield from far
    if odd or not far:
        found = f"In the log: {join_few_names(odd, 4)}"
        yield found if odd else "No repeated, late or unreadable rows"


def faulty_value_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """Sentences on missing, invalid and unseen values."""
    worse = []
    compared = 0
    scores = [
        one.measurement for name in _FAULTS if (one := measurements.newest_row(name, "", "score", REFERENCE))
    ]
    for measure, word in _FAULTS.items():
        for row in measurements.subject_rows(measure, "", "", REFERENCE):
            interval = row.measurement.interval
            if row.subject == "prediction" and row.measurement in scores:
                continue  # made by a threshold: it lacks what its score lacks
            compared += row.measurement.value is not None
            if interval is not None and interval.lower > 0:
                step = f"{format_measure_difference(measure, row.measurement.value)}"
                text = f"{readable_name(row.subject)} {step} {word}"
                worse.append((row.measurement.value or 0.0, text))
    if worse:
        most = [text for _, text in sorted(worse, key=lambda pair: -pair[0])]
        yield f"More faulty values than in the reference: {join_few_names(most)}"
    elif compared:
        yield "No more missing, invalid or new values than in the reference"
    else:
        yield "Missing, invalid and new values are not compared: there is no reference, or no record"
    yield from features_out_of_range(measurements)


def features_out_of_range(measurements: KnownMeasurements) -> Iterator[str]:
    """Features with surely more than one number in a hundred beyond all of the reference's."""
    told = {}
    for row in measurements.feature_rows(OUT_OF_RANGE):
        interval, value = row.measurement.interval, row.measurement.value
        if interval is not None and value is not None and interval.lower > _FEW:
            told[f"{readable_name(row.subject)} {format_measure_value(OUT_OF_RANGE, value)}"] = value
    if told:
        yield (
            "Numbers beyond all of the reference's: "
            f"{join_few_names(sorted(told, key=lambda one: -told[one]))}"
        )


def _misdated_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """How many rows no window can ever have, for their event times."""
    count, share = measurements.newest_value("misdated_records"), measurements.newest_value("misdated_rate")
    if not count:
        return
    new = f", {format_measure_value('misdated_rate', share)} of those since the last audit" if share else ""
    rows = "1 row has an event time" if count == 1 else f"{count:,.0f} rows have event times"
    yield f"{rows} far outside the horizon{new}: no window counts them. Look at what writes the event time"


def _odd_row_words(measurements: KnownMeasurements) -> Iterator[str]:
    """Counts of the log that should be 0 and are not."""
    for name, measure in BY_NAME.items():
        if measure.family is not MeasureFamily.LOG or measure.direction is not BetterDirection.LOWER:
            continue
        counts = measure.unit.value == "records" and name != "misdated_records"  # which are said apart
        value = measurements.newest_value(name) if counts else None
        if value:
            yield f"{name.replace('_', ' ')} {format_measure_value(name, value)}"


def is_moved_by_few(index: float | None, beyond: float | None) -> bool:
    """Whether most numbers lie where they did, by their index, and some beyond all of the reference's."""
    return bool(beyond) and index is not None and stability_band(index) != "significant"


def _mean_words(measurements: KnownMeasurements, row: MeasurementRow) -> list[str]:
    """Mean beside the reference's, where it is a multiple of that; whether few of the numbers make it one.

    Where an index is small most numbers lie where they did: then the factor is none of a unit.
    """
    mean = measurements.sibling_row(row, "mean")
    value, usual = (
        (None, None) if mean is None else (mean.measurement.value, difference_base(mean.measurement, None))
    )
    if value is None or usual is None or not (factor := format_factor(value, usual)):
        return []
    beyond = measurements.sibling_row(row, OUT_OF_RANGE)
    if beyond is not None and is_moved_by_few(_index_value(row), beyond.measurement.value):
        share = format_measure_value(OUT_OF_RANGE, beyond.measurement.value)
        factor = f"{factor.partition(',')[0]} by {share} of its numbers, beyond all of the reference's"
    return [f"mean {approximate_text(value)}, reference {approximate_text(usual)}, {factor}"]


def _index_with_band(row: MeasurementRow, *more: str) -> str:
    """Index with its band, which is left out where it is none, and more in the same brackets."""
    index, band = _index_value(row), stability_band(_index_value(row))
    sentence = "; ".join((*([] if band == "none" else [band]), *more))
    return (
        f"{format_measure_value(INDEX, index)} ({sentence})"
        if sentence
        else format_measure_value(INDEX, index)
    )


def _index_words(measurements: KnownMeasurements, row: MeasurementRow) -> str:
    """Index, its band, and the value that chance exceeds in one window of twenty."""
    critical = measurements.sibling_row(row, f"{INDEX}_critical")
    limit = None if critical is None else critical.measurement.value
    if limit is None:
        return _index_with_band(row, *_lost_words(row))
    if format_measure_value(INDEX, limit) == format_measure_value(INDEX, _index_value(row)):
        return f"{_index_value(row):.4g} (chance gives up to {limit:.4g})"
    chance = f"chance gives up to {format_measure_value(INDEX, limit)}".replace("up to <", "less than")
    return _index_with_band(row, chance, *_lost_words(row))


def has_values_beyond_chance(measurements: KnownMeasurements, row: MeasurementRow) -> bool:
    """Whether the values that are there moved beyond chance: there may be fewer than the index knows of."""
    lost = _find_row_loss(row)
    return _is_beyond_chance(measurements, row) and (
        lost is None or _is_beyond_chance(measurements, row, lost.there * lost.smaller_share)
    )


def _lost_only_sentences(
    measurements: KnownMeasurements, judged: Mapping[str, MeasurementRow], against: str = ""
) -> Iterator[str]:
    """What moved beyond chance by its missing or invalid values alone."""
    alone = [
        f"{name} ({lost})".replace("reference", against or "reference")
        for name, row in judged.items()
        if _is_beyond_chance(measurements, row)
        and not has_values_beyond_chance(measurements, row)
        and (lost := _find_row_loss(row))
    ]
    if alone:
        yield f"Drifted by missing or invalid values alone: {join_few_names(alone)}"


def _lost_words(row: MeasurementRow) -> list[str]:
    """Lost values, and the index without them, of what moved besides."""
    lost = _find_row_loss(row)
    return [] if lost is None else [lost.loss_and_rest_words]


def _find_row_loss(row: MeasurementRow) -> LostShares | None:
    return find_lost_shares(row.measurement.value, row.measurement.detail)


def _is_beyond_chance(
    measurements: KnownMeasurements, row: MeasurementRow, index: float | None = None
) -> bool:
    critical = measurements.sibling_row(row, f"{INDEX}_critical", row.against)
    limit = None if critical is None else critical.measurement.value
    return limit is not None and (_index_value(row) if index is None else index) > limit


def _index_value(row: MeasurementRow) -> float:
    return row.measurement.value or 0.0
