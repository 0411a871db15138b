"""The pytest plugin: a test whose TensorFlow program computes NaN fails with the reason."""
