"""Plain specifications, the rows that cross layers, and the Protocols of the rim."""
