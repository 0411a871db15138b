"""Which tensors of a graph are watched, how, and the watch ops for it."""
