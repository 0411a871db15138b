"""Queries on the tables of a run. Knows no HTTP.

Takes a snapshot of a run and plain values; returns frozen values and JSON-like dictionaries. A query that
cannot be answered raises one of the ``QueryError`` classes.

``snapshot`` and ``catalog`` are what all queries read. ``lists`` pages and filters the two long lists,
``graph`` finds ops and their neighbours, ``calls`` what ran inside a call from Python, ``values`` the numbers
of a tensor, ``diagnosis`` why a value is bad, and ``alerts`` which values break a rule. ``status``,
``missing``, ``sources`` and ``search`` answer one question each, ``source_lines`` and ``source_ops`` what is
on record of source files, and ``op_profile`` what the ops of a profiled run took.
"""
