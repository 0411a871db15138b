"""Dump folders of tfdbg v1 into tables.

Takes the folder of a run and fills the same tables as event files do.
"""
