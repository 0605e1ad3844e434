"""The statements that read a log, in the SQL of each engine."""
