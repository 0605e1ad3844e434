"""What the budget of false alerts allows, and what it has cost; what moves below the limit."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.alerts.lifecycle import Alert
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import BECAUSE, Measurement, Reason
from monitor.core.text import json_text, number_text
from monitor.measures.catalogue.daily_measures import ALERTS, DETECTABLE, EVIDENCE
from monitor.measures.measurement_row import MeasurementRow
from monitor.sentences.change_words import alert_budget_sentences, observed_change_words, subject_name
from monitor.sentences.known_measurements import readable_name
from monitor.sentences.reason_words import reason_words
from monitor.sentences.time_words import day_words
from monitor.show.terminal_layout import align_columns
from monitor.show.terminal_words import counted_noun
from monitor.specs.model_table import BudgetTable

MONTH = 30 * DAY
_WITH_WHOLE = "with all"  # a segment's change, of which the alert is that of all records
_FOUND_FROM = (
    "found from: the smallest change that is found within 7 days. Of features, scores and predictions it is a"
    " PSI, of shares a difference, of counts the ratio less 1, of performance the difference of the measure."
)
_ISO_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_SOME = 0.1
_SMALL = "small"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStatus:
    """A model's budget, and what is known of its days."""

    model: str
    budget: BudgetTable | None  # None: the model has none
    as_of: int | None  # of the last cycle, microseconds; None: none ran
    alerts: Sequence[Alert]  # that judged days, whatever became of them
    rows: Sequence[MeasurementRow]  # current ones of the judged days

    @property
    def last_month_alerts(self) -> list[Alert]:
        """Alerts that fired in the last 30 days."""
        since = (self.as_of or 0) - MONTH
        return [alert for alert in self.alerts if alert.fired_at is not None and alert.fired_at > since]

    @property
    def evidence_rows(self) -> list[MeasurementRow]:
        """Evidence of each subject, the most first; what cannot be judged is last."""
        rows = [row for row in self.rows if row.measure == EVIDENCE]
        return sorted(
            rows, key=lambda row: (-_ranking_evidence(row.measurement), row.segment or "", row.subject)
        )

    def detectable_change(self, of: MeasurementRow) -> Measurement:
        """Smallest change that would be found of the subject whose evidence a row is."""
        key = (DETECTABLE, of.subject, of.segment)
        found = (row.measurement for row in self.rows if (row.measure, row.subject, row.segment) == key)
        return next(found, Measurement.without_value(Reason.LEARNING, n=0))


def budget_lines(spent: BudgetStatus, width: int | None = None) -> Iterator[str]:
    """The budget of a model, what fired, and a line for each subject."""
    name = readable_name(spent.model)
    if spent.budget is None:
        yield f"{name}: no budget of false alerts, since it has rules of its own"
        return
    rows = spent.evidence_rows
    watched = f"{counted_noun(len(rows), 'subject')} watched"
    yield f"{name}: {'; '.join([*alert_budget_sentences(spent.rows), watched])}"
    alerts = sorted(spent.last_month_alerts, key=lambda alert: -(alert.fired_at or 0))
    for day, fired in groupby(alerts, key=lambda alert: day_words(alert.fired_at or 0, spent.as_of or 0)):
        names = (subject_name(alert.series.subject, alert.series.segment) for alert in fired)
        yield f"  {day}: {', '.join(dict.fromkeys(names))}"
    if rows:
        heads = ("subject", "evidence", "found from", "days", "note")
        yield align_columns([heads, *(_evidence_cells(spent, row) for row in rows)], width)
        yield _FOUND_FROM


def change_lines(spent: BudgetStatus, width: int | None = None) -> Iterator[str]:
    """What moves: a line for each subject with some evidence, the most first."""
    name = readable_name(spent.model)
    moving = [row for row in spent.evidence_rows if _ranking_evidence(row.measurement) >= _SOME]
    if not moving:
        yield f"{name}: everything is as the weeks before lead one to expect"
        return
    firing = sum((row.measurement.value or 0.0) > 1 for row in moving)
    alerts = f"; {firing} with an alert" if firing else ""
    alerts = ", with an alert" if firing == len(moving) == 1 else alerts
    yield f"{name}: {counted_noun(len(moving), 'subject')} moved{alerts}"
    cells = [_change_cells(row, spent.as_of or 0) for row in moving]
    yield align_columns([("subject", "evidence", "since", "what happened"), *cells], width)
    if any(evidence == _SMALL for _, evidence, *_ in cells):
        yield f"{_SMALL}: enough evidence for an alert, but a smaller change than `smallest` asks for."


def _change_cells(row: MeasurementRow, today: int) -> tuple[str, ...]:
    change = row.measurement.change
    since = change.since if change is not None and change.since else ""
    words = "" if change is None else observed_change_words(change, row.window_end)
    of = subject_name(row.subject, row.segment)
    return of, _evidence_words(row.measurement), _plain_days(since, today), _plain_days(words, today)


def _plain_days(text: str, today: int) -> str:
    """A text with its dates as people write them."""
    return _ISO_DAY.sub(lambda day: day_words(from_iso(day[0]), today), text)


def _evidence_words(result: Measurement) -> str:
    """Evidence as a share of what an alert needs."""
    if (result.value or 0.0) > 1:
        return "alert"
    if result.value == 1:
        return _WITH_WHOLE
    share = _evidence_any_size(result)
    return _SMALL if share > 1 else f"{100 * share:.0f} %" if share >= 0 else ""


def budgets_json(models: Iterable[BudgetStatus]) -> str:
    """JSON list of models."""
    return json_text([_plain_budget(spent) for spent in models], indent=1)


def _plain_budget(spent: BudgetStatus) -> dict[str, object]:
    stated = None if spent.budget is None else spent.budget.false_alerts
    told = next((row.measurement.value for row in spent.rows if row.measure == ALERTS), None)
    return {
        "model": spent.model,
        "false_alerts": stated,
        "alerts_30d": None if told is None else int(told),
        "subjects": [
            {
                "subject": row.subject,
                "segment": row.segment or "",
                "evidence": row.measurement.value,
                "apparent": _evidence_any_size(row.measurement),
                "reason": None if row.measurement.reason is None else row.measurement.reason.value,
                "detectable_change": spent.detectable_change(row).value,
                "days": _learned_days(row.measurement),
                "words": _change_words(row),
            }
            for row in spent.evidence_rows
        ],
    }


def _change_words(row: MeasurementRow) -> str:
    change = row.measurement.change
    if change is None:
        return ""
    began = f"; since {change.since}" if change.since else ""
    return f"{observed_change_words(change, row.window_end)}{began}"


def _evidence_cells(spent: BudgetStatus, row: MeasurementRow) -> tuple[str, ...]:
    result, smallest = row.measurement, spent.detectable_change(row)
    sentence = "" if smallest.value is None else number_text(smallest.value)
    return (
        subject_name(row.subject, row.segment),
        _evidence_words(result),
        sentence,
        str(_learned_days(result)),
        _evidence_note(result, smallest),
    )


def _evidence_note(result: Measurement, smallest: Measurement) -> str:
    detail = (result if result.value is None else smallest).detail
    if detail is not None and detail.columns == BECAUSE:
        return str(detail.rows[0][0]).split(": ")[0]
    return "" if result.value is not None else reason_words(str(result.reason))


def _evidence_any_size(result: Measurement) -> float:
    """Evidence whatever the size; -1 where nothing is judged."""
    if result.change is None:
        return -1.0 if result.value is None else result.value
    evidence = result.change.evidence_any_size
    return -1.0 if evidence is None else float(evidence)


def _ranking_evidence(result: Measurement) -> float:
    """The same, at least that with which a change was found that stands."""
    return max(_evidence_any_size(result), -1.0 if result.value is None else result.value)


def _learned_days(result: Measurement) -> int:
    """Learned days."""
    return result.n if result.change is None else int(result.change.learned_days)
