"""One window of a model: what is folded for it, and the rows of its results."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from monitor.alerts.rules import Acceptance, Series
from monitor.core.measurement import Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Family
from monitor.measures.evaluate import best_threshold
from monitor.measures.options import Options, Result
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.caches import Caches, NewestSettled
from monitor.pipeline.model import CountedModel
from monitor.records.pane import Part
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.ends import Window

INDEPENDENT = "independent_records"


@dataclass(frozen=True, slots=True)
class Target:
    """One window of a model to measure."""

    model: CountedModel
    caches: Caches
    window: Window
    end: int
    warning: str = ""  # that its rows carry
    settled: NewestSettled | None = None  # newest settled window of its kind
    # changes that are expected, as of the cycle.
    accepted: Mapping[Series, Acceptance] = field(default_factory=dict)

    @property
    def options(self) -> Options:
        """Options of the measures."""
        options = self.model.spec.options
        if not options.profit:
            return options
        return replace(options, threshold=_threshold(self.model, self.caches, options))

    @property
    def start(self) -> int:
        """Start of the window."""
        return self.window.start(self.end)

    def row(
        self, result: Result, truth: Truth, stratum: Stratum, coverage: float | None, *, against: str = ""
    ) -> MeasurementRow:
        """Row of one result.

        Where records of one day go together it has the warning `independent_records`, if it has an interval:
        by that the records are independent, until its days are looked at.
        """
        warning = self.warning
        if self.model.spec.dependence == "day" and BY_NAME[result.measure].family is not Family.VOLUME:
            warning = doubted(warning, result.measurement)  # a volume's interval is of whole weeks
        return MeasurementRow(
            window=self.window.name,
            window_end=self.end,
            truth=truth,
            version=stratum.version,
            segment=stratum.segment,
            measure=result.measure,
            subject=result.subject,
            measurement=result.measurement,
            coverage=coverage,
            warning=warning,
            against=against,
        )


def doubted(warning: str, measurement: Measurement) -> str:
    """Add to a warning that the interval, if there is one, takes the records as independent."""
    nothing_to_add = measurement.interval is None or INDEPENDENT in warning
    return warning if nothing_to_add else ", ".join(filter(None, (warning, INDEPENDENT)))


def _threshold(model: CountedModel, caches: Caches, options: Options) -> float | None:
    """Threshold of the largest profit on the labels of the one reference; chosen once."""
    if model.reference is None or model.version_references:
        return None
    labels = model.reference.labels
    return caches.once(("threshold", labels), lambda: best_threshold(model.counting, labels, options))


def folded_part(target: Target, part: Part, *, strata: bool = True) -> Strata:
    """Sum of a window's panes by stratum, or of the whole alone; the whole is always there."""
    layout = target.model.counting.layout(part)
    folded = target.caches.panes.window(part, target.start, target.end, strata=strata)
    folded.setdefault(WHOLE, Counters.empty(layout))
    return folded
