"""What people decide of alerts, and what was known of them at a moment."""
