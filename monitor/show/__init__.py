"""Rows for people: tables, what stands behind their values, JSON and CSV; lines on a terminal."""
