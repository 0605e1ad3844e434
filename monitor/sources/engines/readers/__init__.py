"""How rows are fetched: through ADBC, through SQLAlchemy, by a Spark cluster. Engines choose."""
