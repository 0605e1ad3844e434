"""A unit error in one feature of twelve: told within two days, by name, and by nothing but its own rule."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from memory import MemorySource
from shift_rules import feature_far_off, feature_shift, shift_rule
from synthetic import READING, START, log_of, monitored_of, reference_rows

from monitor.alerts.alert_phrases import alert_sentence
from monitor.core.clock import DAY, HOUR, ticks_between
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

NAMES = tuple(f"x{at:02}" for at in range(11))
BROKEN, DAYS = 9, 12  # the day on which a feature's unit changes; days of the log
WINDOWS = (parse_window("7d", HOUR),)


def with_features(table: pa.Table, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    for name in NAMES:
        table = table.append_column(f"feature:{name}", pa.array(rng.normal(size=table.num_rows)))
    return table


def test_one_feature_far_off_is_named_within_two_days(fresh_store: SqlStore) -> None:
    log = log_of(DAYS, per_day=240)
    table, reading = with_features(log.predictions, 1), replace(READING, numeric=("temp", *NAMES))
    reading = replace(reading, names=(("logged_at", "logged_at"),))
    broken = np.asarray(table["event_time"]) >= START + BROKEN * DAY
    celsius = np.asarray(table["feature:temp"])
    fahrenheit = np.where(broken, 1.8 * celsius + 32, celsius)
    at = table.column_names.index("feature:temp")
    table = table.set_column(at, "feature:temp", pa.array(fahrenheit))
    rules = (shift_rule("score"), shift_rule("prediction"), feature_shift(), feature_far_off())
    monitored = monitored_of(
        MemorySource(table, log.labels),
        fresh_store,
        reading=reading,
        table=with_features(reference_rows(6_000), 2),
        rules=rules,
        windows=WINDOWS,
    )

    for moment in ticks_between(START + 8 * DAY, START + DAYS * DAY, 6 * HOUR):
        _, rows = monitored.cycle(moment)

    (alert,) = (alert for _, alert in fresh_store.alerts.read_alerts("late", ended=True))
    (rule,) = (rule for rule in rules if rule.name == alert.series.rule)
    assert (alert.series.rule, alert.series.subject) == ("feature_far_off", "feature:temp")
    assert alert.fired_at is not None
    assert 0 < alert.fired_at - (START + BROKEN * DAY) <= 2 * DAY
    words = alert_sentence(rule, alert.series, alert.breach)
    assert "feature:temp, stability_index" in words
    assert "(significant), limit 0.25, critical value 0.0" in words
    assert "; values " in words
    (delay,) = (row.measurement for row in rows if row.measure == "log_delay_median")
    assert delay.value is not None
    assert delay.value - delay.resolution <= 30 <= delay.value
