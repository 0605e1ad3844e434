from dataclasses import dataclass

import pytest

from monitor.core.clock import HOUR
from monitor.daemon.health import Health, success_limit
from monitor.specs.protocols import CycleReport


@dataclass
class Stopwatch:
    """A clock that is set by hand."""

    at: float = 100.0

    def __call__(self) -> float:
        return self.at


def success(model: str = "late") -> CycleReport:
    return CycleReport(model=model, as_of=HOUR)


def failure(error: str = "no such table: predictions") -> CycleReport:
    return CycleReport(model="late", as_of=HOUR, error=error)


@pytest.fixture
def now() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
def health(now: Stopwatch) -> Health:
    made = Health({"late": success_limit(3_600.0), "delay": success_limit(3_600.0)}, now=now)
    made.mark_ready()
    return made


def test_it_is_well_until_a_model_lacks_success_for_three_ticks(health: Health, now: Stopwatch) -> None:
    health.note_ended(success("delay"))

    now.at += 3 * 3_600 + 60
    at_the_limit = health.fault_text(ticking=True)
    now.at += 1
    beyond = health.fault_text(ticking=True)

    assert at_the_limit is None
    assert beyond is not None
    assert beyond.splitlines()[0] == "model late: no successful cycle for 10861s"


def test_a_success_starts_the_time_again(health: Health, now: Stopwatch) -> None:
    now.at += 3 * 3_600
    health.note_ended(success("late"))
    health.note_ended(success("delay"))
    now.at += 3 * 3_600

    assert health.fault_text(ticking=True) is None


def test_a_tick_with_nothing_new_to_do_is_as_good_as_the_cycle_before(health: Health, now: Stopwatch) -> None:
    health.note_ended(success("late"))
    health.note_ended(success("delay"))
    now.at += 3 * 3_600
    health.note_idle("late")
    health.note_idle("delay")
    now.at += 3 * 3_600
    well = health.fault_text(ticking=True)

    health.note_ended(failure())
    health.note_idle("late")
    now.at += 3_600
    ill = health.fault_text(ticking=True)

    assert well is None
    assert ill is not None


def test_a_failure_is_no_success_and_its_error_is_said(health: Health, now: Stopwatch) -> None:
    now.at += 3 * 3_600
    health.note_ended(failure())
    health.note_ended(success("delay"))
    now.at += 3_600

    assert health.fault_text(ticking=True) == (
        "model late: no successful cycle for 4h: no such table: predictions"
    )


def test_a_cycle_that_runs_long_is_no_fault(health: Health, now: Stopwatch) -> None:
    health.note_begun("late")
    health.note_begun("delay")
    now.at += 24 * 3_600

    assert health.fault_text(ticking=True) is None


def test_a_dead_scheduler_is_a_fault(health: Health) -> None:
    assert health.fault_text(ticking=False) == "the scheduler has stopped"


def test_before_readiness_the_scheduler_need_not_tick(now: Stopwatch) -> None:
    assert Health({}, now=now).fault_text(ticking=False) is None


def test_readiness_waits_and_ends_with_the_service(now: Stopwatch) -> None:
    health = Health({}, now=now)

    before = health.why_unready()
    health.mark_ready()
    during = health.why_unready()
    health.mark_stopping()
    after = health.why_unready()

    assert (before, during, after) == (
        "the last measurements are not restored yet",
        None,
        "the service is stopping",
    )


def test_the_last_report_of_each_model_is_kept(health: Health) -> None:
    health.note_ended(failure())
    health.note_ended(success())

    assert health.last_reports() == {"late": success()}


def test_after_a_change_of_models_each_new_one_has_its_patience_before_it(
    health: Health, now: Stopwatch
) -> None:
    now.at += 20_000

    health.replace_limits({"new": success_limit(60.0), "late": success_limit(3_600.0)})
    health.note_ended(success("delay"))

    fault = health.fault_text(ticking=True)
    assert fault is not None
    assert fault.startswith("model late:")
    assert "delay" not in health.last_reports()
    assert "new" not in fault


def test_a_source_that_is_silent_is_named_once_with_its_late_models_and_no_healthy_one(
    now: Stopwatch,
) -> None:
    sentence = 'source "hung": no answer for 90s: it does not answer'
    health = Health(
        {"calm": 600.0, "hung-0": 60.0, "hung-1": 60.0},
        now=now,
        silent=lambda: {"hung-0": sentence, "hung-1": sentence},
    )
    health.mark_ready()

    before = health.fault_text(ticking=True)
    now.at += 90
    health.note_begun("hung-1")

    assert before is None
    assert health.silent_sources_text() == sentence
    assert health.fault_text(ticking=True) == f"{sentence}; no successful cycle for 90s: hung-0, hung-1"


def test_what_is_wrong_with_the_store_is_a_fault_at_once(now: Stopwatch) -> None:
    health = Health({"late": 60.0}, now=now, store=lambda: "monitor.db was deleted")
    health.mark_ready()

    assert health.fault_text(ticking=True) == "monitor.db was deleted"
