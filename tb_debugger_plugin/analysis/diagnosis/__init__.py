"""Explains bad values: which op made one, from which inputs, why, and what usually helps.

``explain`` reads the values around an alert, an op or an execution from a snapshot, and ``near_ops`` and
``near_executions`` the ops around it. ``causes`` chooses among the tables of ``known``, the ways in which ops
make NaN and infinity; ``evidence``, ``ranges`` and ``same_run`` check them against the recorded numbers, and
``certainty`` says how far these go. ``advising`` chooses among ``patterns``, the situations that need advice
of their own, and ``rewriting`` writes the changed line. ``sentences`` writes the answer as phrases, which the
page, ``tbdbg why`` and Python callers only format.
"""
