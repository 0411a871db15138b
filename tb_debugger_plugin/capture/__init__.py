"""The recorder: what runs in the training process and knows TensorFlow.

In comes the running program; out go event files. `recording` is the way in.
"""
