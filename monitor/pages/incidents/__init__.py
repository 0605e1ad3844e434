"""Pages of incidents: one, and the list of them."""
