import store_examples as examples

from monitor.records.counting import VOLUME
from monitor.store.sql_store import SqlStore


def test_a_configuration_comes_back_and_stays_as_it_was_kept_first(store: SqlStore) -> None:
    store.configurations.save_configuration("c1", "late", '{"every": 1}')
    store.configurations.save_configuration("c1", "other", '{"every": 2}')
    store.configurations.save_configuration("c2", "late", '{"every": 3}')

    first, second = (
        store.configurations.read_configuration("c1"),
        store.configurations.read_configuration("c2"),
    )

    assert first is not None
    assert second is not None
    assert (first.hash, first.model, first.content) == ("c1", "late", '{"every": 1}')
    assert second.content == '{"every": 3}'
    assert 0 < first.created <= second.created
    assert store.configurations.read_configuration("c3") is None


def test_a_kept_reference_says_what_it_was_made_of(store: SqlStore) -> None:
    reference = examples.reference()
    store.references.save_reference("k", "late", reference, 'file "reference.parquet", content 1a')

    found = store.references.describe_reference("k")

    assert found is not None
    assert (found.key, found.model, found.grid) == ("k", "late", reference.counting.hash)
    assert found.made_of == 'file "reference.parquet", content 1a'
    assert found.rows == reference.records.dense_block("volume")[VOLUME.index("records")]
    assert store.references.describe_reference("other") is None
