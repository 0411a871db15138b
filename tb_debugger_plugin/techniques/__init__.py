"""Small debugging techniques for a running program: one line of code each, in the training process."""
