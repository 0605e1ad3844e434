"""How many records there are, and what was odd about them: formulas in `volume.py`."""

from functools import partial

from monitor.measures.catalogue.measure import Direction, Exposure, Family, Measure, Unit

_row = partial(Measure, family=Family.VOLUME)
_count = partial(_row, unit=Unit.RECORDS, direction=Direction.LOWER)

VOLUME_ROWS = (
    _row(
        "records",
        "Records of the window, each id once.",
        unit=Unit.RECORDS,
        headline=True,
        exposed=Exposure.WINDOW,
    ),
    _row(
        "volume_ratio",
        "Records of the window / mean records of the same local hours of the four weeks before (a longer "
        "window goes back by as many whole weeks as it needs not to overlap): of those that were counted "
        "whole, within the horizon, and had records. None counted: `not_counted`; none with records: "
        "`no_records`.",
        unit=Unit.PLAIN,
        interval=(
            "score interval of the window's share of all these records, its variance φ times the "
            "binomial's: φ as estimated from the earlier weeks, at least 1; Student's t. From two weeks on"
        ),
        source="McCullagh & Nelder (1989), Generalized Linear Models, 4.5 and 6.2",
        headline=True,
        whole_only=True,
    ),
    _count("duplicate_records", "Rows that repeat an id.", headline=True),
    _count("stale_records", "Records logged more than the horizon after their event time.", headline=True),
    _count("adjusted_times", "Records whose local time was ambiguous or does not exist."),
    _count("unlogged_records", "Records without the moment of logging: the event time stands in."),
    _count(
        "unusual_names",
        "Records with a version, arm, segment, class or category whose text could not be its name: it has "
        "characters that nobody sees, or more than 200 bytes. The name is escaped and cut, and ends in `~` "
        "and a hash. Records of versions beyond the 1,000 with most records in a pane too: they are `other`.",
        headline=True,
    ),
)
