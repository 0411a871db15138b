"""Example programs with a known numerical bug to find with the debugger."""
