"""Measures: pure functions of states that return a value or a reason."""
