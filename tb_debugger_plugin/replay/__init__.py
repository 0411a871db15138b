"""Runs bundles: calls of functions, without the program that made them."""
