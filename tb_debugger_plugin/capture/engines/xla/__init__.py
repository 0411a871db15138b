"""Records tensors of functions that XLA compiles."""
