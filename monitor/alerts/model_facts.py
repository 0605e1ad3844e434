"""What the store knows of a model at a moment: what `status`, pages and messages go by. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import Accepted, Rule
from monitor.alerts.incident_life import KeptIncident
from monitor.alerts.lifecycle import Alert
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.sentences.trouble_sentences import CycleTrouble


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelFacts:
    """What the store knows of a model at a moment, and what is configured of it."""

    model: str
    # now, as_of, every: the moment; the last cycle's, None: none ran; microseconds between ticks.
    now: int
    as_of: int | None
    every: int
    # window, main: name of the window that rules judge; measure of performance that stands for the others.
    window: str
    main: str
    # labels, reference: whether they are configured.
    labels: bool
    reference: bool
    rows: Sequence[MeasurementRow]  # current measurements, of strata too
    # those that are pending or firing, each with who has acknowledged it, or "".
    alerts: Sequence[tuple[Alert, str]]
    # incidents: that are open. recovered: alerts of those of which none fires, which ended last.
    incidents: Sequence[KeptIncident] = ()
    recovered: Sequence[Alert] = ()
    # rules, never: of the model; by name why one can never be judged, and what would help.
    rules: Sequence[Rule]
    never: Mapping[str, str]
    accepted: Accepted
    # the rows are kept ones of an earlier moment: figures of the log, for one, are not among them.
    past: bool = False
    followed: bool = True  # False: the last cycle was a replay's, and no daemon has run since
    of_past: bool = False  # the log is of the past on purpose: it ends, and no cycle is late
    # when the daemon of the last cycle was heard of last; None: one runs, or none is known of.
    heard: int | None = None
    # when a daemon that lives ended its last cycle, or went on, whatever the as of; None: not known.
    worked: int | None = None
    trouble: CycleTrouble | None = None  # what stands in the way of its cycles
    replay_until: int | None = None  # where the replay ends that runs now; None: none runs
    # records_table, labels_table: see `IncidentContext`.
    records_table: str = ""
    labels_table: str = ""
    told_later: str = ""  # by when gross faults are told, where that is not within two hours


def limited_measurements(rules: Sequence[Rule], measurements: KnownMeasurements) -> KnownMeasurements:
    """Measurements whose main window is the one whose performance a rule limits, if there is such a rule.

    Another window may lie beyond the limit, and no alert fires.
    """
    limited = next((rule.window for rule in rules if limits_performance(rule, measurements.main)), None)
    return measurements if limited is None else replace(measurements, window=limited)


def limits_performance(rule: Rule, main: str) -> bool:
    """Whether a rule limits how far the main measure may fall below the reference's."""
    return (rule.measure, rule.against, rule.truth, rule.segment, rule.version) == (
        main, "reference", LabelTruth.SETTLED, "", "",
    )  # fmt: skip
