"""Measures: pure functions of states that return a value or a reason.

A measure's row (name, unit, definition, typed facts) stands in `catalogue`. Its formula is in the file that
the head of the row's file names: here, or in `classification` (confusion, discrimination, calibration, gains,
profit), `shift` or `comparison`. `evaluate` gives all measures of a set of counters, `options` their choices,
`statistics` the intervals and resamples that several families share.
"""
