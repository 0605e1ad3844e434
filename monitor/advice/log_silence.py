"""For how long a log was silent in its last weeks: what alerts on one that stopped should bear."""

from collections.abc import Iterator
from itertools import groupby

from monitor.alerts.alert_rules import LimitBase
from monitor.core.clock import DAY, HOUR, SECOND, format_duration, to_iso
from monitor.core.errors import SourceError
from monitor.core.text import duration_text
from monitor.look.row_samples import are_there
from monitor.look.table_look import ModelLook
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec

_DAYS = 28
_SLOT = 8 * HOUR


def silence_warnings(look: ModelLook, source: SqlSource, newest: int | None) -> Iterator[str]:
    """Warn of rules on the log's age that would have fired though it went on as ever.

    Parameters
    ----------
    newest
        event time.
    """
    limits = _silence_limits(look.model)
    if newest is None or not limits:
        return
    try:
        with source.reader.open_session() as session:
            silent = longest_silence(session, look, newest) * _SLOT
    except SourceError:
        return  # said of the table already
    for name, limit in limits.items():
        if silent > limit:
            yield (
                f"the log was silent for {format_duration(silent)} or longer within its last {_DAYS} days: "
                f'rule "{name}" fires after {format_duration(limit)}; if that is as it should be, write '
                f'default_alerts = true, and a rule of your own: name = "{name}", measure = "log_age", '
                f'above = {(silent // DAY + 2) * DAY // SECOND}, severity = "critical"'
            )


def stopped_warnings(model: ModelSpec, newest: int | None, now: int) -> Iterator[str]:
    """Warn of a log without events for longer than a rule on its age bears; not of one beyond the horizon."""
    for name, limit in _silence_limits(model).items():
        if newest is not None and limit < now - newest <= model.reading.horizon:
            yield (
                f"the newest event is of {to_iso(newest)}, {duration_text((now - newest) / SECOND)} ago: "
                "rule "
                f'"{name}" fires after {format_duration(limit)} unless newer ones are logged'
            )


def _silence_limits(model: ModelSpec) -> dict[str, int]:
    """Age of the log above which a rule fires, by its name."""
    return {
        rule.name: int(rule.condition.above.amount * SECOND)
        for rule in model.rules
        if rule.measure == "log_age"
        and rule.condition.above
        and rule.condition.above.base in (LimitBase.ONE, LimitBase.SILENCE)
    }


def longest_silence(session: ReadSession, look: ModelLook, newest: int) -> int:
    """Most slots of 8 hours in a row without a record, between some that have any; 0 where no index tells.

    Cost: one row of each slot of 28 days, in one statement.
    """
    event = look.times["event_time"]
    logged = look.times.get("logged_at", event)
    if not logged.sortable:
        return 0
    near = event.time.range_condition(newest - _DAYS * DAY - look.model.reading.horizon, newest + DAY)
    slots = [
        f"({near}) AND ({logged.time.range_condition(newest - at - _SLOT, newest - at)})"
        for at in range(0, _DAYS * DAY, _SLOT)
    ]
    held = are_there(session, look.predictions.survey, slots)
    # Silence lies between records: the newest slot counts as one with any, and the last run has none before
    # it.
    runs = [(there, len(list(same))) for there, same in groupby([True, *held])]
    return max((length for there, length in runs[:-1] if not there), default=0)
