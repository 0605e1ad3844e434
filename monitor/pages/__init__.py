"""Pages that people look at, and the report that they send on: rows of the store in, HTML out. Read-only.

A page is a function of the store and its address: all state is in the address, so a page can be linked from
an alert, kept, compared and printed. What a page needs it asks of `asked.PageData`; it knows no SQL.
"""
