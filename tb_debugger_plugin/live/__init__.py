"""Breakpoints: what the debugger and a running program say to each other."""
