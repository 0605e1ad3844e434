"""Specifications with their keys, the rows that cross layers, the Protocols of the rim."""

HOST, PORT = "127.0.0.1", 9839  # where the page of metrics is served
