"""Mergeable counts: what is known of the records, exact and small."""
