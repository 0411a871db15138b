"""Plans which tensors of a graph are watched, and how a watch op is attached to each."""
