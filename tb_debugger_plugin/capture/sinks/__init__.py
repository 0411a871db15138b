"""Sinks: they take the records of a recording."""
