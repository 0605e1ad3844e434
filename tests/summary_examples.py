"""A model at a glance, made by hand and at random."""

from hypothesis import strategies as st

from monitor.alerts.alert_rules import Severity
from monitor.alerts.model_summary import ChangedSeries, FigureMark, ModelSummary, SummaryFigure
from monitor.sentences.known_measurements import readable_name


def figure_of(title: str, value: str = "", beside: str = "", note: str = "") -> SummaryFigure:
    return SummaryFigure(
        title=title,
        span="31 Dec" if value else "",
        value=value,
        beside=beside,
        mark=FigureMark.NONE,
        note=note,
        exact="",
    )


SUMMARY = ModelSummary(
    performance=figure_of("ROC AUC", "0.697", "as in the reference", "Reference 0.698. Alert below 0.663."),
    inputs=figure_of("Inputs", "0", "of 16 changed"),
    labels=figure_of("Labels", "96.6 %", "of the records, on time", "90 % are in after 2.6 days."),
    records=figure_of("Records", "492", "a little low", "Tuesdays usually have 500 to 667."),
    scale=None,
    changed=(),
)
CHANGED = st.builds(
    ChangedSeries,
    subject=st.just("feature:x"),
    name=st.text(min_size=1, max_size=80).map(readable_name),
    what=st.sampled_from(["missing", "mean", "share of UA"]),
    usual=st.sampled_from(["", "0 %", "20.3 to 21.7"]),
    now=st.sampled_from(["", "100 %", "17.8"]),
    direction=st.sampled_from(["", "lower"]),
    since=st.integers(0, 10**15),
    incident=st.sampled_from(["", "1970-01-01-inputs-missing"]),
    severity=st.sampled_from(Severity),
)
SUMMARIES = st.builds(
    ModelSummary,
    performance=st.just(SUMMARY.performance),
    inputs=st.just(SUMMARY.inputs),
    labels=st.just(SUMMARY.labels),
    records=st.just(SUMMARY.records),
    scale=st.none(),
    changed=st.lists(CHANGED, max_size=20).map(tuple),
)
