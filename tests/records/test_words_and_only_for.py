"""Predictions in words of their own, and labels that only some of the records ever get."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from strategies import AS_OF, FIRST, PANES, Log, counting_of, logs, record, table_of

from monitor.core.array_types import Ints
from monitor.core.clock import HOUR
from monitor.records.codec import counting_text
from monitor.records.codec import parse_counting as counting_of_text
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.reading import ChallengerOutput, ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.records.winning_rows import parse_winning_rows
from monitor.states.strata import WHOLE

MEANING = {"no": "0", "yes": "1", "0": "0", "1": "1"}


def counting(**changed: Any) -> Counting:
    """Predictions yes and no mean 1 and 0; labels come for all, unless it is changed."""
    plain = counting_of("worded")
    return replace(plain, reading=replace(plain.reading, **{"only_for": (), **changed}))


def joined(*rows: tuple[str, str | None, str | None]) -> pa.Table:
    """Records of (id, prediction, label), the label an hour after the event."""
    made = [
        record(name, prediction=prediction, label=label, reported_at=None if label is None else FIRST + HOUR)
        for name, prediction, label in rows
    ]
    return table_of(made, [*made[0], "revision"])


def predicted(table: pa.Table, how: Counting) -> Ints:
    (part,) = count_labels(table, how, panes=PANES[:1], as_of=AS_OF)
    return how.predicted_counts(part.strata[WHOLE])


LOG = joined(
    ("a", "yes", "1"),
    ("b", "yes", "0"),
    ("c", "no", None),
    ("d", "no", "0"),
    ("e", "maybe", None),
    ("f", None, "1"),
)


def test_words_are_counted_as_the_classes_that_they_mean() -> None:
    how, plain = counting(), counting(words=())
    said = pa.array([MEANING.get(word or "", word) for word in LOG["prediction"].to_pylist()])
    translated = LOG.set_column(LOG.column_names.index("prediction"), "prediction", said)

    for count in (count_records, count_labels):
        assert count(LOG, how, panes=PANES, as_of=AS_OF) == count(translated, plain, panes=PANES, as_of=AS_OF)
    assert predicted(LOG, how).tolist() == [[1, 0, 1, 0], [1, 2, 0, 1]]  # no | yes | unseen | missing


def test_words_that_mean_one_another_are_exchanged() -> None:
    how = counting(words=(("0", "1"), ("1", "0")))

    table = predicted(joined(("a", "1", "1"), ("b", "1", "1"), ("c", "0", "1")), how)

    assert table[1].tolist() == [2, 1, 0, 0]


def test_other_predictions_are_neither_records_nor_labels_of_the_labels_part() -> None:
    (part,) = count_labels(LOG, counting(only_for=("1",)), panes=PANES[:1], as_of=AS_OF)

    assert (part.rows, part.records, part.labelled) == (2, 2, 2)
    assert counting().confusion_view(part.strata[WHOLE]).counts.tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_a_prediction_that_is_no_class_may_be_one_that_labels_come_for() -> None:
    (part,) = count_labels(LOG, counting(only_for=("maybe",)), panes=PANES[:1], as_of=AS_OF)

    assert (part.records, part.labelled) == (1, 0)


def test_the_records_part_holds_all_records_whatever_labels_come_for() -> None:
    some, every = (counting(only_for=only_for) for only_for in (("1",), ()))

    parts = [count_records(LOG, how, panes=PANES, as_of=AS_OF) for how in (some, every)]

    assert parts[0] == parts[1]
    assert some.hash_stored_layout(some.records_layout) == every.hash_stored_layout(every.records_layout)
    assert some.hash_stored_layout(some.labels_layout) != every.hash_stored_layout(every.labels_layout)


@given(logs("worded"))
@settings(max_examples=100, deadline=None)
def test_what_labels_come_for_is_what_a_count_of_these_winners_alone_finds(log: Log) -> None:
    table = log.joined_table()
    rows = parse_winning_rows(table, log.counting, PANES, AS_OF)
    meant = [MEANING.get(word or "", word) for word in table["prediction"].to_pylist()]
    kept = np.asarray([meant[row] in ("1", "maybe") for row in rows.rows.tolist()], dtype=bool)
    of_kept = table.take(pa.array(rows.member[kept[rows.group]]))

    parts = count_labels(table, log.counting, panes=PANES, as_of=AS_OF)

    assert parts == count_labels(of_kept, counting(), panes=PANES, as_of=AS_OF)


def test_a_reference_has_the_labels_of_the_same_predictions_alone() -> None:
    n = 400
    table = pa.table(
        {
            "score": np.linspace(0, 1, n),
            "prediction": ["yes" if at % 4 else "no" for at in range(n)],
            "label": [str(at % 2) for at in range(n)],
        }
    )
    reading = replace(counting(only_for=("1",)).reading, numeric=(), categorical=())

    reference = reference_of(table, reading)

    assert reference.n == n
    assert reference.counting.tally_view(reference.labels).records == 300


def test_classes_that_come_from_a_reference_are_those_that_the_words_mean() -> None:
    reading = ReadingOptions(task=ModelTask.MULTICLASS, words=(("tuna", "fish"),), labelled=True)
    table = pa.table({"prediction": ["tuna", "bird"] * 20, "label": ["fish", "bird"] * 20})

    reference = reference_of(table, reading)

    assert reference.counting.reading.classes == ("bird", "fish")
    assert reference.counting.confusion_view(reference.labels).counts.diagonal().tolist() == [20, 20, 0]


def test_a_challengers_class_is_said_in_the_same_words() -> None:
    reading = ReadingOptions(
        task=ModelTask.MULTICLASS,
        classes=("0", "1", "2"),
        words=(("no", "0"), ("yes", "1")),
        challenger=ChallengerOutput(column="other"),
        labelled=True,
        time_units=(("event_time", "us"), ("reported_at", "us"), ("logged_at", "us")),
    )
    how = reference_of(pa.table({"prediction": ["yes"], "label": ["1"]}), reading).counting
    rows = joined(("a", "yes", "1"), ("b", "no", "1")).append_column("challenger", pa.array(["no", "yes"]))

    (part,) = count_labels(rows, how, panes=PANES[:1], as_of=AS_OF)

    assert part.strata[WHOLE].dense_block("paired").tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("only_for", [(), ("1",)])
def test_words_and_predictions_come_back_from_json(only_for: tuple[str, ...]) -> None:
    how = counting(only_for=only_for)

    assert counting_of_text(counting_text(how)) == how
