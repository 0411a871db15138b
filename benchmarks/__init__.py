"""Benchmarks. Each prints ratios from one interleaved run; no test depends on them."""
