"""The demo: ten months of real flights."""
