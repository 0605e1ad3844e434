"""The rules of reading: rows to states. Pure; NumPy and Arrow; runs on any engine."""
