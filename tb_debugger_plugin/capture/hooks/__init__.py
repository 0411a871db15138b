"""Hooks: everything that replaces a function of TensorFlow while a recording is on."""
