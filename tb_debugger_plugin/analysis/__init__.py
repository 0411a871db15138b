"""Queries on the tables of a run: alerts, ops and their neighbours, pages, stacks. Knows no HTTP.

Takes a run's loader and plain values; returns frozen values and JSON-like dictionaries. A query that cannot
be answered raises one of the ``QueryError`` classes.
"""
