"""Rules on measurements, their verdicts, and the life of an alert: pure."""
