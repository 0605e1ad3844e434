"""Writing logs with faults: predictions and labels over virtual time, into a real database, from a seed."""

from monitor.simulate.mix import ClockStep, Delay, Mix
from monitor.simulate.plan import Plan, Truth, plan, truth
from monitor.simulate.writer import Log

__all__ = ["ClockStep", "Delay", "Log", "Mix", "Plan", "Truth", "plan", "truth"]
