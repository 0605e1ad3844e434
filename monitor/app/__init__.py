"""Wiring: the only layer that knows everything else."""
