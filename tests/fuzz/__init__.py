"""Fuzz tests: `make fuzz` opens hostile recordings by the hundred thousand.

`hostile` makes records with fields of any value, `damage` damages the bytes of files, and `inputs` converts a
number into a hostile file set. `looking` opens many file sets at once as the viewer does and queries every
route, `worker` does so in a process of its own, and the command `python -m tests.fuzz` runs such processes.
"""
