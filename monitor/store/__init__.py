"""The store: our own database."""
