"""Explains alerts: which op made a bad value, from which inputs, why, and what usually helps.

``explain`` is the way in: it reads the values around an alert, or around an op, from a snapshot. ``causes``
is a table of the ways in which ops make NaN and infinity, ``evidence`` checks them against the recorded
numbers, and ``sentences`` writes the answer as phrases, which the page, ``tbdbg why`` and Python callers only
format.
"""
