"""Channels that people are told of alerts by: one a file."""
