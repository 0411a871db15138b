"""The recorder: runs in the training process and uses TensorFlow.

Takes the running program and writes event files. `recording` is the entry point.
"""
