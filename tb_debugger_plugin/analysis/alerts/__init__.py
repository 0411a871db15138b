"""Alerts: which values break a rule, which came first, and why."""
