"""The side of the viewer: finds programs that run, and asks them. No TensorFlow."""
