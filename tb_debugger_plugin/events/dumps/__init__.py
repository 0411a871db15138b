"""The dump folders of tfdbg v1: what ``DumpingDebugWrapperSession`` and its relatives write.

Takes names and bytes, and returns values. Nothing here needs TensorFlow.
"""
