"""Calls from Python: what ran inside each, and whether it was healthy."""
