"""Watches only tensors that TensorFlow's graph optimizer leaves, so that results keep their bits."""
