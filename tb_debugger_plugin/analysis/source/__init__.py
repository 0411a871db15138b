"""The source files of the program: their lines, stack frames, and the line of the user that a stack ends in."""
