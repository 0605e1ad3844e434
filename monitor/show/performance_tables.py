"""Tables that have names of their own in the field: gain, lift, the ROC curve, the confusion matrix."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from monitor.core.measurement import DetailTable
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.measures.value_words import format_detail_cell, format_measure_value, value_with_interval
from monitor.show.measurement_tables import table_heading
from monitor.show.plain_rows import order_rows
from monitor.show.terminal_layout import indent_columns

BEHIND = {
    "gain": "lift_top_decile",
    "lift": "lift_top_decile",
    "roc_curve": "roc_auc",
    "precision_recall_curve": "average_precision",
    "ks_curve": "ks_separation",
    "profit_curve": "best_profit",
    "confusion_matrix": "confusion_records",
}  # what a table is called: the measure that it stands behind
_COLUMNS = {
    "gain": ("decile", "records", "positives", "gain", "cumulative_gain"),
    "lift": ("decile", "records", "positives", "lift", "cumulative_lift"),
}
_RATES = ("gain", "cumulative_gain")


def format_named_tables(name: str, rows: Sequence[StoredMeasurement], *, width: int | None = None) -> str:
    """The table of a name, of each window of whole models.

    Parameters
    ----------
    name
        one of `BEHIND`.
    rows
        of the measure that it stands behind.
    """
    whole = order_rows(stored for stored in rows if stored.row.is_of_whole)
    text = []
    for heading, group in groupby(whole, key=table_heading):
        of_window = [stored.row for stored in group]
        of_matrix = name == "confusion_matrix"
        tables = _confusion_table(of_window, width) if of_matrix else _detail_tables(name, of_window, width)
        text += [f"{heading}\n", *tables]
    return "\n".join(text).rstrip("\n") or f"there is no {name.replace('_', ' ')} behind these values"


def _detail_tables(name: str, rows: Sequence[MeasurementRow], width: int | None) -> Iterator[str]:
    for row in rows:
        detail = row.measurement.detail
        if row.subject or row.against:
            continue
        if detail is None:
            yield f"  {row.measure}: {value_with_interval(row.measure, row.measurement)}, no table is kept\n"
            continue
        value = value_with_interval(row.measure, row.measurement)
        yield f"  {row.measure}: {value}\n{_named_table(name, detail, width)}\n"


def _named_table(name: str, detail: DetailTable, width: int | None) -> str:
    columns = _COLUMNS.get(name, detail.columns)
    places = [detail.columns.index(column) for column in columns]
    cells = [[_cell_text(detail.columns[at], row[at]) for at in places] for row in detail.rows]
    return indent_columns([list(columns), *cells], width)


def _cell_text(column: str, value: float | str | None) -> str:
    if column in _RATES and isinstance(value, float | int):
        return format_measure_value("recall", float(value))
    if value is None and column in ("threshold", "score"):
        return "none"  # the highest threshold: no record is positive
    return format_detail_cell(column, value)


def _confusion_table(rows: Sequence[MeasurementRow], width: int | None) -> Iterator[str]:
    """Records by actual class, a row each, and by predicted class."""
    counts: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.measurement.value is not None and not row.against:
            actual, _, text = row.subject.removeprefix("actual:").partition(",predicted:")
            counts[actual, text] = row.measurement.value
    if not counts:
        return
    places = [(pair[at], at) for at in (0, 1) for pair in counts]
    names = list(dict.fromkeys(name for name, _ in places))
    table = [["actual", *(f"predicted {name}" for name in names), "all"]]
    for name in names:
        records = [counts.get((name, text), 0.0) for text in names]
        table.append([name, *(f"{count:,.0f}" for count in records), f"{sum(records):,.0f}"])
    yield f"{indent_columns(table, width)}\n"
