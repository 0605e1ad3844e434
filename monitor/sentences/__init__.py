"""What measurements say, in sentences: one place for messages, `status`, `show` and pages. Pure."""
