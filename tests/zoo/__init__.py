"""A public collection of small programs with known numerical bugs, and of healthy ones full of infinities.

`make zoo` records each program and compares the first answer of the debugger with the cause that the program
declares. `oracle.py` checks the declared causes without the debugger.
"""
