"""The public names of the debugger."""
