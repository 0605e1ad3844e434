"""The store: our own database."""

LIVE = "live"  # the history that the daemon writes; replays write others
