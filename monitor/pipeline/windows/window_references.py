"""What the strata of a window are compared with: the default reference, or those of the versions."""

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.measures.evaluate import make_expected_cells
from monitor.measures.shift.shift_cells import ExpectedCells, ReferenceMixture
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle_model import CountedModel
from monitor.records.counting import Counting
from monitor.records.reference import Reference
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum

DEFAULT_REFERENCE = "default_reference"


@dataclass(frozen=True, slots=True)
class WindowReferences:
    """References of one window."""

    default: Reference | None
    versions: Mapping[str, Reference]  # references of versions that have their own
    # (share of the window's serving records, reference), each reference once.
    shares: tuple[tuple[float, Reference], ...]

    def pick_reference(self, stratum: Stratum) -> Counters | ReferenceMixture | None:
        """Reference of a stratum's records.

        A version's is its own or the default; a segment's the same segment of the reference, and none where
        versions with different references are mixed: how they are mixed within it is not known.
        """
        if stratum.version is not None:
            own = self.versions.get(stratum.version, self.default)
            return None if own is None else own.records
        if len(self.shares) > 1:
            if self._is_segment(stratum):
                return None
            return ReferenceMixture(tuple((share, reference.records) for share, reference in self.shares))
        reference = self.shares[0][1] if self.shares else self.default
        if reference is None:
            return None
        return reference.segments.get(stratum) if self._is_segment(stratum) else reference.records

    def expected_cells(
        self, stratum: Stratum, counting: Counting, caches: ModelCaches
    ) -> ExpectedCells | None:
        """What the reference of a stratum leads one to expect; of single references made once."""
        reference, features = self.pick_reference(stratum), stratum == WHOLE
        if not isinstance(reference, Counters):
            return None if reference is None else make_expected_cells(counting, reference, features=features)
        return caches.made_once(
            ("expectation", reference, features),
            lambda: make_expected_cells(counting, reference, features=features),
        )

    def missing_reference_warning(self, stratum: Stratum) -> str:
        """Of a version that has no reference of its own although others have."""
        lacks = stratum.version is not None and stratum.version not in self.versions
        return DEFAULT_REFERENCE if lacks and self.versions else ""

    def _is_segment(self, stratum: Stratum) -> bool:
        columns = () if self.default is None else self.default.counting.segments
        return any((stratum.segment or "").startswith(f"{column}=") for column, _ in columns)


def window_references(model: CountedModel, folded: Strata) -> WindowReferences:
    """References of a window, given its records part by stratum."""
    default, own = model.reference, model.version_references
    if default is None or not own:
        return WindowReferences(default, own, ())
    served = {
        stratum.version: count_serving_records(model.counting, counters)
        for stratum, counters in folded.items()
        if stratum.version is not None
    }
    records = {version: served.get(version, 0) for version in own}
    rest = sum(count for version, count in served.items() if version not in own)
    total = sum(records.values()) + rest
    # Versions without a reference of their own are together compared with the default one. Sorted: a mixture
    # is the same whatever the order of strata.
    shares = [(rest, default), *((records[version], own[version]) for version in sorted(own))]
    return WindowReferences(
        default, own, tuple((count / total, reference) for count, reference in shares if count)
    )


def count_serving_records(counting: Counting, records: Counters) -> int:
    """Records of a stratum that serve."""
    block = "served" if "served" in counting.records_layout.blocks_by_name else "volume"
    return int(records.dense_block(block)[0])
