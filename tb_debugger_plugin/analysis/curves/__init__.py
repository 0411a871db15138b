"""Numbers of tensors over the time of a run."""
