"""Precision: what the recorded numbers would become in another floating dtype."""
