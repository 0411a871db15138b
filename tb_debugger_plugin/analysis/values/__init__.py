"""Recorded values: their numbers, and the value that is nearest to a moment."""
