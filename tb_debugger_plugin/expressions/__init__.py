"""A small language of expressions over arrays, and the names of tensors in it.

An expression is NumPy's notation with tensors in backticks. It computes arrays and does nothing else: it
reads and writes no file, calls no function that is not in a table, and makes no array beyond a size. Nothing
here knows where tensors come from, so breakpoints and commands use it alike.
"""
