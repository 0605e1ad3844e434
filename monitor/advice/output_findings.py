"""What predictions, scores and labels tell together: words, where they flip, who gets labels. Pure.

Each fault and warning ends with the line to write.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.advice.row_findings import MOSTLY, RowFindings, value_share_words
from monitor.core.array_types import Ints
from monitor.core.text import double_quoted
from monitor.look.table_look import ENOUGH, NAMED_FROM, counts_of
from monitor.measures.statistics.intervals import wilson_interval
from monitor.measures.statistics.two_samples import fisher_exact, mann_whitney_less
from monitor.records.column_values import CategoryValues, parse_categories
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import are_labels_expected, parse_predictions, parse_scores

SURELY, CHANCE = 0.999, 0.001  # level of intervals, and of tests, that a fault or a line to write rests on
_PAIR = 2
_MOST, _TIMES_AS_OLD = 0.9, 2  # of the labels; a log so many times as old as these are late
_SHOWN = 3  # classes of a line to fill in
_TIMES = 2.0  # so much more often labels come for some predictions than for others
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ThresholdFlip:
    """The score from which on the other word is predicted, in all of n rows."""

    threshold: float
    below: str
    above: str
    n: int


@dataclass(frozen=True, slots=True)
class SelectiveLabels:
    """Predictions that labels come for: their share of some labels, and of some predictions."""

    words: tuple[str, ...]
    of_labels: float
    labels: int
    of_predictions: float
    predictions: int

    def __str__(self) -> str:
        return (
            f"{self.of_labels:.1%} of {self.labels:,} labels are of these predictions, "
            f"{self.of_predictions:.1%} of {self.predictions:,} predictions are"
        )


def look_at_outputs(
    findings: RowFindings, reading: ReadingOptions, predictions: str, labels: str | None
) -> None:
    """Note what two samples tell together: faults of the outputs, labels that come for some only.

    `predictions`, `labels`: what the tables are called; None: there are no labels.
    """
    samples = findings.records, findings.joined
    findings.faults += output_faults(*samples, reading, f"{predictions}: of the rows looked at")
    if labels is not None:
        old = findings.oldest is None or is_old(findings.delays, findings.oldest, findings.newest)
        of_then = findings.alike or findings.records
        findings.warnings += selective_warnings(of_then, findings.joined, reading, f"{labels}:", old=old)
        findings.warnings += reversed_score_findings(
            findings.joined, reading, f"{labels}: of the labels looked at the"
        )


def is_old(delays: Ints, oldest: int | None, newest: int | None) -> bool:
    """Whether a log is old enough to tell labels that do not come from those that come later.

    Parameters
    ----------
    delays
        of some labels, microseconds.
    oldest, newest
        event times of the log; None: not known.
    """
    if oldest is None or newest is None:
        return False
    late = int(np.quantile(delays, _MOST)) if len(delays) else 0
    return newest - oldest >= _TIMES_AS_OLD * late


def output_faults(
    records: pa.Table | None, joined: pa.Table | None, reading: ReadingOptions, about: str
) -> Iterator[str]:
    """What leaves nothing to count of the predictions: none is a class, or has a score, or gets labels.

    Parameters
    ----------
    records
        some predictions.
    joined
        some labels with their predictions: columns label, and the outputs.
    """
    if records is None or records.num_rows < NAMED_FROM:
        return
    yield from _empty_findings(records, reading, about)
    if reading.task is ModelTask.REGRESSION:
        return
    yield from _scores_out_of_range(records, reading, about)
    unusable = list(_unusable_findings(records, joined, reading, about))
    yield from unusable
    if reading.only_for and not unusable and not are_labels_expected(records, reading).any():
        words = _raw_predictions(records, reading)
        selective = selective_label_words(records, joined, reading)
        line = only_for_line(("…",) if selective is None else selective.words)
        name = ", ".join(map(double_quoted, reading.only_for))
        holds = "" if words is None else f"; they are {value_share_words(counts_of(words))}"
        yield (
            f"{about} none has a prediction of labels.only_for ({name}), so no label counts{holds}: "
            f"write {line}"
        )


def selective_warnings(
    records: pa.Table | None,
    joined: pa.Table | None,
    reading: ReadingOptions,
    about: str,
    *,
    old: bool = True,
) -> Iterator[str]:
    """Warn of labels that come for some predictions only, where the configuration does not say so.

    `old`: False: the log is too young to tell whether labels of other predictions come later.
    """
    selective = None if reading.only_for else selective_label_words(records, joined, reading)
    if selective is not None:
        name = ", ".join(map(double_quoted, selective.words))
        remedy = f"performance is of a choice, no sample; write {only_for_line(selective.words)}"
        young = "others' may come later: check again when the log is twice as old as labels are late"
        yield (
            f"{about} labels come for some predictions only: {name} are {selective.of_labels:.1%} of "
            f"{selective.labels:,} labels, and {selective.of_predictions:.1%} of "
            f"{selective.predictions:,} predictions: "
            f"{remedy if old else young}"
        )


def look_at_reference(table: pa.Table, reading: ReadingOptions, findings: RowFindings) -> None:
    """Note what is wrong with a reference, and what nothing can be compared with."""
    findings.faults += reversed_score_findings(table, reading, "the reference's")
    findings.warnings += empty_features(table)


def reversed_score_findings(rows: pa.Table | None, reading: ReadingOptions, whose: str) -> Iterator[str]:
    """That scores are surely higher for the negative class."""
    found = surely_apart(rows, reading)
    if found is None or found[1] >= CHANCE:
        return
    negative, positive = (double_quoted(name) for name in reading.classes)
    yield (
        f"{whose} scores are lower for the positive class {positive}: ROC AUC {found[0]:.3f}, clearly "
        f"below 0.5; write [models.classes] positive = {negative} and negative = {positive}, or give a score "
        f"that is high for {positive}"
    )


def empty_features(table: pa.Table) -> Iterator[str]:
    """Features that a reference has no value of: nothing says how far they move."""
    features = [name for name in table.column_names if name.startswith("feature:")]
    for name in features if table.num_rows else []:
        if pc.all(table[name].is_null(nan_is_null=True)).as_py():
            feature = double_quoted(name.removeprefix("feature:"))
            yield (
                f"the reference holds no value of the feature {feature}, so nothing says how far it moves: "
                "give a reference that has it, or take it out of [models.features]"
            )


def surely_apart(rows: pa.Table | None, reading: ReadingOptions) -> tuple[float, float] | None:
    """Area under the ROC curve, and how likely chance alone makes it so small (Mann & Whitney's test).

    None where it may be 1/2, or with fewer than 10 scores of either class.
    """
    if rows is None or reading.task is not ModelTask.BINARY or "label" not in rows.column_names:
        return None
    rows = rows.filter(pa.array(are_labels_expected(rows, reading)))
    score = parse_scores(rows, reading) if reading.has_score else None
    if score is None or len(reading.classes) != _PAIR:
        return None
    actual = parse_categories(rows["label"]).level_positions(reading.classes, -1)
    negative, positive = (score.values[score.finite & (actual == at)] for at in (0, 1))
    if min(len(negative), len(positive)) < NAMED_FROM:
        return None
    found = mann_whitney_less(positive, negative)
    return None if CHANCE <= found[1] <= 1 - CHANCE else found


def prediction_meanings(
    records: pa.Table, joined: pa.Table | None, reading: ReadingOptions
) -> dict[str, str]:
    """Class that each word of the predictions means; empty where labels do not tell, or words are classes.

    Of two words the one means the class that is more frequent with it than with the other; where chance may
    have made that so, the word with most labels means the class of most of these. Of several words each means
    the class of most of its labels, if no two mean the same.
    """
    words = _raw_predictions(records, reading)
    frequent = [] if words is None else [word for word, n in counts_of(words).items() if n >= NAMED_FROM]
    if joined is None or len(frequent) != len(reading.classes) or set(frequent) & set(reading.classes):
        return {}
    table = _cross_table(joined, reading, frequent)
    told = len(frequent) == _PAIR and table.sum(axis=1).all() and table.sum(axis=0).all()
    if told and fisher_exact(table) < CHANCE:
        apart = table[0, 0] * table[1, 1] > table[0, 1] * table[1, 0]
        return dict(zip(frequent, reading.classes if apart else reading.classes[::-1], strict=True))
    return _majority_meanings(table, frequent, reading.classes)


def flip_of(records: pa.Table, reading: ReadingOptions) -> ThresholdFlip | None:
    """Where one of two words is predicted below a score, and the other from it on, without exception."""
    score = parse_scores(records, reading) if reading.has_score else None
    if score is None or "prediction" not in records.column_names:
        return None
    words = parse_categories(records["prediction"])
    there = score.finite & (words.codes >= 0)
    values, codes = score.values[there], words.codes[there]
    kinds = np.unique(codes)
    sides = [values[codes == kind] for kind in kinds]
    if len(sides) != _PAIR or min(map(len, sides)) < NAMED_FROM:
        return None
    low, high = sorted((0, 1), key=lambda at: float(sides[at].max()))
    if sides[low].max() >= sides[high].min():
        return None
    below, above = (words.levels[kinds[at]] for at in (low, high))
    return ThresholdFlip(
        _number_between(float(sides[low].max()), float(sides[high].min())), below, above, len(values)
    )


def selective_label_words(
    records: pa.Table | None, joined: pa.Table | None, reading: ReadingOptions
) -> SelectiveLabels | None:
    """Predictions that labels surely come for at least twice as often as for others; None: for all alike.

    Their shares of the newest labels are compared with those of the predictions of that time, by Wilson
    intervals.
    """
    if records is None or joined is None or reading.task is ModelTask.REGRESSION:
        return None
    words, labelled = _raw_predictions(records, reading), _raw_predictions(joined, reading)
    if words is None or labelled is None:
        return None
    predicted, known = counts_of(words), counts_of(labelled)
    n, m = sum(predicted.values()), sum(known.values())
    frequent = [word for word, count in predicted.items() if count >= NAMED_FROM]
    if m < ENOUGH or len(frequent) < _PAIR:
        return None
    of_all = {word: wilson_interval(predicted[word], n, SURELY) for word in frequent}
    of_known = {word: wilson_interval(known.get(word, 0), m, SURELY) for word in frequent}
    least = min(of_known[word].upper / of_all[word].lower for word in frequent)
    if max(of_known[word].lower / of_all[word].upper for word in frequent) < _TIMES * least:
        return None
    ratio = {word: known.get(word, 0) / m / (predicted[word] / n) for word in frequent}
    chosen = tuple(word for word in frequent if _TIMES * ratio[word] >= max(ratio.values()))
    shares = (sum(side.get(word, 0) for word in chosen) for side in (known, predicted))
    of_labels, of_predictions = shares
    return SelectiveLabels(chosen, of_labels / m, m, of_predictions / n, n)


def only_for_line(words: Sequence[str]) -> str:
    """What to write where labels come for some predictions only."""
    return f"[models.labels] only_for = {quoted_list(words)}"


def words_by_class(meaning: Mapping[str, str]) -> dict[str, list[str]]:
    """Words by the class that they mean."""
    words: dict[str, list[str]] = {}
    for word, name in sorted(meaning.items()):
        words.setdefault(name, []).append(word)
    return words


def names_table(names: Mapping[str, Sequence[str]]) -> str:
    """Words of each class, as TOML writes them.

    >>> names_table({"PAID": ["approve"], "DEFAULT": ["decline", "refuse"]})
    '{ DEFAULT = ["decline", "refuse"], PAID = ["approve"] }'
    """
    parts = (
        f"{name if _BARE.fullmatch(name) else toml_text(name)} = {quoted_list(words)}"
        for name, words in sorted(names.items())
    )
    return f"{{ {', '.join(parts)} }}"


def toml_text(text: str) -> str:
    """Text as TOML writes it, places for secrets excepted."""
    return double_quoted(text).replace("${", "$${")


def quoted_list(texts: Iterable[str]) -> str:
    """Texts as TOML writes a list of them."""
    return f"[{', '.join(map(toml_text, texts))}]"


def round_range(low: float, high: float) -> tuple[float, float]:
    """Ends in round numbers that leave some room: rows not looked at may lie beyond."""
    step = 10.0 ** np.floor(np.log10(max(high - low, 1e-9)))
    return (min(0.0, float(np.floor(low / step) * step)), float(np.ceil(high / step) * step) + 0.0)


def _empty_findings(records: pa.Table, reading: ReadingOptions, about: str) -> Iterator[str]:
    for role in ("score", "prediction"):
        if role in records.column_names and pc.all(records[role].is_null(nan_is_null=True)).as_py():
            yield (
                f'{about} none has a value in "{reading.column_name(role)}" ({role}), so no prediction '
                "counts: "
                f'write [models.predictions] {role} = "…", what holds it'
            )


def _scores_out_of_range(records: pa.Table, reading: ReadingOptions, about: str) -> Iterator[str]:
    score = parse_scores(records, reading) if reading.has_score else None
    if score is None or score.finite.sum() < NAMED_FROM:
        return
    values, (lowest, highest) = score.values[score.finite], reading.score_range
    outside = float(np.mean((values < lowest) | (values > highest)))
    if outside <= MOSTLY:
        return
    many, counts = ("all", "none counts") if outside == 1 else (f"{outside:.1%}", "hardly any counts")
    low, high = round_range(float(values.min()), float(values.max()))
    yield (
        f"{about} {many} have a score outside score_range [{lowest:g}, {highest:g}] (they go from "
        f"{values.min():g} to {values.max():g}), so {counts}: write [models.predictions] "
        f"score_range = [{low:g}, {high:g}]"
    )


def _unusable_findings(
    records: pa.Table, joined: pa.Table | None, reading: ReadingOptions, about: str
) -> Iterator[str]:
    if "prediction" not in records.column_names or not reading.classes:
        return
    usable = parse_predictions(records, reading, None)
    counts = counts_of(parse_categories(records["prediction"]))
    if not isinstance(usable, CategoryValues) or sum(counts.values()) < NAMED_FROM:
        return
    if (usable.level_positions(reading.classes, -1) >= 0).any():
        return
    meaning = prediction_meanings(records, joined, reading)
    table = names_table(
        words_by_class(meaning) if meaning else {name: ["…"] for name in reading.classes[:_SHOWN]}
    )
    full_name = ", ".join(map(double_quoted, reading.classes))
    yield (
        f'{about} none is of a class ({full_name}) in "{reading.column_name("prediction")}" '
        "(prediction), which "
        "holds "
        f"{value_share_words(counts)}: no prediction can be right; write [models.classes] names = {table}"
    )


def _raw_predictions(rows: pa.Table, reading: ReadingOptions) -> CategoryValues | None:
    """Predictions in their own words; classes, where they are made of scores."""
    if "prediction" in rows.column_names:
        return parse_categories(rows["prediction"])
    prediction = parse_predictions(rows, reading, parse_scores(rows, reading))
    return prediction if isinstance(prediction, CategoryValues) else None


def _cross_table(joined: pa.Table, reading: ReadingOptions, words: Sequence[str]) -> Ints:
    """Labelled rows by word and class."""
    predicted = parse_categories(joined["prediction"]).level_positions(tuple(words), -1)
    actual = parse_categories(joined["label"]).level_positions(reading.classes, -1)
    both = (predicted >= 0) & (actual >= 0)
    size = len(reading.classes)
    cells = np.bincount(predicted[both] * size + actual[both], minlength=len(words) * size)
    return cells.reshape(len(words), size).astype(np.int64)


def _majority_meanings(table: Ints, words: Sequence[str], classes: Sequence[str]) -> dict[str, str]:
    """Each word as the class of most of its labels; of two words the one with most labels tells both."""
    if len(words) == _PAIR:
        word = int(table.sum(axis=1).argmax())
        n, most = int(table[word].sum()), int(table[word].argmax())
        if n < ENOUGH or wilson_interval(int(table[word, most]), n, SURELY).lower <= 1 / 2:
            return {}
        return {words[word]: classes[most], words[1 - word]: classes[1 - most]}
    named = [classes[at] for at in table.argmax(axis=1)]
    sure = (table.sum(axis=1) >= NAMED_FROM).all() and (2 * table.max(axis=1) > table.sum(axis=1)).all()
    return dict(zip(words, named, strict=True)) if sure and len(set(named)) == len(named) else {}


def _number_between(low: float, high: float) -> float:
    """Number with fewest decimals above the one and not above the other."""
    for decimals in range(17):
        factor = 10.0**decimals
        number = float(np.floor(low * factor) + 1) / factor
        if low < number <= high:
            return number
    return high
