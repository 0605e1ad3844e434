"""Which windows are due, and their rows: of records, of labels, against references and other moments."""
