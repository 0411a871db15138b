"""Source files of the program: their lines, stack frames, and the user's line that a stack ends in."""
