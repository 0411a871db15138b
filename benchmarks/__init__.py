"""Benchmarks: each prints ratios from one interleaved run, and none decides a test."""
