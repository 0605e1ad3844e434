"""What `init` does: survey a database, guess roles, write a configuration."""
