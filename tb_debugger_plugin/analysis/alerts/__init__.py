"""Alerts: which values break a rule, and which came first."""
