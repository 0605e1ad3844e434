"""The configuration file: reading it, its faults, what a model's keys say together."""
