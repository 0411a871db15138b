"""Helpers that tests share: builders, servers, browsers."""
