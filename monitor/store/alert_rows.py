"""Alerts: one row an episode. Those that ended stay, for ever."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, Connection, RowMapping, Select, bindparam, delete, or_, select

from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.lifecycle import Alert, AlertState, EndReason, alert_at_moment
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import put_rows
from monitor.store.measurements.measurement_columns import read_behind, text_behind
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import alerts

SERIES_COLUMNS = ("rule", "version", "segment", "window", "subject")
_VERDICT = ("window_end", "value", "lower", "upper", "n", "reason", "limit", "beside", "against")


@dataclass(frozen=True, slots=True)
class AlertRepository(Repository):
    """Alerts of a run; a cycle's commit writes them."""

    def read_alerts(
        self, model: str | None = None, *, ended: bool = False, as_of: int | None = None
    ) -> list[tuple[str, Alert]]:
        """(model, alert) by model, series and since: those that are pending or firing.

        Parameters
        ----------
        model
            None: all of the run.
        ended
            those that are over too.
        as_of
            only those that were pending or firing at this moment, or began before it where `ended`; each in
            the state that it had then.
        """
        given = {"run": self.run, "model": model, "as_of": as_of}
        asked = {name: value for name, value in given.items() if value is not None}
        with read_transaction(self.engine) as connection:
            rows = connection.execute(_alerts_query(tuple(asked), ended=ended), asked)
            with named_damage("table alerts"):
                read = [(row["model"], _alert_of_row(row)) for row in rows.mappings()]
        return read if as_of is None else [(name, alert_at_moment(alert, as_of)) for name, alert in read]


def write_alerts(connection: Connection, run: str, model: str, changed: Sequence[Alert]) -> None:
    """Insert alerts, or put them in place of what they were."""
    put_rows(connection, alerts, [_alert_values(alert) | {"run": run, "model": model} for alert in changed])


def drop_alerts(connection: Connection, run: str, model: str, dropped: Sequence[Alert]) -> None:
    """Delete alerts that never fired."""
    mine = alerts.c.run == run, alerts.c.model == model
    for alert in dropped:
        key = [alerts.c[name] == getattr(alert.series, name) for name in SERIES_COLUMNS]
        connection.execute(delete(alerts).where(*mine, *key, alerts.c.since == alert.since))


@lru_cache(maxsize=8)
def _alerts_query(asked: tuple[str, ...], *, ended: bool) -> Select[Any]:
    over, as_of = alerts.c.resolved_at, bindparam("as_of", type_=BigInteger)
    conditions = {
        "run": alerts.c.run == bindparam("run"),
        "model": alerts.c.model == bindparam("model"),
        "as_of": alerts.c.since <= as_of,
    }
    wanted = [conditions[name] for name in asked]
    if not ended:
        wanted.append(or_(over.is_(None), over > as_of) if "as_of" in asked else over.is_(None))
    return select(alerts).where(*wanted).order_by(*alerts.primary_key)


def _alert_values(alert: Alert) -> dict[str, Any]:
    breach = alert.breach
    verdict = {name: getattr(alert.verdict, name) for name in _VERDICT}
    verdict["outcome"] = alert.verdict.outcome.value
    verdict |= {"beside_breach": breach.beside, "against_breach": breach.against}
    return {
        **{name: getattr(alert.series, name) for name in SERIES_COLUMNS},
        "since": int(alert.since),
        "severity": alert.severity.value,
        "state": alert.state.value,
        "fired_at": alert.fired_at,
        "resolved_at": alert.resolved_at,
        "ended": None if alert.ended is None else alert.ended.value,
        "window_end": int(breach.window_end),
        "value": breach.value,
        "lower": breach.lower,
        "upper": breach.upper,
        "n": int(breach.n),
        "limit_": breach.limit,
        "cause": text_behind(breach.cause, breach.change),
        "judged_at": int(alert.judged_at),
        "verdict": json.dumps(verdict, sort_keys=True),
        "breached": int(alert.breached),
        "clear_since": alert.clear_since,
        "unknown_since": alert.unknown_since,
        "told": json.dumps([_breach_values(moment, breach) for moment, breach in alert.told]),
    }


def _breach_values(moment: int, breach: Verdict) -> dict[str, Any]:
    cause = text_behind(breach.cause, breach.change)
    return {"as_of": int(moment), **{name: getattr(breach, name) for name in _VERDICT}, "cause": cause}


def _told_of(plain: dict[str, Any]) -> tuple[int, Verdict]:
    moment, (cause, change) = plain.pop("as_of"), read_behind(plain.pop("cause"))
    return moment, Verdict(outcome=Outcome.BREACH, cause=cause, change=change, **plain)


def _alert_of_row(row: RowMapping) -> Alert:
    verdict, (cause, change) = json.loads(row["verdict"]), read_behind(row["cause"])
    breach = Verdict(
        outcome=Outcome.BREACH,
        window_end=row["window_end"],
        value=row["value"],
        lower=row["lower"],
        upper=row["upper"],
        n=row["n"],
        limit=row["limit_"],
        beside=verdict.pop("beside_breach", None),
        against=verdict.pop("against_breach", ""),
        cause=cause,
        change=change,
    )
    return Alert(
        series=AlertedSeries(*(row[name] for name in SERIES_COLUMNS)),
        severity=Severity(row["severity"]),
        state=AlertState(row["state"]),
        since=row["since"],
        judged_at=row["judged_at"],
        verdict=Verdict(outcome=Outcome(verdict.pop("outcome")), **verdict),
        breach=breach,
        breached=row["breached"],
        clear_since=row["clear_since"],
        unknown_since=row["unknown_since"],
        fired_at=row["fired_at"],
        resolved_at=row["resolved_at"],
        ended=None if row["ended"] is None else EndReason(row["ended"]),
        told=tuple(_told_of(one) for one in json.loads(row["told"] or "[]")),
    )
