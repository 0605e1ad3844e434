"""One window of a model: what is folded for it, and the rows of its results."""

from dataclasses import dataclass, replace

from monitor.core.measurement import Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Family
from monitor.measures.evaluate import Options, Result, best_threshold
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.model import Monitored
from monitor.records.pane import Part
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.ends import Window

INDEPENDENT = "independent_records"


@dataclass(frozen=True, slots=True)
class Target:
    """One window of a model to measure, and the warning that its rows carry."""

    monitored: Monitored
    window: Window
    end: int
    warning: str = ""

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
        if self.monitored.spec.dependence == "day" and BY_NAME[result.measure].family is not Family.VOLUME:
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
    known = measurement.interval is None or INDEPENDENT in warning
    return warning if known else ", ".join(filter(None, (warning, INDEPENDENT)))


def ask_of(monitored: Monitored) -> Options:
    """Options of the measures."""
    spec = monitored.spec
    profit = {(actual, predicted): amount for actual, predicted, amount in spec.profit}
    ask = Options(
        level=spec.level,
        resamples=spec.resamples,
        tops=spec.top_shares,
        profit=profit,
        rate_interval=spec.rate_interval,
        families=spec.families,
    )
    return replace(ask, threshold=_threshold(monitored, ask)) if profit else ask


def _threshold(monitored: Monitored, ask: Options) -> float | None:
    """Threshold of the largest profit on the labels of the one reference; chosen once."""
    if monitored.threshold is None:
        reference = None if monitored.version_references else monitored.reference
        found = None if reference is None else best_threshold(monitored.counting, reference.labels, ask)
        monitored.threshold = (found,)
    return monitored.threshold[0]


def folded_part(target: Target, part: Part, *, strata: bool = True) -> Strata:
    """Sum of a window's panes by stratum, or of the whole alone; the whole is always there."""
    layout = target.monitored.counting.layout(part)
    folded = target.monitored.panes.window(part, target.start, target.end, strata=strata)
    folded.setdefault(WHOLE, Counters.empty(layout))
    return folded
