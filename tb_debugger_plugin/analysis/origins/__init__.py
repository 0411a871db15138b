"""Origins: which value a bad value comes from, across ops, calls, loops, variables and steps."""
