"""Comparisons: of control and treatment, of champion and challenger, window by window and over all days."""
