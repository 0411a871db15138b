"""Engines: each puts watch ops into functions of one kind, or into the graphs of sessions."""
