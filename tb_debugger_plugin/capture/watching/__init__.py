"""Chooses the tensors of a graph that are watched, and adds watch ops for them."""
