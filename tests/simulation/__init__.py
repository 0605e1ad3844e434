"""Writing logs with faults: predictions and labels over virtual time, into a real database, from a seed."""

from simulation.mix import ClockStep, Delay, Mix
from simulation.plan import Plan, Truth, plan, truth
from simulation.writer import Log

__all__ = ["ClockStep", "Delay", "Log", "Mix", "Plan", "Truth", "plan", "truth"]
