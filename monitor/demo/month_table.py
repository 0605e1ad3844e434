"""The months as a table: one line a window, what a person looks at first."""

from collections.abc import Iterable
from datetime import timedelta

from monitor.core.clock import to_datetime
from monitor.core.text import number_text
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.show.terminal_layout import align_columns


def month_table(rows: Iterable[StoredMeasurement], width: int | None = None) -> str:
    """Month by month, one line a window."""
    latest: dict[int, dict[tuple[str, str], MeasurementRow]] = {}
    for row in (stored.row for stored in rows):
        if row.is_of_whole and not row.against:
            latest.setdefault(row.window_end, {})[row.measure, row.subject] = row
    header = (
        "month", "n", "coverage", "AUC", "AUC estimated before", "challenger's AUC - AUC", "K-S sep.",
        "accuracy (majority)", "profit", "SI score (critical)", "most shifted features (SI)",
        "late: control / treatment", "truth",
    )  # fmt: skip
    return align_columns(
        [header, *(_month_cells(end, measured) for end, measured in sorted(latest.items()))], width
    )


def _month_cells(end: int, measured: dict[tuple[str, str], MeasurementRow]) -> tuple[str, ...]:
    def show(measure: str, subject: str = "") -> str:
        row = measured.get((measure, subject))
        return "-" if row is None or row.measurement.value is None else number_text(row.measurement.value)

    def bounds(measure: str) -> str:
        row = measured.get((measure, ""))
        interval = row.measurement.interval if row else None
        return f" [{interval.lower:.3f}, {interval.upper:.3f}]" if interval else ""

    auc = measured.get(("roc_auc", ""))
    truth = auc.truth if auc else LabelTruth.NONE
    coverage = f"{auc.coverage:.1%}" if auc and auc.coverage is not None else "-"
    shifted = sorted(
        (
            (row.measurement.value, subject.removeprefix("feature:"))
            for (measure, subject), row in measured.items()
            if measure == "stability_index" and subject.startswith("feature:") and row.measurement.value
        ),
        reverse=True,
    )
    return (
        (to_datetime(end) - timedelta(days=1)).strftime("%Y-%m"),
        show("records"),
        coverage,
        show("roc_auc") + bounds("roc_auc"),
        show("estimated_roc_auc"),
        show("challenger_auc_difference") + bounds("challenger_auc_difference"),
        show("ks_separation"),
        f"{show('accuracy')} ({show('majority_accuracy')})",
        show("profit"),
        f"{show('stability_index', 'score')} ({show('stability_index_critical', 'score')})",
        ", ".join(f"{name} {value:.2f}" for value, name in shifted[:3]),
        f"{show('control_outcome_rate')} / {show('treatment_outcome_rate')}",
        truth.value,
    )
