"""Who works, and what must be told: leases, daemons that share a run, the outbox of notices."""
