"""Python stacks: frames, the lines of source around them, and calls that are still running."""
