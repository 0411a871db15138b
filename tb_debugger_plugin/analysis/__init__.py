"""Questions asked of the tables: alerts, ops and their neighbours, pages, stacks. No HTTP.

In come a run's loader and plain values, out come frozen values and JSON-like dictionaries. A question that
cannot be answered raises one of the ``QueryError`` classes.
"""
