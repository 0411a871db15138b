"""Hostile recordings by the hundred thousand: `make fuzz`.

`hostile` writes records whose fields are anything, `damage` spoils the bytes of files, `inputs` turns a
number into one hostile file set, `looking` opens many of them at once as the viewer does and asks every
route, and the command itself watches over processes that do so.
"""
