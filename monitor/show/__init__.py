"""Rows for people: tables, what stands behind their values, JSON and CSV."""

from monitor.core.words import duration, number
from monitor.show.details import explained, with_details
from monitor.show.plain import FIELDS, NOTHING, Further, Shown, as_csv, as_json, ordered, plain
from monitor.show.table import ALIASES, as_table
from monitor.show.words import aligned, moment

__all__ = [
    "ALIASES",
    "FIELDS",
    "NOTHING",
    "Further",
    "Shown",
    "aligned",
    "as_csv",
    "as_json",
    "as_table",
    "duration",
    "explained",
    "moment",
    "number",
    "ordered",
    "plain",
    "with_details",
]
