"""One window of a model: what is folded for it, and the rows of its results."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from monitor.alerts.alert_rules import Acceptance, AlertedSeries
from monitor.core.measurement import Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import find_best_threshold
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.caches import ModelCaches, NewestSettled
from monitor.pipeline.cycle_model import CountedModel
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.window_ends import Window

INDEPENDENT = "independent_records"


@dataclass(frozen=True, slots=True)
class WindowTarget:
    """One window of a model to measure."""

    model: CountedModel
    caches: ModelCaches
    window: Window
    end: int
    warning: str = ""  # that its rows carry
    settled: NewestSettled | None = None  # newest settled window of its kind
    # changes that are expected, as of the cycle.
    accepted: Mapping[AlertedSeries, Acceptance] = field(default_factory=dict)

    @property
    def options(self) -> MeasureOptions:
        """Options of the measures."""
        options = self.model.spec.options
        if not options.profit:
            return options
        return replace(options, threshold=_profit_threshold(self.model, self.caches, options))

    @property
    def start(self) -> int:
        """Start of the window."""
        return self.window.start_of(self.end)

    def result_row(
        self,
        result: MeasureResult,
        truth: LabelTruth,
        stratum: Stratum,
        coverage: float | None,
        *,
        against: str = "",
    ) -> MeasurementRow:
        """Row of one result.

        Where records of one day go together it has the warning `independent_records`, if it has an interval:
        by that the records are independent, until its days are looked at.
        """
        warning, of_days = self.warning, self.model.spec.keys.dependence == "day"
        if of_days and BY_NAME[result.measure].family is not MeasureFamily.VOLUME:  # which is of whole weeks
            warning = add_independence_warning(warning, result.measurement)
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


def add_independence_warning(warning: str, measurement: Measurement) -> str:
    """Add to a warning that the interval, if there is one, takes the records as independent."""
    nothing_to_add = measurement.interval is None or INDEPENDENT in warning
    return warning if nothing_to_add else ", ".join(filter(None, (warning, INDEPENDENT)))


def _profit_threshold(model: CountedModel, caches: ModelCaches, options: MeasureOptions) -> float | None:
    """Threshold of the largest profit on the labels of the one reference; chosen once."""
    if model.reference is None or model.version_references:
        return None
    labels = model.reference.labels
    return caches.made_once(
        ("threshold", labels), lambda: find_best_threshold(model.counting, labels, options)
    )


def fold_window_part(target: WindowTarget, part: PaneHalf, *, strata: bool = True) -> Strata:
    """Sum of a window's panes by stratum, or of the whole alone; the whole is always there."""
    layout = target.model.counting.layout_of(part)
    folded = target.caches.panes.sum_window(part, target.start, target.end, strata=strata)
    folded.setdefault(WHOLE, Counters.make_empty(layout))
    return folded
