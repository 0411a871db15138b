"""Compares two recordings of nearly the same program."""
