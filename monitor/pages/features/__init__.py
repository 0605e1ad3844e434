"""Features: which of them moved, over time; one of them against the reference."""
