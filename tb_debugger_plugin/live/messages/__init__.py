"""The messages of ``protos/live.proto``, and the file by which a debugger finds a program. No TensorFlow."""
