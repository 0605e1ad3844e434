"""Pages on a store: what they ask of it, caches, `monitor view` and `monitor report`."""
