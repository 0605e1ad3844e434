"""One window: its page, and the charts of its exact counts."""
