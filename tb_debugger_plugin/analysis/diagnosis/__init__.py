"""Explains bad values: why an op made one of its inputs, and what usually helps.

``subjects`` reads the values around an op or an execution from a snapshot, and ``near_ops`` and
``near_executions`` the ops around it. ``causes`` chooses among the tables of ``known``, the ways in which ops
make NaN and infinity, and among those of ``situated``, the situations that need advice of their own.
``evidence`` and ``ranges`` check causes against the recorded numbers. ``rewriting`` writes the changed line,
and ``sentences`` the answer as phrases, which the page, ``tbdbg why`` and Python callers only format.
"""
