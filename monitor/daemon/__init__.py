"""The background service: ticks, cycles, health, logs."""
