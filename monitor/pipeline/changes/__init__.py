"""What changed in the log since the last cycle, as panes that wait to be counted."""
