"""Kept references: grids and reading options as JSON, counters as blobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select, update

from monitor.core.errors import CodecError, damage_error
from monitor.specs.stored_rows import KeptReference
from monitor.states.strata import WHOLE
from monitor.store.dialect_statements import database_now, insert_missing
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import references

if TYPE_CHECKING:  # counts: what only reads measurements does without NumPy and Arrow
    from monitor.records.reference import Reference
    from monitor.states.counters import CounterLayout, Counters
    from monitor.states.strata import Strata


@dataclass(frozen=True, slots=True)
class ReferenceRepository(Repository):
    """Kept references by the hash of their specification, of all runs."""

    def read_reference(self, key: str) -> Reference | None:
        """Reference of a key.

        Raises
        ------
        CodecError
            if it cannot be read by this version.
        """
        with read_transaction(self.engine) as connection:
            return _unpack_reference(connection, key)

    def list_reference_keys(self, model: str) -> list[str]:
        """Keys of a model's references, oldest first."""
        statement = select(references.c.key).where(references.c.model == model)
        statement = statement.order_by(references.c.created, references.c.key)
        with read_transaction(self.engine) as connection:
            return list(connection.execute(statement).scalars())

    def describe_reference(self, key: str) -> KeptReference | None:
        """What is known of a kept reference beside its counters.

        Raises
        ------
        CodecError
            if it cannot be read by this version.
        """
        columns = (references.c.model, references.c.made_of, references.c.created)
        with read_transaction(self.engine) as connection:
            row = connection.execute(select(*columns).where(references.c.key == key)).first()
            reference = _unpack_reference(connection, key)
        if row is None or reference is None:
            return None
        return KeptReference(
            key=key,
            model=row.model,
            grid=reference.counting.hash,
            made_of=row.made_of,
            rows=reference.n,
            created=row.created,
        )

    def save_reference(self, key: str, model: str, reference: Reference, made_of: str = "") -> None:
        """Keep a reference; one that is kept already stays as it is, but for effects that it lacks."""
        from monitor.records.codec import counting_text, encode_strata
        from monitor.records.effect_table import pack_effects

        effects = None if reference.effects is None else pack_effects(reference.effects)
        with write_transaction(self.engine) as connection:
            now = connection.execute(select(database_now(connection))).scalar_one()
            row = {
                "key": key,
                "model": model,
                "hash": reference.counting.hash,
                "counting": counting_text(reference.counting),
                "records": encode_strata({WHOLE: reference.records, **reference.segments}),
                "labels": encode_strata({WHOLE: reference.labels, **reference.label_segments}),
                "created": now,
                "made_of": made_of,
                "effects": effects,
            }
            insert_missing(connection, references, [row])
            if effects is not None:  # of one that was kept before anybody looked for effects
                unknown = references.c.effects.is_(None)
                statement = update(references).where(references.c.key == key, unknown)
                connection.execute(statement.values(effects=effects))


def _unpack_reference(connection: Connection, key: str) -> Reference | None:
    from monitor.records.codec import parse_counting
    from monitor.records.effect_table import unpack_effects
    from monitor.records.reference import Reference
    from monitor.states.counters import Counters

    columns = [references.c[name] for name in ("hash", "counting", "records", "labels", "effects")]
    row = connection.execute(select(*columns).where(references.c.key == key)).first()
    if row is None:
        return None
    try:
        counting = parse_counting(row.counting)
        records, segments = _split_blob(row.records, counting.records_layout)
        effects = None if row.effects is None else unpack_effects(row.effects)
        if row.hash != counting.hash:  # kept by a version that counted labels otherwise: theirs are not known
            no_labels = Counters.make_empty(counting.labels_layout)
            return Reference(counting, records, no_labels, segments, {}, effects)
        labels, labelled = _split_blob(row.labels, counting.labels_layout)
    except CodecError as error:
        raise damage_error(f"table references_, key {key}", error) from error
    return Reference(counting, records, labels, segments, labelled, effects)


def _split_blob(blob: bytes, layout: CounterLayout) -> tuple[Counters, Strata]:
    """Counters of the whole, and those by segment."""
    from monitor.records.codec import decode_strata

    strata = dict(decode_strata(blob, layout))
    if WHOLE not in strata:
        raise CodecError("a state of the whole expected: got none")
    return strata.pop(WHOLE), strata
