"""The configuration file: its schema, reading it, and making plain specifications of it."""
