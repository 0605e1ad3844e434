"""For how long logs were silent in their last weeks, on every engine; and the rules that would have fired."""

import re
from dataclasses import replace

import pytest
from flight_models import COLUMNS, PREDICTIONS, START, iso, model_of, rows_of
from source_databases import Database

from monitor.advice.log_silence import silence_warnings, stopped_warnings
from monitor.alerts.alert_rules import BreachCondition, Rule, RuleLimit
from monitor.core.clock import DAY, HOUR
from monitor.look.table_look import look_at_predictions
from monitor.specs.model_spec import ModelSpec

STOPPED = Rule(
    name="log_stopped", measure="log_age", condition=BreachCondition(above=RuleLimit(36 * 3_600.0))
)
MODEL = replace(model_of(labels=None), rules=(STOPPED,))
WITHOUT = tuple(pair for pair in PREDICTIONS.columns if pair[0] != "logged_at")
EVENTS = replace(MODEL, predictions=replace(PREDICTIONS, columns=WITHOUT))
DAYS = 60


def warnings(database: Database, moments: list[int], model: ModelSpec = MODEL, late: int = HOUR) -> list[str]:
    """Of a log with rows of these event times, logged so much later."""
    event, logged = ([iso(at + by) for at in moments] for by in (0, late))
    database.create("predictions", COLUMNS, rows_of(len(moments), event_time=event, logged_at=logged))
    return silences(database, max(moments), model)


def silences(database: Database, newest: int, model: ModelSpec = MODEL) -> list[str]:
    """What is said of the log that is there."""
    source = database.source()
    with source.reader.open_session() as session:
        look = look_at_predictions(session, source.reader.engine, model)
    return list(silence_warnings(look, source, newest))


@pytest.mark.parametrize("model", [MODEL, EVENTS], ids=["logged", "events"])
def test_a_load_on_weekdays_alone_is_no_log_that_stopped(database: Database, model: ModelSpec) -> None:
    weekdays = [START + day * DAY + 5 * HOUR for day in range(DAYS) if day % 7 not in (1, 2)]  # no weekends

    (warning,) = warnings(database, weekdays, model)

    assert re.match("the log was silent for (64h|56h|2d) or longer within its last 28 days", warning)
    assert 'rule "log_stopped" fires after 36h' in warning
    assert 'name = "log_stopped", measure = "log_age", above = 345600' in warning


def test_a_load_each_night_and_a_stream_are_not_silent(database: Database) -> None:
    assert warnings(database, [START + day * DAY + (day % 3) * HOUR for day in range(DAYS)]) == []


def test_whole_numbers_without_a_time_of_logging_are_times_too(database: Database) -> None:
    daily = [START + day * DAY for day in range(DAYS) if day % 7 not in (1, 2)]
    rows = rows_of(len(daily), event_time=[at // 1_000_000 for at in daily])
    database.create("predictions", COLUMNS | {"event_time": "bigint"}, rows)
    epochs = replace(EVENTS, reading=replace(EVENTS.reading, time_units=(("event_time", "s"),)))

    (warning,) = silences(database, max(daily), epochs)

    assert 'rule "log_stopped" fires after 36h' in warning


def test_what_was_before_the_log_began_or_long_ago_is_no_silence(database: Database) -> None:
    young = [START + day * DAY for day in (*range(5), *range(20, DAYS))]

    assert warnings(database, young) == []
    assert silences(database, START + 3 * DAY) == []


def test_a_rule_that_bears_it_is_not_spoken_of(database: Database) -> None:
    patient = replace(
        MODEL, rules=(replace(STOPPED, condition=BreachCondition(above=RuleLimit(9 * 86_400.0))),)
    )
    weekly = [START + day * DAY for day in range(0, DAYS, 7)]

    assert warnings(database, weekly, patient) == []
    assert len(silences(database, max(weekly))) == 1


def test_a_log_that_has_stopped_is_warned_of_and_one_of_the_past_is_not() -> None:
    (warning,) = stopped_warnings(MODEL, START, START + 36 * HOUR + 1)

    assert warning.endswith('1d 12h ago: rule "log_stopped" fires after 36h unless newer ones are logged')
    assert list(stopped_warnings(MODEL, START, START + 36 * HOUR)) == []
    assert list(stopped_warnings(MODEL, START, START + MODEL.reading.horizon + 1)) == []
    assert list(stopped_warnings(MODEL, None, START)) == []
