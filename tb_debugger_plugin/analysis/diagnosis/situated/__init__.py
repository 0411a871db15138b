"""Advice for the situation around an op: a table by subject in each module."""
