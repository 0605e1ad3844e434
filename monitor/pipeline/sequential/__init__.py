"""Sequential tests: what enters them, once and for good."""
