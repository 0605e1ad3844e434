"""Measurements: the current ones, and those that are kept, as rows of tables."""
